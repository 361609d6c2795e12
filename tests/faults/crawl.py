"""A crawl that takes a few seconds to read, so that there is time to break things: pages of hashed words in WARC."""

import gzip
import hashlib
from pathlib import Path

RECIPE = """
version: 1
store: {{path: store, seed: 7, task_bytes: 256 KiB}}
sources:
  crawl: {{root: crawl, files: ["*.warc.gz"], class: web}}
  lines: {{root: lines, files: ["*.jsonl"], class: public, key: id}}
extract: {{{extract}}}
text: {text}
annotate: [text.length, {{text.length: {{as: text.again, where: text.length.lines > 0}}}}]
"""


def write_recipe(folder: Path, *extractors: str, name: str = "recipe.yaml") -> Path:
    recipe = folder / name
    text = f"coalesce({', '.join([*(f'extract.{extractor}.text' for extractor in extractors), 'samples.text'])})"
    entries = ", ".join(f"{extractor}: {{}}" for extractor in extractors)
    recipe.write_text(RECIPE.format(extract=entries, text=text))
    return recipe


def write_crawl(folder: Path, archives: int = 6, pages: int = 300, lines: int = 8_000) -> None:
    """Archives, each with bytes at its end that are no member, and a file of lines: the last ten repeat ids."""
    (folder / "crawl").mkdir(parents=True)
    (folder / "lines").mkdir()
    for archive in range(archives):
        with open(folder / "crawl" / f"{archive}.warc.gz", "wb") as stream:
            for page in range(pages):
                stream.write(gzip.compress(_record(archive, page), 1, mtime=0))
            stream.write(b"\x1f\x8b\x08 a member that does not inflate")
    with open(folder / "lines" / "a.jsonl", "w") as text:
        for line in range(lines):
            text.write(f'{{"id": "{line % (lines - 10)}", "text": "{_words(line, 30)}"}}\n')


def _words(number: int, count: int) -> str:
    hashed = "".join(hashlib.blake2b(b"%d/%d" % (number, part)).hexdigest() for part in range(count // 16 + 1))
    return " ".join(hashed[at : at + 7] for at in range(0, 8 * count, 8))


def _record(archive: int, page: int) -> bytes:
    paragraphs = "".join(f"<p>{_words(1000 * archive + page + 77 * part, 60)}</p>" for part in range(12))
    links = "".join(f"<a href='/{page}/{link}'>{_words(link, 3)}</a>" for link in range(40))
    html = f"<html><title>{page}</title><body><nav>{links}</nav><article>{paragraphs}</article></body></html>".encode()
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + html
    head = (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:%d-%d>\r\n"
        b"WARC-Target-URI: https://site-%d.example/%d\r\nContent-Length: %d\r\n\r\n"
    ) % (archive, page, archive, page, len(block))
    return head + block + b"\r\n\r\n"
