"""Merge the spans of several detectors into one list without overlaps."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.filters.private.personal.detections import Detections

__all__ = ["DisjointSpans", "disjoint_spans"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DisjointSpans:
    """Spans of several kinds, ascending and disjoint; `kinds` has the number of each span's detector."""

    documents: Ints
    starts: Ints
    ends: Ints
    kinds: Ints


def disjoint_spans(found: Sequence[Detections]) -> DisjointSpans:
    """Merge detectors' spans, the most trusted first; spans that overlap an earlier detector's are dropped.

    The result depends only on the order of the detectors, not on other texts of the column.
    """
    none = np.zeros(0, np.int64)
    kept = DisjointSpans(none, none, none, none)
    for number, one in enumerate(found):
        behind = np.searchsorted(kept.ends, one.starts, side="right")  # the first kept span that ends after the start
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
