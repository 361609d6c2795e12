"""The shards of the store, and which of them are unlike the others of their source.

How many rows the rules drop in each is known once the page's frame of rows is made; how long a shard took is in no
store, as its files hold no times.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.store import layout
from winnow.runners.inspect.asking import choice_of
from winnow.runners.inspect.frame import Frame, Marks
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.pages import paged
from winnow.runners.inspect.view import Answer, Asked, View

ORDERS: Final = ("outlier", "shard", "source", "rows", "bytes", "dropped")
FAR: Final = 6.0  # deviations from the median of the source
LEAST: Final = 0.25  # by how much it differs at least, in logarithms or shares
NORMAL: Final = 1.4826  # from a median deviation to a standard one


@dataclass(frozen=True)
class _Shards:
    """A line for each shard."""

    names: Sequence[str]
    sources: Sequence[str]
    rows: NDArray[np.int64]
    bytes: NDArray[np.int64]
    dropped: NDArray[np.float64] | None  # the share of its rows
    unlike: Sequence[str | None]  # why it is unlike the others

    @property
    def nbytes(self) -> int:
        """About what it takes."""
        return 200 * len(self.names)


def answer(opened: Opened, asked: Asked) -> Answer:
    """A page of them, in an order."""
    frame: Frame | None = opened.kept.find("frame")
    by = choice_of(asked, "order", ORDERS, "outlier")
    found = _shards(opened)
    page, pages, shown = paged(asked, len(found.names))
    keys: dict[str, Sequence[object] | NDArray[np.generic]] = {
        "outlier": [why is None for why in found.unlike],
        "shard": found.names,
        "source": found.sources,
        "rows": -found.rows,
        "bytes": -found.bytes,
        "dropped": np.zeros(len(found.names)) if found.dropped is None else -found.dropped,
    }
    order = np.argsort(np.asarray(keys[by]), kind="stable")[shown].tolist()
    return {
        "rows": [
            {
                "shard": found.names[at],
                "source": found.sources[at],
                "rows": int(found.rows[at]),
                "bytes": int(found.bytes[at]),
                "dropped": None if found.dropped is None else float(found.dropped[at]),
                "seconds": None,
                "outlier": found.unlike[at],
            }
            for at in order
        ],
        "page": page,
        "pages": pages,
        "undecided": None if frame is None else frame.why_no_rules,
        "outliers": sum(why is not None for why in found.unlike),
    }


def _shards(opened: Opened) -> _Shards:
    dropped = dropped_shares(opened)
    key = ("shards", dropped is not None)
    return opened.kept.get(key, lambda: _counted(opened, dropped))


def _counted(opened: Opened, dropped: NDArray[np.float64] | None) -> _Shards:
    """Bytes are those of all layers together: what the shard takes in the store."""
    samples = opened.store.manifest(opened.generation, layout.SAMPLES)
    lines = [(row.shard, row.source, row.rows) for row in samples]
    names, sources, counts = map(list, zip(*lines, strict=True)) if lines else ([], [], [])
    rows = np.array(counts, np.int64)
    taken = np.zeros(len(names), np.int64)
    for layer in opened.generation.layers:
        taken += np.fromiter(
            (row.bytes for row in opened.store.manifest(opened.generation, layer)), np.int64, len(names)
        )
    return _Shards(names, sources, rows, taken, dropped, unlike_others(sources, rows, taken, dropped))


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


def dropped_shares(opened: Opened) -> NDArray[np.float64] | None:
    """The share of each shard's rows, forgotten ones aside, that the rules drop; None before the frame of rows is
    there, and where no rules decide."""
    frame: Frame | None = opened.kept.find("frame")
    if frame is None or frame.why_no_rules is not None:
        return None
    dropped, seen = (_of_shards(frame, marks) for marks in (frame.seen & ~frame.kept, frame.seen))
    shares: NDArray[np.float64] = dropped / np.maximum(seen, 1)
    return shares


def _of_shards(frame: Frame, marks: Marks) -> NDArray[np.int64]:
    """How many rows of each shard are marked."""
    found: NDArray[np.int64] = np.diff(np.concatenate([[0], np.cumsum(marks)])[frame.starts])
    return found


VIEW = View(answer)
