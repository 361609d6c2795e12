"""The bundled crawl: the same everywhere, small, readable where it should be and broken where it says so."""

import gzip
import io
import json
import os
import re
import subprocess
import sys
import zlib
from collections import Counter
from importlib import resources
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow.parquet as pq
import pytest
import zstandard
from fastwarc.warc import ArchiveIterator, WarcRecordType
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from tests.messages import assert_refused
from winnow.runners.demo import make_crawl
from winnow.runners.demo.captures import KINDS
from winnow.runners.demo.planted import similarity
from winnow.schemas.errors import SourceError

Row = dict[str, Any]

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "tutorial" / "demo.md"
MEMBER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "made"
    make_crawl(folder)
    return folder


@pytest.fixture(scope="module")
def truth(crawl: Path) -> list[Row]:
    return [json.loads(line) for line in (crawl / "truth.jsonl").read_text("utf-8").splitlines()]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def of_kind(truth: list[Row], kind: str) -> list[Row]:
    return [row for row in truth if row["kind"] == kind]


def gzip_members(raw: bytes) -> list[bytes]:
    """Each member as it stands in the file; the writer's member headers are all the same ten bytes."""
    starts = [found.start() for found in re.finditer(re.escape(MEMBER), raw)]
    return [raw[start:end] for start, end in zip(starts, [*starts[1:], len(raw)], strict=True)]


def zstd_frames(raw: bytes) -> list[bytes]:
    starts = [found.start() for found in re.finditer(re.escape(b"\x28\xb5\x2f\xfd"), raw)]
    return [raw[start:end] for start, end in zip(starts, [*starts[1:], len(raw)], strict=True)]


def members(path: Path) -> list[bytes]:
    """What each compressed member or frame of an archive holds, without those that do not decompress."""
    raw = path.read_bytes()
    if path.suffix == ".warc":
        return [raw]
    inside = []
    for packed in gzip_members(raw) if path.suffix == ".gz" else zstd_frames(raw):
        try:
            unpack = gzip.decompress if path.suffix == ".gz" else zstandard.ZstdDecompressor().decompress
            inside.append(unpack(packed))
        except (zlib.error, EOFError, OSError, zstandard.ZstdError):
            continue
    return inside


def response_ids(raw: bytes) -> list[str | None]:
    """The record ids of responses and revisits, as FastWARC reads them to the end."""
    kinds = WarcRecordType.response | WarcRecordType.revisit
    found = []
    for record in ArchiveIterator(io.BytesIO(raw), record_types=kinds):
        record.reader.read()
        found.append(record.record_id)
    return found


def payload_of(crawl: Path, row: Row) -> bytes:
    """The payload of a capture, from whichever archive holds it."""
    head = f"WARC-Record-ID: {row['record']}".encode()
    raw = next(raw for raw in members(crawl / row["file"]) if head in raw)
    for record in ArchiveIterator(io.BytesIO(raw), record_types=WarcRecordType.response):
        if record.record_id == row["record"]:
            record.parse_http()
            return bytes(record.reader.read())
    raise AssertionError(f"{row['record']} is not in {row['file']}")


def test_two_runs_give_the_same_bytes_whatever_the_hash_seed(crawl: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    command = [sys.executable, "-m", "winnow.runners.demo", str(again)]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": "77", "TZ": "Asia/Tokyo", "LC_ALL": "C"})

    assert contents(again) == contents(crawl)


def test_a_run_that_was_cut_short_is_completed(crawl: Path, tmp_path: Path) -> None:
    make_crawl(tmp_path)
    (tmp_path / "truth.jsonl").unlink()
    (tmp_path / "truth.jsonl.unfinished").write_bytes(b"half")

    make_crawl(tmp_path)

    assert contents(tmp_path) == contents(crawl)


def test_other_files_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "books").mkdir()
    mine = tmp_path / "books" / "shelf-a.jsonl.zst"
    mine.write_bytes(b"mine")

    with assert_refused(SourceError, "shelf-a.jsonl.zst", "exists"):
        make_crawl(tmp_path)
    assert mine.read_bytes() == b"mine"


def test_the_crawl_is_small_and_so_is_what_it_is_made_from(crawl: Path) -> None:
    assert sum(len(raw) for raw in contents(crawl).values()) <= 5_000_000
    package = Path(str(resources.files("winnow.runners.demo")))
    assert max(path.stat().st_size for path in package.rglob("*") if path.is_file()) < 200_000


def test_the_counts_are_those_of_the_documentation(truth: list[Row]) -> None:
    table = re.findall(r"^\| `(\w+)` \| (\d+) \|", DOCUMENTATION.read_text("utf-8"), re.MULTILINE)

    assert {kind: int(count) for kind, count in table} == Counter(row["kind"] for row in truth)
    assert [kind for kind, _ in table] == list(KINDS)
    assert f"{len(truth)} captures" in DOCUMENTATION.read_text("utf-8")


def test_pages_are_in_46_languages_and_many_scripts(truth: list[Row]) -> None:
    languages = {row["language"] for row in truth} - {"zxx"}
    letters = {row["text"][0] for row in of_kind(truth, "article")}

    assert len(languages) == 46
    assert {
        "swe",
        "rus",
        "ell",
        "arb",
        "heb",
        "hin",
        "ben",
        "tam",
        "tel",
        "tha",
        "kat",
        "hye",
        "amh",
        "khm",
    } < languages
    for first, last in (
        "Ѐӿ",
        "ͰϿ",
        "؀ۿ",
        "֐׿",
        "ऀॿ",
        "ঀ৿",
        "஀௿",
        "ఀ౿",
        "฀๿",
        "Ⴀჿ",
        "԰֏",
        "ሀ፿",
        "ក៿",
        "က႟",
        "一鿿",
        "가힣",
    ):
        assert any(first <= letter <= last for letter in letters), (first, last)


def test_every_host_is_a_reserved_name(truth: list[Row]) -> None:
    reserved = re.compile(r"(\.|^)(example|test|invalid|example\.(com|org|net))$|^192\.0\.2\.\d+$")

    assert {row["url"] for row in truth if not reserved.search(urlsplit(row["url"]).hostname or "")} == set()


@pytest.mark.parametrize("name", ["part-00000.warc.gz", "part-00001.warc.gz"])
def test_fastwarc_and_warcio_read_the_intact_archives_to_the_end(crawl: Path, truth: list[Row], name: str) -> None:
    raw = (crawl / "crawl" / name).read_bytes()
    expected = [row["record"] for row in truth if row["file"] == f"crawl/{name}"]
    theirs = [
        record.rec_headers.get_header("WARC-Record-ID")
        for record in WarcioIterator(io.BytesIO(raw))
        if record.rec_type in ("response", "revisit")
    ]

    assert response_ids(raw) == expected
    assert theirs == expected


def test_exactly_the_planted_members_cannot_be_read(crawl: Path, truth: list[Row]) -> None:
    lost = {}
    for path in sorted((crawl / "crawl").glob("*.warc.*")):
        readable = [raw for raw in members(path) if b"this line has no colon" not in raw]
        found = {found for raw in readable for found in response_ids(raw)}
        rows = [row for row in truth if row["file"] == f"crawl/{path.name}"]
        lost[path.name] = [row["damage"] for row in rows if row["record"] not in found]

    assert lost == {
        "part-00000.warc.gz": [],
        "part-00001.warc.gz": [],
        "part-00002.warc.gz": ["corrupt_member", "bad_header"],
        "part-00003.warc.gz": ["truncated_end"],
        "part-00005.warc.zst": ["corrupt_member"],
    }


def test_damage_stands_in_the_middle_and_only_the_truncation_at_the_end(truth: list[Row]) -> None:
    for name in {row["file"] for row in truth}:
        damage = [row["damage"] for row in truth if row["file"] == name]
        assert damage[0] is None
        assert damage[-1] in (None, "truncated_end"), name


def test_wrong_lengths_leave_the_records_around_them_whole(crawl: Path, truth: list[Row]) -> None:
    raw = (crawl / "crawl" / "part-00004.warc").read_bytes()
    ids = re.findall(rb"WARC-Type: (?:response|revisit)\r\n.*?WARC-Record-ID: (\S+)", raw, re.DOTALL)

    assert [found.decode() for found in ids] == [
        row["record"] for row in truth if row["file"] == "crawl/part-00004.warc"
    ]


def test_a_revisit_comes_after_the_capture_that_it_points_at(truth: list[Row]) -> None:
    first = {row["url"]: at for at, row in reversed(list(enumerate(truth)))}

    assert all(truth[first[row["of"]]]["kind"] == "article" for row in of_kind(truth, "revisit"))


def test_bombs_are_small_on_disk_and_large_in_memory(crawl: Path, truth: list[Row]) -> None:
    bomb = next(row for row in truth if row["case"] == "bomb in the record")

    assert len(payload_of(crawl, bomb)) == 3_000_000
    assert (crawl / bomb["file"]).stat().st_size < 200_000


def test_repetitions_name_a_page_of_the_crawl_and_say_how_alike_they_are(truth: list[Row]) -> None:
    texts = {row["url"]: row["text"] for row in of_kind(truth, "article")}
    copies = of_kind(truth, "near_duplicate")

    assert [row["similarity"] for row in copies] == [similarity(texts[row["of"]], row["text"]) for row in copies]
    assert {row["case"] for row in copies if row["similarity"] == 1.0} >= {"mirror", "same-page"}
    assert min(row["similarity"] for row in copies) < 0.1


def test_nothing_else_is_nearly_the_same(truth: list[Row]) -> None:
    others = [row for row in truth if row["text"] and row["kind"] not in ("templated", "near_duplicate")]
    # A shared beginning of a paragraph is the cheapest sign that two texts may be alike at all.
    pairs = [
        (one["url"], other["url"])
        for one, other in combinations(others, 2)
        if one["language"] == other["language"]
        and set(one["text"].split("\n\n")) & set(other["text"].split("\n\n"))
        and similarity(one["text"], other["text"]) > 0.65
    ]

    assert pairs == []


def test_personal_values_stand_in_the_text_as_the_truth_lists_them(truth: list[Row]) -> None:
    listed = [(kind, value, row["text"]) for row in of_kind(truth, "pii") for kind, value in row["personal"]]

    assert {kind for kind, _, _ in listed} == {"email", "phone", "iban", "card", "ip"}
    assert [value for _, value, text in listed if value not in text] == []


def test_the_adult_list_names_the_adult_hosts_and_no_other_of_the_crawl(crawl: Path, truth: list[Row]) -> None:
    listed = {
        line for line in (crawl / "lists" / "adult-domains.txt").read_text("utf-8").splitlines() if line[:1] != "#"
    }
    hit = {row["kind"] for row in truth if (urlsplit(row["url"]).hostname or "").removeprefix("www.") in listed}

    assert hit == {"adult"}
    assert all((urlsplit(row["url"]).hostname or "").removeprefix("www.") in listed for row in of_kind(truth, "adult"))


@pytest.mark.parametrize(
    ("case", "encoding"),
    [
        ("windows-1251 as utf-8", "cp1251"),
        ("shift_jis as latin-1", "cp932"),
        ("gb18030, undeclared", "gb18030"),
        ("iso-8859-7 as windows-1252", "iso8859_7"),
        ("euc-kr as utf-8", "euc_kr"),
        ("utf-16 with a mark, as utf-8", "utf-16"),
    ],
)
def test_a_lying_page_reads_right_in_its_real_encoding_only(
    crawl: Path, truth: list[Row], case: str, encoding: str
) -> None:
    row = next(row for row in truth if row["case"] == case)
    body = payload_of(crawl, row)
    sentence = row["text"].split("\n\n")[0][:30]

    assert sentence in body.decode(encoding)
    assert sentence not in body.decode("utf-8", "replace")


def test_images_have_the_bytes_of_their_kind(crawl: Path, truth: list[Row]) -> None:
    first = {
        "png": b"\x89PNG\r\n\x1a\n",
        "jpg": b"\xff\xd8\xff",
        "webp": b"RIFF",
        "gif": b"GIF89a",
        "bmp": b"BM",
        "pdf": b"%PDF-1.4",
        "svg": b"<svg",
    }
    for row in of_kind(truth, "media"):
        body = payload_of(crawl, row)
        ending = row["case"].rpartition(".")[2]
        assert body[4:8] == b"ftyp" if ending == "mp4" else body.startswith(first[ending]), row["case"]


def test_pages_show_images_that_the_crawl_holds(crawl: Path, truth: list[Row]) -> None:
    held = {row["url"] for row in of_kind(truth, "media")}
    for row in (row for row in truth if row["case"] == "illustrated"):
        source = re.search(rb'<img src="([^"]+)" alt="[^"]+"', payload_of(crawl, row))
        assert source is not None, row["url"]
        parts = urlsplit(row["url"])
        assert f"{parts.scheme}://{parts.netloc}{source[1].decode()}" in held


def test_books_hold_120_good_rows_and_then_hostile_lines(crawl: Path) -> None:
    lines = []
    for name in ("shelf-a.jsonl.zst", "shelf-b.jsonl.zst"):
        with zstandard.ZstdDecompressor().stream_reader((crawl / "books" / name).open("rb")) as reader:
            lines += reader.read().split(b"\n")[:-1] if name == "shelf-a.jsonl.zst" else reader.read().split(b"\n")
    rows = [json.loads(line) for line in lines[:120]]

    assert [row["id"] for row in rows] == [f"book-{at:04}" for at in range(120)]
    assert all(row["content"] and set(row["meta"]) == {"author", "year"} for row in rows)
    assert len({row["language"] for row in rows}) == 46
    assert len(lines[120:]) == 16


def test_the_reference_table_has_nested_columns_and_null_texts(crawl: Path) -> None:
    rows = pq.read_table(crawl / "reference" / "places.parquet").to_pylist()

    assert len(rows) == 60
    assert [row["doc_id"] for row in rows if row["payload"]["text"] is None] == ["ref-007", "ref-023", "ref-041"]
    assert rows[0]["doc_id"] == rows[-1]["doc_id"]
    assert set(rows[0]["payload"]["stats"]) == {"words", "sections"}


def test_warcio_reads_the_wet_and_the_arc_file(crawl: Path) -> None:
    def kinds(path: str) -> Counter[str]:
        with (crawl / path).open("rb") as stream:
            return Counter(record.rec_type for record in WarcioIterator(stream))

    assert kinds("wet/part-00000.warc.wet.gz") == {"warcinfo": 1, "conversion": 14}
    assert kinds("legacy/part-1998.arc.gz") == {"arc_header": 1, "response": 8}
