"""What detect-secrets finds by its named plugins, one at a time, on lines with made-up tokens."""

import random
import string
from collections.abc import Callable

import pyarrow as pa
import pytest
from detect_secrets.core.scan import scan_line
from detect_secrets.settings import transient_settings

from tests.filters.private.credentials.samples import ALNUM, HEX, LOWER, TOKENS, UPPER, URL_SAFE, some
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.private.credentials import Settings, credentials

Line = Callable[[random.Random], str]

CONTEXTS = (
    "{}",
    'x = "{}"',
    "the token is {} and no other",
    "  - '{}'",
    '{{"a": "{}", "b": 1}}',
    "(see {})",
    "令牌{}。",
)

PLUGINS = {
    "AWSKeyDetector": ("aws_access_key",),
    "GitHubTokenDetector": ("github_token",),
    "GitLabTokenDetector": ("gitlab_token",),
    "SlackDetector": ("slack_token", "slack_webhook"),
    "StripeDetector": ("stripe_key",),
    "SquareOAuthDetector": ("square_token",),
    "TwilioKeyDetector": ("twilio_key",),
    "SendGridDetector": ("sendgrid_key",),
    "MailchimpDetector": ("mailchimp_key",),
    "TelegramBotTokenDetector": ("telegram_token",),
    "DiscordBotTokenDetector": ("discord_token",),
    "PypiTokenDetector": ("pypi_token",),
    "AzureStorageKeyDetector": ("azure_storage_key",),
    "OpenAIDetector": ("openai_key",),
    "JwtTokenDetector": ("jwt",),
    "ArtifactoryDetector": ("artifactory_key",),
    "SoftlayerDetector": ("softlayer_key",),
}

# What stands in a line of its own form, by plugin.
LINES: dict[str, tuple[Line, ...]] = {
    "AWSKeyDetector": (
        lambda chance: f'aws_secret_access_key = "{some(chance, ALNUM + "/+", 40)}"',
        lambda chance: f"AWS_SECRET_KEY: '{some(chance, ALNUM + '/+', 40)}'",
    ),
    "BasicAuthDetector": (
        lambda chance: f"https://reader:{some(chance, ALNUM, 12)}@example.com/feed",
        lambda chance: f"postgres://app:{some(chance, ALNUM + '%._~', 12)}@db.example.org:5432/app",
        lambda chance: f'url = "amqp://mq:{some(chance, ALNUM, 9)}@192.0.2.7"',
    ),
    "NpmDetector": (
        lambda chance: "//registry.example.com/:_authToken=" + TOKENS["npm_token"][0](chance),
        lambda chance: (
            "//registry.example.com/:_authToken=" + "-".join(some(chance, HEX, count) for count in (8, 4, 4, 4, 12))
        ),
    ),
    "CloudantDetector": (
        lambda chance: f"cloudant_password = '{some(chance, HEX, 64)}'",
        lambda chance: f'"cl_api_key": "{some(chance, string.ascii_lowercase, 24)}"',
        lambda chance: f"https://account:{some(chance, HEX, 64)}@account.cloudant.com",
    ),
    "IbmCloudIamDetector": (
        lambda chance: f"ibm_cloud_iam_api_key={some(chance, URL_SAFE, 44)}",
        lambda chance: f"apikey: {some(chance, ALNUM, 44)}",
        lambda chance: f"password {some(chance, ALNUM, 44)}",
    ),
    "IbmCosHmacDetector": (
        lambda chance: f"cos_hmac_secret_access_key = {some(chance, HEX, 48)}",
        lambda chance: f'"secret_access_key": "{some(chance, HEX, 48)}"',
    ),
    "SoftlayerDetector": (
        lambda chance: f"softlayer_api_key = {some(chance, LOWER, 64)}",
        lambda chance: f'"sl_key" => "{some(chance, LOWER, 64)}"',
    ),
    "KeywordDetector": (
        lambda chance: f'password = "{some(chance, ALNUM, 10)}7a"',
        lambda chance: f"api_key: '{some(chance, ALNUM, 20)}7a'",
        lambda chance: f'"client_secret" => "{some(chance, HEX, 32)}"',
        lambda chance: f"if db_password == '{some(chance, ALNUM, 10)}7a':",
        lambda chance: f"define('DB_PASSWORD', '{some(chance, ALNUM, 12)}7a');",
        lambda chance: f'secret_key := "{some(chance, ALNUM + "!?#", 16)}7a"',
    ),
}

# What a plugin finds and winnow does not, and why.
DIFFERENCES: tuple[tuple[str, Line, str], ...] = (
    ("GitHubTokenDetector", lambda chance: "gh" + "p_" + some(chance, ALNUM, 36), "the checksum does not hold"),
    (
        "AWSKeyDetector",
        lambda chance: "x" * 8 + "AK" + "IA" + some(chance, UPPER, 20),
        "the key goes on: it is too long",
    ),
    ("TwilioKeyDetector", lambda chance: "A" + "C" + "xyz" + some(chance, LOWER, 29), "identifiers are hexadecimal"),
    ("StripeDetector", lambda chance: "sk_" + "live_" + "x" * 24, "the same character again and again is no secret"),
    (
        "TelegramBotTokenDetector",
        lambda chance: "12345678:" + "bB" + some(chance, ALNUM, 33),
        "bots' tokens have AA there",
    ),
    (
        "DiscordBotTokenDetector",
        lambda chance: "Mx" + some(chance, ALNUM, 22) + "." + "a" * 6 + "." + some(chance, ALNUM, 27),
        "the first part is a number in base64",
    ),
    ("ArtifactoryDetector", lambda chance: "APARTAMENTOS", "a word in capitals is no key"),
    ("ArtifactoryDetector", lambda chance: "AKC" + "ABCDEFGHIJKL", "a word in capitals is no key"),
    (
        "MailchimpDetector",
        lambda chance: "a" + some(chance, HEX, 32) + "-u" + "s5",
        "the key begins earlier: it is too long",
    ),
    (
        "PrivateKeyDetector",
        lambda chance: "-----BEGIN RSA " + "PRIVATE KEY-----",
        "a header without a key is a mention",
    ),
    ("BasicAuthDetector", lambda chance: "https://user:password@example.com", "documentation writes it so"),
    ("SlackDetector", lambda chance: "xo" + "xb-1-a", "too short to be one"),
    ("JwtTokenDetector", lambda chance: "eyJhIjox" + "fQ.eyJhIjoxfQ.", "a header that names no algorithm"),
    ("KeywordDetector", lambda chance: 'password = "Enter your password"', "a sentence"),
    ("KeywordDetector", lambda chance: 'password: "Kennwort"', "a word, as in files of translations"),
    ("KeywordDetector", lambda chance: 'api_key = "your-api-key"', "a placeholder"),
    ("KeywordDetector", lambda chance: "if 'a7x9q2' == password:", "a value before its name"),
    ("NpmDetector", lambda chance: "//registry.example.com/:_authToken=npm_${TOKEN}", "a reference"),
    ("IbmCloudIamDetector", lambda chance: "key: " + "a-word-of-letters-" + "a" * 26, "not random"),
    ("SquareOAuthDetector", lambda chance: "sq0" + "csp-" + some(chance, ALNUM, 43) + "x", "it is too long"),
    ("GitLabTokenDetector", lambda chance: "gl" + "pat-" + "x" * 20, "not random"),
    (
        "SendGridDetector",
        lambda chance: "MS" + "G." + some(chance, ALNUM, 22) + "." + some(chance, ALNUM, 43),
        "within a word",
    ),
)


def found_by(plugin: str, lines: list[str]) -> list[set[str]]:
    with transient_settings({"plugins_used": [{"name": plugin}]}):
        return [{str(secret.secret_value) for secret in scan_line(line)} for line in lines]


def found(line: str) -> list[str]:
    column = pa.array([line], pa.large_string())
    return [line.encode()[one.start : one.end].decode() for one in credentials(texts_of(column), Settings())[0]]


@pytest.mark.parametrize("plugin", sorted({*PLUGINS, *LINES}))
def test_what_a_plugin_finds_is_found(plugin: str) -> None:
    chance = random.Random(7)
    makers: list[Line] = [maker for kind in PLUGINS.get(plugin, ()) for maker in TOKENS[kind]]
    lines = [
        context.format(prefix + maker(chance))
        for maker in makers
        for context in CONTEXTS
        for prefix in ("https://" if "hooks" in maker(chance) else "",)
    ]
    lines += [maker(chance) for maker in LINES.get(plugin, ()) for _ in range(10)]
    theirs = 0
    for line, secrets in zip(lines, found_by(plugin, lines), strict=True):
        ours = found(line)
        theirs += bool(secrets)
        for secret in secrets:
            assert any(secret in one or one in secret for one in ours), (line, secret, ours)
    assert theirs >= len(lines) // 2


@pytest.mark.parametrize(("plugin", "line", "why"), DIFFERENCES)
def test_the_difference_is_meant(plugin: str, line: Line, why: str) -> None:
    written = line(random.Random(7))
    assert found_by(plugin, [written]) != [set()], why
    assert found(written) == [], why
