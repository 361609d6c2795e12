"""What an ingest worker needs besides its task: one frozen, picklable description of the run."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from winnow.filters.extractors import Extractor
from winnow.filters.video.decode.opening import VideoLimits
from winnow.filters.web.urls import psl_version
from winnow.pipelines.decoding.known_harm import KnownHarm
from winnow.pipelines.ingest.clips import FilmStore
from winnow.pipelines.ingest.formats import format_of
from winnow.pipelines.ingest.records import ReadLimits
from winnow.pipelines.ingest.rows import SourceRows
from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.schemas.identity import Json, fingerprint_of
from winnow.schemas.recipe.checks import is_in_keys
from winnow.schemas.rows.extraction import EXTRACTED

INGEST_VERSION = 13
"""Increased when the same bytes would give different rows, or the same rows of a task different shards."""


@dataclass(frozen=True)
class BoundExtractor:
    """An extractor with its configuration, the rows it applies to, and the layer it writes."""

    extractor: Extractor
    config: Any  # the extractor's own frozen dataclass
    where: str | None

    @property
    def layer(self) -> str:
        """The layer's name."""
        return f"{EXTRACTED}{self.extractor.name}"

    @property
    def schema(self) -> pa.Schema:
        """The layer's columns."""
        return self.extractor.schema(self.config)

    def key(self, samples_key: str) -> str:
        """The layer's key: a hash of exactly what its values depend on."""
        unset = {item.name for item in fields(self.config) if not is_in_keys(self.config, item)}
        return fingerprint_of(
            {
                "operator": self.layer,
                "version": self.extractor.version,
                "config": {name: value for name, value in asdict(self.config).items() if name not in unset},
                "where": self.where,
                "reads": samples_key,
            }
        )


Flaw: TypeAlias = Callable[[str, int, str | None], str | None]
"""Why a record is not the one that was asked for, by its file, its offset and its address; None if it is."""


@dataclass(frozen=True)
class IngestSource:
    """One source of the recipe, resolved."""

    rows: SourceRows
    objects: ObjectStore
    format: str
    columns: ColumnMapping
    on_schema_mismatch: Literal["error", "quarantine"] = "error"  # not in the key: what is read has the same rows
    clips: FilmStore | None = None  # whose videos' parts are the samples
    place: str = ""  # where the recipe has it, such as `recipe.yaml:4`, for messages
    fetched_by: str = ""  # the command that writes its files, if there is one: they may not be there yet
    flaw_of: "Flaw | None" = None  # of records that were never looked at when they were chosen

    @property
    def named(self) -> str:
        """The source as messages name it: `recipe.yaml:4: sources.crawl`."""
        return f"{self.place}: sources.{self.rows.name}" if self.place else f"sources.{self.rows.name}"

    def key(self, limits: ReadLimits) -> str:
        """The key of this source's samples: covers everything that changes its rows, but neither its root nor its
        patterns."""
        settings: dict[str, Json] = {} if self.clips is None else {"clips": self.clips.key}
        if version := format_of(self.format, "").version:
            settings["format_version"] = version
        return fingerprint_of(
            settings
            | {
                "stage": "ingest",
                "version": INGEST_VERSION,
                "source": asdict(self.rows),
                "format": self.format,
                "columns": self._columns(),
                "limits": asdict(limits),
                "public_suffixes": psl_version(),
            }
        )

    def _columns(self) -> dict[str, Json]:
        """The mapped columns; unset ones are left out so that a source without media keeps its older key."""
        settings: dict[str, Json] = asdict(self.columns)
        return {
            name: one
            for name, one in settings.items()
            if one is not None or name not in ("media", "captions", "language")
        }


@dataclass(frozen=True)
class IngestContext:
    """Everything that a task's rows depend on, and where they are written."""

    store: Store
    sources: Mapping[str, IngestSource]
    extractors: tuple[BoundExtractor, ...]
    limits: ReadLimits
    videos: VideoLimits | None = None
    """What counting the packets of a video may cost; None if the package that does it was missing where the run began.
    Not in the key: a store of texts is not to be read again because that package was installed."""
    known_harm: KnownHarm | None = None  # not in the key: lists change daily, and rows of older ones are forgotten


def selected(batch: pa.RecordBatch, where: str | None) -> list[bool] | None:
    """Which rows of a `samples` batch an extractor applies to; None means all."""
    if where is None:
        return None
    from winnow.pipelines.reading.conditions import evaluate

    return evaluate(where, batch)
