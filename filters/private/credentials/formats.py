"""Formats of tokens and keys, as published by issuers or as seen in tokens.

A format is a fixed text with runs of characters before and after it. Fixed texts shorter than four bytes are searched
for with all characters that may follow.
"""

import string
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

DIGITS = string.digits
LOWER_HEX = DIGITS + "abcdef"
HEX = LOWER_HEX + "ABCDEF"
LOWER = string.ascii_lowercase
LOWER_ALNUM = DIGITS + LOWER
UPPER_ALNUM = DIGITS + string.ascii_uppercase
ALNUM = DIGITS + string.ascii_letters
WORD = ALNUM + "_"
URL_SAFE = WORD + "-"
BASE64 = ALNUM + "+/="

Check: TypeAlias = Literal["random", "crc", "jwt", "openai", "mixed", "digits_too", "slack", "none"]


@dataclass(frozen=True, slots=True)
class Run:
    """A run of characters from a set: as many as possible, up to the maximum."""

    characters: str
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Format:
    """One token format. `before` is read backwards from the fixed text, so its runs are in that order."""

    kind: str
    literals: tuple[str, ...]  # any of these fixed texts
    tail: tuple[Run, ...] = ()
    before: tuple[Run, ...] = ()
    not_before: str = ""  # characters that may not precede or follow it
    not_behind: str = WORD
    check: Check = "random"
    anchor: int = field(default=0)  # offset in the fixed text of the four bytes that are searched for


def _of(kind: str, literal: str, characters: str, least: int, most: int | None = None, **options: str) -> Format:
    """The usual format: a fixed text, then one run."""
    check: Check = options.get("check", "random")  # type: ignore[assignment]
    return Format(
        kind,
        (literal,),
        (Run(characters, least, least if most is None else most),),
        not_before=options.get("not_before", ""),
        not_behind=options.get("not_behind", WORD),
        check=check,
    )


def _exactly(characters: str, count: int) -> Run:
    return Run(characters, count, count)


# A Discord bot's token begins with its id, a number, in base64.
_NUMBERS = tuple(b64encode(f"{number:03d}".encode()).decode() for number in range(1000))

FORMATS: tuple[Format, ...] = (
    # Amazon: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html
    Format("aws_access_key", ("AKIA", "ASIA", "ABIA", "ACCA"), (_exactly(UPPER_ALNUM, 16),), not_behind=ALNUM),
    Format("aws_access_key", ("A3T",), (_exactly(UPPER_ALNUM, 17),), not_before=ALNUM, not_behind=ALNUM),
    # GitHub: 30 random characters, then their CRC-32 in six digits of base 62
    Format("github_token", ("ghp_", "gho_", "ghu_", "ghs_"), (_exactly(ALNUM, 36),), check="crc"),
    Format("github_token", ("ghr_",), (Run(ALNUM, 36, 76),), check="crc"),
    Format("github_token", ("github_pat_",), (_exactly(ALNUM, 22), _exactly("_", 1), _exactly(ALNUM, 59))),
    # GitLab: https://docs.gitlab.com/security/tokens/#token-prefixes
    Format(
        "gitlab_token",
        ("glpat-", "gldt-", "glft-", "glsoat-", "glrt-", "glcbt-", "glimt-", "glptt-", "gloas-", "glffct-", "glwt-"),
        (Run(URL_SAFE, 20, 300), Run(".", 0, 1), Run(LOWER_ALNUM, 0, 2), Run(".", 0, 1), Run(LOWER_ALNUM, 0, 9)),
    ),
    _of("gitlab_token", "GR1348941", URL_SAFE, 20, 50),
    _of("gitlab_token", "glagent-", URL_SAFE, 50, 1024),
    # Slack
    Format(
        "slack_token",
        ("xoxa-", "xoxb-", "xoxp-", "xoxo-", "xoxs-", "xoxr-"),
        (Run(ALNUM + "-", 8, 255),),
        check="slack",
    ),
    Format(
        "slack_token",
        ("XOXA-", "XOXB-", "XOXP-", "XOXO-", "XOXS-", "XOXR-"),
        (Run(ALNUM + "-", 8, 255),),
        check="slack",
    ),
    Format("slack_token", ("xapp-",), (_exactly(DIGITS, 1), _exactly("-", 1), Run(ALNUM + "-", 30, 255))),
    Format(
        "slack_webhook",
        ("hooks.slack.com/services/", "HOOKS.SLACK.COM/SERVICES/"),
        (
            *(_exactly("Tt", 1), Run(WORD, 1, 64), _exactly("/", 1)),
            *(_exactly("Bb", 1), Run(WORD, 1, 64), _exactly("/", 1), Run(WORD, 8, 64)),
        ),
        anchor=3,
    ),
    # payment
    Format("stripe_key", ("sk_live_", "rk_live_", "sk_test_", "rk_test_"), (Run(ALNUM, 24, 247),)),
    _of("stripe_key", "whsec_", ALNUM, 32, 64),
    Format("square_token", ("sq0csp-",), (_exactly(URL_SAFE + "\\", 43),)),
    Format("square_token", ("sq0atp-",), (_exactly(URL_SAFE, 22),)),
    # messages: https://www.twilio.com/docs/glossary/what-is-a-sid
    Format("twilio_key", ("AC", "SK"), (_exactly(LOWER_HEX, 32),), not_before=ALNUM, not_behind=ALNUM),
    Format(
        "sendgrid_key",
        ("SG.",),
        (_exactly(URL_SAFE, 22), _exactly(".", 1), _exactly(URL_SAFE, 43)),
        not_before=ALNUM,
        not_behind=URL_SAFE,
    ),
    Format(
        "mailchimp_key",
        ("-us",),
        (Run(DIGITS, 1, 2),),
        before=(_exactly(LOWER_ALNUM, 32),),
        not_before=ALNUM,
        check="digits_too",
    ),
    _of("mailgun_key", "key-", LOWER_ALNUM, 32, not_before=URL_SAFE, check="digits_too"),
    Format("brevo_key", ("xkeysib-",), (_exactly(LOWER_HEX, 64), _exactly("-", 1), _exactly(ALNUM, 16))),
    Format(
        "telegram_token",
        (":AA",),
        (_exactly(URL_SAFE, 33),),
        before=(Run(DIGITS, 8, 10),),
        not_before=DIGITS,
        not_behind=URL_SAFE,
    ),
    Format(
        "discord_token",
        _NUMBERS,
        (
            *(Run(URL_SAFE, 20, 24), _exactly(".", 1), _exactly(URL_SAFE, 6)),
            *(_exactly(".", 1), Run(URL_SAFE, 27, 38)),
        ),
        not_before=URL_SAFE,
        not_behind=URL_SAFE,
    ),
    Format(
        "discord_webhook",
        ("discord.com/api/webhooks/", "discordapp.com/api/webhooks/"),
        (Run(DIGITS, 17, 20), _exactly("/", 1), Run(URL_SAFE, 60, 80)),
        anchor=3,
    ),
    # packages: npm as GitHub
    _of("npm_token", "npm_", ALNUM, 36, check="crc"),
    Format("npm_token", (":_authToken=",), (_exactly(HEX + "-", 36),), anchor=2, not_behind=URL_SAFE),
    Format("pypi_token", ("pypi-AgEIcHlwaS5vcmc", "pypi-AgENdGVzdC5weXBpLm9yZw"), (Run(URL_SAFE, 70, 1024),)),
    _of("rubygems_key", "rubygems_", LOWER_HEX, 48),
    _of("docker_token", "dckr_pat_", URL_SAFE, 27),
    _of("clojars_token", "CLOJARS_", LOWER_HEX, 60),
    # JFrog publishes no format: a reference token has 73 characters, an encrypted password 30 or more
    _of("artifactory_key", "AKC", ALNUM, 10, 255, not_before=WORD, check="mixed"),
    Format(
        "artifactory_key",
        ("AP",),
        (_exactly(DIGITS + "ABCDEF", 1), Run(ALNUM, 8, 255)),
        not_before=WORD,
        check="mixed",
    ),
    # Google
    _of("google_api_key", "AIza", URL_SAFE, 35, not_behind=URL_SAFE),
    _of("google_oauth_secret", "GOCSPX-", URL_SAFE, 28, not_behind=URL_SAFE),
    _of("google_oauth_token", "ya29.", URL_SAFE, 60, 1024, not_before=ALNUM),
    # Microsoft
    Format("azure_storage_key", ("AccountKey=",), (_exactly(BASE64, 88),), anchor=6, not_behind=BASE64),
    # models
    Format(
        "openai_key",
        ("T3BlbkFJ",),
        (Run(URL_SAFE, 20, 160),),
        before=(Run(URL_SAFE, 23, 160),),
        not_behind=URL_SAFE,
        check="openai",
    ),
    Format(
        "anthropic_key", ("sk-ant-api", "sk-ant-admin", "sk-ant-sid", "sk-ant-oat"), (Run(URL_SAFE, 80, 140),), anchor=3
    ),
    _of("openrouter_key", "sk-or-v1-", LOWER_HEX, 64),
    _of("huggingface_token", "hf_", ALNUM, 34, not_before=WORD, check="mixed"),
    _of("replicate_token", "r8_", ALNUM, 37, not_before=WORD, check="mixed"),
    _of("groq_key", "gsk_", ALNUM, 52),
    _of("xai_key", "xai-", ALNUM, 80),
    _of("perplexity_key", "pplx-", ALNUM, 48),
    # clouds and services
    Format("digitalocean_token", ("dop_v1_", "doo_v1_", "dor_v1_"), (_exactly(LOWER_HEX, 64),)),
    _of("databricks_token", "dapi", LOWER_HEX, 32, 34, not_before=WORD, not_behind=ALNUM),
    Format("shopify_token", ("shpat_", "shpca_", "shppa_", "shpss_"), (_exactly(HEX, 32),)),
    Format("atlassian_token", ("ATATT3", "ATCTT3", "ATBB"), (Run(URL_SAFE + "=", 24, 255),), not_before=WORD),
    Format("grafana_token", ("glsa_",), (_exactly(ALNUM, 32), _exactly("_", 1), _exactly(HEX, 8))),
    Format("hashicorp_vault_token", ("hvs.", "hvb.", "hvr."), (Run(URL_SAFE, 24, 300),), not_before=WORD),
    _of("postman_key", "PMAK-", HEX + "-", 59),
    _of("newrelic_key", "NRAK-", UPPER_ALNUM, 27),
    _of("linear_key", "lin_api_", ALNUM, 40),
    _of("notion_token", "ntn_", ALNUM, 40, 50, not_before=WORD),
    Format("sentry_token", ("sntrys_", "sntryu_"), (Run(URL_SAFE + "+/=", 40, 400),)),
    _of("supabase_token", "sbp_", LOWER_HEX, 40),
    Format("alibaba_access_key", ("LTAI",), (Run(ALNUM, 12, 20),), not_before=ALNUM, check="mixed"),
    _of("pulumi_token", "pul-", LOWER_HEX, 40),
    _of("age_secret_key", "AGE-SECRET-KEY-1", UPPER_ALNUM, 58),
    _of("tailscale_key", "tskey-", URL_SAFE, 20, 100),
    # any issuer
    Format(
        "jwt",
        ("eyJ",),
        (
            *(Run(URL_SAFE + "=", 8, 8192), _exactly(".", 1), Run(URL_SAFE + "=", 2, 16384)),
            *(Run(".", 0, 1), Run(URL_SAFE + "=", 0, 16384), Run(".", 0, 1), Run(URL_SAFE + "=", 0, 16384)),
            *(Run(".", 0, 1), Run(URL_SAFE + "=", 0, 16384)),
        ),
        not_before=URL_SAFE,
        not_behind="",
        check="jwt",
    ),
    Format(
        "softlayer_key",
        ("api.softlayer.com/soap/v3/", "api.softlayer.com/soap/v3.1/"),
        (_exactly(LOWER_ALNUM, 64),),
        anchor=4,
    ),
)
