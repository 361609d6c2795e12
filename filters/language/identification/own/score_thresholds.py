"""Thresholds of the scores of winnow's own model of languages, and the languages that it takes for each other.

`weights/thresholds.csv` of the model is what `winnow language-thresholds --macrolanguages` learnt from texts that were
held out of its training (`tools.language_model.held_out`). A score is the probability that the language is right, so
thresholds differ little between languages: texts of another kind than translated programs are kept as well by 0.5 for
all.
"""

import csv
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files

from winnow.filters.language.thresholds.fineweb2 import KEY
from winnow.schemas.languages import NO_LANGUAGE, UNKNOWN
from winnow.schemas.rules.thresholds import ThresholdTable

USUAL = 0.5
"""Of languages with too few texts to learn from."""
MOST = 0.65
"""Learnt ones are up to 0.9, where a tenth of clean documents of another kind is lost."""

_MODEL = "winnow.filters.language.identification.own"


@lru_cache(maxsize=1)
def _rows() -> tuple[dict[str, str], ...]:
    text = (files(_MODEL) / "weights" / "thresholds.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


@lru_cache(maxsize=1)
def own_score_thresholds() -> ThresholdTable:
    """The threshold of every language that the model knows, in the script that it knows it in."""
    from winnow.filters.language.identification.codes import common_code
    from winnow.filters.language.identification.own.network import network

    labels = (label.split(" ") for label in network().labels)
    scores = {common_code(code, script): USUAL for script, code in labels if code not in (UNKNOWN, NO_LANGUAGE)}
    scores |= {row["code"]: min(float(row["score"]), MOST) for row in _rows()}
    return ThresholdTable("winnow_scores", KEY, tuple(scores), {"language_score": tuple(scores.values())})


@lru_cache(maxsize=1)
def taken_for() -> Mapping[tuple[str, str], float]:
    """Shares of the held-out texts in a language that the model takes for another one: 2 % and more."""
    return {
        (row["code"], other): float(share)
        for row in _rows()
        for other, _, share in (item.partition(":") for item in row["taken_for"].split())
        if other.partition("_")[0] not in (UNKNOWN, NO_LANGUAGE)
    }


def confusable(codes: Iterable[str]) -> list[tuple[str, str, float]]:
    """Of these languages, those that the model takes for another one of them, the most often first, with the share."""
    present = set(codes)
    found = [(*pair, share) for pair, share in taken_for().items() if present.issuperset(pair)]
    return sorted(found, key=lambda one: (-one[2], one[:2]))
