"""The operator `url.canonical`: which addresses name the same page, and that its kernel and its function agree."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.filters.restated_digests import digest_of
from tests.filters.web.url_lists.addresses import addresses as any_addresses
from tests.messages import assert_refused
from winnow.filters.operators import find_operator
from winnow.filters.url.canonical import (
    OPERATOR,
    SESSIONS,
    TRACKING,
    URL,
    WRITES,
    CanonicalConfig,
    canonical,
    canonical_url,
)
from winnow.filters.web.urls import MAX_URL_CHARACTERS
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import Place
from winnow.schemas.recipe import build_config
from winnow.schemas.recipe.nodes import Entry, ListNode, MapNode, Scalar

GOLDEN = Path(__file__).parent / "golden" / "canonical.json"
DEFAULT = CanonicalConfig()

HOSTS = (
    "example.com",
    "WWW.Example.com",
    "www.www.a.b",
    "www.com",
    "wwwx.a.b",
    "a.b.",
    "x_y.de",
    "münchen.de",
    "www.1.2.3.4",
)
PORTS = ("", "", ":", ":80", ":443", ":0443", ":8080", ":080", ":0", ":00000", ":65536", ".:80")
SEGMENTS = ("", "", "a", "b", "B", "%41", "%2f", "%C3%A9", "%c3", "%zz", "é", ".", "..", "a;jsessionid=1",
            ";JSESSIONID=x!y", "..;jsessionid", ";j;k", "[x]", "a;jsessionidx=1", "~", "\\")  # fmt: skip
PARAMETERS = ("", "a=1", "a=2", "a", "a=", "b=1", "A=1", "ab=1", "a-b=1", "utm_source=x", "UTM_x", "utm", "sid=1",
              "SID", "side=1", "PHPSESSID=1", "_ga=2.1", "ref_src=t", "%75tm_a=1", "%61=1", "q=%zz", "q=%4%31",
              "q=%c3%a9", "q=é", "q=a+b", "q=%20", "q='", "x=y=z", "=", "mine=1", "my%20own=1", "é=1")  # fmt: skip
ROUTES = ("#!", "#/", "#!/p/1", "#!/p/2", "#/p/1", "#!p", "#%21/p/1", "#%2fp", "#%2F", "#\n!/p/1", "#!/é#%zz%41", "#!!")

addresses = st.one_of(
    st.builds(
        "{}{}{}{}{}{}".format,
        st.sampled_from(("http://", "https://", "HTTPS://", "https://user@")),
        st.sampled_from(HOSTS),
        st.sampled_from(PORTS),
        st.lists(st.sampled_from(SEGMENTS), max_size=5).map(lambda found: "".join(f"/{one}" for one in found)),
        st.lists(st.sampled_from(PARAMETERS), max_size=6).map(lambda found: "?" + "&".join(found) if found else ""),
        st.sampled_from(("", "", "#", "#a?b&c", *ROUTES)),
    ),
    any_addresses,
)
configs = st.builds(
    CanonicalConfig,
    *[st.booleans()] * 7,
    st.sampled_from(((), ("mine",), ("Mine", "my own", "é"), ("a", "%61b"))),
)


def measured(*urls: str, config: CanonicalConfig = DEFAULT) -> list[tuple[str, bytes | None]]:
    found = canonical(batch_of(urls), config)
    assert found.schema.equals(WRITES)
    found.validate(full=True)
    return [(row["status"], row["digest"]) for row in found.to_pylist()]


def batch_of(urls: Sequence[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({URL: pa.array(urls, pa.string())})


def expected(url: str, config: CanonicalConfig = DEFAULT) -> tuple[str, bytes | None]:
    spelt = canonical_url(url, config)
    return ("not_an_address", None) if spelt is None else ("ok", digest_of(spelt.encode()))


def test_it_is_found_by_its_name() -> None:
    assert find_operator("url.canonical") is OPERATOR
    assert OPERATOR.needs == (URL,)
    assert OPERATOR.reasons == ("not_an_address",)


@pytest.mark.parametrize(
    ("url", "spelt"),
    [
        ("https://example.com", "http://example.com/"),
        ("http://example.com:443/", "http://example.com/"),  # so that what is spelt once stays as it is
        ("https://example.com:8080/", "http://example.com:8080/"),
        ("http://WWW.Example.COM./", "http://example.com/"),
        ("http://www.com/", "http://www.com/"),
        ("http://www2.example.com/", "http://www2.example.com/"),
        ("http://bücher.example/ü", "http://xn--bcher-kva.example/%C3%BC"),
        ("http://user:word@example.com/#top", "http://example.com/"),
        ("http://[2001:DB8:0::1]:80/", "http://[2001:db8::1]/"),
        ("http://example.com/%7ea%2fb/", "http://example.com/~a%2Fb"),
        ("http://example.com/a/./b/../c", "http://example.com/a/c"),
        ("http://example.com//a///b//", "http://example.com/a/b"),
        ("http://example.com/Index.html", "http://example.com/Index.html"),
        ("http://example.com/a;jsessionid=1F!2?x=1", "http://example.com/a?x=1"),
        ("http://example.com/a;v=1;JSessionId=1/b", "http://example.com/a;v=1/b"),
        ("http://example.com/a/..;jsessionid=1/b", "http://example.com/b"),
        ("http://example.com/a?", "http://example.com/a"),
        ("http://example.com/?b=2&a=1&&b=1", "http://example.com/?a=1&b=2&b=1"),
        ("http://example.com/?to=2&from=1&to=1", "http://example.com/?from=1&to=2&to=1"),  # there and back again
        ("http://example.com/?a=2&ab=1&a&a=1", "http://example.com/?a=2&a&a=1&ab=1"),
        ("http://example.com/?UTM_Source=x&q=1&%67clid=1&utm_", "http://example.com/?q=1"),
        ("http://example.com/?phpsessid=1&side=1&utm=2", "http://example.com/?side=1&utm=2"),
        ("http://example.com/news.php?sid=4711", "http://example.com/news.php?sid=4711"),  # an article's id
        ("http://example.com/?q=%c3%a9&r=%7E&s=%", "http://example.com/?q=%C3%A9&r=~&s=%25"),
        ("http://example.com/?q=é", "http://example.com/?q=%C3%A9"),
        ("http://example.com/#!/p/1", "http://example.com/#!/p/1"),  # a single-page site, as AngularJS writes it
        ("http://example.com/app/?utm_id=1#/p/%7e1/?b=2&a=1", "http://example.com/app#/p/~1/?b=2&a=1"),  # as Vue does
        ("http://example.com/#%21/p/é#x", "http://example.com/#!/p/%C3%A9#x"),
        ("http://example.com/#!", "http://example.com/"),  # its first page
        ("http://example.com/#!/", "http://example.com/"),
        ("http://example.com/#/", "http://example.com/"),
        ("http://example.com/#p/1", "http://example.com/"),
    ],
)
def test_there_is_one_spelling(url: str, spelt: str) -> None:
    assert canonical_url(url, DEFAULT) == spelt
    assert measured(url) == measured(spelt) == [("ok", digest_of(spelt.encode()))]


@pytest.mark.parametrize(
    "url",
    ["", "example.com", "ftp://example.com/", "mailto:a@example.com", "http://", "http:///?", "http://a:99999/", "/a"],
)
def test_what_is_no_address_has_no_digest(url: str) -> None:
    assert canonical_url(url, DEFAULT) is None
    assert measured(url) == [("not_an_address", None)]


@pytest.mark.parametrize("name", [*TRACKING, *SESSIONS])
def test_what_tracks_does_not_count(name: str) -> None:
    plain, tracked = "http://example.com/?q=1", f"http://example.com/?{name.upper()}=x&q=1&{name}"
    assert measured(plain) == measured(tracked)
    kept = CanonicalConfig(tracking=False, sessions=False)
    assert measured(plain, config=kept) != measured(tracked, config=kept)


def test_what_counts_can_be_chosen() -> None:
    url = "http://example.com/a;jsessionid=1?page=2&utm_x=1&lang=de&My+Id=3"
    assert canonical_url(url, CanonicalConfig(tracking=False, sessions=False, sort_query=False)) == url
    assert canonical_url(url, CanonicalConfig(sort_query=False)) == "http://example.com/a?page=2&lang=de&My+Id=3"
    assert canonical_url(url, CanonicalConfig(ignore=("Page", "my+id"))) == "http://example.com/a?lang=de"


PAIRS = {
    "scheme": ("https://example.com/a", "http://example.com:443/a"),
    "www": ("http://www.example.com/a", "http://example.com/a"),
    "slashes": ("http://example.com/a//b/", "http://example.com/a/b"),
    "tracking": ("http://example.com/?a=1&utm_source=x&gclid=2", "http://example.com/?a=1"),
    "sessions": ("http://example.com/a;jsessionid=1?PHPSESSID=2", "http://example.com/a"),
    "sort_query": ("http://example.com/?b=1&a=2", "http://example.com/?a=2&b=1"),
    "routes": ("http://example.com/#!/p/1", "http://example.com/#!/p/2"),
}


def config_of(rules: dict[str, bool]) -> CanonicalConfig:
    return CanonicalConfig(**rules)  # type: ignore[arg-type]  # `ignore` is none of them


@pytest.mark.parametrize("rule", PAIRS)
def test_each_rule_ignores_one_difference_and_can_be_switched_off(rule: str) -> None:
    assert PAIRS.keys() | {"ignore"} == {field.name for field in dataclasses.fields(CanonicalConfig)}
    one, other = PAIRS[rule]
    ignored = measured(one, config=config_of(dict.fromkeys(PAIRS, True)))
    assert ignored == measured(other, config=config_of(dict.fromkeys(PAIRS, True)))
    assert (measured(one) == measured(other)) == (rule != "routes")  # equal keys mean equal pages by default
    without = config_of({**dict.fromkeys(PAIRS, True), rule: False})
    assert measured(one, config=without) != measured(other, config=without)
    for same, different in PAIRS.values():
        if (same, different) != PAIRS[rule]:
            assert measured(same, config=without) == measured(different, config=without)
    off = config_of(dict.fromkeys(PAIRS, False))
    every = {url for pair in PAIRS.values() for url in pair}
    assert len({digest for _, digest in measured(*every, config=off)}) == len(every)


def test_names_to_ignore_are_names() -> None:
    place = Place("recipe.yaml", 3)
    names = ListNode((Scalar("a=1", place, "a=1"),), place)
    with assert_refused(RecipeError, "'a=1'", "parameter"):
        build_config(CanonicalConfig, MapNode((Entry("ignore", place, names),), place), "annotate[0]")


@settings(deadline=None)
@given(addresses, configs)
def test_what_is_canonical_stays_as_it_is(url: str, config: CanonicalConfig) -> None:
    spelt = canonical_url(url, config)
    assert spelt is None or canonical_url(spelt, config) == spelt


@settings(deadline=None)
@given(st.lists(addresses, max_size=8), configs)
@example(["http://a.b.:80/", "http://a.b.:8080/", "https://a.b.:443/"], DEFAULT)
def test_the_kernel_writes_what_the_function_says(urls: list[str], config: CanonicalConfig) -> None:
    assert measured(*urls, config=config) == [expected(url, config) for url in urls]


@settings(deadline=None)
@given(st.lists(addresses, min_size=1, max_size=8), st.data())
def test_a_row_depends_on_itself_alone(urls: list[str], drawn: st.DataObject) -> None:
    whole = measured(*urls)
    order = drawn.draw(st.permutations(range(len(urls))))
    assert measured(*(urls[at] for at in order)) == [whole[at] for at in order]
    cut = drawn.draw(st.integers(0, len(urls)))
    batch = batch_of(urls)
    parts = [canonical(batch.slice(*part), DEFAULT).to_pylist() for part in ((0, cut), (cut, len(urls) - cut))]
    assert [(row["status"], row["digest"]) for part in parts for row in part] == whole


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/?" + "&".join(f"p{number * 7919 % 64}={number}" for number in range(64)),
        "http://example.com/?" + "&".join(f"p{number * 7919 % 65}={number}" for number in range(65)),
        "http://example.com/?" + "&".join(f"{number * 7919 % 9973}" for number in range(9973)),
        "http://example.com/" + "a" * (MAX_URL_CHARACTERS - 19),
        "http://example.com/" + "a" * MAX_URL_CHARACTERS,
        "http://example.com/" + "é" * 60_000,
        "http://example.com/" + "/" * 60_000,
        "http://example.com/" + "../" * 20_000,
        "http://example.com/a" + ";jsessionid=1" * 4_000,
        "http://" + "www." * 60 + "a.b/",
        "http://example.com/\0?\0=\ufffd",
        "http://example.com/?" + "%" * 20_000,
        "http://example.com:0000000000080/",
    ],
    ids=lambda url: f"{url[:24]!r} of {len(url)}",
)
def test_hostile_addresses(url: str) -> None:
    assert measured(url) == [expected(url)]
    spelt = canonical_url(url, DEFAULT)
    assert spelt is None or canonical_url(spelt, DEFAULT) == spelt


def test_a_column_of_nothing() -> None:
    assert measured() == []


def test_what_version_3_gives_never_changes() -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden["version"] == OPERATOR.version
    found = measured(*(url for url, *_ in golden["rows"]))
    assert golden["rows"] == [
        [url, canonical_url(url, DEFAULT), status, digest and digest.hex()]
        for (url, *_), (status, digest) in zip(golden["rows"], found, strict=True)
    ]
