"""One list of spans out of those of many detectors: no two of them overlap."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.filters.private.personal.detections import Detections

__all__ = ["DisjointSpans", "disjoint_spans"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DisjointSpans:
    """Spans of many kinds, ascending and disjoint; `kinds` says which of the detectors each is of, by its number."""

    documents: Ints
    starts: Ints
    ends: Ints
    kinds: Ints


def disjoint_spans(found: Sequence[Detections]) -> DisjointSpans:
    """The spans of all detectors, the most trusted first; one that overlaps a span of a detector before it goes.

    What is found is decided by the order of the detectors alone, not by what else is in the column.
    """
    none = np.zeros(0, np.int64)
    kept = DisjointSpans(none, none, none, none)
    for number, one in enumerate(found):
        behind = np.searchsorted(kept.ends, one.starts, side="right")  # the first kept span that ends behind the start
        begins = np.append(kept.starts, np.iinfo(np.int64).max)[behind]
        free = begins >= one.ends
        starts = np.concatenate([kept.starts, one.starts[free]])
        order = np.argsort(starts, kind="stable")
        kept = DisjointSpans(
            documents=np.concatenate([kept.documents, one.documents[free]])[order],
            starts=starts[order],
            ends=np.concatenate([kept.ends, one.ends[free]])[order],
            kinds=np.concatenate([kept.kinds, np.full(int(free.sum()), number, np.int64)])[order],
        )
    return kept
