"""Parse one line of a list.

    example.com                   the domain and every host below it
    *.github.io                   the same, for a public suffix, which by itself would only be a host
    =www.example.com              only this host
    example.com/some/path         this path and all below it, on the domain's hosts
    https://example.com/page?id=1 an address; the scheme does not matter
    0.0.0.0 example.com           a line of a hosts file: the domain
    ||example.com^                the simplest rule of an ad blocker: the domain
    word:casino                   a whole word of the host, the path or the query
    soft:casino                   the same, if another such word occurs, too
    part:casino                   consecutive letters and digits, ignoring anything between them
    # or ! or [                   a comment; ` #` begins one at the end of a line

Entries are normalised: the host by `canonical_host`, the path by `canonical_url` without a trailing slash, words by
`folded`.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

import regex

from winnow.filters.web.urls import canonical_host, canonical_url, registered_domain

MAX_LINE_BYTES = 65_536
MAX_WORD_CHARACTERS = 200


class Kind(IntEnum):
    """Kinds of entries."""

    DOMAIN = 0
    HOST = 1
    PATH = 2
    WORD = 3
    SOFT = 4
    PART = 5


WORD_KINDS = {"word:": Kind.WORD, "soft:": Kind.SOFT, "part:": Kind.PART}
PREFIXES = {kind: prefix for prefix, kind in WORD_KINDS.items()}

HOSTS_FILE = frozenset({"0.0.0.0", "127.0.0.1", "255.255.255.255", "::", "::1", "fe80::1%lo0", "ff00::0", "ff02::1"})
"""The addresses that hosts files assign to names; they are not entries themselves."""
_LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain", "local", "broadcasthost", "ip6-localhost"})
_LOCAL_PREFIX = "ip6-"

_COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)
_COSMETIC = re.compile(r"#[@?$%]*#")  # ad blockers' rules for parts of pages
_SCHEME = re.compile(r"https?:[/\\]{2}", re.IGNORECASE)
_ANY_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_PORT = re.compile(r"(?<=[^:]):[0-9]*$|(?<=\]):[0-9]*$")
_NO_LETTERS = regex.compile(r"[^\p{L}\p{N}\p{M}]+")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: `text` is a host, a host with a path, or a word."""

    kind: Kind
    text: str
    narrowed: bool = False  # a listed domain that is a public suffix, so that it means only the host


class BadEntryError(ValueError):
    """A line is not an entry; the message gives the reason."""


def folded(text: str) -> str:
    """Normalise text for word matching: fold compatibility forms and case; all but letters, marks and digits is a
    space."""
    folded_case = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return str(_NO_LETTERS.sub(" ", folded_case)).strip(" ")


def is_address(host: str) -> bool:
    """Whether a canonical host is an IP address."""
    return ":" in host or host.rpartition(".")[2].isdecimal()


def is_public_suffix(host: str) -> bool:
    """Whether anybody may register below a canonical host; also true for a single label."""
    return not is_address(host) and registered_domain(f"http://x.{host}") == f"x.{host}"


def written_entry(entry: Entry) -> str:
    """The entry as a line of a list."""
    if entry.kind == Kind.HOST and not is_address(entry.text):
        return f"={entry.text}"
    if entry.kind == Kind.DOMAIN and is_public_suffix(entry.text):
        return f"*.{entry.text}"
    return PREFIXES.get(entry.kind, "") + entry.text


def entries_of(line: str, suffixes: frozenset[str] | None = None) -> list[Entry]:
    """Parse a line into entries; empty for a comment.

    Args:
        line: The line without its end.
        suffixes: The public suffixes; None for all of the Public Suffix List and every single label.

    Raises:
        BadEntryError: The line is not an entry.
    """
    line = line.removeprefix("\ufeff").strip()
    if not line or line[0] in "#!" or (line[0] == "[" and not canonical_host(line.split("]")[0] + "]")):
        return []
    for prefix, kind in WORD_KINDS.items():
        if line[: len(prefix)].lower() == prefix:
            return [_word(kind, line[len(prefix) :])]
    if _COSMETIC.search(line):
        raise BadEntryError("a rule for parts of pages")
    line = _COMMENT.sub("", line).strip()
    names = line.split()
    if len(names) > 1:
        if names[0].lower() not in HOSTS_FILE:
            raise BadEntryError("more than one word")
        names = [name for name in names[1:] if not _is_local(name.lower())]
        return _of_others(_place(name, suffixes) for name in names)
    if line in HOSTS_FILE or _is_local(line.lower()):
        return []
    if line.startswith("||"):
        line = line[2:]
        if line.endswith("^"):
            line = line[:-1]
    return _of_others([_place(line, suffixes)])


def _of_others(entries: Iterable[Entry]) -> list[Entry]:
    """The entries without the local machine, in spellings such as `0` and `127.1`."""
    return [entry for entry in entries if entry.kind == Kind.PATH or not _is_local(entry.text)]


def _is_local(name: str) -> bool:
    return name in _LOCAL_NAMES or name in HOSTS_FILE or name.startswith(_LOCAL_PREFIX)


def _word(kind: Kind, written: str) -> Entry:
    word = folded(_COMMENT.sub("", written))
    if kind == Kind.PART:
        word = word.replace(" ", "")
    if not word:
        raise BadEntryError("no letter or digit")
    if " " in word:
        raise BadEntryError("more than one word (part: takes several)")
    if len(word) > MAX_WORD_CHARACTERS:
        raise BadEntryError(f"a word of more than {MAX_WORD_CHARACTERS} characters")
    return Entry(kind, word)


def _place(line: str, suffixes: frozenset[str] | None) -> Entry:
    exact = line.startswith("=")
    everything = line.startswith(("*.", ".")) and not exact
    written = line[1:] if exact else line.removeprefix("*").removeprefix(".") if everything else line
    if _SCHEME.match(written):
        if exact or everything:
            raise BadEntryError("an address after = or *.")
        address = written
    elif _ANY_SCHEME.match(written):
        raise BadEntryError("an address that is not http or https")
    else:
        if "#" in written or "^" in written or "$" in written.partition("/")[0]:
            raise BadEntryError("a rule with conditions")
        if written.count(":") > 1 and "/" not in written and not written.startswith("["):
            written = f"[{written}]"  # an IPv6 address
        address = f"http://{written}"
    if "@" in re.split(r"[/\\?#]", address.partition("//")[2], maxsplit=1)[0]:
        raise BadEntryError("a user name")
    if written.endswith("*"):
        address = address[:-1]
        if not address.endswith(("/", "=", "?", "&")):
            raise BadEntryError("a * that does not stand for a whole label or path")
    canonical = canonical_url(address)
    if canonical is None:
        raise BadEntryError("not a host or address")
    host, _, path = canonical.partition("://")[2].partition("/")
    if _PORT.search(host):
        raise BadEntryError("a port; entries match any port")
    host = host.strip("[]")
    path, _, query = path.partition("?")
    query = query.rstrip("&")
    path = f"{path}?{query}" if query else path.rstrip("/")
    if "*" in path or "*" in host:
        raise BadEntryError("a * that does not stand for a whole label or path")
    if path:
        if exact or everything:
            raise BadEntryError("a path after = or *.")
        return Entry(Kind.PATH, f"{host}/{path}")
    if exact or is_address(host):
        return Entry(Kind.HOST, host)
    narrowed = not everything and (is_public_suffix(host) if suffixes is None else host in suffixes)
    return Entry(Kind.HOST if narrowed else Kind.DOMAIN, host, narrowed)
