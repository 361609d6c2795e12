"""Linked charts: each shows the rows that the choices in all others leave.

The choice in a chart is a set of its codes. For each row it is counted how many choices leave it out; a chart then
shows, of the codes that its own choice has, the rows that none leaves out, and of its other codes those that only its
own does. So one pass over a chart's codes counts it, whatever is chosen elsewhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.processes.cancelling import check_cancelled
from winnow.pipelines.rules.map_shards import THREADS
from winnow.pipelines.store.concurrency import map_in_order
from winnow.runners.inspect.choosing import bounds_of
from winnow.runners.inspect.counting import add_marks, counts_of
from winnow.runners.inspect.dimensions import Dimension, bin_numbers
from winnow.runners.inspect.frame import Frame, Marks
from winnow.runners.inspect.view import AskedError
from winnow.schemas.problems import suggestion

_STATES = 6  # left out by no choice, by one, by more or forgotten; each dropped or kept


@dataclass(frozen=True)
class Linked:
    """The rows of each code of a chart under the choices in the other charts, and those of them that are kept."""

    dimension: Dimension
    rows: NDArray[np.int64]
    kept: NDArray[np.int64]
    chosen: Marks | None  # which codes are chosen in the chart itself


def linked(
    frame: Frame, dimensions: Sequence[Dimension], choices: Mapping[str, Marks], among: Marks | None = None
) -> tuple[list[Linked], NDArray[np.int64]]:
    """Count every chart, and the rows that all choices leave, dropped and kept.

    `choices`: of some dimensions, which codes are chosen; dimensions that are not counted may be among them. `among`:
    the rows that charts are about, by default all that are not forgotten.
    """
    out = np.zeros(frame.rows, np.uint8)
    for dimension in dimensions:
        if dimension.name in choices:
            check_cancelled()
            add_marks(dimension.codes, ~choices[dimension.name], out)
    np.minimum(out, 2, out=out)
    among = frame.seen if among is None else among
    if not among.all():
        out[~among] = 2
    state = frame.kept.astype(np.uint8)
    state += out
    state += out

    def count(dimension: Dimension) -> NDArray[np.int64]:
        return counts_of(dimension.codes, len(dimension.labels), state, _STATES)

    found = []
    whole = counts_of(state, _STATES, np.zeros_like(state), 1)[:2, 0]
    for dimension, counts in zip(dimensions, map_in_order(count, dimensions, THREADS), strict=True):
        chosen = choices.get(dimension.name)
        own = np.ones(len(dimension.labels), np.bool_) if chosen is None else chosen
        of_code = np.where(own[:, None], counts[:, 0:2], counts[:, 2:4])
        found.append(Linked(dimension, of_code.sum(axis=1), of_code[:, 1], chosen))
    return found, whole


def chosen_codes(dimension: Dimension, choice: object) -> Marks:
    """The codes that are chosen in a chart: labels, or [low, high] of a measure, which takes whole bins."""
    if dimension.edges:
        low, high = bounds_of(dimension.name, choice)
        edges = np.array(dimension.edges)
        first, last = (
            int(bin_numbers(np.array([bound]), edges)[0])
            for bound in (edges[0] if low is None else low, edges[-1] if high is None else high)
        )
        if high is not None and last > first and high == edges[last]:
            last -= 1  # [0, 10] ends with the bin before the edge 10
        codes = np.arange(len(dimension.labels))
        return (codes >= first) & (codes <= last)
    if not isinstance(choice, list) or not choice:
        raise AskedError(f"filters.{dimension.name}: expected a list of its labels, found {choice!r}")
    known = dimension.labels
    for label in choice:
        if label not in known and not (dimension.is_cut and isinstance(label, str)):  # no row has such a text
            names = [one for one in known if one is not None]
            raise AskedError(f"filters.{dimension.name}: no {label!r}{suggestion(str(label), names)}")
    return np.array([label in choice for label in known], np.bool_)
