"""The readers of ingest as one transform: files in, samples out, and beside them what could not be read and why."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

import apache_beam as beam
import pyarrow as pa
from apache_beam.pvalue import PBegin, PCollection

from winnow.pipelines.binding.sources import bind_sources
from winnow.pipelines.ingest.etag import content_etag
from winnow.pipelines.ingest.formats import container_reader, format_of
from winnow.pipelines.ingest.planning.context import BoundExtractor, IngestSource
from winnow.pipelines.ingest.planning.identities import SeenIds
from winnow.pipelines.ingest.records import Dropped, ReadLimits, Record, Unreadable, repeated_key
from winnow.pipelines.ingest.row_maker import RowMaker
from winnow.pipelines.ingest.rows import Row, page_batch, sample_batch
from winnow.pipelines.ingest.shards import BATCH_BYTES, BATCH_ROWS, extract
from winnow.pipelines.ingest.task import range_row
from winnow.pipelines.reading.chosen_text import first_text
from winnow.pipelines.running import block_coders  # noqa: F401  registers the coder of batches
from winnow.pipelines.running.ledger.listings import list_source
from winnow.pipelines.running.worker import prepare_worker
from winnow.pipelines.transforms.batches import recipe_of
from winnow.schemas.errors import RecipeError, SourceError
from winnow.schemas.records import FilePart
from winnow.schemas.rows.samples import QUARANTINE

_SOURCE = "files"


class SamplesRead(NamedTuple):
    """What `ReadSamples` gives."""

    samples: PCollection[pa.RecordBatch]
    refused: PCollection[pa.RecordBatch]


class ReadSamples(beam.PTransform[PBegin, SamplesRead]):
    """The samples of files, as batches of the columns of a store's `samples`: `id`, `url`, `text`, `mime`, `media`, …

    The text of a web page is what the extractor finds in it. Records without a sample are the second output: batches
    with the file, the byte range and the reason of each. A file is one task, however large it is.

        samples, refused = pipeline | ReadSamples({"root": "crawl", "files": ["*.warc.gz"]}, extract="main")

    Args:
        source: As under `sources` in a recipe: `root`, `files`, `format`, `key`, `columns`, …
        extract: The extractor for web pages: a name, or a mapping of the name to its options.
        name: The name of the source, which is part of the samples' ids.

    Raises:
        RecipeError: A key or a value is not known.
        SourceError: The folder is missing.
    """

    def __init__(
        self, source: Mapping[str, Any], *, extract: str | Mapping[str, Any] = "main", name: str = _SOURCE
    ) -> None:
        super().__init__()
        if not isinstance(source, Mapping):
            raise RecipeError(f"ReadSamples: expected a mapping with root and files, not {type(source).__name__}")
        extractors = dict(extract) if isinstance(extract, Mapping) else {extract: {}}
        if len(extractors) != 1:
            raise RecipeError("ReadSamples: extract: expected one extractor")
        text = f"coalesce(extract.{next(iter(extractors))}.text, samples.text)"
        sources = {name: {"class": "files", **source}}
        recipe = recipe_of("ReadSamples", {"sources": sources, "extract": extractors, "text": text})
        if recipe.sources[0].clips is not None:
            raise RecipeError("ReadSamples: clips are parts of a store's videos; only 'winnow run' cuts them")
        bound = bind_sources(recipe)
        self._reading = Reading(bound.sources[name], bound.extractors[0], bound.limits)
        self._patterns = recipe.sources[0].files

    @beam.typehints.no_annotations  # type: ignore[untyped-decorator]  # Beam has no type for two outputs with names
    def expand(self, start: PBegin) -> SamplesRead:
        """Lists the files when the pipeline runs, and reads them in tasks."""
        read = (
            start
            | "Start" >> beam.Create([_SOURCE])
            | "List" >> beam.FlatMap(_listed, self._reading.source, self._patterns).with_output_types(tuple[str, int])
            | "Deal" >> beam.Reshuffle()
            | "Read" >> beam.ParDo(_Read(self._reading)).with_output_types(pa.RecordBatch)
        )
        return SamplesRead(
            read | "Samples" >> beam.Filter(_has_samples).with_output_types(pa.RecordBatch),
            read | "Refused" >> beam.Filter(_is_refused).with_output_types(pa.RecordBatch),
        )


@dataclass(frozen=True)
class Reading:
    """How files are read."""

    source: IngestSource
    extractor: BoundExtractor
    limits: ReadLimits


def read_samples(reading: Reading, path: str, size: int) -> Iterator[pa.RecordBatch | Dropped | Unreadable]:
    """Batches of a file's samples, and each of its records that became none.

    Raises:
        SourceError: The file is gone, or has another size than when it was listed.
    """
    source, place = reading.source, f"{reading.source.objects.root}/{path}"
    maker, seen = RowMaker(source, reading.limits), SeenIds()
    waiting: list[Row] = []
    held = 0
    try:
        stream = source.objects.open(path)
    except FileNotFoundError:
        raise SourceError(f"{place}: the file was listed but is now missing; run again without it") from None
    with closing(stream):
        if stream.seek(0, 2) != size:
            raise SourceError(f"{place}: the file changed while the pipeline ran; run it again")
        etag = content_etag(stream, size)
        checked = source.on_schema_mismatch == "error"
        reader = container_reader(source.format, path, source.columns, checked=checked, with_referrers=True)
        for event in reader(stream, FilePart(path, size, 0, size), reading.limits):
            outcome = maker.row(event, path, etag) if isinstance(event, Record) else event
            if isinstance(outcome, Row):
                if outcome.keyed and not seen.admit([outcome.id])[0]:
                    detail = repeated_key(outcome.key, format_of(source.format, path).on_repeated_key)
                    yield Unreadable(outcome.span, "duplicate_id", detail, outcome.key)
                    continue
                waiting.append(outcome)
                held += outcome.held
                if len(waiting) >= BATCH_ROWS or held >= BATCH_BYTES:
                    yield _with_texts(reading, waiting)
                    waiting, held = [], 0
            elif isinstance(outcome, Dropped | Unreadable):
                yield outcome
        if waiting:
            yield _with_texts(reading, waiting)


def _with_texts(reading: Reading, rows: list[Row]) -> pa.RecordBatch:
    """The rows as samples, with the extracted texts of pages."""
    samples = sample_batch(rows, reading.source.rows)
    pages = page_batch([row.html for row in rows], [row.url for row in rows])
    texts = first_text([samples["text"], extract(reading.extractor, samples, pages)["text"]])
    return samples.set_column(samples.schema.get_field_index("text"), samples.schema.field("text"), texts)


def refused_batch(name: str, path: str, events: Sequence[Dropped | Unreadable]) -> pa.RecordBatch:
    """Records that became no samples, as lines of a store's quarantine; `detail` is empty where nothing is damaged."""
    rows = [{"detail": ""} | range_row(name, path, event) for event in events]
    return pa.RecordBatch.from_pylist(rows, schema=QUARANTINE)


def _listed(_: str, source: IngestSource, patterns: Sequence[str]) -> Iterator[tuple[str, int]]:
    for info in list_source(source.rows.name, source.objects, patterns).files:
        yield info.path, info.size


def _is_refused(batch: pa.RecordBatch) -> bool:
    return bool(batch.schema.names == QUARANTINE.names)


def _has_samples(batch: pa.RecordBatch) -> bool:
    return not _is_refused(batch)


class _Read(beam.DoFn):
    """A file → batches of its samples, and of what became none."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def setup(self) -> None:
        """Prepares the process."""
        prepare_worker()

    def process(self, file: tuple[str, int]) -> Iterator[pa.RecordBatch]:
        """Reads one file."""
        path, size = file
        refused: list[Dropped | Unreadable] = []
        name = self._reading.source.rows.name
        for one in read_samples(self._reading, path, size):
            if isinstance(one, Dropped | Unreadable):
                refused.append(one)
                if len(refused) >= BATCH_ROWS:
                    yield refused_batch(name, path, refused)
                    refused = []
            else:
                yield one
        if refused:
            yield refused_batch(name, path, refused)
