"""Words, lines or sentences of a column of texts, as byte ranges of its values buffer."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class Words:
    """The words, lines or sentences of a column of texts.

    Text i has the pieces `documents[i]` to `documents[i + 1]`; piece j is the bytes `starts[j]` to `ends[j]` of the
    buffer, half-open. Pieces ascend and do not overlap.
    """

    buffer: npt.NDArray[np.uint8]
    documents: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    def of(self, document: int) -> list[str]:
        """The pieces of one text, for tests and messages."""
        first, last = self.documents[document], self.documents[document + 1]
        return [
            self.buffer[start:end].tobytes().decode("utf-8", "replace")
            for start, end in zip(self.starts[first:last], self.ends[first:last], strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Texts:
    """The buffers of a column of texts: text i is the bytes `offsets[i]` to `offsets[i + 1]`."""

    buffer: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]
    array: pa.LargeStringArray  # keeps the buffers alive


def texts_of(texts: pa.LargeStringArray | pa.ChunkedArray) -> Texts:
    """The buffers of a column, without a copy if it is one large_string array without nulls."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks() if texts.num_chunks != 1 else texts.chunk(0)
    array = texts.cast(pa.large_string()) if texts.type != pa.large_string() else texts
    if array.null_count:
        array = array.fill_null("")
    _, offsets, values = array.buffers()
    buffer = np.frombuffer(values, np.uint8) if values is not None and values.size else np.zeros(0, np.uint8)
    if offsets is None or not offsets.size:
        return Texts(buffer, np.zeros(1, np.int64), array)
    return Texts(buffer, np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1], array)


def strings_at(texts: Texts, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> pa.LargeStringArray:
    """Ranges of the buffer, which ascend, as an array of texts."""
    if not len(starts):
        return pa.array([], pa.large_string())
    offsets = np.stack([starts, ends], 1).reshape(-1)  # every other element is what lies between two ranges
    every = pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(texts.buffer))
    return every.take(pa.array(np.arange(0, len(every), 2)))


def owners_of(bounds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The text of each piece, where text i has the pieces `bounds[i]` to `bounds[i + 1]`."""
    return np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))


def shares_of_characters(
    texts: Texts, bounds: npt.NDArray[np.int64], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """The share of each text's characters that lies in its ranges of the buffer, which ascend."""
    within = np.bincount(owners_of(bounds), pc.utf8_length(strings_at(texts, starts, ends)).to_numpy(), len(bounds) - 1)
    shares: npt.NDArray[np.float64] = within / np.maximum(pc.utf8_length(texts.array).to_numpy(), 1)
    return shares
