"""The operator `url.blocklist`: lists of the user's, UT1, and datatrove's URLFilter beside them."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.measuring.environments import PEERS
from tests.filters.web.url_lists.addresses import addresses
from tests.messages import assert_refused
from tests.property_sizes import scaled
from winnow.filters.operators import find_operator
from winnow.filters.presets import find_preset
from winnow.filters.url.blocklist import OPERATOR, URL, Config, list_name
from winnow.pipelines.assets import AssetError, AssetFiles, lookup
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import Place
from winnow.schemas.recipe import build_config
from winnow.schemas.recipe.nodes import Entry, MapNode, Scalar

HERE = Path(__file__).parent
GOLDEN = HERE / "golden" / "blocklist.json"


@pytest.fixture(autouse=True, scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def measured(path: Path | str, urls: Sequence[str], **config: Any) -> list[dict[str, Any]]:
    made = Config(list=str(path), **config)
    found = OPERATOR.load(made, AssetFiles())(batch_of(urls))
    assert found.schema.equals(OPERATOR.writes(made))
    found.validate(full=True)
    return list(found.to_pylist())


def batch_of(urls: Sequence[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({URL: pa.array(urls, pa.string())})


def written(folder: Path, *lines: str) -> Path:
    path = folder / "mine.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_the_operator_is_found_by_its_name_and_says_what_a_hit_means() -> None:
    assert find_operator("url.blocklist") is OPERATOR
    assert OPERATOR.detects(Config()) == {"hit": "sexual.adult_site"}
    assert OPERATOR.detects(Config(category="rights.listed_domain")) == {"hit": "rights.listed_domain"}
    assert OPERATOR.languages(Config()) is None
    assert OPERATOR.assets(Config(list="lists/mine.txt")) == ("lists/mine.txt",)


def test_the_golden_file_holds(tmp_path: Path) -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    urls = [url if isinstance(url, str) else url[0] + "x" * url[1] for url, *_ in golden["rows"]]
    rows = measured(written(tmp_path, *golden["list"]), urls)
    assert golden["version"] == OPERATOR.version
    assert [[row[name] for name in golden["columns"]] for row in rows] == [row for _, *row in golden["rows"]]


def test_a_column_of_nothing_and_of_empty_addresses(tmp_path: Path) -> None:
    path = written(tmp_path, "example.com", "word:casino")
    assert measured(path, []) == []
    assert [row["status"] for row in measured(path, ["", ""])] == ["no_address"] * 2


def test_where_nothing_can_be_seen_nothing_is_said(tmp_path: Path) -> None:
    nothing = {"hit": None, "list": None, "entry": None, "match": None}
    path = written(tmp_path, "example.com", "word:casino")
    assert measured(path, ["ftp://example.com/casino"]) == [{"status": "no_address", **nothing}]
    (clean,) = measured(path, ["http://example.org/"])
    assert clean == {"status": "ok", **nothing, "hit": False}


def test_only_the_kinds_that_are_asked_for_count(tmp_path: Path) -> None:
    path = written(tmp_path, "a.com", "=b.com", "c.com/d", "word:casino")
    urls = ["http://a.com", "http://b.com", "http://c.com/d", "http://d.com/casino"]
    for kind in ("domain", "host", "path", "word"):
        assert [row["match"] for row in measured(path, urls, match=(kind,)) if row["hit"]] == [kind]


def test_a_list_of_domains_that_opted_out_is_such_a_list(tmp_path: Path) -> None:
    path = written(tmp_path, "# opted out", "publisher.example", "https://paper.example/news/")
    urls = ["https://www.publisher.example/a", "https://paper.example/news/1", "https://paper.example/sport"]
    rows = measured(path, urls, category="rights.listed_domain")
    assert [row["entry"] for row in rows] == ["publisher.example", "paper.example/news", None]


def test_a_category_that_no_list_can_feed_is_refused(tmp_path: Path) -> None:
    place = Place("recipe.yaml", 7)
    options = MapNode((Entry("category", place, Scalar("personal.email", place, "personal.email")),), place)
    with assert_refused(RecipeError, "recipe.yaml:7", "category:", "'personal.email'"):
        build_config(Config, options, "annotate[0].url.blocklist")
    with pytest.raises(RecipeError, match=r"url.blocklist: category: 'nonsense' is not"):
        measured(written(tmp_path, "a.com"), [], category="nonsense")


def test_a_list_with_many_lines_that_are_no_entries_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "a.com", "b c", "d.com")
    with assert_refused(RecipeError, "1 of 3", "2"):
        measured(path, [])
    assert measured(path, ["http://d.com"], max_invalid_share=0.4)[0]["hit"] is True


def test_a_list_is_named_as_its_asset_or_its_file() -> None:
    names = ("ut1-adult", "lists/mine.txt", "/a/mine.v2.txt.gz", "mine.zst", ".txt")
    assert [list_name(name) for name in names] == ["ut1-adult", "mine", "mine.v2", "mine", ".txt"]


@settings(max_examples=scaled(30), deadline=None)
@given(st.lists(addresses, max_size=12), st.data())
def test_a_row_depends_on_its_own_address_alone(
    tmp_path_factory: pytest.TempPathFactory, urls: list[str], data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "same.txt"
    if not path.exists():
        path.write_text("a.com\n=b.com\nwww.a/b\nword:casino\nsoft:free\nsoft:slots\npart:ab\nword:é\n*.uk\n")
    order = data.draw(st.permutations(range(len(urls))))
    cut = data.draw(st.integers(0, len(urls)))
    whole = measured(path, urls)
    assert measured(path, [urls[at] for at in order]) == [whole[at] for at in order]
    assert measured(path, urls[:cut]) + measured(path, urls[cut:]) == whole
    kernel = OPERATOR.load(Config(list=str(path)), AssetFiles())
    assert kernel(batch_of(["http://x.y", *urls]).slice(1)).to_pylist() == whole


PEER_LISTS = {
    "extra_domains": ["listed.com", "sub.host.org", "deep.in.net"],
    "banned_words": ["casino", "bet365"],
    "soft_banned_words": ["free", "hot", "pics"],
    "banned_subwords": ["freepics", "lotsofspins"],
}


@pytest.mark.peers
def test_it_hits_what_datatroves_filter_drops(tmp_path: Path) -> None:
    if not (PEERS / "datatrove" / "ready").exists():
        pytest.skip("the peer datatrove is not installed (`python -m benchmarks.parity` says how it is made)")
    hosts = [
        "listed.com",
        "www.listed.com",
        "notlisted.com",
        "sub.host.org",
        "host.org",
        "in.net",
        "casino.com",
        "a.com",
    ]
    paths = [
        "",
        "/",
        "/casino",
        "/casinos/x",
        "/free-hot",
        "/free/free",
        "/freepics",
        "/free-pics.html",
        "/lots/of-spins",
    ]
    urls = [f"https://{host}{path}{query}" for host in hosts for path in paths for query in ("", "?q=hot", "?a=bet365")]
    done = subprocess.run(
        [PEERS / "datatrove" / "bin" / "python", HERE / "url_filter_peer.py"],
        input=json.dumps([PEER_LISTS, urls]),
        capture_output=True,
        text=True,
        check=False,
    )
    if "Please install `ahocorasick`" in done.stderr:
        pytest.skip("the peer datatrove lacks what its URLFilter needs: pip install pyahocorasick fasteners")
    reasons = {"domain": "domain", "subdomain": "domain", "hard_blacklisted": "word:", "soft_blacklisted": "soft:"}
    path = written(
        tmp_path,
        *PEER_LISTS["extra_domains"],
        *(f"word:{word}" for word in PEER_LISTS["banned_words"]),
        *(f"soft:{word}" for word in PEER_LISTS["soft_banned_words"]),
        *(f"part:{word}" for word in PEER_LISTS["banned_subwords"]),
    )
    answers = json.loads(done.stdout)
    assert {*answers} == {None, "domain", "subdomain", "hard_blacklisted", "soft_blacklisted", "blacklisted_subword"}
    for url, answer, row in zip(urls, answers, measured(path, urls), strict=True):
        expected = None if answer is None else reasons.get(answer, "part:")
        found = None if not row["hit"] else "domain" if row["match"] == "domain" else row["entry"][:5]
        assert (url, found) == (url, expected)


@pytest.fixture
def _ut1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    for name in ("ut1-adult", "fineweb-urls"):
        try:
            lookup(name)
        except AssetError as error:
            pytest.skip(str(error))


@pytest.mark.usefixtures("_ut1")
def test_ut1_lists_what_it_should() -> None:
    well_known = ["https://www.wikipedia.org/", "https://www.bbc.co.uk/news", "https://www.reddit.com/r/python/"]
    assert [row["hit"] for row in measured("ut1-adult", well_known)] == [False] * 3
    rows = measured("ut1-adult", ["https://any.thing.xxx/", "http://sex.hu/", "https://a.sa.com/", "https://sa.com/"])
    assert [(row["list"], row["entry"]) for row in rows] == [
        ("ut1-adult", "*.xxx"),
        ("ut1-adult", "*.sex.hu"),
        (None, None),
        ("ut1-adult", "=sa.com"),
    ]


@pytest.mark.usefixtures("_ut1")
def test_words_are_in_fineweb_urls_alone() -> None:
    word = "18abused"  # the first of the list
    assert [row["hit"] for row in measured("ut1-adult", [f"https://example.com/{word}"])] == [False]
    (row,) = measured("fineweb-urls", [f"https://example.com/{word}"])
    assert (row["list"], row["entry"], row["match"]) == ("fineweb-urls", f"word:{word}", "word")


@pytest.mark.parametrize("name", ["urls@ut1-adult", "urls@fineweb"])
def test_presets_keep_what_has_no_address(name: str) -> None:
    preset = find_preset(name)
    assert {rule.when_null for rule in preset.rules} == {"keep"}
    assert preset.rules[0].reason == "adult_site"
