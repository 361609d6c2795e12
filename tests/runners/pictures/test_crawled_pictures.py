"""Pictures of a crawl from the command line: measured as the archive is read, tied to the pages that show them."""

import io
import json
import tarfile
from functools import partial
from hashlib import sha256
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tests.faults.winnow import assert_clean, ended, run_here
from tests.messages import assert_told
from tests.runners.test_annotate import table
from winnow.runners.stages import meetings
from winnow.runners.stages.running.engine_jobs import EngineJobs

pytestmark = pytest.mark.processes

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  crawl: {root: crawl, files: ["*.warc.gz"], class: web}
extract: {main: {}}
text: coalesce(extract.main.text, samples.text)
annotate: [caption.length, image.geometry, caption.page, {caption.overlap: {captions: samples.captions}}]
captions: coalesce(samples.captions, caption.page.captions)
dedupe: {captions: {}}
keep:
  - {drop: "samples.modality = 'text'", reason: page, when_null: drop}
  - {drop: "samples.modality = 'image' AND caption.page.pages IS NULL", reason: on_no_page, when_null: drop}
mix: {unit: samples}
export: [{webdataset: {path: out, media: image}}]
"""
PAGE = """<html lang="de"><head><base href="/pictures/"></head><body><p>Ein Bericht über die Katze auf dem Sofa.</p>
<figure><img src="cat.jpg?utm_source=feed" alt="Eine rote Katze"><figcaption>Unsere Katze</figcaption></figure>
<p>Sie schläft den ganzen Tag und wacht nur auf, wenn es etwas zu essen gibt.</p></body></html>"""


ACROSS = """
version: 1
store: {path: store, seed: 7, shard_rows: 2}
sources:
  crawl: {root: crawl, files: ["*.warc"], class: web}
extract: {main: {}}
text: coalesce(extract.main.text, samples.text)
captions: coalesce(samples.captions, caption.page.captions)
annotate: [caption.page, caption.length]
"""


def jpeg(width: int) -> bytes:
    out = io.BytesIO()
    exif = Image.Exif()
    exif[274] = 6
    Image.new("RGB", (width, 40), (200, 30, width)).save(out, "JPEG", exif=exif)
    return out.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "crawl").mkdir()
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    write(
        tmp_path / "crawl" / "a.warc.gz",
        ("https://e.org/blog/1", "text/html; charset=utf-8", PAGE.encode()),
        ("https://e.org/pictures/cat.jpg", "image/jpeg", jpeg(60)),
        ("https://e.org/pixel.gif", "image/gif", b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"),
        ("https://e.org/lie.png", "image/png", b"<html><body>Not found</body></html>"),
    )
    return tmp_path


def test_pictures_of_a_crawl_are_measured_and_have_what_their_pages_say(folder: Path) -> None:
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    rows = {row["url"]: row for row in table(folder, "samples").to_pylist()}
    assert [row["modality"] for row in rows.values()] == ["text", "image", "image", "text"]
    (medium,) = rows["https://e.org/pictures/cat.jpg"]["media"]
    assert medium["sha256"] == sha256(jpeg(60)).hexdigest()
    assert [medium[name] for name in ("mime", "width", "height", "orientation", "frames")] == [
        "image/jpeg",
        60,
        40,
        6,
        1,
    ]
    assert medium["ref"]["container"] == "warc.gz"
    found = dict(zip(rows, table(folder, "caption.page").to_pylist(), strict=True))
    cat = found["https://e.org/pictures/cat.jpg"]
    assert [(one["text"], one["origin"], one["language"]) for one in cat["captions"]][:2] == [
        ("Eine rote Katze", "alt", "de"),
        ("Unsere Katze", "figcaption", "de"),
    ]
    assert {one["origin"] for one in cat["captions"][2:]} == {"context"}
    assert set(cat["urls"]) == {"https://e.org/blog/1"}
    assert [one["status"] for one in found.values()] == ["no_media", "ok", "no_page", "no_media"]
    words = dict(zip(rows, table(folder, "caption.length")["words"].to_pylist(), strict=True))
    assert words["https://e.org/pictures/cat.jpg"][:2] == [3, 2]  # of the recipe's captions, which are exported
    assert len(words["https://e.org/pictures/cat.jpg"]) == len(cat["captions"])
    repeated = dict(zip(rows, table(folder, "dedupe.captions").to_pylist(), strict=True))
    assert repeated["https://e.org/pictures/cat.jpg"]["size"] == [1] * len(cat["captions"])
    assert [one["status"] for one in repeated.values()] == ["no_caption", "unmatched", "no_caption", "no_caption"]
    assert set(table(folder, "caption.overlap")["status"].to_pylist()) == {"no_media", "no_captions"}
    assert_clean(folder)
    (path,) = (folder / "out").rglob("*.tar")
    with tarfile.open(path) as archive:
        members = {member.name.partition(".")[2]: archive.extractfile(member) for member in archive}
        content = {suffix: stream.read() for suffix, stream in members.items() if stream is not None}
    assert (content["jpg"], content["txt"].decode()) == (jpeg(60), "Eine rote Katze")
    assert json.loads(json.loads(content["json"])["captions"]) == cat["captions"]


def write(path: Path, *records: tuple[str, str, bytes]) -> None:
    with path.open("wb") as out:
        writer = WARCWriter(out, gzip=path.suffix == ".gz")
        for url, mime, body in records:
            headers = StatusAndHeaders("200 OK", [("Content-Type", mime)], protocol="HTTP/1.1")
            writer.write_record(
                writer.create_warc_record(
                    url, "response", payload=io.BytesIO(body), http_headers=headers,
                    warc_headers_dict={"WARC-Date": "2024-05-01T12:00:00Z", "WARC-Record-ID": f"<urn:{url}>"},
                )
            )  # fmt: skip


def page(number: int, *pictures: str) -> tuple[str, str, bytes]:
    images = "".join(f'<p>Text {number}.<img src="/{name}.jpg" alt="{name} of {number}">' for name in pictures)
    return f"https://e.org/{number}", "text/html", f"<html><body><p>Page {number}.{images}</body></html>".encode()


def captions(folder: Path) -> dict[str, tuple[str, int | None, list[str]]]:
    """Of each row: the status, the pages, and the addresses of captions' pages."""
    urls = table(folder, "samples")["url"].to_pylist()
    found = table(folder, "caption.page").to_pylist()
    return {
        url: (one["status"], one["pages"], list(dict.fromkeys(one["urls"] or ())))
        for url, one in zip(urls, found, strict=True)
    }


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.processes)])
def test_pages_and_pictures_meet_across_files_and_shards_and_as_a_crawl_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    def made(name: str) -> Path:
        (tmp_path / name / "crawl").mkdir(parents=True)
        (tmp_path / name / "recipe.yaml").write_text(ACROSS)
        write(tmp_path / name / "crawl" / "a.warc", *(page(number, "cat") for number in range(5)))
        pictures = [(f"https://e.org/{one}.jpg", "image/jpeg", jpeg(60)) for one in ("cat", "dog", "owl")]
        write(tmp_path / name / "crawl" / "b.warc", *pictures)
        return tmp_path / name

    def grow(folder: Path) -> None:
        write(folder / "crawl" / "c.warc", page(5, "dog"), page(6, "dog", "cat"))

    folder, whole = made("grown"), made("whole")
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    first = captions(folder)
    status, pages, urls = first["https://e.org/cat.jpg"]
    assert (status, pages, len(urls)) == ("ok", 5, 4)
    assert (first["https://e.org/dog.jpg"], first["https://e.org/0"][0]) == (("no_page", None, []), "no_media")
    objects = set((folder / "store" / "layers" / "caption.page").rglob("*.parquet"))

    grow(folder)
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    grown = captions(folder)
    assert grown["https://e.org/dog.jpg"][:2] == ("ok", 2)
    assert set(grown["https://e.org/dog.jpg"][2]) == {"https://e.org/5", "https://e.org/6"}
    assert grown["https://e.org/cat.jpg"][1] == 6
    assert grown["https://e.org/owl.jpg"] == ("no_page", None, [])
    kept = objects & set((folder / "store" / "layers" / "caption.page").rglob("*.parquet"))
    assert kept == objects  # none is written twice; those of shards without news are used again
    assert_clean(folder)

    grow(whole)
    monkeypatch.setattr(meetings, "EngineJobs", partial(EngineJobs, here_bytes=-1))  # on workers, however small
    ended(run_here(whole, "run", "recipe.yaml", "--workers", workers))
    assert captions(whole) == grown
    for layer in ("caption.page", "caption.length"):
        rows, others = (table(one, layer).to_pylist() for one in (folder, whole))
        assert sorted(map(repr, rows)) == sorted(map(repr, others))


OFFERED = b"""<picture><source type="image/avif" srcset="owl.avif 1x, owl@2.avif 2x">
<img src="data:image/gif;base64,R0lGODlhAQABAAAAADs=" data-src="owl.jpg"
data-srcset="owl-400.jpg 400w, ../a/owl-800.jpg 800w" alt="A brown owl"></picture>"""


def test_a_picture_that_a_script_loaded_or_that_is_for_other_screens_is_tied_to_its_page(tmp_path: Path) -> None:
    (tmp_path / "crawl").mkdir()
    (tmp_path / "recipe.yaml").write_text(ACROSS)
    html = b"<html lang=en><head><title>All our cats</title><script src=a.js></script>"
    html += b"<base href='//cdn.org/a/'></head><body><p>Cats.</p>"
    owls = [f"https://cdn.org/a/{name}" for name in ("owl-400.jpg", "owl@2.avif")]
    page = ("https://e.org/cats", "text/html", html + OFFERED)
    write(tmp_path / "crawl" / "c.warc", page, *((url, "image/jpeg", jpeg(70)) for url in owls))
    info = {"url": "https://e.org/cats", "urls": {"https://cdn.org/dog.jpg": {"mime": "image/jpeg", "type": "image"}}}
    with (tmp_path / "crawl" / "a.warc").open("wb") as out:
        writer = WARCWriter(out, gzip=False)
        for name in ("cat", "dog"):
            http = StatusAndHeaders("200 OK", [("Content-Type", "image/jpeg")], protocol="HTTP/1.1")
            asked = StatusAndHeaders(
                "GET / HTTP/1.1", [("Referer", "https://e.org/cats")] * (name == "cat"), is_http_request=True
            )
            url = f"https://cdn.org/{name}.jpg"
            response = writer.create_warc_record(url, "response", payload=io.BytesIO(jpeg(50)), http_headers=http)
            link = {"WARC-Concurrent-To": response.rec_headers.get_header("WARC-Record-ID")}
            writer.write_record(writer.create_warc_record(url, "request", http_headers=asked, warc_headers_dict=link))
            writer.write_record(response)
        listed = io.BytesIO(json.dumps(info).encode())
        writer.write_record(
            writer.create_warc_record(
                "urn:pageinfo:https://e.org/cats", "resource", payload=listed, warc_content_type="application/json"
            )
        )
    ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "1"))
    rows = {row["url"]: row["modality"] for row in table(tmp_path, "samples").to_pylist()}
    found = dict(zip(rows, table(tmp_path, "caption.page").to_pylist(), strict=True))
    cat, dog = found["https://cdn.org/cat.jpg"], found["https://cdn.org/dog.jpg"]
    assert cat["captions"] == [{"text": "All our cats", "origin": "page_title", "language": "en"}]
    assert (cat["status"], cat["pages"], cat["referrers"]) == ("ok", 1, ["https://e.org/cats"])
    assert (dog["status"], dog["captions"], dog["referrers"]) == ("no_page", None, ["https://e.org/cats"])
    assert rows["urn:pageinfo:https://e.org/cats"] == "other"
    assert [found[url]["captions"][0]["text"] for url in owls] == ["A brown owl"] * 2
    assert_clean(tmp_path)


def test_what_a_forgotten_page_said_is_gone_after_the_next_run_and_from_the_store_after_a_purge(tmp_path: Path) -> None:
    (tmp_path / "crawl").mkdir()
    (tmp_path / "recipe.yaml").write_text(ACROSS)
    cat = ("https://e.org/cat.jpg", "image/jpeg", jpeg(60))
    write(tmp_path / "crawl" / "a.warc", page(1, "cat"), page(2, "cat"), cat)
    ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "1"))
    assert captions(tmp_path)["https://e.org/cat.jpg"][1] == 2
    ended(run_here(tmp_path, "forget", "recipe.yaml", "--url", "https://e.org/2"))
    ended(run_here(tmp_path, "annotate", "recipe.yaml", "--workers", "1"))
    assert captions(tmp_path)["https://e.org/cat.jpg"] == ("ok", 1, ["https://e.org/1"])
    ended(run_here(tmp_path, "gc", "recipe.yaml", "--purge"))
    kept = sorted((tmp_path / "store" / "layers" / "caption.page").rglob("*.parquet"))
    assert not any("cat of 2" in str(pq.read_table(path)["captions"].to_pylist()) for path in kept)
    ended(run_here(tmp_path, "annotate", "recipe.yaml", "--workers", "1"))
    assert captions(tmp_path)["https://e.org/cat.jpg"] == ("ok", 1, ["https://e.org/1"])
    assert_clean(tmp_path)


def test_captions_that_do_not_exist_are_one_line(folder: Path) -> None:
    wrong = RECIPE.replace("coalesce(samples.captions, caption.page.captions)", "caption.page.caption")
    (folder / "recipe.yaml").write_text(wrong)
    assert_told(
        ended(run_here(folder, "ingest", "recipe.yaml", "--workers", "1"), 1),
        "recipe.yaml",
        "'caption.page.caption'",
        "'caption.page.captions'",
        "samples.captions",
        "caption.page.captions",
        whole=True,
    )
