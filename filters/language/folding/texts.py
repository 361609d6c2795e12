"""Folded texts (`winnow.filters.language.folding`) and the origin of each of their bytes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow.filters.language.kernels.spans import Texts
from winnow.schemas.kernels import kernel


@dataclass(frozen=True, slots=True)
class Folded:
    """Folded texts and the origin of each of their bytes.

    Text i is made of runs `runs[i]` to `runs[i + 1]`, of which the first may be missing: from byte `folded[j]` of it
    on, each `folded_steps[j]` bytes are `original_steps[j]` bytes of the original from `originals[j]` on. Where both
    steps are 1, characters have the bytes that they had.
    """

    texts: Texts
    source: Texts
    runs: NDArray[np.int64]
    folded: NDArray[np.int32]
    originals: NDArray[np.int32]
    folded_steps: NDArray[np.uint8]
    original_steps: NDArray[np.int32]

    def original(
        self, documents: NDArray[np.int64], positions: NDArray[np.int64], *, end: bool = False
    ) -> NDArray[np.int64]:
        """Map byte positions of folded texts to the originals, both counted from the beginning of their text.

        Args:
            documents: The text of each position.
            positions: Positions in the folded texts.
            end: Whether the positions are (exclusive) ends of matches: a character that became several is then
                included as a whole, and invisible ones that follow are not.
        """
        found: NDArray[np.int64] = _original(
            np.asarray(documents, np.int64),
            np.asarray(positions, np.int64),
            end,
            self.source.buffer,
            self.source.offsets,
            self.runs,
            self.folded,
            self.originals,
            self.folded_steps,
            self.original_steps,
        )
        return found


@kernel  # type: ignore[untyped-decorator]
def _original(
    documents: NDArray[np.int64],
    positions: NDArray[np.int64],
    end: bool,
    buffer: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    runs: NDArray[np.int64],
    folded: NDArray[np.int32],
    originals: NDArray[np.int32],
    folded_steps: NDArray[np.uint8],
    original_steps: NDArray[np.int32],
) -> NDArray[np.int64]:
    found = np.empty(len(positions), np.int64)
    for number in range(len(positions)):
        document, position = documents[number], positions[number]
        first = runs[document]
        low, high = first, runs[document + 1]
        while low < high:  # the first run that begins after the position
            middle = (low + high) // 2
            if folded[middle] < position or (folded[middle] == position and not end):
                low = middle + 1
            else:
                high = middle
        base = offsets[document]
        size = offsets[document + 1] - base
        at = position
        if low > first:
            run = low - 1
            step = np.int64(folded_steps[run])
            into = position - folded[run]
            units = (into + step - 1) // step if end else into // step
            at = originals[run] + units * original_steps[run]
        at = min(max(at, np.int64(0)), size)
        while 0 < at < size and buffer[base + at] & 0xC0 == 0x80:
            at += 1 if end else -1
        found[number] = at
    return found
