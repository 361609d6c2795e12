"""The results of detectors of personal data: their spans in a column of texts, also merged without overlaps."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DisjointSpans:
    """Spans of several kinds, ascending and disjoint; `kinds` has the number of each span's detector."""

    documents: Ints
    starts: Ints
    ends: Ints
    kinds: Ints


@dataclass(frozen=True, slots=True)
class Detections:
    """The spans of one kind.

    Span j is the bytes `starts[j]` to `ends[j]` of the whole buffer (half-open) and belongs to text `documents[j]`.
    Spans ascend and do not overlap. Where `searched` is False the detector could not search, such as in a text of a
    country whose numbers it does not know: it has no spans there, and the count is null, not 0.
    """

    kind: str  # email, phone, ip …: the name of its column
    documents: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    searched: npt.NDArray[np.bool_]  # one a text


def no_detections(kind: str, texts: int, searched: bool = True) -> Detections:
    """An empty result for this many texts."""
    none = np.zeros(0, np.int64)
    return Detections(kind, none, none, none, np.full(texts, searched))


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
