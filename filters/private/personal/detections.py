"""The result of a detector of personal data: its spans in a column of texts, and which texts it could search."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Detections", "no_detections"]


@dataclass(frozen=True, slots=True)
class Detections:
    """The spans of one kind.

    Span j is the bytes `starts[j]` to `ends[j]` of the whole buffer (half-open) and belongs to text `documents[j]`.
    Spans ascend and do not overlap. Where `looked` is False the detector could not search, such as in a text of a
    country whose numbers it does not know: it has no spans there, and the count is null, not 0.
    """

    kind: str  # email, phone, ip …: the name of its column
    documents: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    looked: npt.NDArray[np.bool_]  # one a text


def no_detections(kind: str, texts: int, looked: bool = True) -> Detections:
    """An empty result for this many texts."""
    none = np.zeros(0, np.int64)
    return Detections(kind, none, none, none, np.full(texts, looked))
