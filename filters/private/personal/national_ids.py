"""National identification numbers of a text's possible countries.

`states` lists the kinds. A kernel searches for all their shapes around every run of digits; the few matches are then
checked for an announcing word, if one is required, and by `python-stdnum`. A number is never part of a longer one, of a
word, of a decimal or of an address. Texts of countries whose numbers are not listed are not searched: the answer is
then null, not 0.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import numpy as np
import numpy.typing as npt

from winnow.filters.extras import required_package
from winnow.filters.language.kernels.spans import Texts
from winnow.filters.private.personal.candidates import DigitGroups, glued_after, glued_before
from winnow.filters.private.personal.cues import Cues, window
from winnow.filters.private.personal.detections import Detections, no_detections
from winnow.filters.private.personal.person_numbers import STATES
from winnow.filters.private.personal.regions import Regions
from winnow.schemas.kernels import kernel, leaf

KIND = "national_id"

_CLASSES = "9Aa-./+ "  # character classes of shapes; each trie node has a branch for each
_CLASS_OF = np.full(256, -1, np.int8)  # of each byte
_CLASS_OF[48:58], _CLASS_OF[65:91], _CLASS_OF[97:123] = 0, 1, 2
_CLASS_OF[list(b"-./+ ")] = np.arange(3, 8)
_DEEPEST = 24  # bytes read from one position: more than the longest shape
_LETTERS_BEFORE = 6  # letters and digits that a shape may have before its first run of digits
_STRONG = 5  # letters of an unambiguous cue, which may precede the number by some words
_INSURANCE = re.compile(r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z][0-9]{6}[A-D]")
_WITHOUT_SIGNS = str.maketrans("", "", " .-/")

_Ints = npt.NDArray[np.int64]
_Bytes = npt.NDArray[np.uint8]
_Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of number, prepared for the search."""

    checked_by: str
    cues: Cues
    telling: frozenset[int]  # numbers of shapes
    announced: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Shapes:
    """All shapes as one trie: `branches[node, class]` is the next node, `whole[node]` the shape that ends there."""

    numbers: dict[str, int]
    branches: npt.NDArray[np.int16]
    whole: npt.NDArray[np.int16]


def national_ids_ready() -> None:
    """Raise RecipeError if the package that checks the numbers is missing."""
    required_package("text.pii", "stdnum", "pii")


def national_ids(texts: Texts, groups: DigitGroups, regions: Regions) -> Detections:
    """The national ids in every text; `searched` is False where no number of its countries is known."""
    kinds = [tuple(kind for region in choice for kind in _kinds().get(region, ())) for choice in regions.choices]
    searched = np.array([bool(one) for one in kinds], np.bool_)[regions.chosen]
    shapes = _shapes()
    wanted = np.zeros((len(kinds), len(shapes.numbers)), np.bool_)
    for choice, ones in enumerate(kinds):
        for kind in ones:
            wanted[choice, list(kind.telling | kind.announced)] = True
    shaped = _shaped(
        texts.buffer, texts.offsets, groups.document_runs, groups.run_starts,
        regions.chosen, wanted, shapes.branches, shapes.whole,
    )  # fmt: skip
    found = list(_checked(texts, shaped, kinds, regions.chosen)) if len(shaped) else []
    if not found:
        return Detections(KIND, *(no_detections(KIND, 0).starts,) * 3, searched)
    documents, starts, ends = np.array(found, np.int64).T
    return Detections(KIND, documents, starts, ends, searched)


@lru_cache(maxsize=1)
def _kinds() -> dict[str, tuple[_Kind, ...]]:
    """The kinds of every country."""
    numbers = _shapes().numbers
    found: dict[str, list[_Kind]] = {}
    for one in STATES:
        strong = [cue for cue in one.cues if len(cue) >= _STRONG]
        weak = [cue for cue in one.cues if len(cue) < _STRONG]
        telling, announced = (frozenset(numbers[shape] for shape in shapes) for shapes in (one.telling, one.announced))
        found.setdefault(one.region, []).append(_Kind(one.checked_by, Cues(strong, weak), telling, announced))
    return {region: tuple(kinds) for region, kinds in found.items()}


@lru_cache(maxsize=1)
def _shapes() -> _Shapes:
    shapes = sorted({shape for one in STATES for shape in (*one.telling, *one.announced)})
    branches: list[list[int]] = [[0] * len(_CLASSES)]
    ends: dict[int, int] = {}
    for number, shape in enumerate(shapes):
        place = 0
        for character in shape:
            branch = _CLASSES.index(character)
            if not branches[place][branch]:
                branches[place][branch] = len(branches)
                branches.append([0] * len(_CLASSES))
            place = branches[place][branch]
        ends[place] = number
    whole = [ends.get(place, -1) for place in range(len(branches))]
    return _Shapes(
        {shape: number for number, shape in enumerate(shapes)},
        np.array(branches, np.int16),
        np.array(whole, np.int16),
    )


@leaf  # type: ignore[untyped-decorator]
def _longest(
    text: _Bytes, at: int, high: int, branches: npt.NDArray[np.int16], whole: npt.NDArray[np.int16], wanted: _Bools
) -> tuple[int, int]:
    """The longest wanted shape that begins here and is not part of something longer, and its end; else -1."""
    found, end, place = -1, at, 0
    for _ in range(_DEEPEST):
        if at >= high:
            break
        branch = _CLASS_OF[text[at]]
        if branch < 0 or branches[place, branch] == 0:
            break
        place = branches[place, branch]
        at += 1
        shape = whole[place]
        if shape >= 0 and wanted[shape] and _ends(text, at, high):
            found, end = shape, at
    return found, end


@leaf  # type: ignore[untyped-decorator]
def _ends(text: _Bytes, at: int, high: int) -> bool:
    """Whether a number can end here, and does not continue as a word, decimal, range, path or address."""
    if at >= high:
        return True
    if glued_after(text, at, high):
        return False
    byte = text[at]
    if byte == 45 or byte == 47 or byte == 46 or byte == 44 or byte == 58 or byte == 64 or byte == 43 or byte == 61:
        return at + 1 >= high or not glued_after(text, at + 1, high)
    return bool(byte != 37)  # %


@leaf  # type: ignore[untyped-decorator]
def _begins(text: _Bytes, low: int, at: int) -> bool:
    """Whether a number can begin here; `:` and `#` may introduce one."""
    if at <= low:
        return True
    if glued_before(text, low, at):
        return False
    byte = text[at - 1]
    if byte == 43 or byte == 64 or byte == 36:  # + @ $
        return False
    if byte == 45 or byte == 47 or byte == 46 or byte == 44:
        return at - 1 > low and not glued_before(text, low, at - 1) and text[at - 2] != byte
    return True


@kernel  # type: ignore[untyped-decorator]
def _shaped(
    text: _Bytes,
    offsets: _Ints,
    runs: _Ints,
    starts: _Ints,
    chosen: _Ints,
    wanted: _Bools,
    branches: npt.NDArray[np.int16],
    whole: npt.NDArray[np.int16],
) -> _Ints:
    """Matches of shapes of the text's countries: text, start, end, shape; at most one around each run."""
    found, count = np.empty((256, 4), np.int64), 0
    anything = np.zeros(len(wanted), np.bool_)
    for choice in range(len(wanted)):
        anything[choice] = wanted[choice].any()
    for row in range(len(offsets) - 1):
        if runs[row] == runs[row + 1] or not anything[chosen[row]]:
            continue
        low, high, behind = offsets[row], offsets[row + 1], offsets[row]
        for run in range(runs[row], runs[row + 1]):
            if starts[run] < behind:
                continue
            begin = starts[run]
            while begin > behind and starts[run] - begin < _LETTERS_BEFORE and 0 <= _CLASS_OF[text[begin - 1]] <= 2:
                begin -= 1
            shape, end = -1, begin
            lettered = begin - 2 >= behind and text[begin - 1] == 45 and _CLASS_OF[text[begin - 2]] == 1
            if lettered and _begins(text, low, begin - 2):  # X-1234567-L
                shape, end = _longest(text, begin - 2, high, branches, whole, wanted[chosen[row]])
                if shape >= 0:
                    begin -= 2
            if shape < 0 and _begins(text, low, begin):
                shape, end = _longest(text, begin, high, branches, whole, wanted[chosen[row]])
            if shape < 0:
                continue
            if count == len(found):
                wider = np.empty((2 * count, 4), np.int64)
                wider[:count] = found
                found = wider
            found[count, 0], found[count, 1], found[count, 2], found[count, 3] = row, begin, end, shape
            count += 1
            behind = end
    return found[:count].copy()


def _checked(
    texts: Texts, shaped: _Ints, kinds: list[tuple[_Kind, ...]], chosen: _Ints
) -> Iterator[tuple[int, int, int]]:
    """The text, start and end of matches that are valid in its countries, and announced if required."""
    buffer = memoryview(texts.buffer)  # type: ignore[arg-type]  # numpy's types do not say so
    for document, start, end, shape in shaped.tolist():
        number = buffer[start:end].tobytes().decode("ascii")
        if " " in number and _goes_on(buffer, start, end, texts.offsets[document], texts.offsets[document + 1]):
            continue
        before: str | None = None
        for kind in kinds[chosen[document]]:
            if shape in kind.announced:
                if before is None:
                    before = window(buffer, int(texts.offsets[document]), start)
                if not kind.cues.before(before):
                    continue
            elif shape not in kind.telling:
                continue
            if _valid(kind.checked_by, number):
                yield document, start, end
                break


def _goes_on(buffer: memoryview, start: int, end: int, low: int, high: int) -> bool:
    """Whether blank-separated groups of digits have another group on either side, as in payment cards."""
    before, after = bytes(buffer[max(low, start - 2) : start]), bytes(buffer[end : min(high, end + 2)])
    return (before[-1:] == b" " and before[:1].isdigit()) or (after[:1] == b" " and after[1:].isdigit())


def _valid(module: str, number: str) -> bool:
    """Whether the package accepts the number, as written or without separators."""
    check = _check(module)
    try:
        return check(number) or check(number.translate(_WITHOUT_SIGNS).upper())
    except (LookupError, ValueError, TypeError):  # 2.2 raises KeyError where its table of places has a gap
        return False


@lru_cache(maxsize=128)
def _check(module: str) -> Callable[[str], bool]:
    if module == "gb.nino":  # it has no check digits, and the package has no module for it
        return lambda number: _INSURANCE.fullmatch(number) is not None
    return cast(Callable[[str], bool], required_package("text.pii", f"stdnum.{module}", "pii").is_valid)
