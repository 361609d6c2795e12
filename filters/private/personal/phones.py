"""Telephone numbers in texts: valid ones of a text's possible countries, and of any country after `+`.

`phonenumbers` decides whether a number is valid. But a third of random ten-digit numbers is valid somewhere, so a
number must also be written like one, or stand where one does. There are four ways:

- `+` and a calling code directly before the digits (`+49 30 123456`), for any country, in any text;
- a preceding word that announces a number (`Tel.`, `Fax:`, `☎`, `電話`; see `cues`), in any grouping;
- a written trunk prefix (`030 123456`, `8 (495) 123-45-67`), an area code in brackets, or, in North America, hyphens
  or dots as separators (`415-555-2671`); then the groups must be those of the country, with at least eight or nine
  digits, no other number, sign of code or unit of measure next to it, and not named as another number (`order number`);
- a form and a place that together speak for a telephone's (see `phone_evidence`).

Parts of longer runs of digits or of words are never phones, nor are dates, decimals, IPv4 addresses and separate ISBNs.
Without a country (language and domain unknown) only numbers after `+` can be found.
"""

import re
from collections.abc import Iterator
from itertools import accumulate, pairwise

import numpy as np

from winnow.filters.extras import required_package
from winnow.filters.language.kernels.spans import Texts
from winnow.filters.private.personal.candidates import DigitGroups
from winnow.filters.private.personal.cues import SPACED_SCRIPTS, window
from winnow.filters.private.personal.detections import Detections
from winnow.filters.private.personal.numbering import Plan, dialled, international, plan, plan_regions
from winnow.filters.private.personal.phone_chunks import LEAST, MOST, Chunks, phone_chunks
from winnow.filters.private.personal.phone_evidence import (
    Form,
    Place,
    belongs_to_another,
    evident,
    in_thousands,
    is_series,
)
from winnow.filters.private.personal.phone_words import (
    announced,
    counts_a_word,
    counts_something,
    hinted,
    hinted_behind,
    number_of_a_thing,
    numbers_something_else,
)
from winnow.filters.private.personal.regions import Regions

KIND = "phone"

_LEAST_UNANNOUNCED = 9  # digits where no word announces a number
_LEAST_TOGETHER = 8  # of a hinted number without any separator
_LEAST_PARTED = 8  # with the area code in brackets, or a hyphen or slash after it
_MOST_RUNS = 9  # runs of digits that one number is written in
_NEAR_HINT = 24  # characters between a hint and a number without separators
_LOOK_BACK = 192  # bytes before and after a number that are searched for words
_INHERITED = 6  # bytes between two numbers announced by the same word: `030 1234567 / 1234568`

_LONGEST_NATIONAL = 12  # digits after the calling code
_LEAST_ABROAD = 11  # digits after `00`, which may also be padding
_PAIR = 2
_LEAST_HALF = 4
_LEAST_OF_THREES = 3
_LEAST_OF_HALVES = 10  # digits
_QUARTETS = (4, 4)
_LEAST_GROUPS = 4  # after a trunk prefix that is not 0: `8 705 441 20 63`
_FORMER_TRUNKS = ("8", "80")  # of Lithuania and Belarus
_SMALL = 60  # upper bound of rising lottery numbers and times
_CAPITALS = frozenset(("DE", "AT", "CH", "LI", "LU"))  # where nouns have them
_OPENING, _PLUS = b"(+"
_EXTENSION_BYTES = 48
_WIDEST = 4  # bytes of a character
_NO_PHONE_LOOK_BACK = 24

_NOT_DIGITS = bytes(byte for byte in range(256) if not 48 <= byte <= 57)
_EXTENSION = re.compile(
    r"[ ,;]{0,2}\(?(?:extension|extn?|x|durchwahl|dw|poste|interno|int|ramal|anexo|доб|вн|внутр|내선|内线|内線|分机)"
    r"[.:]{0,2} {0,2}[0-9]{1,6}\)?(?![0-9A-Za-z])",
    re.IGNORECASE,
)
_NO_PHONE_BEFORE = re.compile(
    r"(?<![^\W\d_])(?:isbn|issn|ismn|doi|pmid|rfc|ean|upc|gtin|iban|vat|ust-id\S*|siren|siret|cnpj|cpf|nif|nip|rut|"
    r"version|ver|v|rev|rs|§|art|asin|oclc|lccn|patent|bug|issue|serial|s/n|sku|model|coordinates|lat|lon|lng)"
    r"(?![^\W\d_])[-\s.:#=()\w]{0,12}\Z"
)
_SIGNS_BEFORE = frozenset("/=&?_#@$%~\\^<,`|€£¥₹₽₺₩₴")
_SIGNS_AFTER = frozenset("=_@\\^/")
_IDEOGRAPHS = "\u2e80"
_UNITS_AFTER = frozenset("%$€£¥₹₽₺₩₴°′″‰")
_AREA_ENDS = ([b"-"], [b"/"], [b" / "])  # between an area code and the rest
_POSTCODE = (5, 4)  # of the United States, which occur in texts of all languages
_NORTH_AMERICA = 1
_NORTH_AMERICAN = (3, 3, 4)


def phones_ready() -> None:
    """Raise RecipeError if the package that knows the numbers is missing."""
    required_package("text.pii", "phonenumbers", "pii")


def phones(texts: Texts, groups: DigitGroups, regions: Regions) -> Detections:
    """The telephone numbers of every text; `searched` is False where no country is known and none was found.

    Numbers after `+` are found in every text. If only those could be searched for and there is none, the answer is
    unknown, not 0.
    """
    chunks = phone_chunks(texts, groups)
    plans = [tuple(plan(region) for region in choice if region in plan_regions()) for choice in regions.choices]
    searched = np.array([bool(one) for one in plans], np.bool_)[regions.chosen]
    reader = _Reader(texts, groups, plans, regions)
    found = list(reader.read(chunks)) if len(chunks.firsts) else []
    documents = np.array([one[0] for one in found], np.int64)
    searched[documents] = True
    starts, ends = (np.array([one[side] for one in found], np.int64) for side in (1, 2))
    return Detections(KIND, documents, starts, ends, searched)


class _Reader:
    """Reads the chunks of a column of texts, in their order."""

    def __init__(self, texts: Texts, groups: DigitGroups, plans: list[tuple[Plan, ...]], regions: Regions) -> None:
        self._buffer = memoryview(texts.buffer)  # type: ignore[arg-type]  # numpy's types do not say so
        self._offsets = texts.offsets
        self._starts, self._ends = groups.run_starts, groups.run_ends
        self._plans, self._chosen = plans, regions.chosen

    def read(self, chunks: Chunks) -> Iterator[tuple[int, int, int]]:
        """The text, start and end of every number."""
        text, behind = -1, 0  # of the last number
        columns = (chunks.documents, chunks.firsts, chunks.lasts, chunks.plus, chunks.apart, chunks.alone)
        for document, first, last, plus, apart, alone in zip(*(column.tolist() for column in columns), strict=True):
            low, high = int(self._offsets[document]), int(self._offsets[document + 1])
            plans = self._plans[self._chosen[document]]
            starts, ends = self._starts[first:last].tolist(), self._ends[first:last].tolist()
            at = 0
            while at < len(starts):
                if document == text and starts[at] < behind:  # the last number's extension
                    at += 1
                    continue
                if not (plus or apart or plans) and self._buffer[starts[at] : starts[at] + 2].tobytes() != b"00":
                    break
                followed = document == text and self._follows(behind, starts[at])
                cued = followed or (not plus and announced(window(self._buffer, low, starts[at], _LOOK_BACK)))
                plus = plus or (apart and cued)
                runs = starts[at : at + _MOST_RUNS + 1], ends[at : at + _MOST_RUNS + 1]
                if plus or cued:
                    stop = self._announced(*runs, plans, plus)
                elif alone and at == 0:
                    stop = self._structured(*runs, plans, low, high)
                else:
                    stop = 0
                if stop == 0 or (not plus and counts_something(self._behind(runs[1][stop - 1], high))):
                    break
                end = self._extended(runs[1][stop - 1], high)
                if end == 0 or (plus and _letter(self._behind(end, high)[:1])):
                    break
                yield document, self._opened(starts[at], runs[1][stop - 1], low), end
                text, behind = document, end
                at, plus, apart = at + stop, False, False

    def _follows(self, behind: int, at: int) -> bool:
        """Whether a number follows another so closely that the same word announces both."""
        return at - behind <= _INHERITED and 10 not in self._buffer[behind:at].tobytes()

    def _digits(self, start: int, end: int) -> str:
        return bytes(self._buffer[start:end]).translate(None, _NOT_DIGITS).decode()

    def _announced(self, starts: list[int], ends: list[int], plans: tuple[Plan, ...], plus: bool) -> int:
        """The number of runs of the longest announced number that begins here; 0 if there is none.

        A number may end before the runs do only at a blank or slash, as another one may follow it.
        """
        for stop in range(min(len(ends), _MOST_RUNS), 0, -1):
            if stop < len(starts) and not self._buffer[ends[stop - 1] : starts[stop]].tobytes().strip(b"-.()"):
                continue
            digits = self._digits(starts[0], ends[stop - 1])
            if len(digits) > MOST:
                continue
            if len(digits) < LEAST:
                return 0
            if plus:
                found = international(digits)
                if found is not None and len(found[1]) <= _LONGEST_NATIONAL:
                    return stop
            elif any(_fits(dialled(digits, one)) for one in plans) or (
                digits.startswith("00") and _fits(international(digits[2:]))
            ):
                return stop
        return 0

    def _structured(self, starts: list[int], ends: list[int], plans: tuple[Plan, ...], low: int, high: int) -> int:
        """The number of runs of the number that all of these form, if written as only phones are; else 0.

        One that is written as phones and other numbers are counts if its line speaks of reaching somebody.
        """
        digits = self._digits(starts[0], ends[-1])
        runs = len(starts)
        if runs > _MOST_RUNS or not LEAST <= len(digits) <= MOST:
            return 0
        opened = starts[0] > low and self._buffer[starts[0] - 1] == _OPENING
        if self._measured(starts[0] - opened, ends[-1], low, high):
            return 0
        sizes = tuple(end - start for start, end in zip(starts, ends, strict=True))
        joints = [self._buffer[end:start].tobytes() for end, start in zip(ends[:-1], starts[1:], strict=True)]
        bracket = _bracketed(opened, joints)
        parted = len(digits) >= _LEAST_PARTED and (bracket or joints[:1] in _AREA_ENDS)
        recognisable = runs > 1 and (len(digits) >= _LEAST_UNANNOUNCED or parted)
        if runs > 1 and (_list_like(digits, sizes, joints) or (sizes == _POSTCODE and joints[0] == b"-")):
            return 0
        if recognisable and _foreign(digits, sizes):
            believed = _fits(international(digits[2:]))
        else:
            believed = (
                recognisable
                and any(_written(digits, sizes, joints, bracket, one) for one in plans)
                and not belongs_to_another(self._beside(low, starts[0], ends[-1], high)[0])
            )
            believed = believed or (
                any(_written(digits, sizes, joints, bracket, one, hinted=True) for one in plans)
                and self._hinted(starts[0], ends[-1], low, high, runs)
                and not (
                    in_thousands(digits, sizes, [joint.decode("utf-8", "ignore") for joint in joints])
                    and counts_a_word(self._behind(ends[-1], high))
                )
            )
        believed = believed or self._evident(digits, sizes, joints, bracket, plans, (low, starts[0], ends[-1], high))
        if not believed or _NO_PHONE_BEFORE.search(window(self._buffer, low, starts[0])[-_NO_PHONE_LOOK_BACK:]):
            return 0
        if numbers_something_else(window(self._buffer, low, starts[0] - opened, _LOOK_BACK)):
            return 0
        return 0 if number_of_a_thing(self._beside(low, starts[0] - opened, ends[-1], high)[0]) else runs

    def _hinted(self, start: int, end: int, low: int, high: int, runs: int) -> bool:
        """Whether the line of a number speaks of reaching somebody."""
        characters = hinted(window(self._buffer, low, start, _LOOK_BACK))
        if characters is not None and (runs > 1 or characters <= _NEAR_HINT):
            return True
        return hinted_behind(self._behind(end, high))

    def _evident(
        self,
        digits: str,
        sizes: tuple[int, ...],
        joints: list[bytes],
        bracket: bool,
        plans: tuple[Plan, ...],
        places: tuple[int, int, int, int],
    ) -> bool:
        """Whether form and place make a number a telephone's, without a word."""
        low, start, end, high = places
        signs = [joint.decode("utf-8", "ignore") for joint in joints]
        thousands = in_thousands(digits, sizes, signs)
        forms = [
            form
            for one in plans
            if (one.bare or not thousands) and (form := _form(digits, sizes, joints, bracket, one)) is not None
        ]
        if not forms or (b"." in joints and len(set(joints)) > 1):  # `52.5200 13.4050`
            return False
        if is_series(digits, sizes, signs):
            return False
        before, after = self._beside(low, start, end, high)
        capitals = plans[0].region in _CAPITALS
        place = Place(digits, len(sizes) > 1, thousands, before, after, capitals)
        return evident(max(forms, key=lambda form: form.points), place)

    def _beside(self, low: int, start: int, end: int, high: int) -> tuple[str, str]:
        """The text before and after a number."""
        before = bytes(self._buffer[max(low, start - _LOOK_BACK) : start]).decode("utf-8", "ignore")
        return before, bytes(self._buffer[end : min(high, end + _LOOK_BACK)]).decode("utf-8", "ignore")

    def _behind(self, end: int, high: int) -> str:
        """The lower-case text after a number."""
        return self._buffer[end : min(high, end + _LOOK_BACK)].tobytes().decode("utf-8", "ignore").lower()

    def _measured(self, start: int, end: int, low: int, high: int) -> bool:
        """Whether adjacent signs make a number a price, a measure, or part of code or an address."""
        before = bytes(self._buffer[max(low, start - 2 * _WIDEST) : start]).decode("utf-8", "ignore")
        if before[-1:] == "," and before[-2:-1] >= _IDEOGRAPHS:  # which have no blank behind a comma
            before = ""
        after = bytes(self._buffer[end : min(high, end + 1 + _WIDEST)]).decode("utf-8", "ignore")
        return before[-1:] in _SIGNS_BEFORE or after[:1] in _SIGNS_AFTER or after.lstrip(" ")[:1] in _UNITS_AFTER

    def _opened(self, start: int, end: int, low: int) -> int:
        """The start of a number: at its `+`, or at a bracket that is closed within it."""
        inside = self._buffer[start:end].tobytes()
        unopened = inside.count(b")") > inside.count(b"(")
        for _ in range(2):
            if start > low and self._buffer[start - 1] == _PLUS:
                start -= 1
            elif start > low + 1 and self._buffer[start - 2 : start].tobytes() == b"+ ":
                start -= 2
            elif start > low and unopened and self._buffer[start - 1] == _OPENING:
                start, unopened = start - 1, False
        return start

    def _extended(self, end: int, high: int) -> int:
        """The end of a number, including its extension; 0 if it is part of a word."""
        behind = bytes(self._buffer[end : min(high, end + _EXTENSION_BYTES)]).decode("utf-8", "ignore")
        found = _EXTENSION.match(behind)
        if found is not None:
            return end + len(found[0].encode())
        return 0 if behind[:1].isascii() and behind[:1].isalpha() else end


def _letter(character: str) -> bool:
    """Whether a character continues a word before it: a letter of a script with blanks."""
    return character.isalpha() and character < SPACED_SCRIPTS


def _fits(found: tuple[int, str] | None) -> bool:
    """Whether there is a number, not longer than real ones, which some plans would allow."""
    return found is not None and len(found[1]) <= _LONGEST_NATIONAL


def _list_like(digits: str, sizes: tuple[int, ...], joints: list[bytes]) -> bool:
    """Whether runs look like a list of numbers: hours, lottery numbers, months, chapters."""
    if max(sizes) > _PAIR:
        return False
    if sizes[0] == 1 and joints[-_PAIR:] == [b"-", b"-"]:  # `8 65 53-91-74`
        return False
    if len(set(joints[joints[:1] in _AREA_ENDS :])) > 1 or len(set(sizes)) > 1:
        return True
    values = [int(digits[at : at + sizes[0]]) for at in range(0, len(digits), sizes[0])]
    steps = {after - before for before, after in pairwise(values)}
    return steps == {1} or (min(steps) > 0 and values[-1] < _SMALL)


def _foreign(digits: str, sizes: tuple[int, ...]) -> bool:
    """Whether a number seems to begin with `00` and a calling code."""
    return digits.startswith("00") and len(digits) >= _LEAST_ABROAD and _PAIR <= sizes[0] <= _PAIR + 3


def _bracketed(opened: bool, joints: list[bytes]) -> bool:
    """Whether brackets enclose the first run, or the second after one digit: `(030) 1`, `8 (495) 1`."""
    if not joints:
        return False
    return (opened and b")" in joints[0] and b"(" not in joints[0]) or (
        len(joints) > 1 and b"(" in joints[0] and b")" in joints[1]
    )


def _written(
    digits: str, sizes: tuple[int, ...], joints: list[bytes], bracket: bool, plan: Plan, *, hinted: bool = False
) -> bool:
    """Whether a number is valid in a country, in its usual groups, and, unless hinted, recognisable as a phone."""
    found = dialled(digits, plan)
    if found is None or found[0] != plan.code or not _fits(found):
        return False
    left = len(digits) - len(found[1])
    trunk = bool(plan.trunk) and left == len(plan.trunk) and digits.startswith(plan.trunk)
    if left and not trunk and not (hinted and _former_trunk(digits[:left], plan)):
        return False
    if left == _PAIR and sizes[0] == 1 and len(sizes) > 1:  # `8 029 344-18-22`, of which `80` is dialled first
        sizes = (_PAIR, sizes[1] - 1, *sizes[2:])
    if sizes[0] < left:
        return False
    if len(sizes) == 1:
        return hinted and len(digits) >= _LEAST_TOGETHER
    groups = tuple(size for size in (sizes[0] - left, *sizes[1:]) if size)
    if plan.code == _NORTH_AMERICA:
        dashed = not joints[-1].strip(b"-\xe2\x80\x90\x91\x92\x93")
        dotted = all(joint == b"." for joint in joints)
        return groups == _NORTH_AMERICAN and (hinted or bracket or dashed or dotted)
    zero = digits[0] == "0"
    if (
        not hinted
        and not bracket
        and not (zero and (trunk or not left))
        and not (trunk and sum(b"-" in one for one in joints) > 1)
        and not (trunk and sizes[0] == left and len(groups) >= _LEAST_GROUPS and groups in plan.groups)
    ):
        return False
    if groups in plan.groups:
        return True
    even = len(set(joints)) == 1 and min(sizes) >= _PAIR
    if even and hinted and trunk and zero and len(digits) >= _LEAST_UNANNOUNCED:
        return True  # as people group their own numbers: `06 12 86 14 22` for `06 12861422`
    if hinted and (_parted(groups, plan) or _halves(groups, plan)):
        return True
    if hinted and even and (groups == _QUARTETS or (len(groups) >= _LEAST_GROUPS and max(groups) > _PAIR)):
        return True  # `91 441 82 27` for `914 41 82 27`
    area = {one[0] for one in plan.groups if sum(one) == len(found[1])}
    return groups[0] in area and len(groups) > 1 and min(groups[1:]) >= _PAIR and max(groups) > _PAIR


def _form(digits: str, sizes: tuple[int, ...], joints: list[bytes], bracket: bool, plan: Plan) -> Form | None:
    """How a number is written, if it is one of this plan."""
    found = dialled(digits, plan)
    if found is None or found[0] != plan.code or not _fits(found):
        return None
    left = digits[: len(digits) - len(found[1])]
    trunk = bool(plan.trunk) and left == plan.trunk
    if left and not trunk and not _former_trunk(left, plan):
        return None
    if len(sizes) > 1 and not _written(digits, sizes, joints, bracket, plan, hinted=True):
        return None
    groups = tuple(size for size in (sizes[0] - len(left), *sizes[1:]) if size > 0)
    grouped = len(sizes) > 1 and (groups in plan.groups or _customary(sizes, groups, joints))
    mobile = plan.mobile.fullmatch(found[1]) is not None
    if len(sizes) == 1 and not (mobile and (left or plan.bare)):
        return None
    zero = digits[0] == "0"
    return Form(mobile=mobile, trunk=trunk or bool(left) or zero, grouped=grouped)


def _customary(sizes: tuple[int, ...], groups: tuple[int, ...], joints: list[bytes]) -> bool:
    """Whether groups are such as people make of any number: pairs, threes and fours, or halves with a hyphen."""
    if len(set(joints)) > 1:
        return False
    threes = min(sizes) >= _LEAST_OF_THREES and max(sizes) <= _LEAST_HALF and len(sizes) > _PAIR
    halves = joints[0] == b"-" and len(sizes) == _PAIR and min(sizes) >= _LEAST_HALF and sum(sizes) >= _LEAST_OF_HALVES
    return set(groups) == {_PAIR} or groups == _QUARTETS or threes or halves


def _former_trunk(prefix: str, plan: Plan) -> bool:
    """Whether a number begins with a trunk prefix of former days that its country's plan still knows: `8`, `80`."""
    return prefix in _FORMER_TRUNKS and plan.prefix is not None and plan.prefix.fullmatch(prefix) is not None


def _parted(groups: tuple[int, ...], plan: Plan) -> bool:
    """Whether written groups are parts of a country's usual ones, as in `032 2 95 43 21` for `032 295 43 21`."""
    ends = set(accumulate(groups))
    return groups.count(1) <= 1 and any(
        sum(one) == sum(groups) and len(one) > 1 and ends.issuperset(accumulate(one)) for one in plan.groups
    )


def _halves(groups: tuple[int, ...], plan: Plan) -> bool:
    """Whether a number is in two large groups where two are usual, as `9841-418227` for `984-1418227`."""
    return (
        len(groups) == _PAIR
        and min(groups) >= _LEAST_HALF
        and any(len(one) == _PAIR and sum(one) == sum(groups) for one in plan.groups)
    )
