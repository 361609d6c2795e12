"""Rows of an export for the tests of its formats, and a hand that writes a whole export of them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from winnow.pipelines.export.formats.protocol import (
    About,
    ExportFormat,
    FileRecord,
    ShardName,
    WrittenShard,
)
from winnow.schemas.rows.draws import MIXED


def row(number: int, **fields: object) -> dict[str, object]:
    """One row of MIXED, that of an ordinary text where nothing else is said."""
    return {
        "order": number,
        "copy": 0,
        "id": number.to_bytes(16, "big"),
        "text": f"Text {number}.",
        "source": "crawl",
        "source_class": "web",
        "family": "ie.germanic",
        "language": "eng_Latn",
        "band": "",
        "licence": "cc0-1.0",
        "url": f"https://example.org/{number}",
        "mime": "text/html",
        "modality": "text",
        "captions": [],
        "metadata": "{}",
        "media": [],
        "nodes": [],
    } | fields


HARD = [
    row(0),
    row(1, text="Größe: 5 µm — 你好 🦔\n\n\ttab", url=None, metadata='{"b":[1,null],"a.b":{"x":"é"}}'),
    row(2, text=None, mime=None, licence="", band="quality≥0.9"),
    row(3, text=""),
    row(4, copy=0, id=(3).to_bytes(16, "big")[::-1], text="a\0b\r\n" * 300, language="zho_Hans"),
    row(5, copy=1, id=(3).to_bytes(16, "big")[::-1], text="a\0b\r\n" * 300, language="zho_Hans"),
    row(6, copy=65_535, text="x" * 512, metadata='{"title":"\\"quoted\\" \\\\ and é"}'),
    row(7, captions=[{"text": "A caption", "origin": "alt", "language": None}]),
    row(8, text="y" * 511),
    row(9, text="z" * 10_240, source_class="code"),
]


def batches(rows: Sequence[dict[str, Any]], size: int) -> Iterator[pa.RecordBatch]:
    """The rows as they come to a writer: batches of `size`, cut from one table (so that they start inside buffers)."""
    table = pa.Table.from_pylist(list(rows), MIXED).combine_chunks()
    yield from table.to_batches(max_chunksize=size)


def export(
    made_by: ExportFormat,
    config: object,
    folder: Path,
    outputs: dict[str, list[list[dict[str, Any]]]],
    *,
    batch: int = 3,
) -> list[WrittenShard]:
    """Write an export whose outputs have these shards; what was written of them."""
    folder.mkdir(exist_ok=True, parents=True)
    written = []
    for output, shards in outputs.items():
        for number, rows in enumerate(shards):
            shard = ShardName(output, number, len(shards))
            own = folder / f".{output}-{number}"
            own.mkdir()
            made = made_by.write(config, own, shard, batches(rows, batch))
            files = tuple(FileRecord(path, (own / path).stat().st_size, "") for path in made.files)
            for path in made.files:
                (folder / path).parent.mkdir(exist_ok=True, parents=True)
                (own / path).rename(folder / path)
            for left in sorted(own.rglob("*"), reverse=True):
                left.rmdir()
            own.rmdir()
            written.append(WrittenShard(shard, made.samples, files, made.facts))
    about = About("demo", "0123456789abcdef", "samples", tuple(outputs), {})
    for path, raw in made_by.finish(config, written, about).items():
        (folder / path).parent.mkdir(exist_ok=True, parents=True)
        (folder / path).write_bytes(raw)
    return written
