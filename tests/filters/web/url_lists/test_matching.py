"""Lists against a matcher of plain sets, over addresses of every kind."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.web.url_lists.addresses import addresses, entries_in, expected, lines, list_of, matched
from tests.property_sizes import scaled
from winnow.filters.web.url_lists.entries import Kind, written_entry
from winnow.filters.web.url_lists.scanning import CLASSES, scan
from winnow.filters.web.urls import canonical_url
from winnow.schemas.errors import RecipeError


@settings(max_examples=scaled(300), deadline=None)
@given(st.lists(lines, min_size=1, max_size=12), st.lists(addresses, min_size=1, max_size=12))
def test_a_list_matches_what_a_set_of_strings_matches(listed: list[str], urls: list[str]) -> None:
    text = "\n".join(listed)
    entries = entries_in(text)
    if not entries:
        with pytest.raises(RecipeError, match="none of"):
            list_of(text)
        return
    index = list_of(text)
    assert matched(index, urls) == [expected(entries, url) for url in urls]


@pytest.mark.parametrize("line", ["0", "127.1", "2130706433", "0x7f.0.0.1", "[::1]", "=localhost", "*.localhost"])
def test_this_machine_is_no_entry_however_it_is_spelt(line: str) -> None:
    assert entries_in(line) == []


@settings(max_examples=scaled(200), deadline=None)
@given(st.lists(lines, min_size=1, max_size=6))
def test_every_entry_matches_its_own_address_and_can_be_written_again(listed: list[str]) -> None:
    text = "\n".join(listed)
    for entry in entries_in(text):
        if entry.kind in (Kind.DOMAIN, Kind.HOST, Kind.PATH):
            place = f"[{entry.text}]" if ":" in entry.text.partition("/")[0] else entry.text
            if ":" in entry.text and entry.kind == Kind.PATH and ":" in entry.text.partition("/")[0]:
                continue
            (found,) = matched(list_of(written_entry(entry)), [f"https://{place}"])
            assert found == (entry.kind.name.lower(), written_entry(entry))
        assert [(again.kind, again.text) for again in entries_in(written_entry(entry))] == [(entry.kind, entry.text)]


@settings(max_examples=scaled(500), deadline=None)
@given(addresses)
def test_plain_addresses_have_the_parts_of_their_canonical_spelling(url: str) -> None:
    canonical = canonical_url(url)
    plain, _, host, last, path, query, end = _parts(url, canonical=False)
    if plain:
        assert canonical is not None
        raw = url.encode()
        _, _, *at = _parts(canonical, canonical=True)
        written = canonical.encode()
        assert raw[host:last].lower() == written[at[0] : at[1]]
        assert (raw[path:query] or b"/") == written[at[2] : at[3]]
        assert raw[query:end] == written[at[3] : at[4]]
    if canonical is not None:
        assert _parts(canonical, canonical=True)[0]


def _parts(url: str, canonical: bool) -> tuple[bool, bool, int, int, int, int, int]:
    raw = np.frombuffer(url.encode("utf-8", "surrogatepass"), np.uint8)
    return scan(raw, 0, len(raw), canonical, CLASSES)  # type: ignore[no-any-return]


def test_labels_are_whole() -> None:
    index = list_of("example.com")
    assert matched(index, ["http://example.com", "http://a.b.example.com"]) == [("domain", "example.com")] * 2
    assert matched(index, ["http://notexample.com", "http://example.com.evil.test", "http://com"]) == [None] * 3


def test_who_poses_as_another_is_not_taken_for_it() -> None:
    index = list_of("example.com")
    for url in ("http://example.com@evil.test/", "http://evil.test/example.com", "http://evil.test?//example.com"):
        assert matched(index, [url]) == [None]
    for url in (
        "http://evil.test@example.com/",
        "HTTP:\\\\EXAMPLE.COM.:0443\\",
        "http://ｅxample。com/",
        "http://ex%61mple.com",
    ):
        assert matched(index, [url]) == [("domain", "example.com")]


def test_the_entry_that_says_most_is_named() -> None:
    index = list_of(["b.com", "a.b.com", "=x.a.b.com", "b.com/p", "b.com/p/q", "x.a.b.com/p", "word:p"])
    assert matched(index, ["http://b.com", "http://z.a.b.com", "http://x.a.b.com"]) == [
        ("domain", "b.com"),
        ("domain", "a.b.com"),
        ("host", "=x.a.b.com"),
    ]
    assert matched(index, ["http://a.b.com/p/q/r", "http://x.a.b.com/p/q", "http://c.com/p"]) == [
        ("path", "b.com/p/q"),
        ("path", "x.a.b.com/p"),
        ("word", "word:p"),
    ]


def test_an_ip_address_has_no_parents() -> None:
    index = list_of(["192.0.2.1", "2.1", "*.1"])  # 2.1 is 2.0.0.1
    assert matched(index, ["http://192.0.2.1:80/", "http://3221225985/"]) == [("host", "192.0.2.1")] * 2
    assert matched(index, ["http://10.192.0.2.1/", "http://7.0.2.1/", "http://2.1/"]) == [
        "no_address",
        None,
        ("host", "2.0.0.1"),
    ]


def test_paths_end_where_segments_and_parameters_do() -> None:
    index = list_of(["a.com/dir/", "a.com/page?id=1"])
    hit = ("path", "a.com/dir")
    assert (
        matched(index, ["http://a.com/dir", "http://a.com/dir/", "http://a.com/x/../dir/y", "http://a.com/dir?z"])
        == [hit] * 4
    )
    assert matched(index, ["http://a.com/directory", "http://a.com/DIR", "http://a.com/x/dir"]) == [None] * 3
    assert matched(index, ["http://a.com/page?id=1&b", "http://a.com/page?id=12", "http://a.com/page"]) == [
        ("path", "a.com/page?id=1"),
        None,
        None,
    ]


def test_very_long_addresses_take_linear_time() -> None:
    index = list_of(["a.com/" + "x/" * 3000, "word:casino", "part:aaaab", "com"])
    urls = [
        "http://a.com/" + "x/" * 30_000,
        "http://a.com/" + "a" * 60_000,
        "http://" + "a." * 120 + "com/" + "%61" * 20_000,
        "http://a.com/?" + "&" * 60_000,
        "http://b.com/" + "é" * 60_000,
        "http://b.com/" + "x" * 70_000,
    ]
    found = matched(index, urls)
    assert found[0] == ("path", "a.com/" + "x/" * 2999 + "x")
    assert found[1:] == [None, None, None, None, "no_address"]


def test_words_are_those_of_host_path_and_query() -> None:
    index = list_of(["word:8080", "word:https", "word:casino", "part:sexy"])
    assert matched(index, ["http://a.com:8080/", "https://a.com/", "http://casino@a.com/#casino"]) == [None] * 3
    assert matched(index, ["https://exy.com/"]) == [None]  # no word reaches into the scheme
    hit = ("word", "word:casino")
    assert matched(index, ["http://a-CASINO.com", "http://a.com/?q=%43asino", "http://a.com/casino_1"]) == [hit] * 3
    assert matched(index, ["http://a.com/casinos", "http://a.com/2casino"]) == [None] * 2
    assert matched(index, ["http://s-e.com/x/y", "http://a.com/S%45XY"]) == [None, ("word", "part:sexy")]
    assert matched(index, ["http://s-e.xy/"]) == [("word", "part:sexy")]


def test_words_of_every_script_are_found_however_they_are_written() -> None:
    index = list_of(["word:казино", "word:hôtel", "part:赌场"])
    hit = ("word", "word:казино")
    assert matched(index, ["http://a.com/КАЗИНО/", "http://a.com/%D0%BA%D0%B0%D0%B7%D0%B8%D0%BD%D0%BE"]) == [hit] * 2
    assert matched(index, ["http://казино.com/", "http://xn--80aodfsg.com/"]) == [hit] * 2
    assert matched(index, ["http://a.com/казинос"]) == [None]
    assert matched(index, ["http://a.com/ho\u0302tel", "http://a.com/x赌场y"]) == [
        ("word", "word:hôtel"),
        ("word", "part:赌场"),
    ]


def test_two_different_soft_words_are_needed() -> None:
    index = list_of(["soft:free", "soft:girls", "soft:pics"])
    assert matched(index, ["http://free.com/free", "http://free.com/girls", "http://a.com/pics?girls=free"]) == [
        None,
        ("word", "soft:free soft:girls"),
        ("word", "soft:pics soft:girls"),
    ]
