"""Language mixing: the languages of a bounded number of a text's paragraphs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from winnow.filters.language.identification.model import Guesses, LanguageModel, Normalise, one_line
from winnow.filters.language.identification.scripts import dominant_scripts
from winnow.schemas.languages import NO_LANGUAGE, same_language

NOTABLE_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which paragraphs are classified, and which results count as sure."""

    max_paragraphs: int
    max_paragraph_chars: int
    min_paragraph_chars: int
    min_paragraph_score: float


@dataclass(frozen=True, slots=True)
class Mixture:
    """Shares of the classified paragraphs' characters by language; the rest is unsure."""

    paragraphs: int
    own_share: float | None  # in the text's language; None without paragraphs
    other_share: float | None  # confidently in others
    languages: int  # with 5 % or more


def chosen_paragraphs(text: str, bounds: Bounds) -> list[str]:
    """Lines that are long enough, spread evenly over the text if there are more than the limit."""
    lines = [line for line in text.split("\n") if len(line) >= bounds.min_paragraph_chars]
    most = bounds.max_paragraphs
    if len(lines) <= most:
        return lines
    return [lines[index * len(lines) // most] for index in range(most)]


def mixtures(
    texts: Sequence[str], labels: Sequence[str], model: LanguageModel, normalise: Normalise, bounds: Bounds
) -> list[Mixture]:
    """The mixture of each text, given the language of the whole."""
    paragraphs = [chosen_paragraphs(text, bounds) for text in texts]
    lines = [line for chosen in paragraphs for line in chosen]
    heads = [line[: bounds.max_paragraph_chars].encode() for line in lines]
    sizes = np.array([len(head) for head in heads], np.int64)
    ends = np.cumsum(sizes)
    scripts = dominant_scripts(np.frombuffer(b"".join(heads), np.uint8), ends - sizes, ends)
    read = np.minimum([len(line) for line in lines], bounds.max_paragraph_chars)
    # Numbers and tables are in no language: a quarter of the characters read must be letters of one script. In running
    # text it is 40 % (Burmese, whose vowels are marks) to 85 %.
    numbers = np.where(4 * scripts.own_letters >= read, scripts.numbers, np.int16(-1))
    judged_scripts = replace(scripts, numbers=numbers)
    guesses = model.guesses([one_line(head, normalise) for head in heads], judged_scripts, 1)
    languages = [_sure(model, guesses, place, bounds) if place >= 0 else None for place in guesses.best().tolist()]
    found: list[Mixture] = []
    at = 0
    for chosen, label in zip(paragraphs, labels, strict=True):  # a few model calls per text: the loop itself is not hot
        chars: Counter[str] = Counter()
        for line in chosen:
            if (judged := languages[at]) is not None:
                chars[judged] += len(line)
            at += 1
        found.append(_mixture(len(chosen), sum(map(len, chosen)), chars, label))
    return found


def _sure(model: LanguageModel, guesses: Guesses, place: int, bounds: Bounds) -> str | None:
    found = model.codes[guesses.numbers[place]]
    unsure = found.mismatch is not None or guesses.scores[place] < bounds.min_paragraph_score
    return None if unsure or found.label == NO_LANGUAGE else found.label


def _mixture(paragraphs: int, total: int, chars: Counter[str], label: str) -> Mixture:
    if paragraphs == 0:
        return Mixture(0, None, None, 0)
    own = sum(count for language, count in chars.items() if same_language(language, label))
    notable = sum(count >= NOTABLE_SHARE * total for count in chars.values())
    return Mixture(paragraphs, own / total, (chars.total() - own) / total, notable)
