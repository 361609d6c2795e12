"""What lines of lists mean."""

import pytest

from winnow.filters.web.url_lists.entries import BadEntryError, Entry, Kind, entries_of, is_public_suffix, written_entry


@pytest.mark.parametrize(
    ("line", "entries"),
    [
        ("example.com", [(Kind.DOMAIN, "example.com")]),
        ("\ufeff WWW.Example.COM. ", [(Kind.DOMAIN, "www.example.com")]),
        ("*.example.com", [(Kind.DOMAIN, "example.com")]),
        (".example.com", [(Kind.DOMAIN, "example.com")]),
        ("https://example.com/", [(Kind.DOMAIN, "example.com")]),
        ("http://example.com:80/#top", [(Kind.DOMAIN, "example.com")]),
        ("||example.com^", [(Kind.DOMAIN, "example.com")]),
        ("||example.com", [(Kind.DOMAIN, "example.com")]),
        ("0.0.0.0 a.example b.example # two", [(Kind.DOMAIN, "a.example"), (Kind.DOMAIN, "b.example")]),
        ("127.0.0.1\tlocalhost", []),
        ("::1 ip6-localhost ip6-loopback", []),
        ("0.0.0.0", []),
        ("münchen.de", [(Kind.DOMAIN, "xn--mnchen-3ya.de")]),
        ("=www.example.com", [(Kind.HOST, "www.example.com")]),
        ("192.0.2.7", [(Kind.HOST, "192.0.2.7")]),
        ("2001:DB8:0::1", [(Kind.HOST, "2001:db8::1")]),
        ("[2001:db8::1]", [(Kind.HOST, "2001:db8::1")]),
        ("co.uk", [(Kind.HOST, "co.uk")]),
        ("blogspot.com", [(Kind.HOST, "blogspot.com")]),
        ("me.blogspot.com", [(Kind.DOMAIN, "me.blogspot.com")]),
        ("*.blogspot.com", [(Kind.DOMAIN, "blogspot.com")]),
        ("*.xxx", [(Kind.DOMAIN, "xxx")]),
        ("example.com/a/./b/", [(Kind.PATH, "example.com/a/b")]),
        ("example.com/a/*", [(Kind.PATH, "example.com/a")]),
        ("example.com/a#part", None),
        ("https://example.com/%7ea?b=c&#part", [(Kind.PATH, "example.com/~a?b=c")]),
        ("word:Casino", [(Kind.WORD, "casino")]),
        ("SOFT: ＦＲＥＥ ", [(Kind.SOFT, "free")]),
        ("part:free pics", [(Kind.PART, "freepics")]),
        ("", []),
        ("# example.com", []),
        ("! example.com", []),
        ("[Adblock Plus 2.0]", []),
        ("example.com##.banner", None),
        ("@@||example.com^", None),
        ("||example.com^$third-party", None),
        ("example.com:8080", None),
        ("user@example.com", None),
        ("ex*mple.com", None),
        ("example.com evil.test", None),
        ("a..b", None),
        ("ftp://example.com", None),
        ("=example.com/a", None),
        ("word:free pics", None),
        ("word:-", None),
        ("\0", None),
    ],
)
def test_a_line_is_entries_or_nothing_or_refused(line: str, entries: list[tuple[Kind, str]] | None) -> None:
    if entries is None:
        with pytest.raises(BadEntryError):
            entries_of(line)
    else:
        assert [(entry.kind, entry.text) for entry in entries_of(line)] == entries


def test_public_suffixes_are_taken_for_a_host_unless_all_below_is_asked_for() -> None:
    for name in ("com", "co.uk", "github.io", "intranet", "kawasaki.jp", "a.kawasaki.jp", "foo.ck"):
        assert is_public_suffix(name)
        assert entries_of(name) == [Entry(Kind.HOST, name, narrowed=True)]
        assert entries_of(f"*.{name}") == [Entry(Kind.DOMAIN, name)]
    for name in ("example.com", "me.github.io", "city.kawasaki.jp", "www.ck", "a.example", "192.0.2.1"):
        assert not is_public_suffix(name)


def test_what_counts_as_a_suffix_can_be_given() -> None:
    given = frozenset({"sa.com"})
    assert entries_of("xxx", given) == [Entry(Kind.DOMAIN, "xxx")]
    assert entries_of("sa.com", given) == [Entry(Kind.HOST, "sa.com", narrowed=True)]


def test_an_entry_is_written_as_a_line_that_means_it() -> None:
    entries = [
        Entry(Kind.DOMAIN, "example.com"),
        Entry(Kind.DOMAIN, "github.io"),
        Entry(Kind.HOST, "example.com"),
        Entry(Kind.HOST, "192.0.2.1"),
        Entry(Kind.PATH, "example.com/a"),
        Entry(Kind.PART, "casino"),
    ]
    lines = ["example.com", "*.github.io", "=example.com", "192.0.2.1", "example.com/a", "part:casino"]
    assert [written_entry(entry) for entry in entries] == lines
    assert [entries_of(line) for line in lines] == [[entry] for entry in entries]
