"""Pictures of a crawl from the command line: measured as the archive is read, tied to the pages that show them."""

import io
import json
import tarfile
from hashlib import sha256
from pathlib import Path

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tests.faults.winnow import assert_clean, ended, run_here
from tests.runners.test_annotate import table

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  crawl: {root: crawl, files: ["*.warc.gz"], class: web}
extract: {fast: {}}
text: coalesce(extract.fast.text, samples.text)
annotate: [image.geometry, caption.page, {caption.length: {captions: caption.page.captions}}]
captions: coalesce(samples.captions, caption.page.captions)
keep:
  - {drop: "samples.modality = 'text'", reason: page, when_null: drop}
  - {drop: "samples.modality = 'image' AND caption.page.pages IS NULL", reason: on_no_page, when_null: drop}
mix: {unit: samples}
export: [{webdataset: {path: out, media: image}}]
"""
PAGE = """<html lang="de"><head><base href="/pictures/"></head><body><p>Ein Bericht über die Katze auf dem Sofa.</p>
<figure><img src="cat.jpg?utm_source=feed" alt="Eine rote Katze"><figcaption>Unsere Katze</figcaption></figure>
<p>Sie schläft den ganzen Tag und wacht nur auf, wenn es etwas zu essen gibt.</p></body></html>"""


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
    with (tmp_path / "crawl" / "a.warc.gz").open("wb") as out:
        writer = WARCWriter(out, gzip=True)
        for url, mime, body in (
            ("https://e.org/blog/1", "text/html; charset=utf-8", PAGE.encode()),
            ("https://e.org/pictures/cat.jpg", "image/jpeg", jpeg(60)),
            ("https://e.org/pixel.gif", "image/gif", b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"),
            ("https://e.org/lie.png", "image/png", b"<html><body>Not found</body></html>"),
        ):
            headers = StatusAndHeaders("200 OK", [("Content-Type", mime)], protocol="HTTP/1.1")
            writer.write_record(
                writer.create_warc_record(
                    url, "response", payload=io.BytesIO(body), http_headers=headers,
                    warc_headers_dict={"WARC-Date": "2024-05-01T12:00:00Z", "WARC-Record-ID": f"<urn:{url}>"},
                )
            )  # fmt: skip
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
    assert words["https://e.org/pictures/cat.jpg"][:2] == [3, 2]
    assert_clean(folder)
    (path,) = (folder / "out").rglob("*.tar")
    with tarfile.open(path) as archive:
        members = {member.name.partition(".")[2]: archive.extractfile(member) for member in archive}
        content = {suffix: stream.read() for suffix, stream in members.items() if stream is not None}
    assert (content["jpg"], content["txt"].decode()) == (jpeg(60), "Eine rote Katze")
    assert json.loads(json.loads(content["json"])["captions"]) == cat["captions"]


def test_captions_that_do_not_exist_are_one_line(folder: Path) -> None:
    wrong = RECIPE.replace("coalesce(samples.captions, caption.page.captions)", "caption.page.caption")
    (folder / "recipe.yaml").write_text(wrong)
    assert ended(run_here(folder, "ingest", "recipe.yaml", "--workers", "1"), 1) == (
        "winnow: recipe.yaml: captions: 'caption.page.caption' is no column of captions (did you mean "
        "'caption.page.captions'?); these are: samples.captions, caption.page.captions\n"
    )
