"""Credentials in texts: tokens by format and checksum, blocks of lines, values given to names, URLs."""

import random

import pyarrow as pa
import pytest

from tests.filters.private.credentials.samples import ALNUM, HEX, TOKENS, some
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.private.credentials import Settings, credentials, kinds
from winnow.filters.private.credentials.checks import checksum

BASE64 = ALNUM + "+/"


def found(text: str, **settings: bool) -> list[tuple[str, str]]:
    """Each credential: its kind, its text."""
    utf8 = text.encode()
    column = texts_of(pa.array([text], pa.large_string()))
    return [(one.kind, utf8[one.start : one.end].decode()) for one in credentials(column, Settings(**settings))[0]]


def key(name: str = "RSA ", lines: int = 4, line_break: str = "\n", dashes: str = "-" * 5, block: str = "") -> str:
    """A block as a private key has it, of random lines."""
    chance = random.Random(len(name))
    body = line_break.join(some(chance, BASE64, 64) for _ in range(lines))
    private = f"{name}PRIVATE " + f"KEY{block}"
    return f"{dashes}BEGIN {private}{dashes}{line_break}{body}{line_break}{dashes}END {private}{dashes}"


@pytest.mark.parametrize("kind", sorted(TOKENS))
def test_a_token_is_found_and_nothing_beside_it(kind: str) -> None:
    chance = random.Random(3)
    for maker in TOKENS[kind]:
        token = maker(chance)
        expected = [(kind, token.removeprefix("https://"))]
        for text in (
            token,
            f"Grüße, {token}\n",
            f"令牌「{token}」。",
            f"It was {token}. Then",
            f'{{"a":"\\n{token}\\n"}}',
        ):
            assert found(text) == expected, text


def test_the_checksum_is_that_of_a_published_token() -> None:
    assert checksum("zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ") == "0mLq17"


def test_a_token_with_a_wrong_checksum_is_none() -> None:
    token = TOKENS["github_token"][0](random.Random(1))
    assert found(token[:-1] + ("a" if token[-1] != "a" else "b")) == []


@pytest.mark.parametrize(
    "block",
    [
        key(),
        key("", 8),
        key("EC ", 2),
        key("OPENSSH "),
        key("DSA ", line_break="\\n"),
        key("ENCRYPTED ", line_break="\r\n"),
        key(line_break=" "),
        key("PGP ", block=" BLOCK").replace("\n", "\nVersion: GnuPG v1\nComment: none\n\n", 1),
        key("SSH2 ENCRYPTED ", dashes="----").replace("----BEGIN", "---- BEGIN").replace("----END", "---- END"),
        "PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nPublic-Lines: 1\nAAAAB3\nPrivate-"
        + "Lines: 1\nAAAA\nPrivate-MAC: 0a1b2c",
    ],
)
def test_a_private_key_is_one_span(block: str) -> None:
    assert found(f"My key is\n{block}\nand this is prose.") == [("private_key", block.strip())]


def test_a_private_key_that_is_cut_off_is_a_span_as_far_as_it_goes() -> None:
    whole = key(lines=6)
    cut = whole[: whole.index("-----END") - 30]
    assert found(cut) == [("private_key", cut)]
    assert found(cut + "\n\nNo more of it. " + "And prose goes on. " * 50) == [("private_key", cut)]


@pytest.mark.parametrize(
    "text",
    [
        "It begins with -----BEGIN RSA PRIVATE KEY----- and ends with -----END RSA PRIVATE KEY-----.",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow...\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PUBLIC KEY-----\n" + "A" * 64 + "\n-----END PUBLIC KEY-----",
        "KEEP YOUR PRIVATE KEY SAFE",
        "PuTTY-User-Key-File-2: ssh-rsa",
    ],
)
def test_what_speaks_of_keys_is_none(text: str) -> None:
    assert found(text) == []


def test_two_keys_are_two_spans() -> None:
    assert [kind for kind, _ in found(key() + "\n" + key("EC "))] == ["private_key", "private_key"]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('password = "hunter2!x"', "hunter2!x"),
        ("'db_password': 'k4ts3nkl0'", "k4ts3nkl0"),
        ("API_KEY=9f8a2b7c44de", "9f8a2b7c44de"),
        ("clientSecret: `Zx9-Qw8-Er7`", "Zx9-Qw8-Er7"),
        ('auth_token := @"t0k3n-f0r-y0u"', "t0k3n-f0r-y0u"),
        (r"{\"password\": \"s3cr-4us\"}", "s3cr-4us"),
        ("define('DB_PASSWORD', 'w0rdpr3ss');", "w0rdpr3ss"),
        ("contraseña: 'g4t0s-n3gr0s'", "g4t0s-n3gr0s"),
        ("Root Password   :  FS7CUxsY3xkusv7E", "FS7CUxsY3xkusv7E"),
        ("$config['smtp']['pass'] = 'ka7zen8aum';", "ka7zen8aum"),
    ],
)
def test_a_value_given_to_a_name_is_found(text: str, secret: str) -> None:
    assert found(text) == [("assigned_secret", secret)]
    assert found(text, assigned=False) == []


@pytest.mark.parametrize(
    "text",
    [
        "Your password: must have 8 characters.",
        "Password: Enter a password with 8 or more characters",
        "The secret of the 1990s: it was never told in 1999.",
        "token: ERC20",
        "Token sale: 2018-05-01",
        'password = ""',
        'password = "password123"',
        "password: <your password>",
        'password = os.environ["PASSWORD1"]',
        "password = getpass1()",
        "PASSWORD=${DB_PASSWORD1}",
        "password: {{ vault_password1 }}",
        "password=********",
        '"password": "Kennwort"',
        '<input type="password" name="password2" placeholder="Password">',
        "public_key = 'a1b2c3d4e5f6'",
        "password_length = 'a1b2c3d4'",
        "the bypass: a7x9q2k1z",
        "secretary: m4ry-p0pp1ns",
        "key: 'a1b2c3d4e5'",
        "secret: https://example.com/a1b2c3d4",
        "token_file: /run/secrets/a1b2c3",
        "Paßwort: a1b2c3d4",
        "private_key: ed25519.Ed25519PrivateKey = load()",
        "password = read1st_line(file)",
        "'token_get_all', 'token_name', 'secret', 'METH_NOARGS'",
        'api_key="test-key-123"',
    ],
)
def test_prose_placeholders_and_references_are_none(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("https://reader:k4tz3nbaum@example.com/feed", "reader:k4tz3nbaum"),
        ("(postgres://app:p%40ss-w0rd!$@db.example.org:5432/app)", "app:p%40ss-w0rd!$"),
        ("redis://:k4tz3nbaum@192.0.2.7:6379/0", ":k4tz3nbaum"),
    ],
)
def test_a_password_in_a_url_is_found_with_its_user(text: str, secret: str) -> None:
    assert found(text) == [("basic_auth", secret)]
    assert found(text, urls=False) == []


@pytest.mark.parametrize(
    "text",
    [
        "https://user:password@example.com",
        "https://user:pass@host",
        "https://<user>:<password>@host",
        "https://${USER}:${PASSWORD}@host",
        "https://example.com:8080/@someone",
        "https://example.com/a:b@c",
        "see https://example.com: me@example.com",
        "http://example.com:80@",
    ],
)
def test_urls_without_a_password_are_none(text: str) -> None:
    assert found(text) == []


def test_what_overlaps_is_one_span() -> None:
    token = TOKENS["github_token"][0](random.Random(5))
    assert found(f"token={token}") == [("github_token", token)]
    assert found(f"https://bot:{token}@example.com") == [("basic_auth", f"bot:{token}")]


def test_a_secret_of_one_issuer_has_its_kind() -> None:
    chance = random.Random(9)
    assert found(f"aws_secret_access_key = {some(chance, BASE64, 40)}")[0][0] == "aws_secret_key"
    assert found(f"cos_secret_access_key = {some(chance, HEX, 48)}")[0][0] == "ibm_cos_secret"


def test_every_kind_has_a_name() -> None:
    assert set(TOKENS) <= set(kinds())
    assert all(kind.replace("_", "").isalnum() for kind in kinds())
