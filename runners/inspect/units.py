"""The amounts in which rows are counted: bytes, tokens, pixels and seconds, as far as they are measured."""

from dataclasses import dataclass
from threading import Lock
from typing import Final

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.image.decode.stills import DecodeLimits
from winnow.pipelines.binding.sources import decode_limits
from winnow.pipelines.binding.tokens import TOKENS_LAYER
from winnow.pipelines.mix.candidates import pixels_of, seconds_of
from winnow.pipelines.reading.columns import MEDIA, Column
from winnow.runners.inspect.frame import Frame
from winnow.runners.inspect.measures import frame_layers, map_blocks
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.parts import Block

_TOKENS: Final = Column(TOKENS_LAYER, "tokens")
Amounts = NDArray[np.int64] | NDArray[np.uint32]


@dataclass(frozen=True)
class Units:
    """Of each unit that some row has, the amount of every row."""

    amounts: dict[str, Amounts]

    @property
    def nbytes(self) -> int:
        """The bytes of all."""
        return sum(amounts.nbytes for amounts in self.amounts.values())


def units_of(opened: Opened, frame: Frame) -> Units:
    """The amounts of every row, read from the store when they are first asked for."""
    return opened.kept.get("units", lambda: _read(opened, frame))


def _read(opened: Opened, frame: Frame) -> Units:
    counted = TOKENS_LAYER in frame_layers(opened)
    limits = DecodeLimits() if opened.recipe is None else decode_limits(opened.recipe.config)
    columns = [MEDIA, *([_TOKENS] if counted else [])]
    found: dict[str, NDArray[np.int64]] = {}
    lock = Lock()

    def put(name: str, own: slice, amounts: NDArray[np.int64]) -> None:
        with lock:
            if name not in found and amounts.any():  # of a unit that no row has, nothing is held
                found[name] = np.zeros(frame.rows, np.int64)
        if name in found:
            found[name][own] = amounts

    def read(at: int, block: Block) -> None:
        media = block[MEDIA.name]
        own = slice(at, at + len(media))
        if len(media.flatten()):
            put("pixels", own, pixels_of(media, limits.max_pixels))
            put("seconds", own, seconds_of(media))
        if counted:
            put("tokens", own, pc.fill_null(block[_TOKENS.name], 0).to_numpy(zero_copy_only=False))

    for _ in map_blocks(opened, frame, columns, read):
        pass
    some: dict[str, Amounts] = {"bytes": frame.size} if frame.size.any() else {}
    for name in ("tokens", "pixels", "seconds"):
        if name in found:
            some[name] = _small(found.pop(name))
    return Units(some)


def _small(amounts: Amounts) -> Amounts:
    return amounts.astype(np.uint32) if amounts.min() >= 0 and amounts.max() < 1 << 32 else amounts
