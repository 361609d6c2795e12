"""A text's possible countries, whose phone numbers and national ids are searched for.

A language is spoken in some countries, and a domain such as `example.ch` names one. If both are known and agree, that
is the country; if they disagree (a page in English under `.de`), the domain's country and those of the language are
possible. More countries mean more chance matches: the table has the countries where most pages of a language come
from, not all where it is spoken.

The language of a sentence or two is often taken for its neighbour's (Danish for Norwegian, Slovak for Czech), so a
short text may also be of the countries of those.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

SHORT_TEXT_BYTES = 400
"""The longest text whose language may be its neighbour's."""


@dataclass(frozen=True, slots=True)
class Regions:
    """The countries of every text of a column, as ISO 3166 codes in upper case, the most likely first.

    Text i may be of any of `choices[chosen[i]]`, such as `("AT", "DE", "CH")`, which is empty if nothing is known.
    Many texts share few choices, so that work is done per choice and not per text.
    """

    choices: tuple[tuple[str, ...], ...]
    chosen: npt.NDArray[np.int64]

    def first(self) -> list[str | None]:
        """The most likely country of every text."""
        firsts = [choice[0] if choice else None for choice in self.choices]
        return [firsts[number] for number in self.chosen]


_NEIGHBOURS = """
nob nno nor dan swe
ces slk
bul mkd rus
hrv slv srp bos cnr hbs
ind jav sun zsm msa
cmn zho yue
por glg spa
cat spa
nld afr
est ekk fin
azj aze tur
kaz kir tat bak
hin npi mar
urd pnb snd
fas pes prs
zul xho
"""  # languages for which a model takes short texts of another one
_TRADITIONAL = ("TW", "HK")  # Chinese that says to be in these characters

_REGISTERED_BY_ALL = """
ac ai as aq bv bz cc cd cf cm co cx dj eu fm ga gg gl gq gs hm im io je la ly me ml mn ms mu nu pm pn pw re rw sc sh so
sr st su sx tc tf tk tl to tv um vc vg vu wf ws
"""  # domains of countries that read as words or abbreviations, and of what is no country
_NOT_COUNTRIES = frozenset(_REGISTERED_BY_ALL.split())
_OTHER_NAMES = {
    "uk": "GB",
    "xn--p1ai": "RU",
    "xn--j1amh": "UA",
    "xn--90ais": "BY",
    "xn--80ao21a": "KZ",
    "xn--90a3ac": "RS",
    "xn--e1a4c": "",  # .eu in Cyrillic
    "xn--qxa6a": "",  # .eu in Greek
    "xn--qxam": "GR",
    "xn--90ae": "BG",
    "xn--d1alf": "MK",
    "xn--fiqs8s": "CN",
    "xn--fiqz9s": "CN",
    "xn--kpry57d": "TW",
    "xn--kprw13d": "TW",
    "xn--j6w193g": "HK",
    "xn--3e0b707e": "KR",
    "xn--h2brj9c": "IN",
    "xn--o3cw4h": "TH",
    "xn--wgbh1c": "EG",
    "xn--mgberp4a5d4ar": "SA",
    "xn--mgbaam7a8h": "AE",
    "xn--mgba3a4f16a": "IR",
    "xn--y9a3aq": "AM",
    "xn--node": "GE",
}
_COUNTRY_LETTERS = 2
_TABLE = Path(__file__).with_name("language_regions.txt")


LANGUAGE_REGIONS: dict[str, tuple[str, ...]] = {
    language: tuple(regions.split())
    for language, _, regions in (line.partition(" ") for line in _TABLE.read_text("ascii").splitlines())
}
"""The countries that most pages of a language (ISO 639-3) come from, the most likely first."""


def _by_neighbours() -> dict[str, tuple[str, ...]]:
    """The countries of the languages that each short text may be mistaken for."""
    found: dict[str, tuple[str, ...]] = {}
    for line in _NEIGHBOURS.strip().splitlines():
        languages = line.split()
        regions = dict.fromkeys(region for one in languages for region in LANGUAGE_REGIONS[one])
        for one in languages:
            found[one] = tuple(dict.fromkeys((*found.get(one, ()), *regions)))
    return found


_NEIGHBOURING = _by_neighbours()


def regions_of(language: str | None, domain: str | None, *, short: bool = False) -> tuple[str, ...]:
    """The countries of a text in a language (`deu_Latn`, or `deu`) that lies under a domain; empty if none is known.

    Without a domain of a country, a short text may be of the countries of neighbouring languages, too.
    """
    name, spoken = "", ()  # type: str, tuple[str, ...]
    if language is not None:
        name, _, script = language.partition("_")
        spoken = LANGUAGE_REGIONS.get(name, ())
        if script == "Hant" and name in ("zho", "cmn"):
            spoken = _TRADITIONAL
    country = _country(domain, spoken)
    if country is None:
        return tuple(dict.fromkeys((*spoken, *_NEIGHBOURING.get(name, ())))) if short and spoken else spoken
    return (country,) if not spoken or country in spoken else (country, *spoken)


def _country(domain: str | None, spoken: tuple[str, ...]) -> str | None:
    """The country with this top-level domain; one registered worldwide counts only if its language is used."""
    if not domain:
        return None
    name = domain.rstrip(".").rpartition(".")[2].lower()
    if name in _OTHER_NAMES:
        return _OTHER_NAMES[name] or None
    if len(name) != _COUNTRY_LETTERS or not (name.isascii() and name.isalpha()):
        return None
    country = name.upper()
    return country if country in spoken or name not in _NOT_COUNTRIES else None


def row_regions(
    languages: pa.Array | None,
    domains: pa.Array | None,
    rows: int,
    fixed: Sequence[str] = (),
    short: npt.NDArray[np.bool_] | None = None,
) -> Regions:
    """The countries of every row, from the codes of its language and its domain; those that are fixed where given.

    The result for a row depends on its own language, domain and shortness alone, though choices are numbered as they
    come. Without `short` no text is.
    """
    if fixed:
        return Regions((tuple(fixed),), np.zeros(rows, np.int64))
    codes: list[str | None] = [None] * rows if languages is None else languages.to_pylist()
    names: list[str | None] = [None] * rows if domains is None else domains.to_pylist()
    brief = [False] * rows if short is None else short.tolist()
    known: dict[tuple[str | None, str | None, bool], int] = {}
    numbers: dict[tuple[str, ...], int] = {}
    chosen = np.zeros(rows, np.int64)
    for row, (code, domain, few) in enumerate(zip(codes, names, brief, strict=True)):  # well under a microsecond a row
        key = code, None if domain is None else domain.rstrip(".").rpartition(".")[2], few
        number = known.get(key)
        if number is None:
            number = known[key] = numbers.setdefault(regions_of(code, domain, short=few), len(numbers))
        chosen[row] = number
    return Regions(tuple(numbers), chosen)
