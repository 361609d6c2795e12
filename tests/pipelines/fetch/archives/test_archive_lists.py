"""Lists of addresses and domains, and CDXJ files, against an index."""

import gzip
import json
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipelines.fetch.archives.loopback import INDEX, NAME, Crawl, pages, surt
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


BIG = 1 << 62
UNPLACED: list[dict[str, object]] = [
    {"warc_record_offset": -1},
    {"warc_record_offset": None},
    {"warc_record_offset": BIG},
    {"warc_record_length": 0},
    {"warc_record_length": -5},
    {"warc_record_length": BIG},
    {"warc_record_length": None},
    {"warc_filename": None},
    {"url": None},
]


def flawed(folder: Path) -> Crawl:
    """A crawl whose index has as many rows without a place as there are kinds, and two rows of one place."""
    made = Crawl(folder, pages(40, sites=4), files=1)
    rows = sorted(made.index_rows(), key=lambda row: str(row["url"]))
    for row, lie in zip(rows, UNPLACED, strict=False):
        row |= lie
    rows[11]["warc_record_offset"], rows[11]["url"] = rows[10]["warc_record_offset"], f"{rows[10]['url']}?other"
    wide = pa.schema([field.with_type(pa.int64()) if field.type == pa.int32() else field for field in INDEX])
    made.write_index(made.paths[0], [*rows, rows[20]], wide)  # one of them twice
    return made


def test_each_row_of_the_index_without_a_place_ends_with_a_reason(tmp_path: Path) -> None:
    lying = flawed(tmp_path / "crawl")
    asked, plan, ends = fetched(tmp_path / "out", lying, where="warc_segment = '1.1'")
    assert ends == {("fetched", "ok"): 30, ("failed", "no_record"): 10}
    assert (plan.records, plan.unplaced) == (30, 10)
    log = read_log(asked.objects).to_pylist()
    assert Counter(row["detail"] for row in log if row["reason"] == "no_record") == {
        "the index has no offset of a file": 3,
        "the index has no length of a record": 4,
        "the index names no file": 1,
        "the index has no address": 1,
        "the index has another address at its place": 1,
    }


def test_a_listed_address_has_its_older_capture_where_the_newest_has_no_place(tmp_path: Path) -> None:
    made = Crawl(tmp_path / "crawl", pages(8, sites=1), files=1)
    rows = made.index_rows()
    later = {"fetch_time": rows[0]["fetch_time"] + timedelta(days=1), "warc_record_offset": -1}  # type: ignore[operator]
    rows[1]["warc_record_length"] = 0
    made.write_index(made.paths[0], [*rows, rows[0] | later])
    (tmp_path / "list.txt").write_text(f"{rows[0]['url']}\n{rows[1]['url']}\n")
    asked, _, ends = fetched(tmp_path / "out", made, addresses=str(tmp_path / "list.txt"))
    assert ends == {("fetched", "ok"): 1, ("failed", "no_record"): 1}
    assert {row["url"]: row["reason"] for row in read_log(asked.objects).to_pylist()} == {
        rows[0]["url"]: "ok",
        rows[1]["url"]: "no_record",
    }


def test_rows_without_a_place_count_in_the_limit(tmp_path: Path) -> None:
    lying = flawed(tmp_path / "crawl")
    taken = []
    for limit in (15, 25):
        asked, _, ends = fetched(tmp_path / str(limit), lying, where="warc_segment = '1.1'", limit=limit)
        assert limit - 1 <= sum(ends.values()) <= limit  # the row that is there twice is one
        taken.append({(row["url"], row["detail"]) for row in read_log(asked.objects).to_pylist()})
    assert {url for url, _ in taken[0]} <= {url for url, _ in taken[1]}


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
