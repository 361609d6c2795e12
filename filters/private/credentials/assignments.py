"""Passwords and keys found by assignment: `password = "…"`, `api_key: …`, and `https://user:password@host`.

A value counts only if it looks like a secret: no placeholder, no reference to another name, no word of prose. Unquoted
values must meet stricter limits.
"""

import re
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from winnow.filters.private.credentials.checks import entropy
from winnow.filters.private.credentials.formats import ALNUM, LOWER_ALNUM, LOWER_HEX, URL_SAFE
from winnow.filters.private.credentials.scan import Anchored, Bytes
from winnow.schemas.kernels import kernel, leaf

Ints: TypeAlias = npt.NDArray[np.int64]

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
_MOST_VALUE = 256
_MOST_USERINFO = 512
_LONG = 24  # characters of a value that only a space separates from its name
_SHORT_QUOTED, _SHORT = 6, 8  # characters of the shortest value


@leaf  # type: ignore[untyped-decorator]
def _letter(byte: int) -> bool:
    return 97 <= byte <= 122 or 65 <= byte <= 90


@leaf  # type: ignore[untyped-decorator]
def _of_name(byte: int) -> bool:
    return _letter(byte) or 48 <= byte <= 57 or byte == 95 or byte == 45


@leaf  # type: ignore[untyped-decorator]
def _quote(byte: int) -> bool:
    return byte == 34 or byte == 39 or byte == 96


@leaf  # type: ignore[untyped-decorator]
def _spaces(text: Bytes, at: int, end: int) -> int:
    stop = min(end, at + 8)
    while at < stop and (text[at] == 32 or text[at] == 9):
        at += 1
    return at


@leaf  # type: ignore[untyped-decorator]
def _operator(text: Bytes, at: int, end: int, closed: bool) -> tuple[int, int]:
    """The operator between a name and its value, and the start of the value."""
    place = _spaces(text, at, end)
    if place == end:
        return _NONE, at
    byte = text[place]
    if byte == 61 or byte == 58 or (byte == 33 and place + 1 < end and text[place + 1] == 61):
        kind = _COLON if byte == 58 else _EQUALS
        stop = min(end, place + 3)
        while place < stop and (text[place] == 61 or text[place] == 58 or text[place] == 33 or text[place] == 62):
            kind = _EQUALS if text[place] == 61 else kind
            place += 1
        return kind, _spaces(text, place, end)
    if byte == 44 and closed:
        return _COMMA, _spaces(text, place + 1, end)
    return (_SPACE, place) if place > at else (_NONE, at)


@leaf  # type: ignore[untyped-decorator]
def _ends_value(byte: int) -> bool:
    return byte <= 32 or _quote(byte) or byte in (44, 59, 60, 62, 40, 41, 123, 125, 91, 93, 124, 38, 92) or byte >= 128


@leaf  # type: ignore[untyped-decorator]
def _value(text: Bytes, at: int, end: int) -> tuple[int, int, bool]:
    """The value that begins here, and whether it is quoted; an empty range if there is none."""
    if at + 1 < end and (text[at] == 64 or _letter(text[at])) and _quote(text[at + 1]):
        at += 1  # @"…" and b"…"
    if at + 1 < end and text[at] == 92 and _quote(text[at + 1]):
        at += 1  # JSON inside a string
    if at < end and _quote(text[at]):
        mark, at = text[at], at + 1
        stop, last = at, min(end, at + _MOST_VALUE)
        while stop < last and text[stop] != mark and text[stop] != 10:
            stop += 1
        if stop == last or text[stop] != mark:
            return at, at, True
        return at, stop - 1 if stop > at and text[stop - 1] == 92 else stop, True
    stop, last = at, min(end, at + _MOST_VALUE + 1)
    while stop < last and not _ends_value(text[stop]):
        stop += 1
    if stop - at > _MOST_VALUE or (stop < end and (text[stop] == 40 or text[stop] == 91)):
        return at, at, False  # too long, or a call with an unknown result
    return at, stop, False


@leaf  # type: ignore[untyped-decorator]
def _worth_a_look(text: Bytes, start: int, stop: int, kind: int, quoted: bool) -> bool:
    """A quick test that most values fail: long enough, and not only letters or only digits."""
    length = stop - start
    if length < (_SHORT_QUOTED if quoted else _SHORT) or (kind == _SPACE and length < _LONG):
        return False
    letters, digits, others = 0, 0, 0
    for place in range(start, stop):
        if _letter(text[place]):
            letters += 1
        elif 48 <= text[place] <= 57:
            digits += 1
        elif text[place] <= 32:
            return False
        else:
            others += 1
    return (letters > 0 and (digits > 0 or (quoted and others > 0))) or length == _LONG


@leaf  # type: ignore[untyped-decorator]
def _assignment(text: Bytes, at: int, stop: int, begin: int, end: int) -> tuple[int, int, int, int, int]:
    first, least = at, max(begin, at - _MOST_NAME)
    while first > least and (_of_name(text[first - 1]) or text[first - 1] == 46):
        first -= 1
    last, most = stop, min(end, stop + _MOST_NAME)
    while last > at and not _of_name(text[last - 1]) and text[last - 1] < 128:
        last -= 1  # the mark after `pwd` and `key`
    while last < most and _of_name(text[last]):
        last += 1
    place, most, closed = last, min(end, last + 4), False
    while place < most and (_quote(text[place]) or text[place] == 93 or text[place] == 92):
        closed |= _quote(text[place])
        place += 1
    kind, place = _operator(text, place, end, closed)
    if kind == _NONE:
        return first, last, last, last, kind
    start, stop, quoted = _value(text, place, end)
    if (kind == _COMMA and not quoted) or not _worth_a_look(text, start, stop, kind, quoted):
        return first, last, last, last, kind
    return first, last, start, stop, kind + (QUOTED if quoted else 0)


@leaf  # type: ignore[untyped-decorator]
def _userinfo(text: Bytes, at: int, end: int) -> tuple[int, int, int, int, int]:
    """The user and password between `://` and `@`."""
    place, last, colon = at, min(end, at + _MOST_USERINFO), -1
    while place < last:
        byte = text[place]
        if byte == 64:
            if colon >= 0 and place > colon + 1 and place + 1 < end and text[place + 1] > 32:
                return at, colon, colon + 1, place, _NONE
            break
        if byte <= 32 or byte >= 127 or byte in (47, 63, 35, 34, 39, 96, 60, 62):
            break
        if byte == 58 and colon < 0:
            colon = place
        place += 1
    return at, at, at, at, _NONE


@kernel  # type: ignore[untyped-decorator]
def assignments(text: Bytes, offsets: Ints, rows: Ints, starts: Ints, ends: Ints, routes: Ints) -> Ints:
    """For each position: the ranges of name or user and of value, and the operator; empty if there is no value."""
    found = np.zeros((len(rows), 5), np.int64)
    for number in range(len(rows)):
        begin, end = offsets[rows[number]], offsets[rows[number] + 1]
        if routes[number] == NAME:
            found[number] = _assignment(text, starts[number], ends[number], begin, end)
        else:
            found[number] = _userinfo(text, ends[number], end)
    return found


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
