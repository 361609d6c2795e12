"""Words with which people announce telephone numbers, in the languages of all countries with a numbering plan.

`phone_words.txt` lists them by language; all apply to every text, as pages mix languages. Its kinds:

- `nouns` for telephones announce a number that follows within a few words, whatever its groups;
- `calls` (call, ring, text) do so if only words of `fill` (`us on`) are between, and so do one of `my` and one of
  `number` together;
- `hints` (contact, reach, bookings) may stand anywhere in the line before the number, and `behind` after it, as in
  `{number} numaralı telefon`. Such a line may have other numbers, so it must also be written as its country writes
  phones, and no word of `other` (order, account) may be nearer. A number named by words of `other` and `number`
  together (`order number`), or by one of `named` alone (`invoice`, `serial number`), is no phone, however it is
  written, nor is one directly after a word of `thing` (`about parcel {number}`; after `parcels:` it may be one), nor
  one that counts what the word of `counted` after it says, or belongs to it (`{number} numaralı fatura`).

Where no word announces a number, `at` (`at`, `on`, `unter`) before it and `postposed` (`पर`, `ga`) behind it say that
it is a place to reach somebody, and a `title` (`Mrs`, `さん`) that somebody is named; see `phone_evidence`.

Languages inflect, so words are stems: `telefon` is also `telefonszámon`; those of `inside` may end a compound, as in
`Kundentelefon`. Longer words also match without their accents, which people leave out, and clock times between a word
and its number are skipped. Words of scripts without blanks, or with vowels as marks, match anywhere. All windows are
bounded, so any text takes linear time.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import pyarrow as pa

from winnow.filters.language.folding import fold
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.private.personal.cues import (
    LAST_WORD,
    LINES,
    LONGEST_WORD,
    MAX_SIGNS,
    SIGNS,
    SPACED_SCRIPTS,
    WORDS,
    bounded,
)

LIST: Final = Path(__file__).with_name("phone_words.txt")

Kind: TypeAlias = Literal[
    "nouns",
    "inside",
    "calls",
    "hints",
    "behind",
    "my",
    "number",
    "fill",
    "other",
    "named",
    "thing",
    "counted",
    "at",
    "postposed",
    "title",
]

_WHOLE: Final = ("my", "fill", "thing", "at", "postposed", "title")  # whose words are no stems
_FAR_NOUN: Final = 24  # characters between a noun and its number
_FAR_HINT: Final = 60
_FAR_BEHIND: Final = 28
_WORDS_BEHIND: Final = 3
_MOST_FILLERS: Final = 5
_WORDS_OF_NAME: Final = 4  # of the name of another number, such as `número do processo é`
_WORDS_BEFORE_NAME: Final = 2
_WORDS_OF_THING: Final = 3  # of the name of a thing and its number, such as `parcel no.`
_LONGEST_SHORTENED: Final = 4  # letters of `no.`; behind a longer word a full stop ends the sentence
_SIGNS_OF_THING: Final = " \u00a0\u202f#№\"“„«‘'’\u200e\u200f「"
_THING: Final = re.compile(r"([^\W\d_]+)(\.?)[ \u00a0\u202f#№\"“„«‘'’\u200e\u200f]*\Z")
_LONGEST_PARTICLE: Final = 3  # `de`, `ya`
_WORDS_OF_NUMBER: Final = 2  # directly before a number, of which one is for a number
_TOKENS: Final = re.compile(r"[^\s\d:：.,;#№()\[\]\"'“”«»/|\u2013\u2014]+")
_BEYOND_LATIN: Final = "\u0370"
_UNSPACED: Final = "\u0e00"  # from here on are scripts of the Far East, of which most have no blanks
_COUNTED: Final = re.compile(r"[ \u00a0\u202f]([^\W\d_]{4,})")
_WORDS_OF_PERSON: Final = 3
_NEAR_OTHER: Final = 4  # characters after one in a script without blanks, as in `订单号`
_NUMBER_SIGNS: Final = re.compile(r"(?:№|#|(?<![^\W_])n[or]?[.º°])\W{0,3}\Z")
_LEAST_OF_COMPOUND: Final = 4  # letters of a word for a number that may end another word: `Bestellnummer`
_SIGNS: Final = SIGNS + "’\u200e\u200f־"
_WRITTEN: Final = re.compile(r"\s*\S+")  # a word with its marks and signs
_INITIALS: Final = frozenset("tmfphdwc")  # `T: 020 …`
_INITIAL: Final = re.compile(r"(?<![^\W_])([a-z])[.:]\s{0,2}[(+]{0,2}\Z")
_PARTICLES: Final = 3  # letters that may be written before a word of Hebrew or Arabic
_SENTENCES: Final = re.compile(r"(?:(?<=[^\W\d_]{4})\.|[!。۔।։])\s+(?=\S)")  # `p.`, `Mrs.`, `ул.` end no sentence
_PAUSES: Final = re.compile(r"[,;–—|•·，、،؛፣၊](?:\s|$)|\s-(?:\s|$)|[:：]\s+(?=\w)")
_NAME: Final = re.compile(r"[^\W\d_]+(?: [^\W\d_]+)?,? ?[-–—]?\s*")  # `… for sale. Jane, 603 441 822`
_LEAST_FOLDED: Final = 6  # letters of a word that is known without its accents: shorter ones are other words
_ACCENTS: Final = re.compile("[\u0300-\u036f]")
_HOUR: Final = r"(?:[01]?\d|2[0-4])(?:[:.h][0-5]\d)?(?!\d)"
_CLOCK: Final = r"\s?(?:[ap]\.?m\b\.?|uhr\b|hs?\b|ч\b|год\b|час(?:ов|а)?\b|hod\b|godz\b|óra\w*|u\.|uur\b)"
_AT_HOURS: Final = """
after before until from ab nach vor bis après avant dopo prima depois·das después·de·las a·partir·de·las vanaf na tot
efter etter före kl klo po do od przed до после після с след μετά·τις sonra jam
"""
_HOURS: Final = (
    r"h|hrs?|hours?|stunden|std\.?|heures|horas|hores|ordu|ore|uur|uren|timmar|tim|timer|tuntia|tundi|stundas|val|godz\w*|"
    r"hodin\w*|órá\w*|ur|ure|sata|sati|саата?|часа|часов|часови|годин\w*|гадзін\w*|ώρες|saat|soat|сағат|שעות|ساعة|ساعت|ساعته|گھنٹے|"
    r"घंटे|घण्टा|तास|ঘণ্টা|மணி நேரமும்|ชั่วโมง|giờ|jam|oras|시간|時間|小时|小時"
)
_TIMES: Final = re.compile(
    rf"(?<![\w.,/+(-])(?:{_HOUR}{_CLOCK}|(?:[01]?\d|2[0-4]):[0-5]\d(?!\d)"
    rf"|{_HOUR}(?:{_CLOCK})?\s?[-–—~]\s?{_HOUR}(?:{_CLOCK})?)"
    rf"|(?<![\w.,/+(-])24\s?(?:/\s?7|{_HOURS})(?!\w)"
    rf"|(?<!\w)(?:{'|'.join(_AT_HOURS.split()).replace('·', ' ')})\.?\s{_HOUR}"
)  # hours at which to call: `after 6`, `8–12 Uhr`, `9:30`


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of some kinds."""

    whole: frozenset[str]
    stems: frozenset[str]
    parts: tuple[str, ...]  # match anywhere
    inside: tuple[str, ...]  # match anywhere in a word
    latin: tuple[str, ...]  # those parts that a line in Latin letters may have

    def has(self, word: str) -> bool:
        """Whether a word of a script with blanks is one of these."""
        if word in self.whole or any(word[:size] in self.stems for size in range(1, len(word) + 1)):
            return True
        if any(part in word for part in self.inside):
            return True
        if not word.isascii() and (plain := _unaccented(word)) != word and self.has(plain):
            return True
        if not "\u0590" <= word[0] <= "\u06ff":
            return False
        inner = (word[at:] for at in range(1, min(_PARTICLES, len(word) - 2) + 1))
        return any(
            one in self.whole or any(one[:size] in self.stems for size in range(2, len(one) + 1)) for one in inner
        )

    def last(self, line: str) -> int:
        """The end of the last of these words in a line; -1 if it has none."""
        end = max((found.end() for found in WORDS.finditer(line) if self.has(found[0])), default=-1)
        return max(end, self.last_part(line))

    def last_part(self, line: str) -> int:
        """The end of the last of those that match anywhere; -1 if the line has none."""
        parts = self.latin if max(line, default="") < _BEYOND_LATIN else self.parts
        ends = [at + len(part) for part in parts if (at := line.rfind(part)) >= 0 and bounded(line, at)]
        return max(ends, default=-1)


def read_words(text: str) -> Iterator[tuple[tuple[str, ...], Kind, tuple[str, ...]]]:
    """The languages, kind and words of each line of a list."""
    languages: tuple[str, ...] = ()
    for line in text.splitlines():
        if line.startswith("["):
            languages = tuple(line.strip("[]").split())
        elif line and not line.startswith("#"):
            kind, _, words = line.partition(": ")
            yield languages, next(one for one in get_args(Kind) if one == kind), tuple(words.split())


@lru_cache(maxsize=64)  # above the number of calls below: making one takes milliseconds
def _words(*kinds: Kind) -> _Words:
    lines = tuple(read_words(LIST.read_text(encoding="utf-8")))
    found = {
        word + "." * (kind in _WHOLE and not word.endswith("."))
        for _, kind, words in lines
        if kind in kinds
        for word in words
    }
    found |= {folded for word in found if (folded := _folded(word)) and not folded.isascii()}
    separated = {word for word in found if word.removesuffix(".").isalpha() and word[0] < SPACED_SCRIPTS}
    inside = tuple(word for _, kind, words in lines if kind == "inside" and "nouns" in kinds for word in words)
    known = separated if kinds == ("other",) else separated | {_unaccented(word) for word in separated}
    parts = tuple(sorted(word.removesuffix(".").replace("·", " ") for word in found - separated))
    return _Words(
        frozenset(word[:-1] for word in known if word.endswith(".")),
        frozenset(word for word in known if not word.endswith(".")),
        parts,
        inside,
        tuple(part for part in parts if max(part) < _BEYOND_LATIN),
    )


def _folded(word: str) -> str:
    """A word as it is in a folded text: Thai's vowel am is two characters there, and joiners are gone."""
    texts = fold(texts_of(pa.array([word], pa.large_string())), case=False).texts
    return bytes(texts.buffer).decode().lower()


def _unaccented(word: str) -> str:
    """A word without its accents, or as it is where that is too short."""
    plain = _ACCENTS.sub("", unicodedata.normalize("NFD", word))
    return unicodedata.normalize("NFC", plain) if len(plain.removesuffix(".")) >= _LEAST_FOLDED else word


def announced(text: str) -> bool:
    """Whether a lower-case text ends with what announces a telephone number in any groups."""
    text = _TIMES.sub("", text)
    if _directly_before(text):
        return True
    if _of_thing(text):
        return False
    line = LINES.split(text[-_FAR_NOUN - LONGEST_WORD :])[-1]
    if _words("nouns").last(line) >= max(len(line) - _FAR_NOUN, 0):
        return True
    initial = _INITIAL.search(text, max(0, len(text) - MAX_SIGNS))
    return initial is not None and initial[1] in _INITIALS


def hinted(text: str) -> int | None:
    """The characters between a number and the word of its line that speaks of reaching somebody; None without one.

    Args:
        text: The lower-case text before the number.
    """
    *before, line = _SENTENCES.split(LINES.split(_TIMES.sub("", text)[-_FAR_HINT:])[-1])
    if before and _NAME.fullmatch(line):
        line = f"{before[-1]} {line}"
    hint, other = _words("hints", "calls", "nouns").last(line), _words("other").last(line)
    if other < 0 and hint < 0:
        hint = _at_number(line) or _words("number").last_part(line)
    return len(line) - hint if hint > other else None


def _at_number(line: str) -> int:
    """The end of the word for a number with which a line ends if one of `fill` is before it: `på nummer`; else 0."""
    left = line.rstrip(_SIGNS)
    words = [word[0] for word in WORDS.finditer(left[-2 * LONGEST_WORD :])][-2:]
    found = len(words) == 2 and _words("fill").has(words[0]) and _words("number").has(words[1])
    return len(left) if found and left.endswith(words[1]) else 0


def numbers_something_else(text: str) -> bool:
    """Whether a lower-case text ends with the name of another number: `order number`, `numéro de dossier`.

    Orders alone are none, since people also write `Orders: 020 7946 0018`; nor is a line that speaks of reaching
    somebody, unless it names one thing directly before the number: `call us about order 020 7946 0018`.
    """
    if _of_thing(text):
        return True
    line = _SENTENCES.split(LINES.split(text[-_FAR_HINT:])[-1])[-1]
    others, numbers = _words("other"), _words("number")
    reaching, named = _words("hints", "calls", "nouns"), _named(line)
    # `nomor` speaks of reaching somebody, but not in `nomor seri`; `telepon` does so behind it, too.
    if named >= 0 and reaching.last(line[:named]) < 0 and _words("nouns", "calls").last(line) < named:
        return True
    hint, at = reaching.last(line), others.last(line)
    if 0 <= hint < at - 2 and _numbered(line[hint:], others, numbers):
        return True
    if hint >= 0 and not at - 2 <= hint <= at:  # `objednávky` is an order, and at which number to order
        return False
    if named >= 0:
        return True
    if (
        others.last_part(line) >= max(len(line.rstrip(_SIGNS)) - _NEAR_OTHER, 1)
        and line.rstrip(_SIGNS)[-1:] >= "\u0900"
    ):
        return True
    name = [word[0] for word in WORDS.finditer(line)][-_WORDS_OF_NAME:]
    other = [word for word in name if others.has(word)]
    if not other and others.last_part(line[-_FAR_NOUN:]) < 0:
        return False
    return (
        any(numbers.has(word) for word in name)
        or numbers.last_part(line[-_FAR_NOUN:]) >= 0
        or any(_has_number(word, numbers) for word in other)
        or _NUMBER_SIGNS.search(line) is not None
    )


def _of_thing(text: str) -> bool:
    """Whether a lower-case text ends with a thing that has a number, and at most a word for its number."""
    things, number = _words("thing", "named"), _words("number")
    left = LINES.split(text[-_FAR_HINT:])[-1]
    for _ in range(_WORDS_OF_THING):
        found = _THING.search(left, max(0, len(left) - 2 * LONGEST_WORD))
        bare = left.rstrip(_SIGNS_OF_THING)
        if bare.endswith(things.parts) and any(
            bare.endswith(part) and bounded(bare, len(bare) - len(part)) for part in things.parts
        ):
            return True
        if found is None:
            part = next((one for one in number.parts if bare.endswith(one)), "")
            if not part:
                return False
            left = bare.removesuffix(part)
            continue
        shortened = not found[2] or len(found[1]) <= _LONGEST_SHORTENED
        if things.has(found[1]):
            return shortened
        if not (shortened and number.has(found[1])):
            return False
        left = left[: found.start()]
    return False


def _numbered(line: str, others: _Words, numbers: _Words) -> bool:
    """Whether a line ends with a word of another number beside one for a number, or with both in one: `order number`,
    `ordernummer`; not `orders at number`."""
    name = [word[0] for word in WORDS.finditer(line)][-_WORDS_OF_NAME:]
    if any(others.has(word) and _has_number(word, numbers) for word in name):
        return True
    return any(
        (others.has(one) and numbers.has(two)) or (numbers.has(one) and others.has(two)) for one, two in pairwise(name)
    )


def _has_number(word: str, numbers: _Words) -> bool:
    """Whether a compound has a word for a number: `Bestellnummer`."""
    return any(stem in word for stem in numbers.stems if len(stem) >= _LEAST_OF_COMPOUND)


def hinted_behind(text: str) -> bool:
    """Whether a lower-case text begins with what follows a telephone number."""
    line = _SENTENCES.split(LINES.split(text[:_FAR_BEHIND])[0])[0]
    words = list(_WRITTEN.finditer(line))[:_WORDS_BEHIND]
    line = line[: words[-1].end()] if words else ""
    return _words("behind").last(line) > _words("other").last(line)


def another_number_before(text: str) -> bool:
    """Whether the words directly before, since the last pause of a lower-case text, name another number, and no way to
    reach somebody."""
    line = _PAUSES.split(_SENTENCES.split(f"{LINES.split(text[-_FAR_HINT:])[-1].rstrip()} -")[-1].removesuffix("-"))[-1]
    words = [word[0] for word in WORDS.finditer(line)][-_WORDS_OF_NAME:]
    others, things = _words("other", "named"), _words("thing")
    other = any(others.has(word) or word in things.whole for word in words)
    other = other or max(others.last_part(line), things.last_part(line)) >= len(line) - _FAR_NOUN >= 0
    return other and _words("hints", "calls", "nouns").last(line) < 0


def numbered_before(text: str) -> bool:
    """Whether a lower-case text ends with a word or sign for a number, or a compound with one: `Zählernummer: `."""
    if text.rstrip().endswith((",", ";", "–", "—", "، ")):  # a pause
        return False
    left = text.rstrip(_SIGNS)
    if _NUMBER_SIGNS.search(text) or left.endswith(tuple(_words("number").parts)):
        return True
    numbers = _words("number")
    return any(
        (word[0] in numbers.whole or word[0] in numbers.stems or _has_number(word[0], numbers))
        and word[0] not in _words("at").whole  # `no` is `in the`, too
        for word in list(WORDS.finditer(left[-2 * LONGEST_WORD :]))[-_WORDS_OF_NUMBER:]
    )


def number_of_a_thing(text: str) -> bool:
    """Whether a text ends with a word for a number and what has it: `Kundennummer`, `ग्राहक संख्या`, `numéro de client`.

    What has it is any word that is none of calling and reaching, of somebody, or of place. The text is as written,
    since a capital makes a person of it: `numéro de Claire`.
    """
    sentence = _SENTENCES.split(f"{LINES.split(text[-_FAR_HINT:])[-1].rstrip()} -")[-1].removesuffix("-")
    written = _TOKENS.findall(sentence)
    first = 0 if len(written) <= _WORDS_OF_NAME else -1  # whose capital makes no name of it
    written = written[-_WORDS_OF_NAME:]
    tokens = [token.lower() for token in written]
    if not tokens or any(_reaching(token) for token in tokens):
        return False
    said = [_says_number(token) for token in tokens]
    for at in range(len(tokens) - 1, -1, -1):
        if not said[at]:
            continue
        behind, before = tokens[at + 1 :], tokens[at - 1] if at else ""
        if said[at] == "part":
            return True
        if behind:
            return len(behind) <= _WORDS_BEFORE_NAME and _is_thing(written[-1], behind[-1])
        return bool(before) and _is_thing(written[at - 1].lower() if first == at - 1 else written[at - 1], before)
    return False


def _reaching(token: str) -> bool:
    """Whether a word speaks of phones or of reaching somebody, other than as a word for a number."""
    if _says_number(token) == "word":
        return False
    kinds = _words("hints", "calls", "nouns", "my")
    return kinds.has(token) or kinds.last_part(token) >= 0


def _says_number(token: str) -> Literal["", "word", "part"]:
    """Whether a word is one for a number, or a compound with one: `Kundennummer`, `고객번호`."""
    numbers = _words("number")
    if token in _words("at").whole:
        return ""  # `no` is `in the`, too
    if token in numbers.whole or token in numbers.stems or token in numbers.parts:
        return "word"
    if any(len(stem) >= _LEAST_OF_COMPOUND and token.startswith(stem) for stem in numbers.stems):
        return "word"
    if token[0] >= SPACED_SCRIPTS:
        compound = any(len(part) > 1 and part in token for part in numbers.parts)
        return "" if not compound else "part" if token[0] >= _UNSPACED else "word"
    return "part" if _has_number(token, numbers) else ""


def _is_thing(written: str, token: str) -> bool:
    """Whether a word may be what has a number: one of some length that is no name and has no other part to play."""
    others = _words("fill", "at", "postposed", "title", "my", "counted")
    return (
        len(token) > _LONGEST_PARTICLE - (token[0] >= SPACED_SCRIPTS)
        and not (written[0].isupper() and not written.isupper())
        and token not in others.whole
        and token not in others.parts
    )


def ends_with_place(text: str) -> bool:
    """Whether a lower-case text ends with a word for the place or means of reaching somebody: `at`, `unter`, `на`."""
    last = LAST_WORD.search(text, max(0, len(text) - LONGEST_WORD))
    places = _words("at")
    return (last is not None and last[0] in places.whole) or text.endswith(places.parts)


def ends_with_title(text: str) -> bool:
    """Whether the last two words of a lower-case text are a person's title and, before or behind it, a name."""
    titles = _words("title")
    words = [word[0] for word in WORDS.finditer(text[-2 * LONGEST_WORD :])][-_WORDS_OF_PERSON:]
    if len(words) > 1 and any(word in titles.whole for word in words):
        return True
    return any(0 <= len(text.rstrip()) - text.rfind(part) <= LONGEST_WORD for part in titles.parts if part in text)


def place_behind(text: str) -> bool:
    """Whether a lower-case text begins with what stands behind a place to reach somebody: `ga`, `पर`, `に`."""
    places = _words("postposed")
    word = WORDS.match(text)
    return (word is not None and word[0] in places.whole) or any(
        text.startswith(part) and not text[len(part) : len(part) + 1].isalpha() for part in places.parts
    )


def counts_a_word(text: str) -> bool:
    """Whether a lower-case text begins with a longer word that plays no part in reaching somebody, as what is counted
    does: `638 291 547 spectateurs`."""
    word = _COUNTED.match(text)
    return (
        word is not None
        and _is_thing(word[1], word[1])
        and not _words("hints", "calls", "nouns", "behind").has(word[1])
        and not hinted_behind(text)
    )


def counts_something(text: str) -> bool:
    """Whether a lower-case text begins with the name of what the number before it counts or belongs to: `units`, `台`,
    `numaralı fatura`."""
    counted = _words("counted")
    found = _WRITTEN.match(text[:LONGEST_WORD])
    if found is None:
        return False
    word = WORDS.match(found[0].lstrip())
    return (word is not None and counted.has(word[0])) or text[:_FAR_BEHIND].lstrip().startswith(counted.parts)


def _named(line: str) -> int:
    """Where the name of another number begins, with which a line ends but for `number`, `is` and their like; -1
    without one."""
    named, number, fillers = _words("named"), _words("number"), _words("fill", "my")
    left = line.rstrip(_SIGNS)
    if left[-1:] >= "\u0900" and (end := named.last_part(left)) >= max(len(left) - _NEAR_OTHER, 1):
        return _name_start(left, max(len(part) for part in named.parts if left[:end].endswith(part)), end)
    for _ in range(_WORDS_OF_NAME):
        sizes = [len(part) for part in named.parts if left.endswith(part) and bounded(left, len(left) - len(part))]
        if sizes:
            return _name_start(left, max(sizes), len(left))
        last = LAST_WORD.search(left, max(0, len(left) - LONGEST_WORD))
        if last is None:
            return -1
        if named.has(last[0]):
            return _name_start(left, len(left) - last.start(), len(left))
        if not (number.has(last[0]) or fillers.has(last[0])):
            return -1
        left = left[: last.start()].rstrip(_SIGNS)
    return -1


def _name_start(line: str, size: int, end: int) -> int:
    """Where a name of so many characters begins, with the words before it that belong to it: `número de serie`."""
    number, fillers = _words("number"), _words("fill")
    start = end - size
    for _ in range(_WORDS_BEFORE_NAME):
        left = line[:start].rstrip(_SIGNS)
        last = LAST_WORD.search(left, max(0, len(left) - LONGEST_WORD))
        if last is None or not (number.has(last[0]) or fillers.has(last[0]) or len(last[0]) <= _LONGEST_PARTICLE):
            break
        start = last.start()
    return start


def _directly_before(text: str) -> bool:
    """Whether a text ends with a noun or call, or a number of somebody, followed only by signs and fillers."""
    direct, mine, numbers, fillers = _words("nouns", "calls"), _words("my"), _words("number"), _words("fill")
    my = number = False
    for _ in range(_MOST_FILLERS + 1):
        left = text.rstrip(_SIGNS)
        if len(text) - len(left) > MAX_SIGNS:
            return False
        last = LAST_WORD.search(left, max(0, len(left) - LONGEST_WORD))
        if last is not None and direct.has(last[0]):
            return True
        if left.endswith(direct.parts) and any(
            left.endswith(part) and bounded(left, len(left) - len(part)) for part in direct.parts
        ):
            return True
        if last is None:
            return False
        my, number = my or mine.has(last[0]), number or numbers.has(last[0])
        if my and number:
            return True
        if not (fillers.has(last[0]) or mine.has(last[0]) or numbers.has(last[0])):
            return False
        text = left[: last.start()]
    return False
