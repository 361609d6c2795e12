"""Shards: how large each is in the store, and which are unlike the others of their source."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.runners.facts.examples import Examples
from winnow.runners.report.block import Block
from winnow.runners.report.markup import join
from winnow.runners.report.tables import drawn, note
from winnow.runners.tables.quantities import byte_size
from winnow.runners.tables.table import Table, Value, heads
from winnow.runners.tables.units import BYTES, COUNT, NAME, PLACE, WORDS
from winnow.schemas.counts import count_of
from winnow.schemas.records import Generation
from winnow.schemas.summary import StoreSummary

FAR: Final = 6.0  # deviations from the median of the source
LEAST: Final = 0.25  # by how much it differs at least, in logarithms or shares
NORMAL: Final = 1.4826  # from a median deviation to a standard one
MOST_SHOWN: Final = 50  # of those that are unlike the others, on a report

_UNLIKE = heads(("shard", PLACE), ("source", NAME), ("rows", COUNT), ("bytes", BYTES), ("unlike the others", WORDS))


@dataclass(frozen=True)
class ShardLines:
    """A line for each shard."""

    names: Sequence[str]
    sources: Sequence[str]
    rows: NDArray[np.int64]
    bytes: NDArray[np.int64]  # of all layers together: what it takes in the store
    dropped: NDArray[np.float64] | None  # the share of its rows, where it is known
    unlike: Sequence[str | None]  # why it is unlike the others

    @property
    def nbytes(self) -> int:
        """About what it takes."""
        return 200 * len(self.names)


def shard_lines(store: Store, generation: Generation, dropped: NDArray[np.float64] | None = None) -> ShardLines:
    """The shards of a generation; `dropped`: the share of each that rules drop, where that is known."""
    samples = store.manifest(generation, layout.SAMPLES)
    names, sources, rows = samples.texts("shard"), samples.texts("source"), samples.numbers("rows")
    taken = np.zeros(len(names), np.int64)
    for layer in generation.layers:
        if layer not in generation.partial:
            taken += store.manifest(generation, layer).numbers("bytes")
    return ShardLines(names, sources, rows, taken, dropped, unlike_others(sources, rows, taken, dropped))


def unlike_others(
    sources: Sequence[str],
    rows: NDArray[np.int64],
    taken: NDArray[np.int64],
    dropped: NDArray[np.float64] | None,
) -> list[str | None]:
    """Why each shard is unlike the others of its source, in words; None for most.

    Its bytes a row, and the share of its rows that rules drop, are compared with the median of the source, by the
    median deviation from it. Its rows are compared where most shards are full: a few are smaller at the end of a file.
    """
    why: list[list[str]] = [["has no rows"] if count == 0 else [] for count in rows.tolist()]
    width = np.log(np.maximum(taken, 1) / np.maximum(rows, 1))
    measures = [("bytes a row", width, True), ("rows", np.log(np.maximum(rows, 1)), True)]
    measures += [] if dropped is None else [("share dropped", dropped, False)]
    named = np.array(sources)
    for source in sorted(set(sources)):
        of = np.flatnonzero((named == source) & (rows > 0))
        for name, values, is_log in measures:
            for at, off in zip(of.tolist(), _offsets(values[of]).tolist(), strict=True):
                if off:
                    more = f"{np.exp(off):.3g} times the median" if is_log else f"{off:+.1%} from the median"
                    why[at].append(f"{name}: {more} of {source}")
    return ["; ".join(reasons) or None for reasons in why]


def _offsets(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far each is from the median, where that is far; else 0."""
    if len(values) < 4:
        return np.zeros(len(values))
    off = values - np.median(values)
    usual = NORMAL * float(np.median(np.abs(off)))
    found: NDArray[np.float64] = np.where(np.abs(off) > max(FAR * usual, LEAST), off, 0.0)
    return found


def unlike(found: ShardLines) -> Table:
    """The shards that are unlike the others of their source."""
    rows: list[tuple[Value, ...]] = [
        (found.names[at], found.sources[at], int(found.rows[at]), byte_size(int(found.bytes[at])), why)
        for at, why in enumerate(found.unlike)
        if why is not None
    ]
    return Table("Shards unlike the others of their source", _UNLIKE, rows)


def shards(_: StoreSummary, examples: Examples) -> Block | None:
    """The section of the page; nothing where all shards are alike."""
    if examples.shards is None or not (shown := unlike(examples.shards)).rows:
        return None
    parts = [drawn(shown.between(0, MOST_SHOWN))]
    if (more := len(shown.rows) - MOST_SHOWN) > 0:
        parts.append(note(f"{count_of(more, 'more shard is', 'more shards are')} listed by winnow inspect."))
    parts.append(note("By rows and by bytes a row, six median deviations or more from the median of their source."))
    brief = f"{len(shown.rows):,} of {count_of(len(examples.shards.names), 'shard')} unlike the others"
    return Block("shards", "Shards", join(parts), brief)
