"""Personal data and credentials that are nobody's: made up, or published by their issuers as examples.

Each function gives one thing in the ways that people write it, for a text of some language; a number says which one.
"""

import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module

from winnow.filters.private.credentials.checks import checksum
from winnow.filters.private.personal.person_numbers import STATES, PersonNumber
from winnow.filters.private.personal.regions import LANGUAGE_REGIONS
from winnow.schemas.identity import digest

__all__ = ["EXTRAS", "MADE_UP", "Planted", "Planter"]

_ZERO_WIDTH = "\u200b"
_WIDE = str.maketrans({chr(point): chr(point + 0xFEE0) for point in range(0x21, 0x7F)})
_EXAMPLE = re.compile(r"(?:validate|is_valid)\('([^']+)'\)")
_INSURANCE = "AB123456C"  # the form of Britain's numbers, which have no check digits
_ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


@dataclass(frozen=True, slots=True)
class Planted:
    """One way to write one thing."""

    text: str
    variant: str = "plain"
    alone: bool = False  # instead of the clean text, not in it
    url: bool = False  # the address of the page


Planter = Callable[[str, int], Iterable[Planted]]
"""From an ISO 639-3 code and a number to what is planted in such a text."""


def _adult_sites(_language: str, number: int) -> Iterator[Planted]:
    site = ("pornhub.com", "xvideos.com", "xhamster.com")[number % 3]
    yield Planted(f"https://{site}/video/{number}", url=True)
    yield Planted(f"http://WWW.{site.upper()}:80/", "written otherwise", url=True)
    yield Planted(f"https://de.m.{site}/?q=1", "sub-domain", url=True)


def _email(_language: str, number: int) -> Iterator[Planted]:
    address = f"anna.keller{number % 1000}@bergwerk-{number % 97}.org"
    yield Planted(f"✉ {address}")
    yield Planted(f"✉ {_ZERO_WIDTH.join(address)}", "zero-width")
    yield Planted(f"✉ {address.translate(_WIDE)}", "full-width")
    name, _, host = address.partition("@")
    yield Planted(f"✉ {name} [at] {host.replace('.', ' [dot] ')}", "spelled out")
    yield Planted("\n".join(f"{one}{address}" for one in "abcdefghijklmnopqrstuvwxyz"), "a list", alone=True)


def _phone(language: str, _number: int) -> Iterator[Planted]:
    phonenumbers = import_module("phonenumbers")
    regions = LANGUAGE_REGIONS.get(language, ())
    example = phonenumbers.example_number(regions[0] if regions else "CH")
    form = phonenumbers.PhoneNumberFormat
    yield Planted(f"☎ {phonenumbers.format_number(example, form.INTERNATIONAL)}", "international")
    if regions:
        yield Planted(f"☎ {phonenumbers.format_number(example, form.NATIONAL)}", "national")
        yield Planted(phonenumbers.format_number(example, form.NATIONAL), "national, unannounced")


def _ip(_language: str, number: int) -> Iterator[Planted]:
    yield Planted(f"IP: 81.{number % 200}.{number % 250}.{number % 240 + 1}", "v4")
    yield Planted(f"IP: 2a02:1210:{number % 65536:x}:4e00::{number % 4096 + 1:x}", "v6")


def _iban(_language: str, number: int) -> Iterator[Planted]:
    account = f"{37040044:08d}{number % 10**10:010d}"
    check = 98 - int(f"{account}131400") % 97
    iban = f"DE{check:02d}{account}"
    yield Planted(f"IBAN {iban}")
    yield Planted("IBAN " + " ".join(iban[at : at + 4] for at in range(0, len(iban), 4)), "in fours")


def _card(_language: str, number: int) -> Iterator[Planted]:
    card = ("4111111111111111", "5555555555554444", "4012888888881881")[number % 3]
    yield Planted(f"VISA/MC {card}")
    yield Planted("VISA/MC " + " ".join(card[at : at + 4] for at in range(0, 16, 4)), "in fours")


def _wallet(_language: str, number: int) -> Iterator[Planted]:
    wallets = ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4")
    yield Planted(f"BTC: {wallets[number % 2]}")


def _national_id(language: str, number: int) -> Iterator[Planted]:
    """The numbers that python-stdnum's own documentation takes for examples, of the language's first country."""
    regions = LANGUAGE_REGIONS.get(language, ())
    own = next((found for region in regions if (found := [one for one in STATES if one.region == region])), [])
    for kind in own:
        examples = _examples(kind)
        if not examples:
            continue
        example = examples[number % len(examples)]
        for shapes, variant, cue in ((kind.telling, "by its form", ""), (kind.announced, "announced", kind.cues[0])):
            written = next((text for shape in shapes if (text := _poured(example, shape)) is not None), None)
            if written is not None:
                yield Planted(f"{cue}: {written}" if cue else written, variant)


def _examples(kind: PersonNumber) -> list[str]:
    if kind.checked_by == "gb.nino":
        return [_INSURANCE]
    module = import_module(f"stdnum.{kind.checked_by}")
    valid: Callable[[str], bool] = module.is_valid
    return [one for one in _EXAMPLE.findall(module.__doc__ or "") if valid(one)]


def _poured(example: str, shape: str) -> str | None:
    """The letters and digits of an example in a shape; None where they do not fit."""
    letters = [one for one in example if one.isalnum()]
    places = [place for place, sign in enumerate(shape) if sign in "9Aa"]
    if len(letters) != len(places):
        return None
    written = list(shape)
    for place, letter in zip(places, letters, strict=True):
        if letter.isdigit() != (shape[place] == "9"):
            return None
        written[place] = letter.lower() if shape[place] == "a" else letter.upper()
    return "".join(written)


def _credential(_language: str, number: int) -> Iterator[Planted]:
    # In pieces, so that no scanner takes this file for a leak.
    yield Planted("AK" + "IA" + _some(number, "aws", 16).upper(), "access key")
    token = _some(number, "github", 30)
    yield Planted("gh" + "p_" + token + checksum(token), "token")
    header, claims = _json({"alg": "HS256", "typ": "JWT"}), _json({"sub": str(number)})
    yield Planted(f"Authorization: Bearer {header}.{claims}.{_some(number, 'jwt', 43)}", "web token")
    yield Planted(f'db_password = "{_some(number, "assigned", 16)}"', "assigned")
    yield Planted(f"https://admin:{_some(number, 'url', 12)}@intern.bergwerk.org/", "in a URL")
    body = "\n".join("MII" + _some(number, f"line {line}", 61) for line in range(6))
    yield Planted(f"-----BEGIN RSA PRIVATE {'KEY'}-----\n{body}\n-----END RSA PRIVATE {'KEY'}-----", "private key")
    dump = "\n".join(f"AK{'IA'}{_some(number, f'dump {line}', 16).upper()}" for line in range(12))
    yield Planted(dump, "a list", alone=True)


def _some(number: int, purpose: str, count: int) -> str:
    """So many letters and digits, the same ones for the same number and purpose."""
    stream = b"".join(digest("made up", purpose, str(number), str(part)) for part in range(-(-count // 16)))
    return "".join(_ALNUM[byte % len(_ALNUM)] for byte in stream[:count])


def _json(value: Mapping[str, str]) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


MADE_UP: Mapping[str, Planter] = {
    "sexual.adult_site": _adult_sites,
    "personal.email": _email,
    "personal.phone": _phone,
    "personal.ip": _ip,
    "personal.iban": _iban,
    "personal.card": _card,
    "personal.national_id": _national_id,
    "personal.crypto_address": _wallet,
    "secrets.credential": _credential,
}
"""By the subcategory that each is of."""

EXTRAS: Mapping[str, tuple[str, str]] = {
    "personal.phone": ("phonenumbers", "pip install 'winnow[pii]'"),
    "personal.national_id": ("stdnum", "pip install 'winnow[pii]'"),
}
"""The package that some need, and how to get it."""
