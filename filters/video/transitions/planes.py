"""What tells transitions in small planes: differences of frames, and which frames are no mere repetitions."""

from typing import Final

import numpy as np

from winnow.filters.video.decode.signals import CHROMA_COLUMNS, CHROMA_ROWS, LUMA_COLUMNS, LUMA_ROWS
from winnow.schemas.kernels import arithmetic

MOST_FRAMES: Final = 128  # of each half of a dissolve
ALIKE: Final = np.float32(0.8)  # correlation of the ends of what is no dissolve
LUMA: Final = LUMA_ROWS * LUMA_COLUMNS
_LUMA: Final = LUMA
_CHROMA: Final = CHROMA_ROWS * CHROMA_COLUMNS
CELLS: Final = _LUMA + 2 * _CHROMA
_CELLS: Final = CELLS
_WHOLE: Final = np.int32(2048)  # parts in which shares of frames are counted
_SAME: Final = np.float32(1.0)  # levels: what codecs change in a frame that is shown twice is less
_SHARPENED: Final = np.float32(0.125)  # of the last change, if that was large
_MOST_SAME: Final = np.float32(3.0)
_DARK, _WHITE, _STILL = np.int32(24), np.int32(235), np.int32(6)  # levels
_HELD: Final = 0.25  # seconds; a picture that stands longer stands still


@arithmetic
def fresh_frames(planes, times, first, change):  # type: ignore[no-untyped-def]
    """Which frames from `first` on show more than the last one that did, and by how much the last of them does.

    The frame before `first` did, by `change`. Codecs sharpen a frame that is shown again after much has changed. A
    picture that stands still is shown again after a while, so that what is around a change of slides is stillness.
    """
    found = np.ones(len(planes), np.bool_)
    last = first - 1
    for at in range(first, len(planes)):
        differs = _difference(planes[last], planes[at]) if last >= 0 else np.float32(0)
        same = min(max(change * _SHARPENED, _SAME), _MOST_SAME)
        if last >= 0 and times[at] - times[last] < _HELD and differs < same:
            found[at] = False
        else:
            last, change = at, differs
    return found, change


@arithmetic
def scores_of(planes, times, first, last, half, cut, content):  # type: ignore[no-untyped-def]
    """For frames from `first` to `last`: eight numbers.

    The difference from the frame before; the lesser of those between frames two further away, which a flash lacks; how
    much the frames half a dissolve before and after differ; what of this frame is no mean of these; how alike these are
    but for brightness; how many frames before and after they are; and, where this frame differs from the one before by
    a cut, which share of the picture is the same in both. Of what is no dissolve, the residual and the likeness may not
    be measured: they are as large as those that rule it out.
    """
    count = len(planes)
    found = np.zeros((last - first, 8), np.float32)
    for at in range(first, last):
        out = found[at - first]
        if at > 0:
            out[0] = _difference(planes[at - 1], planes[at])
            ahead = _difference(planes[at - 1], planes[min(at + 2, count - 1)])
            out[1] = min(ahead, _difference(planes[max(at - 3, 0)], planes[at]))
            if out[0] >= cut:
                out[7] = _unchanged(planes[at - 1], planes[at])
        before, after = at, at
        while before > 0 and at - before < MOST_FRAMES and times[at] - times[before] < half - 1e-9:
            before -= 1
        while after < count - 1 and after - at < MOST_FRAMES and times[after] - times[at] < half - 1e-9:
            after += 1
        out[5], out[6] = at - before, after - at
        if before == at or after == at:
            continue
        share = (times[at] - times[before]) / (times[after] - times[before])
        if not 0.4 <= share <= 0.6:  # near an end of the video, or of a still: it is like the nearer one in any case
            continue
        out[2] = _difference(planes[before], planes[after])
        out[4] = _likeness(planes[before], planes[after]) if out[2] >= content else ALIKE
        out[3] = _residual(planes[before], planes[at], planes[after], share) if out[4] < ALIKE else out[2]
    return found


@arithmetic
def _difference(one, other):  # type: ignore[no-untyped-def]
    luma = chroma = np.int32(0)
    for cell in range(_LUMA):
        luma = np.int32(luma + np.int32(abs(np.int32(np.int32(one[cell]) - np.int32(other[cell])))))
    for cell in range(_LUMA, _CELLS):
        chroma = np.int32(chroma + np.int32(abs(np.int32(np.int32(one[cell]) - np.int32(other[cell])))))
    return np.float32(luma / _LUMA + chroma / _CHROMA)


@arithmetic
def _unchanged(one, other):  # type: ignore[no-untyped-def]
    """The share of luma cells that are the same in both; what is black, as bars are, or white says nothing."""
    same = seen = np.int32(0)
    for cell in range(_LUMA):
        x, y = np.int32(one[cell]), np.int32(other[cell])
        if max(x, y) < _DARK or min(x, y) > _WHITE:
            continue
        seen = np.int32(seen + 1)
        if abs(np.int32(x - y)) <= _STILL:
            same = np.int32(same + 1)
    return np.float32(same / seen) if seen > 0 else np.float32(0)


@arithmetic
def _residual(before, here, after, share):  # type: ignore[no-untyped-def]
    """The mean difference from the mean of two frames that has a share of the later one, in whole parts."""
    luma = chroma = np.int32(0)  # 64 x 36 differences of 255 wholes are less than 2 ** 31
    new = np.int32(round(share * _WHOLE))
    old = np.int32(_WHOLE - new)
    for cell in range(_LUMA):
        mean = np.int32(np.int32(old * np.int32(before[cell])) + np.int32(new * np.int32(after[cell])))
        luma = np.int32(luma + np.int32(abs(np.int32(np.int32(_WHOLE * np.int32(here[cell])) - mean))))
    for cell in range(_LUMA, _CELLS):
        mean = np.int32(np.int32(old * np.int32(before[cell])) + np.int32(new * np.int32(after[cell])))
        chroma = np.int32(chroma + np.int32(abs(np.int32(np.int32(_WHOLE * np.int32(here[cell])) - mean))))
    return np.float32(luma / (_WHOLE * _LUMA) + chroma / (_WHOLE * _CHROMA))


@arithmetic
def _likeness(one, other):  # type: ignore[no-untyped-def]
    """The correlation of luma."""
    of_one = of_other = squares = others = products = np.int32(0)  # 64 x 36 squares of 255 are less than 2 ** 31
    for cell in range(_LUMA):
        x, y = np.int32(one[cell]), np.int32(other[cell])
        of_one, of_other = np.int32(of_one + x), np.int32(of_other + y)
        squares, others = np.int32(squares + np.int32(x * x)), np.int32(others + np.int32(y * y))
        products = np.int32(products + np.int32(x * y))
    a, b, aa, bb, ab = np.int64(of_one), np.int64(of_other), np.int64(squares), np.int64(others), np.int64(products)
    first, second = aa - a * a / _LUMA, bb - b * b / _LUMA
    if first < _LUMA or second < _LUMA:  # one is flat
        return np.float32(0)
    return np.float32((ab - a * b / _LUMA) / np.sqrt(first * second))
