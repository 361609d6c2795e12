"""Tokens that are made up, each with the right characters and, where there is one, the right checksum.

They are put together from pieces: none stands in a file as it would in a leak.
"""

import json
import random
import string
from base64 import urlsafe_b64encode
from collections.abc import Callable

from winnow.filters.private.credentials.checks import checksum

HEX = "0123456789abcdef"
ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
URL_SAFE = ALNUM + "_-"


Maker = Callable[[random.Random], str]


def some(chance: random.Random, characters: str, count: int) -> str:
    """So many characters, at random."""
    return "".join(chance.choices(characters, k=count))


def _of(prefix: str, characters: str, count: int) -> Maker:
    return lambda chance: prefix + some(chance, characters, count)


def _with_checksum(prefix: str) -> Maker:
    def made(chance: random.Random) -> str:
        random_part = some(chance, ALNUM, 30)
        return prefix + random_part + checksum(random_part)

    return made


def _json(value: dict[str, str]) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def jwt(chance: random.Random) -> str:
    """A signed JSON web token."""
    header, claims = {"alg": "HS256", "typ": "JWT"}, {"sub": some(chance, string.digits, 10), "name": "Jö"}
    return f"{_json(header)}.{_json(claims)}.{some(chance, URL_SAFE, 43)}"


def _discord(chance: random.Random) -> str:
    number = urlsafe_b64encode(str(chance.randrange(10**17, 10**18)).encode()).decode()
    return f"{number}.{some(chance, URL_SAFE, 6)}.{some(chance, URL_SAFE, 27)}"


# kind -> what makes one
TOKENS: dict[str, tuple[Maker, ...]] = {
    "aws_access_key": (
        *(_of(prefix, UPPER, 16) for prefix in ("AK" + "IA", "AS" + "IA", "AB" + "IA", "AC" + "CA")),
        _of("A3" + "T", UPPER, 17),
    ),
    "github_token": (
        *(_with_checksum(prefix) for prefix in ("gh" + "p_", "gh" + "o_", "gh" + "u_", "gh" + "s_", "gh" + "r_")),
        lambda chance: "github" + "_pat_" + some(chance, ALNUM, 22) + "_" + some(chance, ALNUM, 59),
    ),
    "gitlab_token": (
        *(_of("gl" + end, ALNUM, 20) for end in ("pat-", "dt-", "ft-", "soat-", "rt-", "cbt-", "cbt-64_")),
        lambda chance: "GR13" + "48941" + some(chance, ALNUM, 20),
        lambda chance: "gl" + "imt-" + some(chance, ALNUM, 25),
        lambda chance: "gl" + "ptt-" + some(chance, ALNUM, 40),
        lambda chance: "gl" + "agent-" + some(chance, ALNUM, 50),
        lambda chance: "gl" + "oas-" + some(chance, ALNUM, 64),
        lambda chance: "gl" + "pat-" + some(chance, ALNUM, 27) + ".01." + some(chance, LOWER, 9),
    ),
    "slack_token": (
        lambda chance: "xo" + "xb-" + some(chance, string.digits, 12) + "-" + some(chance, ALNUM, 24),
        lambda chance: (
            "xo" + "xp-" + "-".join(some(chance, "123456789", 12) for _ in "123") + "-" + some(chance, HEX, 32)
        ),
        lambda chance: "XO" + "XP-" + some(chance, string.digits, 12) + "-" + some(chance, UPPER, 24),
    ),
    "slack_webhook": (
        lambda chance: (
            "hooks.slack"
            + ".com/services/T"
            + some(chance, UPPER, 8)
            + "/B"
            + some(chance, UPPER, 8)
            + "/"
            + some(chance, ALNUM, 24)
        ),
    ),
    "stripe_key": (
        lambda chance: "sk_" + "live_" + some(chance, ALNUM, 24),
        lambda chance: "rk_" + "live_" + some(chance, ALNUM, 24),
        lambda chance: "sk_" + "live_" + some(chance, ALNUM, 99),
    ),
    "square_token": (lambda chance: "sq0" + "csp-" + some(chance, URL_SAFE[:-1], 43),),
    "twilio_key": (lambda chance: "A" + "C" + some(chance, HEX, 32), lambda chance: "S" + "K" + some(chance, HEX, 32)),
    "sendgrid_key": (lambda chance: "S" + "G." + some(chance, ALNUM, 22) + "." + some(chance, ALNUM, 43),),
    "mailchimp_key": (
        lambda chance: some(chance, HEX, 32) + "-u" + "s5",
        lambda chance: some(chance, HEX, 32) + "-u" + "s19",
    ),
    "telegram_token": (lambda chance: some(chance, "123456789", 10) + ":" + "AA" + some(chance, URL_SAFE[:-1], 33),),
    "discord_token": (_discord,),
    "npm_token": (_with_checksum("np" + "m_"),),
    "pypi_token": (
        lambda chance: "py" + "pi-AgEIcHlwaS5vcmc" + some(chance, ALNUM, 150),
        lambda chance: "py" + "pi-AgENdGVzdC5weXBpLm9yZw" + some(chance, ALNUM, 120),
    ),
    "azure_storage_key": (lambda chance: "Account" + "Key=" + some(chance, ALNUM + "+/", 86) + "==",),
    "google_api_key": (lambda chance: "AI" + "za" + some(chance, ALNUM, 35),),
    "google_oauth_secret": (lambda chance: "GOC" + "SPX-" + some(chance, ALNUM, 28),),
    "openai_key": (
        lambda chance: "s" + "k-" + some(chance, ALNUM, 20) + "T3Blbk" + "FJ" + some(chance, ALNUM, 20),
        lambda chance: "s" + "k-proj-" + some(chance, ALNUM, 20) + "T3Blbk" + "FJ" + some(chance, ALNUM, 20),
    ),
    "anthropic_key": (lambda chance: "sk-" + "ant-api03-" + some(chance, ALNUM, 93) + "AA",),
    "huggingface_token": (lambda chance: "h" + "f_" + some(chance, ALNUM, 30) + "aB12",),
    "jwt": (jwt,),
    "artifactory_key": (
        lambda chance: "AK" + "Cp" + "aB12" + some(chance, ALNUM, 69),
        lambda chance: "A" + "P5" + "aB12" + some(chance, ALNUM, 30),
    ),
    "softlayer_key": (lambda chance: "https://api.soft" + "layer.com/soap/v3/" + some(chance, LOWER, 64),),
}
