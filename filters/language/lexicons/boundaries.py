"""Select matches that are whole words in scripts without spaces, by a segmenter's word boundaries."""

from collections.abc import Iterator, Sequence

from winnow.filters.language.words.packages import Segmenter

_BREAKS = frozenset("\n\r。！？!?；;．")
_AROUND = 400
"""Characters segmented on each side of a match, unless a sentence ends before: text farther away does not change word
boundaries."""

Find = tuple[int, int, int]
"""The first byte, the end and the entry of a match."""


def whole_words(text: str, finds: Sequence[Find], segmenter: Segmenter) -> list[Find]:
    """The matches that are whole words; of overlapping ones the leftmost, then the longest.

    Raises:
        ValueError: The segmenter's words do not add up to the text.
    """
    chosen: list[Find] = []
    utf8 = text.encode()
    kept: list[Find] = []
    for begin, end, inside in _windows(utf8, finds):
        edges = _edges(utf8[begin:end].decode(), segmenter)
        kept += [find for find in inside if find[0] - begin in edges and find[1] - begin in edges]
    for find in sorted(kept, key=lambda find: (find[0], -find[1])):
        if not chosen or find[0] >= chosen[-1][1]:
            chosen.append(find)
    return chosen


def _windows(utf8: bytes, finds: Sequence[Find]) -> Iterator[tuple[int, int, list[Find]]]:
    """Separate stretches to segment, with the matches inside each."""
    begin = end = -1
    inside: list[Find] = []
    for find in finds:  # in order of their starts
        low, high = _before(utf8, find[0]), _behind(utf8, find[1])
        if begin >= 0 and low <= end:
            end = max(end, high)
        else:
            if begin >= 0:
                yield begin, end, inside
            begin, end, inside = low, high, []
        inside.append(find)
    if begin >= 0:
        yield begin, end, inside


def _before(utf8: bytes, at: int) -> int:
    low = max(at - 4 * _AROUND, 0)
    while low < at and utf8[low] & 0xC0 == 0x80:
        low += 1
    part = utf8[low:at].decode()[-_AROUND:]
    cut = max((part.rfind(mark) for mark in _BREAKS), default=-1)
    return at - len(part[cut + 1 :].encode())


def _behind(utf8: bytes, at: int) -> int:
    high = min(at + 4 * _AROUND, len(utf8))
    while high > at and high < len(utf8) and utf8[high] & 0xC0 == 0x80:
        high -= 1
    part = utf8[at:high].decode()[:_AROUND]
    cuts = [cut for cut in (part.find(mark) for mark in _BREAKS) if cut >= 0]
    return at + len(part[: min(cuts)].encode() if cuts else part.encode())


def _edges(text: str, segmenter: Segmenter) -> set[int]:
    """The byte positions at which words of the text begin or end."""
    found: set[int] = set()
    at = byte = 0
    for word in segmenter(text):
        if not word.strip():
            continue
        place = text.find(word, at)
        if place < 0:
            raise ValueError("a word that the text does not have")
        byte += len(text[at:place].encode())
        found.add(byte)
        byte += len(word.encode())
        found.add(byte)
        at = place + len(word)
    return found
