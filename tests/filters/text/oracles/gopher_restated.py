"""The measures of `text.gopher` once more, from the documented rules of each style, in plain and slow Python."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median

from winnow.filters.language.passages.word_counts import DATATROVE_SYMBOLS

STOP_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with")


def measures(text: str, words: Sequence[str], style: str) -> dict[str, float]:
    """Every column of one text whose words are known."""
    dolma = style.startswith("dolma")
    solid = [word for word in words if set(word) - set(DATATROVE_SYMBOLS)]
    measured = solid if style == "datatrove" else words
    lengths = sorted(map(len, words))
    shaped, cut, paragraphs = _pieces(text, style)
    of_words = sum(lengths)
    found: dict[str, float] = {
        "characters": len(text),
        "words": len(words),
        "non_symbol_words": len(solid),
        "stop_words": sum(word in STOP_WORDS for word in (words if dolma else set(words))),
        "mean_word_length": _share(sum(map(len, measured)), len(measured)),
        "median_word_length": float(median(lengths)) if lengths else 0.0,
        "hash_ratio": _share(text.count("#"), len(words)),
        "ellipsis_ratio": _share(text.count("...") + text.count("…"), len(words)),
        "symbol_word_ratio": _share(sum("#" in word or "…" in word for word in words), len(words)),
        "bullet_line_ratio": _share(sum(_begins(line, style) for line in shaped), len(shaped)),
        "ellipsis_line_ratio": _share(sum(_trails_off(line, style) for line in shaped), len(shaped)),
        "alpha_word_ratio": _share(sum(any(map(str.isalpha, word)) for word in words), len(words)),
    }
    for name, pieces in (("line", cut), ("paragraph", paragraphs)):
        repeated = _in_any_repeat(pieces) if dolma else _later(pieces)
        whole = {"datatrove": len(text), "paper": sum(map(len, pieces))}.get(style, max(of_words, 1))
        found[f"dup_{name}_ratio"] = _share(len(repeated), len(pieces))
        found[f"dup_{name}_char_ratio"] = _share(sum(map(len, repeated)), whole)
    for n in range(2, 11):
        tuples = [tuple(words[at : at + n]) for at in range(len(words) - n + 1)]
        found[f"{'top' if n < 5 else 'dup'}_{n}gram"] = _grams(text, words, tuples, n, style)
    return found


def first_reason(row: Mapping[str, float], rules: Sequence[tuple[str, str]]) -> str | None:
    """The first of (reason, condition) whose condition, a comparison with a number, holds."""
    signs = {"<": float.__lt__, ">": float.__gt__, "<=": float.__le__, ">=": float.__ge__, "=": float.__eq__}
    for reason, condition in rules:
        column, sign, limit = condition.split()
        if signs[sign](float(row[column.removeprefix("text.gopher.")]), float(limit)):
            return reason
    return None


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _pieces(text: str, style: str) -> tuple[list[str], list[str], list[str]]:
    paragraphs = re.split(r"\n{2,}", text.strip())
    if style == "datatrove":
        return text.splitlines(), re.split(r"\n+", text), paragraphs
    if style == "paper":
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        return lines, lines, [paragraph.strip() for paragraph in paragraphs if paragraph.strip()]
    lines = text.split("\n") if style == "dolma_v1" else re.split(r"\n+", text)
    return lines, lines, paragraphs


def _begins(line: str, style: str) -> bool:
    if style.startswith("dolma"):
        return line.startswith(("*", "-"))
    return line.lstrip().startswith(("•", "-") if style == "datatrove" else tuple("•‣◦▪*-"))


def _trails_off(line: str, style: str) -> bool:
    return line.endswith("…") if style.startswith("dolma") else line.rstrip().endswith(("...", "…"))


def _later(pieces: Sequence[str]) -> list[str]:
    return [piece for at, piece in enumerate(pieces) if piece in pieces[:at]]


def _in_any_repeat(pieces: Sequence[str]) -> list[str]:
    counts = Counter(pieces)
    return [piece for piece in pieces if counts[piece] > 1]


def _grams(text: str, words: Sequence[str], tuples: Sequence[tuple[str, ...]], n: int, style: str) -> float:
    of_words = sum(map(len, words))
    counts = Counter(tuples)
    if n < 5:
        if not tuples:
            return 0.0
        top, copies = counts.most_common(1)[0]
        if style == "datatrove":
            return _share(len(" ".join(top)) * copies, len(text))
        return _share(len("".join(top)) * copies, of_words)
    if style == "datatrove":
        return _share(_later_joined(words, n), len(text))
    if style == "paper":
        covered = {at + step for at, gram in enumerate(tuples) if counts[gram] > 1 for step in range(n)}
        return _share(sum(len(words[at]) for at in covered), of_words)
    repeated = sum(len("".join(gram)) for gram in tuples if counts[gram] > 1)
    return _share(repeated, sum(len("".join(gram)) for gram in tuples))


def _later_joined(words: Sequence[str], n: int) -> int:
    noted: set[str] = set()
    characters = at = 0
    while at + n <= len(words):
        gram = "".join(words[at : at + n])
        if gram in noted:
            characters += len(gram)
            at += n
        else:
            noted.add(gram)
            at += 1
    return characters
