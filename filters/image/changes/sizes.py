"""The sizes of a resized picture, as img2dataset computes them, before any pixel is looked at."""

from dataclasses import dataclass

from winnow.filters.image.changes.options import Resize

__all__ = ["Layout", "layout_of"]


@dataclass(frozen=True, slots=True)
class Layout:
    """A picture is scaled to one size, then cut or filled to another around its middle."""

    scaled: tuple[int, int]  # height, width
    final: tuple[int, int]

    @property
    def pixels(self) -> int:
        """The most that it takes."""
        return max(self.scaled[0] * self.scaled[1], self.final[0] * self.final[1])


def layout_of(height: int, width: int, resize: Resize | None) -> Layout:
    """The layout of an upright picture of this size."""
    as_is = Layout((height, width), (height, width))
    if resize is None or resize.mode == "no":
        return as_is
    by_shorter = resize.mode in ("keep_ratio", "center_crop")
    measured = min(height, width) if by_shorter else max(height, width)
    if resize.only_if_bigger and measured <= resize.side:
        return as_is
    scale = resize.side / measured
    scaled = (max(1, round(height * scale)), max(1, round(width * scale)))
    square = resize.mode in ("center_crop", "border")
    return Layout(scaled, (resize.side, resize.side) if square else scaled)
