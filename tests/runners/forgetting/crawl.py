"""A crawl of which some records hold a word that occurs nowhere else, in every place that a record has."""

import gzip
import json
from pathlib import Path

SECRET = "xyzzyquux"
HOST = f"{SECRET}.example"
PAGE = f"https://blog.{HOST}/{SECRET}-page"
RECIPE = """
version: 1
store: {{path: {store}, seed: 7, shard_rows: 16, task_bytes: 4 KiB, row_group_rows: 5}}
sources:
  crawl: {{root: crawl, files: ["*.warc.gz"], class: web}}
  lines: {{root: lines, files: ["*.jsonl"], class: public, key: mail}}
extract: {{{extract}}}
text: coalesce({text}samples.text)
annotate: [{annotate}]
{rules}
"""
RULES = """
eligible:
- {drop: text.gopher.words < 12, reason: short, when_null: drop}
"""


def write_recipe(
    folder: Path,
    *,
    extract: tuple[str, ...] = ("main", "trafilatura"),
    annotate: str = "text.gopher, text.length",
    rules: str = RULES,
    store: str = "store",
    name: str = "recipe.yaml",
) -> Path:
    file = folder / name
    file.write_text(
        RECIPE.format(
            store=store,
            extract=", ".join(f"{one}: {{}}" for one in extract),
            text="".join(f"extract.{one}.text, " for one in extract),
            annotate=annotate,
            rules=rules,
        )
    )
    return file


def write_crawl(folder: Path) -> None:
    (folder / "crawl").mkdir(parents=True)
    (folder / "lines").mkdir()
    for archive in range(2):
        with open(folder / "crawl" / f"{archive}.warc.gz", "wb") as stream:
            for page in range(12):
                secret = archive == 0 and page in (3, 7)
                stream.write(gzip.compress(_page(archive, page, secret=secret), 6, mtime=0))
            stream.write(b"\x1f\x8b\x08 a member that does not inflate")
    rows: list[dict[str, object]] = [
        {"mail": f"person-{number}@mail.example", "text": _words(number, 30), "url": f"https://{number}.example/"}
        for number in range(40)
    ]
    rows[5] |= {"mail": f"{SECRET}@mail.example", "text": f"{_words(5, 20)} {SECRET} again", "tag": SECRET}
    rows[6] = dict(rows[5])  # a second of the same key: quarantined, and its key quoted
    (folder / "lines" / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _words(seed: int, count: int) -> str:
    return " ".join(f"word{(seed * 31 + number * 7) % 97}" for number in range(count))


def _page(archive: int, page: int, *, secret: bool) -> bytes:
    word = SECRET if secret else "plain"
    url = f"{PAGE}-{page}" if secret else f"https://site-{archive}.example/{page}"
    html = (
        f"<html lang='en-{word}'><head><title>{word} {page}</title></head><body><article>"
        f"<p>{_words(page, 40)} {word}.</p><p><a href='/{word}/link'>{word}</a> {_words(page + 1, 40)}.</p>"
        f"<img src='/{word}.png' alt='{word}'></article></body></html>"
    ).encode()
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Language: %s\r\n\r\n" % word.encode() + html
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:{archive}-{page}>\r\n"
        f"WARC-Target-URI: {url}\r\nWARC-Date: 2024-05-0{page % 9 + 1}T00:00:00Z\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    ).encode()
    return head + block + b"\r\n\r\n"
