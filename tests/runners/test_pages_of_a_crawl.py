"""Pages in every syntax through a whole run: all that parses as HTML has a text, and what has none is told."""

import json
import struct
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.messages import assert_told, assert_told_each
from winnow.runners.commands.main import main

XML = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x.dtd">\n'
RECIPE = """\
version: 1
store: {path: store}
sources:
  html: {root: html, files: ["*"], class: web}
  xhtml: {root: xhtml, files: ["*"], class: web}
  notes: {root: notes, files: ["*"], class: own}
extract: {main: {WHERE}}
text: coalesce(extract.main.text, samples.text)
annotate: [text.length, text.controls]
keep: [{drop: text.length.characters < 10, reason: short, when_null: keep}]
edits: [text.controls]
mix: {}
export: [{parquet: {path: out}}]
"""


def page(number: int, body: str = "") -> str:
    words = f"<p>{f'This is page number {number}, with a sentence that is long enough. ' * 3}</p>"
    head = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>t</title></head>'
    return f"{head}<body>{body or words}</body></html>"


@pytest.fixture
def crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("html", "xhtml", "notes"):
        (tmp_path / name).mkdir()
    for number in range(6):
        (tmp_path / "html" / f"{number}.html").write_text("<!DOCTYPE html>" + page(number))
        (tmp_path / "xhtml" / f"{number}.html").write_text(XML + page(number))
    (tmp_path / "notes" / "a.txt").write_text("\x1b[1mBOLD\x1b[0m words of a log, N\bNA\bAM\bME\bE.")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def exported() -> dict[str, list[str]]:
    table = pa.concat_tables(pq.read_table(file) for file in sorted(Path("out").rglob("*.parquet")))
    found: dict[str, list[str]] = {}
    for row in table.to_pylist():
        found.setdefault(row["source"], []).append(row["text"])
    return found


@pytest.mark.parametrize("where", ["", """where: "mime = 'text/html'\""""])
def test_xhtml_is_extracted_like_html_also_by_recipes_that_ask_for_html(crawl: Path, where: str) -> None:
    (crawl / "recipe.yaml").write_text(RECIPE.replace("WHERE", where))
    assert main(["run", "recipe.yaml", "--workers", "1"]) == 0
    found = exported()
    assert sorted(found["xhtml"]) == sorted(found["html"])
    assert len(found["html"]) == 6
    assert_told_each(found["notes"], ("BOLD", "NAME"))


def test_pages_that_are_kept_without_a_text_have_a_line(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        (crawl / "xhtml" / f"empty{number}.html").write_text(XML + page(number, "<p> </p>"))
    (crawl / "html" / "empty.html").write_text(page(0, "<br/>"))
    (crawl / "xhtml" / "feed.html").write_text('<?xml version="1.0"?><rss version="2.0"><channel/></rss>')
    keeping = RECIPE.replace("WHERE", "").replace("< 10", "BETWEEN 1 AND 10")
    (crawl / "recipe.yaml").write_text(keeping)
    line = (
        "LOSS  5 kept samples have no text (xhtml 4, html 1); for a rule: "
        "text.length.status = 'no_text', or a length of 0"
    )
    assert main(["run", "recipe.yaml", "--workers", "1"]) == 0
    assert line in capsys.readouterr().out
    assert main(["plan", "recipe.yaml"]) == 0
    told = capsys.readouterr().out
    assert line in told
    assert "kept (5 without text)" in told
    assert main(["plan", "recipe.yaml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rules"]["textless"] == {"xhtml": 4, "html": 1}
    assert main(["report", "recipe.yaml", "--output", "report.html"]) == 0
    assert_told(Path("report.html").read_text(), "5", "4", "html 1")
    rules = "keep: [{drop: text.length.status = 'no_text' OR text.length.bytes = 0, reason: no_text, when_null: keep}, "
    (crawl / "recipe.yaml").write_text(keeping.replace("keep: [", rules, 1))
    capsys.readouterr()
    assert main(["plan", "recipe.yaml"]) == 0
    assert "no text" not in capsys.readouterr().out


@pytest.mark.parametrize("annotate", ["[]", "[{text.length: {where: \"samples.mime = 'text/html'\"}}]"])
def test_pages_without_a_text_have_a_line_where_no_operator_reads_all_texts(
    crawl: Path, annotate: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        (crawl / "xhtml" / f"empty{number}.html").write_text(XML + page(number, "<p> </p>"))
    recipe = RECIPE.replace("WHERE", "").replace("[text.length, text.controls]", annotate)
    recipe = recipe.replace("text.length.characters < 10", "samples.mime = 'none'")
    (crawl / "recipe.yaml").write_text(recipe.replace("edits: [text.controls]\n", ""))
    assert main(["run", "recipe.yaml", "--workers", "1"]) == 0
    told = capsys.readouterr().out
    assert_told(told, "LOSS", "3", "3", "text.length")
    assert "kept (3 without text)" in told


def test_pictures_without_captions_are_told_apart_from_pages_without_a_text(
    crawl: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(2):
        (crawl / "html" / f"empty{number}.html").write_text(page(0, "<br/>"))
    for number in range(3):
        picture = struct.pack(">IIBBBBB", 8 + number, 8, 8, 2, 0, 0, 0)
        header = len(picture).to_bytes(4, "big") + b"IHDR" + picture + zlib.crc32(b"IHDR" + picture).to_bytes(4, "big")
        (crawl / "html" / f"{number}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + header)
    keeping = RECIPE.replace("WHERE", "").replace("< 10", "BETWEEN 1 AND 10")
    (crawl / "recipe.yaml").write_text(keeping.replace("mix: {}", "mix: {unit: tokens, tokenizer: bytes}"))
    assert main(["run", "recipe.yaml", "--workers", "1"]) == 0
    told = capsys.readouterr().out
    assert_told(told, "LOSS", "2", "2")
    assert_told(told, "empty 2", "no_text", "3")
