"""Passwords and keys found by assignment: `password = "…"`, `api_key: …`, and `https://user:password@host`.

A value counts only if it looks like a secret: no placeholder, no reference to another name, no word of prose. Unquoted
values must meet stricter limits.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

from winnow.filters.private.credentials.checks import entropy
from winnow.filters.private.credentials.formats import ALNUM, DIGITS, LOWER_ALNUM, LOWER_HEX, URL_SAFE
from winnow.filters.private.credentials.scan import Anchored

NAME, URL = 20, 21

_CASES = (str.lower, str.title, str.upper)
ANCHORS = (
    *(
        Anchored(case(word), NAME)
        for word in ("pass", "secret", "token", "contraseña", "contrasena")
        for case in _CASES
    ),
    *(Anchored(case(word) + mark, NAME) for word in ("pwd", "key") for mark in "=:\"'` _]\\" for case in _CASES),
    *(Anchored(f"{character}://", URL) for character in LOWER_ALNUM),
)

_NONE, _SPACE, _COMMA, _COLON, _EQUALS = range(5)
QUOTED = 8  # added to the operator

_MOST_NAME = 48
_MOST_USERINFO = 512
_LONG = 24  # characters of a value that only a space separates from its name
_SHORT_QUOTED, _SHORT = 6, 8  # characters of the shortest value


_LETTERS = ALNUM.removeprefix(DIGITS).encode()
_NAME_CHARACTERS = b"%s_-." % ALNUM.encode()
_MARKS = b"=:\"'` ]\\"  # that end an anchor
_REST = re.compile(rb"[\w-]*+")
_ASSIGNED = re.compile(
    rb"""
    (?P<closing> ["'`\]\\]{0,4}+ )
    (?> [ \t]{0,8}+ (?P<operator> (?= [=:] | != ) [=:!>]{1,3}+ ) [ \t]{0,8}+
      | [ \t]{0,8}+ (?P<comma> , ) [ \t]{0,8}+
      | [ \t]{1,8}+ )
    (?: [@A-Za-z] (?= ["'`] ) )?+  # @"x" and b"x"
    (?: \\ (?= ["'`] ) )?+  # JSON inside a string
    (?: (?P<mark> ["'`] ) (?P<quoted> (?: (?! (?P=mark) ) [^\n] ){0,255}+ ) (?P=mark)
      | (?P<bare> [^\x00-\x20"'`,;<>(){}\[\]|&\\\x80-\xff]{0,256}+ )
        (?! [^\x00-\x20"'`,;<>){}\]|&\\\x80-\xff] )  # too long, or a call with an unknown result
    )
    """,
    re.VERBOSE,
)
_USERINFO = re.compile(rb"([^\x00-\x20\x7f-\xff:@/?\#\"'`<>]*+):([^\x00-\x20\x7f-\xff@/?\#\"'`<>]++)@")


@dataclass(frozen=True, slots=True)
class Assignment:
    """The byte ranges of a name or user and of its value, and the operator between them."""

    first: int
    last: int
    start: int
    end: int
    operator: int


def _is_worth_a_look(value: bytes, kind: int, quoted: bool) -> bool:
    """A quick test that most values fail: long enough, and not only letters or only digits."""
    length = len(value)
    if length < (_SHORT_QUOTED if quoted else _SHORT) or (kind == _SPACE and length < _LONG) or min(value) <= 32:
        return False
    digits = len(value) - len(value.translate(None, DIGITS.encode()))
    letters = len(value) - len(value.translate(None, _LETTERS))
    return (letters > 0 and (digits > 0 or (quoted and letters < length))) or length == _LONG


def assignment(text: memoryview, at: int, stop: int, begin: int, end: int) -> Assignment | None:
    """The value that is assigned to the name around this anchor, in a text from `begin` to `end`."""
    last = at + len(bytes(text[at:stop]).rstrip(_MARKS))
    rest = _REST.match(text, last, min(end, stop + _MOST_NAME))
    last = rest.end() if rest else last
    found = _ASSIGNED.match(text, last, end)
    if found is None:
        return None
    operator, closing, quoted = found["operator"], found["closing"], found["quoted"] is not None
    kind = _COMMA if found["comma"] else _SPACE
    if operator:
        kind = _COLON if operator[0] == 58 and b"=" not in operator else _EQUALS
    start, stop = found.span("quoted" if quoted else "bare")
    stop -= quoted and stop > start and text[stop - 1] == 92
    if kind == _COMMA and not (quoted and closing.strip(b"]\\")):
        return None
    if not _is_worth_a_look(bytes(text[start:stop]), kind, quoted):
        return None
    before = bytes(text[max(begin, at - _MOST_NAME) : at])
    first = at - len(before) + len(before.rstrip(_NAME_CHARACTERS))
    return Assignment(first, last, start, stop, kind + (QUOTED if quoted else 0))


def userinfo(text: memoryview, at: int, end: int) -> Assignment | None:
    """The user and password between `://` and `@`."""
    found = _USERINFO.match(text, at, min(end, at + _MOST_USERINFO))
    if found is None or found.end() == end or text[found.end()] <= 32:
        return None
    return Assignment(*found.span(1), *found.span(2), _NONE)


_NAMES = (
    *("password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "contraseña", "contrasena"),
    *("dbpass", "databasepass", "keypass", "userpass", "adminpass", "rootpass", "mysqlpass", "ftppass", "smtppass"),
    *("apikey", "authkey", "servicekey", "accountkey", "dbkey", "databasekey", "privkey", "privatekey", "clientkey"),
    *("accesskey", "secretkey", "encryptionkey", "signingkey", "masterkey", "storagekey", "sharedkey", "appkey"),
)
_OTHER_NAMES = ("secretar", "tokeniz", "tokenis", "public", "nonce", "csrf", "xsrf", "compass", "bypass")
# Name endings for values that describe a secret but are not one.
_ABOUT = (
    *("length", "len", "min", "max", "policy", "type", "field", "label", "hint", "url", "uri", "file", "path", "name"),
    *("id", "reset", "regex", "pattern", "expiry", "expires", "expire", "count", "input", "placeholder", "format"),
    *("class", "encoder", "strength", "confirm", "confirmation", "version", "link", "page", "text", "title", "size"),
    *("address", "contract", "symbol", "standard", "sale", "price", "supply", "date", "algorithm", "method"),
)
_PLACEHOLDERS = (
    *("example", "placeholder", "changeme", "change_me", "change-me", "your", "xxxx", "****", "....", "${", "{{", "%("),
    *("insert", "replace", "redacted", "todo", "dummy", "sample", "process.env", "environ", "getenv", "undefined"),
    *("password", "passwd", "secret", "apikey", "api_key", "api-key", "mytoken", "my_token", "token_here", "_here"),
    *(
        "test-",
        "-test",
        "test_",
        "fake",
        "mock",
        "test1",
        "abc123",
        "123456",
        "qwerty",
        "foobar",
        "1234abcd",
        "abcd1234",
    ),
)
_OF_WORDS = re.compile(r"[^\W\d]+|[_/.-]")  # `token_name`, `pass/word`: names of something
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")  # `settings.key1`: a reference
_USERS_PASSWORDS = frozenset(
    (
        *("pass", "password", "passwd", "pwd", "pw", "secret", "user", "username", "token", "foo", "bar", "test"),
        *("example", "passwort", "kennwort", "contraseña", "senha", "motdepasse", "wachtwoord", "parola", "haslo"),
    )
)
_ENDS_OF_KEYS = ("key", "pwd", "pw", "password", "pass", "token")
_OF_IBM = frozenset(
    issuer + api + word
    for issuer in ("ibmcloudiam", "cloudiam", "ibmcloud", "ibmiam", "ibm", "iam", "cloud", "")
    for api in ("api", "")
    for word in _ENDS_OF_KEYS
)
_ENDINGS = (
    ".js",
    ".css",
    ".php",
    ".html",
    ".htm",
    ".png",
    ".jpg",
    ".gif",
    ".txt",
    ".json",
    ".xml",
    ".pem",
    ".key",
    ".py",
)
_MIN_QUOTED_BITS, _MIN_BITS = 2.5, 3.0  # per character


def names_secret(name: str) -> bool:
    """Whether this name suggests that its value is a secret."""
    compact = name.casefold().replace("_", "").replace("-", "").replace(".", "")
    if any(word in compact for word in _OTHER_NAMES):
        return False
    if compact == "pass":
        return True
    found = max((compact.rfind(word) + len(word) for word in _NAMES if word in compact), default=-1)
    return found >= 0 and not compact[found:].lstrip("s").startswith(_ABOUT)


def _changes(value: str) -> int:
    """How often letters, digits and other characters alternate."""
    kinds = [0 if character.isalpha() else 1 if character.isdigit() else 2 for character in value]
    return sum(one != other for one, other in pairwise(kinds))


def is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder: `your_password`, `${TOKEN}`, `xxxxxxxx`, `<key>`."""
    lower = value.casefold()
    if any(word in lower for word in _PLACEHOLDERS) or len(set(lower)) < 5:
        return True
    return (value[0] in "$%<{[*" and not value[1:].isalnum()) or value[-1] in ">)}" or "(" in value


def is_secret(value: str, operator: int) -> bool:
    """Whether a value looks like a password, key or token, and not like a word, path, date or reference."""
    quoted = operator >= QUOTED
    if (
        operator % QUOTED == _SPACE
        or is_placeholder(value)
        or value.startswith(("http", "/", "./", "0x", "#", "$", "@"))
    ):
        return False
    if value.casefold().endswith(_ENDINGS) or "://" in value or value.count("/") > 2 or value.count(".") > 2:
        return False
    letters, digits = sum(map(str.isalpha, value)), sum(map(str.isdigit, value))
    changes = _changes(value)
    if not letters or (not digits and (changes < 2 or operator % QUOTED == _COMMA or not _OF_WORDS.sub("", value))):
        return False
    if not quoted and (_DOTTED.fullmatch(value) or (value.isidentifier() and digits < 2)):
        return False
    if not quoted and (not digits or changes < (1 if operator == _EQUALS else 2)):
        return False
    return entropy(value) >= (_MIN_QUOTED_BITS if quoted else _MIN_BITS)


def _only(value: str, characters: str) -> bool:
    return not value.strip(characters)


def issuer(name: str, value: str) -> str | None:
    """The kind of a value whose length, characters and name match one issuer, whatever the operator."""
    compact = name.casefold().replace("_", "").replace("-", "").replace(".", "")
    length = len(value)
    if length == 40 and _only(value, ALNUM + "/+") and ("aws" in compact or "secretaccesskey" in compact):
        return "aws_secret_key" if entropy(value) > _MIN_BITS else None
    if not compact.endswith(_ENDS_OF_KEYS):
        return None
    if length == 48 and compact.endswith(("secretaccesskey", "secretkey")) and _only(value, LOWER_HEX):
        return "ibm_cos_secret"
    cloudant = compact.startswith(("cloudant", "clou", "cl"))
    if cloudant and (
        (length == 64 and _only(value, LOWER_HEX)) or (length == 24 and value.isalpha() and value.islower())
    ):
        return "cloudant_credential"
    if length == 64 and compact.startswith(("softlayer", "sl")) and _only(value, LOWER_ALNUM):
        return "softlayer_key"
    if length == 44 and compact in _OF_IBM and _only(value, URL_SAFE) and _changes(value) > 4:
        return "ibm_cloud_key"
    return None


def kind_of_assignment(name: str, value: str, operator: int) -> str | None:
    """The kind of an assigned value; None if it is not a secret."""
    known = issuer(name, value)
    if known is not None:
        return known
    return "assigned_secret" if names_secret(name) and is_secret(value, operator) else None


def kind_of_userinfo(user: str, password: str, host: str) -> str | None:
    """The kind of the credentials before a host; None for placeholders of documentation."""
    if host.casefold().endswith("cloudant.com") and len(password) in (24, 64):
        return "cloudant_credential"
    lower = password.casefold()
    if len(password) < 3 or lower in _USERS_PASSWORDS or lower == user.casefold() or password.isdigit():
        return None
    return None if is_placeholder(password) and "1" not in password else "basic_auth"
