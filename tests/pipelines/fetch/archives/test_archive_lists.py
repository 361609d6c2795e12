"""Lists of addresses and domains, and CDXJ files, against an index."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipelines.fetch.archives.loopback import NAME, Crawl, pages, surt
from tests.pipelines.fetch.archives.test_archives import ask
from winnow.pipelines.fetch.archives.cdxj import index_of_cdxj
from winnow.pipelines.fetch.archives.stage import ArchiveAsk, ArchivePlan, fetch_archive, plan_archive
from winnow.pipelines.fetch.log import read_log
from winnow.schemas.errors import RecipeError, SourceError
from winnow.schemas.recipe.fetch import ArchiveQuery, ArchiveSample


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    return Crawl(tmp_path_factory.mktemp("crawl"), pages(3_000, sites=40), files=3)


def fetched(folder: Path, crawl: Crawl, **query: object) -> tuple[ArchiveAsk, ArchivePlan, Counter[tuple[str, str]]]:
    asked = ask(folder, ArchiveQuery(crawl=NAME, data=str(crawl.folder), **query))  # type: ignore[arg-type]
    plan = plan_archive(asked)
    fetch_archive(plan, asked)
    log = read_log(asked.objects).to_pylist()
    return asked, plan, Counter((row["decision"], row["reason"]) for row in log)


def test_each_line_of_a_list_of_addresses_ends_as_one_row(tmp_path: Path, crawl: Crawl) -> None:
    lines = [
        "https://www.site3.is/pages/3.html",
        "HTTPS://WWW.SITE3.IS:443/pages/../pages/3.html#top",  # the same
        "https://www.site7.is/pages/7.html",
        "https://www.site7.is/pages/none.html",
        "https://nowhere.example/",
        "ftp://site3.is/pages/3.html",
        "https://www.site3.is/" + "x" * 3_000,
        "https://user:secret@www.site3.is/pages/43.html",
    ]
    (tmp_path / "list.txt").write_text("\n".join(lines) + "\n\n")
    asked, plan, ends = fetched(tmp_path / "out", crawl, addresses=str(tmp_path / "list.txt"))
    assert (plan.records, plan.not_in_index) == (2, 2)
    assert sum(ends.values()) == len(lines)
    assert ends == {
        ("fetched", "ok"): 2,
        ("skipped", "repeated"): 1,
        ("failed", "not_in_index"): 2,
        ("failed", "no_address"): 1,
        ("failed", "too_long"): 1,
        ("failed", "credentials"): 1,
    }
    assert "secret" not in json.dumps(read_log(asked.objects)["detail"].to_pylist())


NO_PLACES: list[dict[str, object]] = [
    {"warc_record_offset": -1},
    {"warc_record_offset": None},
    {"warc_record_length": 0},
    {"warc_record_length": None},
    {"warc_filename": None},
]


@pytest.mark.parametrize("by", ["where", "domains", "addresses"])
def test_a_record_to_which_the_index_gives_no_place_has_its_row(tmp_path: Path, by: str) -> None:
    crawl = Crawl(tmp_path / "crawl", pages(600, sites=10))
    rows = crawl.index_rows()
    of_site = [number for number, row in enumerate(rows) if row["url_host_name"] == "www.site3.is"]
    lost: dict[int, dict[str, object]] = dict(zip(of_site[::7], [*NO_PLACES, {"url": None}], strict=False))
    first, second = sorted(of_site[1:3], key=lambda number: str(rows[number]["url"]))
    lost[second] = {name: value for name, value in rows[first].items() if name.startswith("warc_")}
    crawl.write_index(crawl.paths[0], [row | lost.get(number, {}) for number, row in enumerate(rows)])
    lines = {"domains": "www.site3.is", "addresses": "\n".join(str(rows[number]["url"]) for number in of_site)}
    (tmp_path / "list.txt").write_text(lines.get(by, ""))
    condition = "url_host_name = 'www.site3.is'"
    asked_by = {by: condition if by == "where" else str(tmp_path / "list.txt")}
    asked, plan, ends = fetched(tmp_path / "out", crawl, **asked_by)
    assert plan.records == len(of_site) - len(lost)
    reasons = {"ok": len(of_site) - len(lost), "no_record": len(lost), "not_in_index": 0}
    if by == "addresses":  # whose line has an address where the index has none
        reasons |= {"no_record": len(lost) - 1, "not_in_index": 1}
    assert Counter({reason: count for (_, reason), count in ends.items()}) == Counter(reasons) - Counter()
    assert plan.without_place == reasons["no_record"]
    told = [row["detail"] for row in read_log(asked.objects).to_pylist() if row["reason"] == "no_record"]
    assert sum("the place of another address" in detail for detail in told) == 1
    assert sum("no place: file" in detail for detail in told) == reasons["no_record"] - 1


def test_a_list_reads_only_the_row_groups_of_its_hosts(tmp_path: Path, crawl: Crawl) -> None:
    (tmp_path / "list.txt").write_text("https://www.site3.is/pages/3.html\n")
    _, few, _ = fetched(tmp_path / "few", crawl, addresses=str(tmp_path / "list.txt"))
    _, all_, _ = fetched(tmp_path / "all", crawl, where="fetch_status = 200", limit=1)
    assert few.index_bytes < all_.index_bytes


def test_a_list_of_domains_takes_their_hosts_alone(tmp_path: Path, crawl: Crawl) -> None:
    lines = ["site3.is", "Site3.IS.", "www.site4.is", "https://site5.is/any/page", "ite6.is", "example.org"]
    (tmp_path / "domains.txt").write_text("\n".join(lines))
    asked, plan, ends = fetched(tmp_path / "out", crawl, domains=str(tmp_path / "domains.txt"))
    rows = read_log(asked.objects).to_pylist()
    assert {row["url"].split("/")[2] for row in rows if row["reason"] == "ok"} == {
        "www.site3.is",
        "www.site4.is",
        "www.site5.is",
    }
    assert (ends["fetched", "ok"], ends["skipped", "repeated"], plan.not_in_index) == (225, 1, 2)


def test_what_a_limit_leaves_out_of_a_list_is_told(tmp_path: Path, crawl: Crawl) -> None:
    (tmp_path / "list.txt").write_text("".join(f"https://www.site3.is/pages/{n}.html\n" for n in range(3, 403, 40)))
    _, _, ends = fetched(tmp_path / "out", crawl, addresses=str(tmp_path / "list.txt"), limit=4)
    assert ends == {("fetched", "ok"): 4, ("skipped", "over_limit"): 6}


def test_a_larger_limit_takes_what_a_smaller_one_took_and_a_sample_is_by_group(tmp_path: Path, crawl: Crawl) -> None:
    taken = []
    for limit in (10, 50):
        asked, _, _ = fetched(tmp_path / str(limit), crawl, where="fetch_status = 200", limit=limit)
        taken.append(set(read_log(asked.objects)["url"].to_pylist()))
    assert (len(taken[0]), len(taken[1])) == (10, 50)
    assert taken[0] < taken[1]
    sample = ArchiveSample(per_domain=3, share=0.5)
    asked, _, _ = fetched(tmp_path / "sample", crawl, where="fetch_status = 200", sample=sample)
    assert Counter(read_log(asked.objects)["domain"].to_pylist()) == {f"site{number}.is": 3 for number in range(40)}


@pytest.mark.parametrize("form", ["cdxj", "cdxj.gz", "json"])
def test_a_cdxj_file_names_the_records(tmp_path: Path, crawl: Crawl, form: str) -> None:
    rows = crawl.index_rows()[:40]
    lines = []
    for row in rows:
        told = {"url": row["url"], "status": "200", "mime": "text/html", "languages": row["content_languages"]}
        told |= {"filename": row["warc_filename"], "offset": str(row["warc_record_offset"])}
        told |= {"length": str(row["warc_record_length"])}
        key, moment = surt(str(row["url"])), "20261001000000"
        whole = {"urlkey": key, "timestamp": moment} | told
        lines.append(json.dumps(whole) if form == "json" else f"{key} {moment} {json.dumps(told)}")
    lines.insert(0, "!OpenWayback-CDXJ 1.0")
    raw = "\n".join(lines).encode()
    (tmp_path / f"list.{form}").write_bytes(gzip.compress(raw) if form.endswith(".gz") else raw)
    where = "content_languages = 'isl'"
    _, plan, ends = fetched(tmp_path / "out", crawl, cdxj=str(tmp_path / f"list.{form}"), where=where, robots=False)
    assert plan.records == ends["fetched", "ok"] == sum(row["content_languages"] == "isl" for row in rows)


CAPTURE = {"url": "https://a.is/", "filename": "a.warc.gz", "offset": "7", "length": "9"}


@pytest.mark.parametrize(
    "line",
    [
        json.dumps(CAPTURE)[:40],
        '{"url": "https://a.is/", "offset": }',
        '["https://a.is/"]',
        "\0" * 40,
        " CDX N b a m s k r M S V g",
        json.dumps(CAPTURE | {"mime": "x" * (2 << 20)}),
        *(
            json.dumps(CAPTURE | changed)
            for changed in (
                {"offset": "-1"},
                {"offset": -1},
                {"offset": 1.5},
                {"offset": True},
                {"offset": "1_0"},
                {"offset": "9" * 30},
                {"offset": "9" * 5000},
                {"offset": None},
                {"length": "0"},
                {"length": "-9"},
                {"length": ""},
                {"filename": None},
                {"filename": ""},
                {"filename": 7},
                {"url": None},
                {"url": ["https://a.is/"]},
            )
        ),
        *(json.dumps({name: CAPTURE[name] for name in CAPTURE if name != gone}) for gone in CAPTURE),
    ],
)
def test_a_line_of_a_cdxj_file_that_is_no_capture_is_refused_by_its_number(tmp_path: Path, line: str) -> None:
    file = tmp_path / "list.cdxj"
    file.write_text(f"{json.dumps(CAPTURE)}\n{line}\n")
    with pytest.raises(SourceError) as caught:
        index_of_cdxj(str(file), tmp_path)
    said = str(caught.value)
    assert said.startswith(f"{file}:2: ")
    assert "expected lines such as is,example)/ 20261001120000 {" in said
    assert len(said) < 400 + len(str(file))


@pytest.mark.parametrize(
    ("query", "kind", "told"),
    [
        (
            {"where": "content_language = 'isl'"},
            RecipeError,
            ("content_language", "content_languages", "warc_filename"),
        ),
        ({"where": "fetch_status = '200'"}, RecipeError, ("fetch_status",)),
        ({"where": "url IN (SELECT url FROM read_csv('/etc/passwd'))"}, RecipeError, ("subquery",)),
        ({"where": "true) OR (1=1"}, RecipeError, ("where",)),
        ({"where": "fetch_status = 200; DROP TABLE chosen"}, RecipeError, ("where",)),
        ({"addresses": "empty.txt"}, SourceError, ("empty.txt", "https://example.org/page")),
        ({"domains": "words.txt"}, SourceError, ("words.txt", "domain")),
        ({"addresses": "nowhere.txt"}, SourceError, ("nowhere.txt",)),
        ({"cdxj": "words.txt"}, SourceError, ("words.txt:1", "filename")),
        ({"cdxj": "empty.txt"}, SourceError, ("empty.txt: holds no capture", "filename")),
        ({"index": "other"}, SourceError, ("other", "warc_filename", "name, size")),
        ({"index": "few", "sample": ArchiveSample(per_domain=3)}, SourceError, ("url_host_registered_domain", "url")),
        ({"index": "nothing"}, SourceError, ("nothing", "Parquet")),
        ({"index": "broken"}, SourceError, ("broken",)),
        ({"index": "https://example.org/index/"}, SourceError, ("cc-index-table.paths.gz",)),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_read(
    tmp_path: Path,
    crawl: Crawl,
    monkeypatch: pytest.MonkeyPatch,
    query: dict[str, object],
    kind: type[Exception],
    told: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.txt").write_text("\n \n")
    (tmp_path / "words.txt").write_text("??? !!!\n")
    for folder in ("other", "nothing", "broken"):
        (tmp_path / folder).mkdir()
    pq.write_table(pa.table({"name": ["a"], "size": [1]}), tmp_path / "other/part.parquet")
    (tmp_path / "few").mkdir()
    few = {"url": ["https://a.is/"], "warc_filename": ["a"], "warc_record_offset": ["0"], "fetch_status": [200]}
    pq.write_table(pa.table(few | {"warc_record_length": ["9"]}), tmp_path / "few/part.parquet")
    (tmp_path / "broken/part.parquet").write_bytes(b"PAR1" + b"x" * 100)
    if "index" in query:
        query = {"where": "fetch_status = 200", **query}
    with pytest.raises(kind) as error:
        plan_archive(ask(tmp_path / "out", ArchiveQuery(crawl=NAME, data=str(crawl.folder), **query)))  # type: ignore[arg-type]
    for word in told:
        assert word in str(error.value)
    assert "\n" not in str(error.value)
