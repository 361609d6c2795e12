"""Documents to compare on: Parquet or JSON lines with a column of text, or the texts of a store."""

import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from winnow.pipelines.ingest.tables.jsonl import Fault, parse_row
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store, open_store
from winnow.pipelines.store.location import open_location
from winnow.schemas.errors import SourceError

BATCH_ROWS = 256
BATCH_BYTES = 4 << 20
_STORE = "store.json"


@dataclass(frozen=True, slots=True)
class Document:
    """A text under its identifier, with its language where the data declare one."""

    id: str
    text: str
    language: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Columns:
    """Where documents have what."""

    text: str = "text"
    id: str = "id"  # the row's number where there is no such column
    language: str = "language"
    url: str = "url"


def read_documents(paths: list[str], columns: Columns, limit: int | None = None) -> Iterator[Document]:
    """Every document that has a text, file after file; at most `limit`."""
    return islice((document for path in paths for document in _read(path, columns)), limit)


def batched(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """Batches that are small enough to hold twice, however long a text is."""
    held: list[Document] = []
    size = 0
    for document in documents:
        held.append(document)
        size += len(document.text)
        if len(held) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield held
            held, size = [], 0
    if held:
        yield held


def _read(path: str, columns: Columns) -> Iterator[Document]:
    place = Path(path)
    if "://" in path or (place / _STORE).exists():
        return _from_store(open_store(open_location(path)), columns)
    if place.is_dir():
        found = sorted(str(one) for one in place.iterdir() if not one.name.startswith((".", "_")) and one.is_file())
        return (document for one in found for document in _read(one, columns))
    if not place.exists():
        raise SourceError(f"{path}: no such file; expected Parquet, JSON lines or a store's folder")
    return _from_parquet(place, columns) if path.endswith(".parquet") else _from_lines(place, columns)


def _from_parquet(path: Path, columns: Columns) -> Iterator[Document]:
    try:
        with pq.ParquetFile(path) as parquet:
            names = parquet.schema_arrow.names
            if columns.text not in names:
                raise SourceError(f"{path}: no column {columns.text!r}; it has: {', '.join(names)}")
            wanted = [name for name in (columns.id, columns.text, columns.language, columns.url) if name in names]
            number = 0
            for batch in parquet.iter_batches(BATCH_ROWS, columns=wanted, use_threads=False):
                for row in batch.to_pylist():  # the peer takes documents one by one
                    yield from _document(row, f"{path.name}:{number}", columns)
                    number += 1
    except pa.ArrowInvalid as error:
        raise SourceError(f"{path}: not a Parquet file: {str(error).splitlines()[0]}") from None


def _from_lines(path: Path, columns: Columns) -> Iterator[Document]:
    with _opened(path) as stream:
        try:
            for number, line in enumerate(stream):
                row = parse_row(line) if line.strip() else None
                if isinstance(row, Fault):
                    raise SourceError(f"{path}:{number + 1}: not a row of JSON lines: {row.detail}")
                if row is not None:
                    yield from _document(row, f"{path.name}:{number + 1}", columns)
        except (EOFError, gzip.BadGzipFile, zstandard.ZstdError) as error:
            raise SourceError(f"{path}: cannot be decompressed: {error}") from None


def _opened(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return cast(BinaryIO, gzip.open(path, "rb"))
    if path.suffix == ".zst":
        return cast(BinaryIO, zstandard.open(path, "rb"))
    return open(path, "rb")


def _from_store(store: Store, columns: Columns) -> Iterator[Document]:
    """The text of the first extraction that has one for a row, else the sample's own."""
    generation = store.require_latest()
    layers = sorted(name for name in generation.layers if name.startswith("extract."))
    extracted = [{row.shard: row for row in store.manifest(generation, name)} for name in layers]
    for shard in store.manifest(generation, layout.SAMPLES):
        texts = [store.batches(rows[shard.shard], ["text"]) for rows in extracted if shard.shard in rows]
        streams = [_column(batches, "text") for batches in texts]
        for row in (row for batch in store.batches(shard, ["id", "url", "text"]) for row in batch.to_pylist()):
            candidates = [*(next(stream) for stream in streams), row["text"]]
            text = next((text for text in candidates if text), None)
            yield from _document({columns.text: text, columns.url: row["url"]}, row["id"].hex(), columns)


def _column(batches: Iterator[pa.RecordBatch], name: str) -> Iterator[str | None]:
    return (value for batch in batches for value in batch.column(name).to_pylist())


def _document(row: Mapping[str, object], place: str, columns: Columns) -> Iterator[Document]:
    text = row.get(columns.text)
    if isinstance(text, str) and text:
        name, language, url = row.get(columns.id), row.get(columns.language), row.get(columns.url)
        yield Document(
            id=place if name is None else str(name),
            text=text,
            language=language if isinstance(language, str) else None,
            url=url if isinstance(url, str) else None,
        )
