"""Addresses and lists for tests, and a matcher of plain sets and strings that says what should match."""

import re
from collections.abc import Iterable
from io import BytesIO
from urllib.parse import unquote_to_bytes

import pyarrow as pa
from hypothesis import strategies as st

from winnow.filters.url.blocklist import Matcher
from winnow.filters.web.url_lists.entries import (
    BadEntryError,
    Entry,
    Kind,
    entries_of,
    folded,
    is_address,
    written_entry,
)
from winnow.filters.web.url_lists.index import UrlIndex
from winnow.filters.web.url_lists.reading import read_list
from winnow.filters.web.urls import canonical_url

LABELS = ("a", "b", "www", "x-1", "xn--mnchen-3ya", "münchen", "EXAMPLE", "com", "co", "uk", "github", "io")
SEGMENTS = ("", "a", "b", "casino", "Casino", "free-slots", "%41", "%2f", "%C3%A9", "%d0%BA", "é", ".", "..", "~")
LEADS = ("=", "*.", ".", "||", "0.0.0.0 ", "127.0.0.1\t", "https://")
TAILS = (" # said", "  ", "\r", ":80", ".", "##.ad", "^$x", "/*", "*", "@x")
WORDS = ("casino", "slots", "free", "a", "b", "é", "ücasino")

hosts = st.one_of(
    st.lists(st.sampled_from(LABELS), min_size=1, max_size=5).map(".".join),
    st.sampled_from(("192.0.2.1", "0xC0000201", "[2001:db8::1]", "[::FFFF:192.0.2.1]", "1.2.3.4.5", "a..b", "-", "")),
)
paths = st.lists(st.sampled_from(SEGMENTS), max_size=4).map(lambda found: "".join(f"/{one}" for one in found))
queries = st.sampled_from(("", "?", "?a=1", "?a=1&b=2", "?a=1&", "?%61=casino", "?q=free+slots", "?é", "?a='"))

addresses = st.one_of(
    st.builds(
        "{}{}{}{}{}{}{}".format,
        st.sampled_from(("http://", "https://", "HTTP://", "https:\\\\", "ftp://", "//", " http://", "http:///")),
        st.sampled_from(("", "", "", "user@", "user:1@", "a.com@")),
        hosts,
        st.sampled_from(("", "", ".", "..", ":80", ":", ":8080", ":99999", ":x", ".:443")),
        paths,
        queries,
        st.sampled_from(("", "#", "#/a?b#c", "#é", " ")),
    ),
    st.text(max_size=30),
)

lines = st.one_of(
    st.builds("{}{}".format, hosts, paths),
    st.builds("{}{}{}".format, st.sampled_from(LEADS), hosts, paths),
    st.builds("||{}^".format, hosts),
    st.builds("{}{}{}".format, hosts, paths, queries),
    st.builds("{}:{}".format, st.sampled_from(("word", "soft", "part")), st.sampled_from(WORDS)),
    st.builds("{}{}".format, hosts, st.sampled_from(TAILS)),
    st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=12),
)


def entries_in(text: str) -> list[Entry]:
    """Every entry of a list, by the rules for one line."""
    found: list[Entry] = []
    for line in text.split("\n"):
        try:
            found += entries_of(line)
        except BadEntryError:
            continue
    return found


def list_of(text: str | Iterable[str], suffixes: frozenset[str] | None = None) -> UrlIndex:
    """A list as it is read from a file."""
    whole = text if isinstance(text, str) else "\n".join(text)
    return read_list(BytesIO(whole.encode()), "list.txt", suffixes)


def matched(index: UrlIndex, urls: list[str]) -> list[tuple[str, str] | str | None]:
    """What an operator says of addresses: match and entry, None where nothing matches, or the status."""
    batch = pa.RecordBatch.from_pydict({"samples.url": pa.array(urls, pa.string())})
    rows = Matcher(index, "list", ("domain", "host", "path", "word")).measure(batch).to_pylist()
    return [
        row["status"] if row["status"] != "ok" else (row["match"], row["entry"]) if row["hit"] else None for row in rows
    ]


def expected(entries: list[Entry], url: str) -> tuple[str, str] | str | None:
    """The same by plain sets and strings."""
    canonical = canonical_url(url)
    if canonical is None:
        return "no_address"
    named = {(entry.kind, entry.text) for entry in entries}
    rest = canonical.partition("://")[2]
    authority, slash, rest = rest.partition("/")
    host = re.sub(r":[0-9]+$", "", authority).strip("[]") if not authority.endswith("]") else authority.strip("[]")
    labels = host.split(".")
    suffixes = [host] if is_address(host) else [".".join(labels[at:]) for at in range(len(labels))]
    path, mark, query = (slash + rest).partition("?")
    starts = [path[:at] for at in range(1, len(path)) if path[at] == "/"] + [path]
    if mark:
        starts += [f"{path}?{query[:at]}" for at in range(len(query)) if query[at] == "&"] + [f"{path}?{query}"]
    for suffix in suffixes:
        for start in reversed(starts):
            if (Kind.PATH, suffix + start) in named:
                return "path", suffix + start
    if (Kind.HOST, host) in named:
        return "host", written_entry(Entry(Kind.HOST, host))
    for suffix in suffixes:
        if (Kind.DOMAIN, suffix) in named and not is_address(host):
            return "domain", written_entry(Entry(Kind.DOMAIN, suffix))
    return _expected_word(named, host, slash + rest)


def _expected_word(named: set[tuple[Kind, str]], host: str, path: str) -> tuple[str, str] | None:
    spoken = [label[4:].encode().decode("punycode") if label.startswith("xn--") else label for label in host.split(".")]
    words = folded(" ".join([*spoken, unquote_to_bytes(path).decode("utf-8", "replace")])).split()
    for word in words:
        if (Kind.WORD, word) in named:
            return "word", f"word:{word}"
    soft = list(dict.fromkeys(word for word in words if (Kind.SOFT, word) in named))
    if len(soft) > 1:
        return "word", f"soft:{soft[0]} soft:{soft[1]}"
    joined = "".join(words)
    parts = [text for kind, text in named if kind == Kind.PART and text in joined]
    if parts:  # the one that ends first; of those that end together, the longest
        ends = {part: len(joined[: joined.index(part)].encode()) + len(part.encode()) for part in parts}
        return "word", f"part:{min(parts, key=lambda part: (ends[part], -len(part)))}"
    return None
