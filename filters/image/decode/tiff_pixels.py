"""What the first page of a TIFF says of its pixels, where Pillow does not heed it or does not know it."""

from dataclasses import dataclass
from typing import Final

from winnow.filters.image.decode.containers import Bytes, UnreadableError, Walk, tiff_entries, tiff_start, tiff_values

_BITS, _COMPRESSION, _COLOURS, _PLANES = 258, 259, 262, 284  # tags
_WHITE_IS_ZERO: Final = 0
_APART: Final = 2  # each channel on its own
_PLAIN: Final = 1
_USUAL: Final = frozenset((_PLAIN, 2, 3, 4, 5, 6, 7, 8, 32773, 32946, 34925, 50000))  # zstandard is the last


@dataclass(frozen=True, slots=True)
class TiffPixels:
    """How the pixels are written."""

    bits: int = 8  # of the first channel
    compression: int = _PLAIN
    inverted: bool = False  # the least level is white
    apart: bool = False  # each channel on its own

    @property
    def is_misread(self) -> bool:
        """Whether Pillow takes one byte of each sample for all of it."""
        return self.apart and self.bits > 8 and self.compression == _PLAIN

    @property
    def is_usual(self) -> bool:
        """Whether they are packed in a way that every libtiff knows."""
        return self.compression in _USUAL


def tiff_pixels(image: Bytes) -> TiffPixels:
    """What is said of them, or what holds where nothing is."""
    walk = Walk(image)
    found: dict[int, int] = {}
    try:
        for tag, part in tiff_entries(walk, tiff_start(walk)):
            if tag in (_BITS, _COMPRESSION, _COLOURS, _PLANES):
                found[tag] = next(iter(tiff_values(walk, part)), 1)
    except UnreadableError:  # the decoder's to judge
        pass
    return TiffPixels(
        bits=found.get(_BITS, 1),
        compression=found.get(_COMPRESSION, _PLAIN),
        inverted=found.get(_COLOURS) == _WHITE_IS_ZERO,
        apart=found.get(_PLANES) == _APART,
    )
