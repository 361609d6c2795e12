"""Documents in OBELICS' shape: Parquet with the columns `images`, `metadata`, `general_metadata` and `texts`.

`images` and `texts` are lists of equal length, of which at each place exactly one is not null: a picture's address, or
a text. `metadata` is a JSON list with an object at each picture and null at each text, `general_metadata` a JSON object
on the document. With `media: images` the column `pictures` has the bytes at each picture's place, which OBELICS lacks.
Files are in Hugging Face's layout, `data/train-00000-of-00012.parquet`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from winnow.pipelines.export.formats.columns import blocks, sample_facts
from winnow.pipelines.export.formats.counting import SHARD, Counted, output_of, parquet_rows
from winnow.pipelines.export.formats.documents import DocumentOptions, Part, copied_documents_in
from winnow.pipelines.export.formats.protocol import ExportFormat, Made, ShardName
from winnow.pipelines.export.formats.wanted_media import contents, large_apart
from winnow.schemas.identity import Json

_TEXTS = pa.list_(pa.string())
_PUBLISHED = [("images", _TEXTS), ("metadata", pa.string()), ("general_metadata", pa.string()), ("texts", _TEXTS)]
_PICTURES = ("pictures", pa.list_(pa.large_binary()))
_FORMATS = {"image/jpeg": "jpeg"}  # as Pillow calls them; others by their type's second half


@dataclass(frozen=True)
class ObelicsConfig(DocumentOptions):
    """Options of the format."""


class Obelics(ExportFormat):
    """OBELICS' shape."""

    name = "obelics"
    config = ObelicsConfig

    def identity(self, config: ObelicsConfig) -> Json:
        """The options."""
        return {"version": 2, "media": config.media, **config.identity()}

    def write(self, config: ObelicsConfig, folder: Path, shard: ShardName, rows: Iterator[pa.RecordBatch]) -> Made:
        """Writes one file."""
        path = f"data/{shard.stem()}.parquet"
        (folder / "data").mkdir()
        schema = pa.schema([*_PUBLISHED, *([_PICTURES] if config.wants_media else [])])
        samples = 0
        with pq.ParquetWriter(
            folder / path, schema, compression="zstd", write_page_checksum=True, store_schema=False
        ) as writer:
            for batch in rows:
                for block in (part for one in blocks(batch) for part in large_apart(one)):
                    writer.write_batch(_documents(config, block, schema))
                    samples += len(block)
        return Made((path,), samples, {"features": {field.name: str(field.type) for field in schema}})

    def count(self, folder: Path, path: str) -> Sequence[Counted]:
        """Counts rows for the audit, by footers."""
        output = output_of(rf"data/{SHARD}\.parquet", path)
        return [] if output is None else [Counted(output, parquet_rows(folder / path))]


def _documents(config: ObelicsConfig, block: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    parts = list(copied_documents_in(block, config))
    media = block.column("media").to_pylist() if not config.wants_media else _known(block)
    columns: dict[str, Any] = {
        "images": [[None if one.text is not None else one.url or "" for one in row] for row in parts],
        "texts": [[one.text for one in row] for row in parts],
        "metadata": [
            orjson.dumps([_picture(url, known, one) for one in row]).decode()
            for row, url, known in zip(parts, block.column("url").to_pylist(), media, strict=True)
        ],
        "general_metadata": _general(block),
    }
    if config.wants_media:
        columns["pictures"] = _bytes(block, parts)
    return pa.RecordBatch.from_pydict(columns, schema=schema)


def _known(block: pa.RecordBatch) -> list[list[dict[str, Any]]]:
    """The media of each row, without their bytes."""
    media = block.column("media")
    items = media.flatten()
    names = ["mime", "sha256", "original_width", "original_height"]
    facts = pa.StructArray.from_arrays([pc.struct_field(items, name) for name in names], names=names).to_pylist()
    counts = pc.list_value_length(media).to_pylist()
    rows, at = [], 0
    for count in counts:
        rows.append(facts[at : at + count])
        at += count
    return rows


def _picture(document: str | None, known: Sequence[Mapping[str, Any]], part: Part) -> Json:
    """What OBELICS' metadata say of a picture; its size and type are known if its bytes are written."""
    if part.text is not None:
        return None
    found: dict[str, Json] = {"document_url": document, "unformatted_src": part.url, "src": part.url}
    if part.alt is not None:
        found["alt_text"] = part.alt
    if known:
        one = known[part.picture]
        found |= {name: one[name] for name in ("original_width", "original_height", "sha256")}
        found["format"] = _FORMATS.get(one["mime"], one["mime"].partition("/")[2])
    return found


def _general(block: pa.RecordBatch) -> list[str]:
    """What is known of each document; its language, licence and source stand beside the address, as OBELICS' would."""
    facts = sample_facts(block)
    names = ("url", "id", "copy", "source", "language", "licence")
    rows = zip(*(facts[name] for name in names), strict=True)
    return [orjson.dumps(dict(zip(names, row, strict=True))).decode() for row in rows]


def _bytes(block: pa.RecordBatch, parts: Sequence[Sequence[Part]]) -> pa.ListArray:
    """The bytes of each picture at its place, null at texts; one that is shown twice is written twice."""
    media = block.column("media")
    at, first, offsets = [], 0, [0]
    for row, count in zip(parts, pc.list_value_length(media).to_pylist(), strict=True):
        at += [None if one.text is not None else first + one.picture for one in row]
        first += count
        offsets.append(len(at))
    values = contents(media.flatten()).take(pa.array(at, pa.int64()))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


FORMAT = Obelics()
