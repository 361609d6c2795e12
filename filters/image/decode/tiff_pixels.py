"""How the first page of a TIFF stores its pixels, for what Pillow ignores or does not know."""

from dataclasses import dataclass
from typing import Final

from winnow.filters.image.decode.containers import Bytes, UnreadableError, Walk, tiff_entries, tiff_start, tiff_values

_BITS, _COMPRESSION, _COLOURS, _PLANES = 258, 259, 262, 284  # tags
_WHITE_IS_ZERO: Final = 0
_APART: Final = 2  # each channel separately
_PLAIN: Final = 1
_USUAL: Final = frozenset((_PLAIN, 2, 3, 4, 5, 6, 7, 8, 32773, 32946, 34925, 50000))  # zstandard is the last


@dataclass(frozen=True, slots=True)
class TiffPixels:
    """How the pixels are written."""

    bits: int = 8  # of the first channel
    compression: int = _PLAIN
    inverted: bool = False  # the lowest level is white
    apart: bool = False  # each channel separately

    @property
    def is_misread(self) -> bool:
        """Whether Pillow reads only one byte of each sample."""
        return self.apart and self.bits > 8 and self.compression == _PLAIN

    @property
    def is_usual(self) -> bool:
        """Whether they are compressed in a way that every libtiff supports."""
        return self.compression in _USUAL


def tiff_pixels(image: Bytes) -> TiffPixels:
    """The stored layout, with the defaults of TIFF."""
    walk = Walk(image)
    found: dict[int, int] = {}
    try:
        for tag, part in tiff_entries(walk, tiff_start(walk)):
            if tag in (_BITS, _COMPRESSION, _COLOURS, _PLANES):
                found[tag] = next(iter(tiff_values(walk, part)), 1)
    except UnreadableError:  # left to the decoder
        pass
    return TiffPixels(
        bits=found.get(_BITS, 1),
        compression=found.get(_COMPRESSION, _PLAIN),
        inverted=found.get(_COLOURS) == _WHITE_IS_ZERO,
        apart=found.get(_PLANES) == _APART,
    )
