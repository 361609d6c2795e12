"""The sources beside the crawl: trusted books, a reference table and a folder of notes."""

import io
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from winnow.runners.demo import media
from winnow.runners.demo.choice import between, chance, pick, shuffled
from winnow.runners.demo.grammar import entry
from winnow.runners.demo.pages import book_prose, published
from winnow.runners.demo.planted import edited
from winnow.runners.demo.sites import SITES
from winnow.runners.demo.templates import Document, render
from winnow.runners.demo.texts import Text, declarations, prose
from winnow.schemas.identity import Json

REFERENCE_ROWS = 60
_AUTHORS = ("Adele Quist", "Bruno Tarn", "Chen Yilan", "Dora Whitlock", "Emre Solak", "Fatima Noor", "G. Halloran")
_ALSO_IN_CRAWL = 12  # books whose text is also on a page of the crawl


def books() -> dict[str, bytes]:
    """JSON lines in zstd: about 120 good rows in two files, and hostile lines at the end of the second."""
    chapters = [text for declaration in declarations().values() for text in declaration.books]
    shared = [text for text, _ in list(published().values())[: _ALSO_IN_CRAWL * 9 : 9]]
    copies = [text if at % 3 else edited(text, 3, "book", at) for at, text in enumerate(shared)]
    texts = shuffled([*chapters, *book_prose(), *copies], "books")
    lines = [_json_line(_book(at, text)) for at, text in enumerate(texts)]
    half = len(lines) // 2
    files = {"shelf-a.jsonl.zst": lines[:half], "shelf-b.jsonl.zst": [*lines[half:], *_hostile_lines(texts[half])]}
    return {name: _compressed(rows) for name, rows in files.items()}


def _book(at: int, text: Text) -> dict[str, Json]:
    return {
        "id": f"book-{at:04}",
        "title": text.title,
        "content": text.body,
        "link": f"https://books.example.org/{at:04}",
        "language": text.language.iso,
        "meta": {"author": pick(_AUTHORS, "author", at), "year": between(1948, 2022, "year", at)},
    }


def _hostile_lines(text: Text) -> Sequence[bytes]:
    """Lines that a reader must quarantine, each for one reason; the last has no end of line."""
    good = _book(900, text)
    changed: tuple[Mapping[str, Json], ...] = (
        {"id": "book-9002"},  # the content is missing
        {**good, "id": "book-9003", "content": None},
        {**good, "id": "book-9004", "content": 17},
        {**good, "id": "book-0000", "title": "The identifier of another book"},
        {**good, "id": None, "title": "No identifier"},
        {**good, "id": "book-9007", "content": "", "title": "Nothing in it"},
        {**good, "id": "book-9008", "meta": "not an object"},
    )
    return (
        b'{"id": "book-9000", "content": "This line stops in the mid\n',
        b"\n",
        b'{"id": "book-9001", "content": "A lone surrogate: \\ud83d.", "title": "Half a pair"}\n',
        b'{"id": "book-9009", "content": "The year is not a number.", "meta": {"author": "N. N.", "year": NaN}}\n',
        b'["an", "array"]\n',
        b'{"id": "book-9010", "content": "Bytes that are not UTF-8: \xff\xfe."}\n',
        b'{"id": "book-9011", "content": "One key twice.", "content": "The second value."}\n',
        b'{"nested": ' + b"[" * 3_000 + b"]" * 3_000 + b"}\n",
        *(_json_line(row) for row in changed),
        _json_line({**good, "id": "book-9012", "title": "No end of line"}).rstrip(b"\n"),
    )


def _json_line(row: Mapping[str, Json]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def _compressed(lines: Sequence[bytes]) -> bytes:
    return zstandard.ZstdCompressor(level=15, write_checksum=True).compress(b"".join(lines))


def reference() -> dict[str, bytes]:
    """A Parquet table with nested columns; three texts are null and one row is repeated."""
    rows = [*range(REFERENCE_ROWS - 1), 0]
    texts = [entry(at, "reference") for at in rows]
    payload = [
        {
            "text": None if at in (7, 23, 41) else text.body,
            "lang": text.language.iso,
            "stats": {"words": len(text.body.split()), "sections": len(text.paragraphs)},
        }
        for at, text in zip(rows, texts, strict=True)
    ]
    table = pa.table(
        {
            "doc_id": pa.array([f"ref-{at:03}" for at in rows]),
            "title": pa.array([text.title for text in texts]),
            "payload": pa.array(payload, _PAYLOAD),
            "tags": pa.array(
                [["place", *(["stub"] if chance(40, "stub", at) else [])] for at in rows], pa.list_(pa.string())
            ),
            "revisions": pa.array([_revisions(at) for at in rows], pa.list_(_REVISION)),
            "published": pa.array([_EPOCH + timedelta(days=at) for at in rows], pa.timestamp("ms", tz="UTC")),
        }
    )
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", row_group_size=25)
    return {"places.parquet": sink.getvalue()}


_EPOCH = datetime(2021, 1, 1, tzinfo=UTC)
_STATS = pa.struct([pa.field("words", pa.int32()), pa.field("sections", pa.int32())])
_PAYLOAD = pa.struct([pa.field("text", pa.large_string()), pa.field("lang", pa.string()), pa.field("stats", _STATS)])
_REVISION = pa.struct([pa.field("editor", pa.string()), pa.field("bytes", pa.int64())])


def _revisions(at: int) -> list[dict[str, str | int]]:
    return [
        {"editor": pick(_AUTHORS, "editor", at, n), "bytes": between(300, 4_000, "bytes", at, n)}
        for n in range(between(0, 4, "revisions", at))
    ]


def notes() -> dict[str, bytes]:
    """A folder of small files: plain text, HTML, and the odd files that such folders collect."""
    files = {}
    for at, text in enumerate(shuffled(prose(), "notes")[:20]):
        note = edited(Text(text.language, "note", text.title, text.paragraphs[:1]), 0)
        stem = f"{text.language.iso}-{at:02}"
        if at % 3:
            files[f"{stem}.txt"] = f"{note.title}\n\n{note.body}\n".encode()
        else:
            document = Document(f"file:///{stem}", note.language, note.title, note.paragraphs)
            files[f"{stem}.html"] = render(pick(SITES, "note", at), document).encode()
    for at in range(4):
        text = entry(at, "note")
        files[f"places/{text.title.lower()}.txt"] = f"{text.title}\r\n\r\n{text.body}\r\n".encode()
    greek, russian = (declarations()[key].books[1].paragraphs[0] for key in ("ell", "rus"))
    files |= {
        "odd/empty.txt": b"",
        "odd/utf-16.txt": greek.encode("utf-16"),
        "odd/koi8.txt": russian.encode("koi8_r", "replace"),
        "odd/picture.txt": media.badge(),
        "odd/upper.TXT": b"Shouted extension.\n",
        "odd/no-newline.txt": b"one line",
        "odd/räksmörgås och kaffe.txt": b"Filens namn har mellanslag och prickar.\n",
    }
    return files
