"""The shards of the store, and which of them are unlike the others of their source.

How many rows the rules drop in each is known once the page's frame of rows is made; how long a shard took is in no
store, as its files hold no times.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.runners.facts.shards import ShardLines, shard_lines
from winnow.runners.inspect.asking import choice_of
from winnow.runners.inspect.frame import Frame, Marks
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.pages import paged
from winnow.runners.inspect.view import Answer, Asked, View

ORDERS: Final = ("outlier", "shard", "source", "rows", "bytes", "dropped")


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
                "outlier": found.unlike[at],
            }
            for at in order
        ],
        "page": page,
        "pages": pages,
        "undecided": None if frame is None else frame.why_no_rules,
        "outliers": sum(why is not None for why in found.unlike),
    }


def _shards(opened: Opened) -> ShardLines:
    dropped = dropped_shares(opened)
    key = ("shards", dropped is not None)
    return opened.kept.get(key, lambda: shard_lines(opened.store, opened.generation, dropped))


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
