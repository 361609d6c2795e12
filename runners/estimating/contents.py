"""How many rows, and how many bytes of text, a stage covers: what its time depends on.

Files and objects hide it, as texts compress a little or a hundredfold. Of new files a few windows are read; of shards,
the statistics of a few that lie evenly among them.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from winnow.pipelines.ingest.planning.context import IngestSource
from winnow.pipelines.ingest.planning.sampling import sample_densities
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectInfo, ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.integrity.content import read_content
from winnow.pipelines.store.manifests.rows import ManifestRows
from winnow.schemas.errors import StoreError
from winnow.schemas.records import Generation
from winnow.schemas.rows.extraction import EXTRACTED
from winnow.schemas.statistics import by_layer_from_json

MOST_SHARDS: Final = 8  # whose statistics are read


@dataclass(frozen=True, slots=True)
class Contents:
    """Rows, and bytes of text, not compressed."""

    rows: int = 0
    text: int = 0

    def __add__(self, other: "Contents") -> "Contents":
        return Contents(self.rows + other.rows, self.text + other.text)

    def __mul__(self, times: int) -> "Contents":
        return Contents(self.rows * times, self.text * times)

    def of_rows(self, rows: int) -> "Contents":
        """Those of so many of the rows."""
        return Contents(rows, self.text * rows // max(1, self.rows))


def of_files(source: IngestSource, files: Sequence[ObjectInfo], pending_bytes: int) -> Contents:
    """About what the rows will be of so many bytes of a source's files."""
    size = sum(info.size for info in files)
    if source.clips is not None or not pending_bytes or not size:  # clips are cut from another store's films
        return Contents()
    densities = sample_densities(source, files)
    rows = sum(densities.rows(source.format, info) for info in files)
    text = sum(info.size * densities.of(source.format, info.path).text for info in files)
    share = pending_bytes / size
    return Contents(round(rows * share), round(text * share))


def of_generation(store: Store, generation: Generation | None) -> Contents:
    """About what the shards of a generation hold; nothing without one."""
    if generation is None or layout.SAMPLES not in generation.layers:
        return Contents()
    names = [name for name in generation.layers if name == layout.SAMPLES or name.startswith(EXTRACTED)]
    layers = {name: store.manifest(generation, name) for name in names}
    return of_shards(store.objects, layers[layout.SAMPLES], layers)


def of_shards(objects: ObjectStore, samples: ManifestRows, layers: Mapping[str, ManifestRows]) -> Contents:
    """About what these shards hold: their own texts, and those of the extractor that gave most.

    `layers`: those of the same store; only extractors' are looked at.
    """
    own = _bytes_of_text(objects, layout.SAMPLES, samples)
    extracted = (_bytes_of_text(objects, name, rows) for name, rows in layers.items() if name.startswith(EXTRACTED))
    return Contents(samples.rows, round(samples.rows * (own + max(extracted, default=0.0))))


def _bytes_of_text(objects: ObjectStore, layer: str, rows: ManifestRows) -> float:
    """The mean of a row; 0 if no statistics are left."""
    count = min(MOST_SHARDS, len(rows))
    read = text = 0
    for number in range(count):
        row = rows[(2 * number + 1) * len(rows) // (2 * count)]
        with suppress(StoreError):  # an estimate does without what is lost
            found = by_layer_from_json(read_content(objects, row.statistics), (layer,))[layer]
            read += row.rows
            lengths = found.columns["text"].lengths if "text" in found.columns else None
            text += 0 if lengths is None else lengths.sum
    return text / read if read else 0.0
