"""Evidence that a number without an announcing word is a telephone's: how it is written, and where it stands.

No list of words holds all that people write before their numbers: `free sofa, collect from the barn, 01632 960441`.
But they put them in few places (last in a sentence, in brackets, after a comma, a name or `at`), and other numbers are
elsewhere: before what they count, after a colon, after an abbreviation in capitals. So a number that is valid in one of
the text's countries has points for its form and for its place, and enough of them make it a telephone's.

Form: a mobile's range, the trunk prefix, the groups of the country; minus groups that are thousands, too. Place: what
is before and after the number in its line. The name of another number (`order number`) rules it out.
"""

import re
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from winnow.filters.private.personal.cues import LAST_WORD, LONGEST_WORD, WORDS
from winnow.filters.private.personal.phone_words import (
    another_number_before,
    ends_with_place,
    ends_with_title,
    hinted,
    hinted_behind,
    numbered_before,
    place_behind,
)

_ENOUGH: Final = 3
_ENOUGH_SHORT: Final = 4  # for numbers of seven digits, which are also quantities
_SHORT: Final = 7
_DATE: Final = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\Z", re.ASCII)
_COUNTED_UP: Final = "0123456789012345678"
_RANGES: Final = ("-", "–", "/", "‐", "—")
_YEAR: Final = re.compile(r"(?:19|20)\d\d", re.ASCII)
_THOUSAND: Final = 3
_THOUSANDS_SIGNS: Final = frozenset((" ", ".", ",", "\u00a0", "\u202f", "\u2009"))

_LEFT: Final = 120  # characters of a line before and after a number that are searched
_BLANKS: Final = " \t\u00a0\u202f\u200e\u200f\u200b*_\"'“”„«»’"
_ENDS: Final = frozenset(".!?…;。！？｡।॥։۔؟።៕။،")
_BEGINS: Final = frozenset(".!?…。！？｡।॥։۔؟።៕။")
_PAUSES: Final = frozenset(",;–—-‐|·•/，、،؛；~→፣၊")
_LABELS: Final = frozenset(":：=")
_GLUED: Final = frozenset("-‐–/|~·•;,(（[:=")
_GLUE: Final = re.compile(r"[\w.)\]/-][-‐–/|~·•;,(（\[:=]\Z")
_OPENED, _CLOSED = frozenset("(（["), frozenset(")）]")
_SHORTENED: Final = re.compile(r"(?:^|[^\w])(?:[^\W\d_]{1,3}|(?:[^\W\d_]+\.)+[^\W\d_]*)\.\Z")
_SUFFIX: Final = re.compile(
    r"[-‐–’'](?=[^\W\d_])|(?=[^\W\d_])(?=[\u0370-\u1fff])(?=[^\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff])"
)
_LONGEST_SUFFIX: Final = 7  # letters
_ADDRESS: Final = re.compile(r"[\w.+-]@[\w-]+\.\w|(?<!\w)@\w{3}|https?://|www\.", re.IGNORECASE)
_UNSPACED: Final = "\u0e00"  # from here on are scripts of which most have no blanks
_ONE_WORD: Final = re.compile(r"\W*[^\W\d_]+")
_LARGE: Final = 8  # digits
_ACRONYM: Final = 6  # letters at most
_OTHER_NUMBER: Final = re.compile(r"(?<![\d.,])\d{5,}(?!\d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Form:
    """How a number is written, for one plan."""

    mobile: bool  # in the range of mobiles alone
    trunk: bool  # with the trunk prefix
    grouped: bool  # in groups of its country

    @property
    def points(self) -> int:
        """The points that a number has for how it is written."""
        return self.mobile + self.trunk + self.grouped


def is_series(digits: str, sizes: tuple[int, ...], joints: list[str]) -> bool:
    """Whether groups are no number's: a range, a year and its number, a list, an example, or one digit repeated.

    `60000-64999`, `900-1200`, `2019-12900`, `620/625/630`, `0123456789`, `61 61 61 61 61`, `500000000`.
    """
    if len(set(digits)) <= 2 or digits in _COUNTED_UP or digits.endswith("00000"):
        return True
    groups = [digits[end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)]
    if len(groups) > 1 and len(set(groups)) == 1:
        return True
    if len(set(sizes)) == 1 and len(sizes) > 2 and set(joints) == {"/"}:
        return True
    if len(sizes) != 2 or digits[0] == "0" or joints[0].strip() not in _RANGES:
        return False
    one, two = groups
    rising = int(one) <= int(two) and (len(one) == len(two) or (one.endswith("00") and two.endswith("00")))
    return "–" in joints[0] or rising or _YEAR.fullmatch(one) is not None


def in_thousands(digits: str, sizes: tuple[int, ...], joints: list[str]) -> bool:
    """Whether a number may be a quantity with its thousands parted."""
    return (
        len(sizes) > 1
        and digits[0] != "0"
        and sizes[0] <= _THOUSAND
        and all(size == _THOUSAND for size in sizes[1:])
        and len(set(joints)) == 1
        and joints[0] in _THOUSANDS_SIGNS
    )


def belongs_to_another(before: str) -> bool:
    """Whether the words directly before a number number something: `Zählernummer`, `ISIN`."""
    line = before.split("\n")[-1][-_LEFT:]
    lower = line.lower()
    if hinted(lower) is not None:
        return False
    left = line.rstrip(_BLANKS + "".join(_LABELS))
    return numbered_before(lower) or _named(left, capitals=True) < 0


@dataclass(frozen=True, slots=True)
class Place:
    """A number as it is written in its text."""

    digits: str  # without separators
    grouped: bool  # with separators
    thousands: bool  # which part thousands
    before: str  # the text on both sides, at most some hundred characters
    after: str
    capitals: bool  # common nouns of the language have capitals, so that one marks no name


def evident(form: Form, place: Place) -> bool:
    """Whether the form of a number and its place make it a telephone's."""
    if form.points <= 0 or _DATE.fullmatch(place.digits):
        return False
    line, rest = place.before.split("\n")[-1][-_LEFT:], place.after.split("\n")[0][:_LEFT]
    short = len(place.digits) <= _SHORT and not place.grouped
    points = form.points + _before_and_after(line, rest, place)
    points += bool(_ADDRESS.search(line) or _ADDRESS.search(rest)) - (_ENOUGH_SHORT if short else _ENOUGH)
    if points < -1 or _OTHER_NUMBER.search(line) or _OTHER_NUMBER.search(rest):  # a word of reaching adds one
        return False
    lower = line.lower()
    if another_number_before(lower):
        return False
    reached = hinted(lower) is not None or hinted_behind(rest.lower())
    return points + reached >= 0 and (reached or not numbered_before(lower))


def _before_and_after(line: str, rest: str, place: Place) -> int:
    """The points of what is before and after a number in its line."""
    left, right = line.rstrip(_BLANKS), rest.lstrip(_BLANKS)
    if left[-1:] in _OPENED and right[:1] in _CLOSED:
        return 2
    if WORDS.search(left) is None and WORDS.search(right) is None:
        return 0  # a number alone in its line may be any
    points = _before(left, place)
    ends = not right or right[0] in _ENDS
    # Few quantities without a unit are that large: `otherwise 602 643 718.`, and none are after a pause.
    points -= place.thousands and not (ends and (left[-1:] in _PAUSES or len(place.digits) > _LARGE))
    suffix = _SUFFIX.match(rest)
    if suffix is not None:
        word = WORDS.match(rest, suffix.end())
        return points + (2 if word is not None and len(word[0]) <= _LONGEST_SUFFIX else -1)
    if ends or place_behind(right.lower()):
        return points + 1
    if right[0] in _PAUSES:
        return points + (left[-1:] in _PAUSES)
    return points - right[0].isalpha()


def _before(left: str, place: Place) -> int:
    """The points of what is before a number."""
    sign = left[-1:]
    if sign in _GLUED and _GLUE.search(place.before):  # `CVE-2019-12900`
        return -_ENOUGH
    if not left or (sign in _BEGINS and not _SHORTENED.search(left)) or sign in _PAUSES:
        return 1
    if sign in _LABELS:
        plain = place.grouped and not place.thousands
        return _named(left[:-1].rstrip(_BLANKS), capitals=place.capitals) or plain - 1
    if ends_with_place(left.lower()):
        return not place.thousands
    name = _named(left, capitals=place.capitals) or ends_with_title(left.lower())
    plain = place.grouped and not (place.thousands and _ONE_WORD.fullmatch(left))  # `Parcela 604 413 774`
    return name - (name == 0 and not plain and not (place.grouped and sign >= _UNSPACED))


def _named(left: str, *, capitals: bool) -> int:
    """1 if a line ends with a person's name, -3 if with an abbreviation in capitals, else 0."""
    last = LAST_WORD.search(left, max(0, len(left) - LONGEST_WORD))
    if last is None or last[0].lower() == last[0].upper():  # a script without capitals
        return 0
    word = last[0]
    if word.isupper() and len(word) > 1:
        return -3 if len(word) <= _ACRONYM and not left.isupper() else 0
    if capitals or not word[0].isupper() or len(word) <= 1:
        return 0
    earlier = left[: last.start()].rstrip(_BLANKS)
    return int(bool(earlier) and earlier[-1:] not in _BEGINS)
