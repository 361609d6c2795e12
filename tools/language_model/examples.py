"""Examples of the languages that enough texts are in: balanced by source, joined and cut to the sizes of lines."""

import random
import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from tools.language_model.collecting import collected
from tools.language_model.sources import SOURCES

ByLabel = dict[str, dict[str, list[str]]]

HELD_OUT = 25
"""One text in so many is held out, to learn from how sure a label is."""
MOST_TEXTS = 9_000  # of a language
LEAST_BYTES = 8_000  # of sentences; a language with less is one that the model does not know
LEAST_BYTES_OF_WORDS = 40_000
_SHARES = {"tesseract": 0.25, "cldr": 0.2, "manpages": 0.3}  # of a language's texts at most
_WORDS = frozenset(source.name for source in SOURCES if source.words)
_SIZES = (12, 20, 30, 45, 80)  # characters that an example has at least
_LONGEST = 240
_REPEATS = 5  # of the sentences of a language with few at most
_MANY = 2_000  # texts from which none are repeated
_CROP = (10, 36)  # characters of a cropped example

COMMON = frozenset((
    "arb", "ben", "bul", "cat", "ces", "cmn", "dan", "deu", "ekk", "ell", "eng", "eus", "fas", "fin", "fra", "glg",
    "heb", "hin", "hrv", "hun", "ind", "ita", "jpn", "kor", "lit", "lvs", "mar", "nld", "nob", "pol", "por", "ron",
    "rus", "slk", "slv", "spa", "srp", "swe", "tam", "tel", "tha", "tur", "ukr", "urd", "vie", "zsm",
))  # fmt: skip
"""Languages of most pages: more of their examples are short."""


@dataclass(frozen=True, slots=True)
class Example:
    """A text and its language in a script."""

    label: str
    text: str


def texts_of(folder: Path) -> tuple[ByLabel, ByLabel]:
    """Texts by label and source: those that are learnt from, and those that are held out."""
    learnt: ByLabel = defaultdict(dict)
    held_out: ByLabel = defaultdict(dict)
    for source in SOURCES:
        for label, text in collected(folder, source.name):
            part = held_out if zlib.crc32(text.encode()) % HELD_OUT == 0 else learnt
            part[label].setdefault(source.name, []).append(text)
    return learnt, held_out


def is_known(by_source: dict[str, list[str]]) -> bool:
    """Whether the texts of a language are enough to learn it."""
    sizes = {source: sum(len(text.encode()) for text in texts) for source, texts in by_source.items()}
    sentences = sum(size for source, size in sizes.items() if source != "cldr")
    return sentences >= LEAST_BYTES or sum(sizes.values()) >= LEAST_BYTES_OF_WORDS


def examples(by_label: ByLabel, seed: int) -> Iterator[Example]:
    """Examples of every known language, and of half of the others as unknown ones."""
    for label, by_source in sorted(by_label.items()):
        chance = random.Random(f"{seed} {label}")
        code, _, script = label.partition("_")
        known = is_known(by_source)
        if not known and zlib.crc32(label.encode()) % 2:
            continue  # how sure a label is is learnt from it
        chosen = _chosen(by_source, chance)
        sentences = list(_joined([text for source, text in chosen if source not in _WORDS], chance))
        words = list(_joined([text for source, text in chosen if source in _WORDS], chance))
        repeats = min(_REPEATS, max(1, round((_MANY / max(1, len(sentences))) ** 0.7))) if known else 1
        for text in chain(*[sentences] * repeats, words):
            text = text[:_LONGEST]
            yield Example(label if known else f"und_{script}", text)
            for _ in range(2 if code in COMMON else 1):
                if (cropped := _cropped(text, chance)) is not None:
                    yield Example(label if known else f"und_{script}", cropped)


def _chosen(by_source: dict[str, list[str]], chance: random.Random) -> list[tuple[str, str]]:
    """The sources share what a language may have, the smallest first, so that none is left out."""
    found: list[tuple[str, str]] = []
    left = MOST_TEXTS
    sources = sorted(by_source, key=lambda source: (len(by_source[source]), source))
    for number, source in enumerate(sources):
        most = left // (len(sources) - number)
        if len(sources) > 1 and source in _SHARES:
            most = min(most, int(MOST_TEXTS * _SHARES[source]))
        texts = by_source[source]
        taken = texts if len(texts) <= most else chance.sample(texts, most)
        found += [(source, text) for text in taken]
        left -= len(taken)
    chance.shuffle(found)
    return found


def _joined(texts: list[str], chance: random.Random) -> Iterator[str]:
    held = ""
    for text in texts:
        held = f"{held} {text}".strip()
        if len(held) >= chance.choice(_SIZES):
            yield held
            held = ""
    if held:
        yield held


def _cropped(text: str, chance: random.Random) -> str | None:
    if len(text) < 24:
        return None
    size = chance.randint(*_CROP)
    start = chance.randint(0, max(0, len(text) - size))
    if start and (space := text.find(" ", start)) >= 0:
        start = space + 1
    cut = text[start : start + size]
    if start + size < len(text) and " " in cut:
        cut = cut.rsplit(" ", 1)[0]
    return cut if len(cut) >= 8 else None
