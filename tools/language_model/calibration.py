"""Learns how sure a label is, from texts that were held out, from languages that were not learnt, and from noise."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tools.language_model.examples import ByLabel, is_known
from winnow.filters.language.identification.heads import heads_of
from winnow.filters.language.identification.own.judging import Judged, judge
from winnow.filters.language.identification.own.network import Network, read_network
from winnow.filters.language.identification.own.sureness import COLUMNS, features
from winnow.schemas.languages import NO_LANGUAGE, UNKNOWN, macrolanguage

SIZES = (20, 35, 50, 100, 200, 300)
_TEXTS_OF_A_LANGUAGE = 120
_TEXTS_OF_AN_UNKNOWN = 60
_WEIGHTS = {"known": 0.74, "unknown": 0.17, "noise": 0.09}
_PENALTY = 0.01  # of a factor's square: enough that there is one answer
_MOST_STEPS = 200
_SEED = 5

Numbers = npt.NDArray[np.float64]


def calibrated(
    arrays: dict[str, npt.NDArray[Any]], learnt: ByLabel, held_out: ByLabel, noise: list[str]
) -> dict[str, npt.NDArray[Any]]:
    """The arrays that say what a label's score usually is, and how sure it is."""
    count = arrays["outputs"].shape[0]
    plain = {"usual_fit": np.zeros(count, np.float32), "sureness": np.zeros(len(COLUMNS))}
    network = read_network(arrays | plain)
    known, codes, unknown = _texts(learnt, held_out)
    judged = _judged(network, known)
    best = judged.labels[:, 0]
    right = _right(network, best, codes)
    plain["usual_fit"] = _usual(best[right], judged.measured.fit[right], count)
    network = read_network(arrays | plain)
    noisy = [text for text in noise if len(text) >= 12]
    parts, answers, weights = [], [], []
    for name, texts in (("known", known), ("unknown", unknown), ("noise", noisy)):
        judged = _judged(network, texts)
        best = judged.labels[:, 0]
        refused = np.array(
            [best[row] < 0 or _code(network, best[row]) in (UNKNOWN, NO_LANGUAGE) for row in range(len(best))]
        )
        asked = ~refused  # of labels that are no language nothing is asked
        parts.append(features(judged.measured)[asked])
        answers.append((_right(network, best, codes) if name == "known" else np.zeros(len(best), np.bool_))[asked])
        weights.append(np.full(int(asked.sum()), _WEIGHTS[name] / max(int(asked.sum()), 1)))
        print(
            f"  {name}: {len(texts):,} texts, {asked.mean():.3f} taken for a language, {answers[-1].mean():.3f} right"
        )
    columns, wanted, counts = np.concatenate(parts), np.concatenate(answers), np.concatenate(weights)
    scale = np.maximum(np.abs(columns).max(0), 1e-9)
    factors = logistic(columns / scale, wanted, counts * len(counts))
    return {"usual_fit": plain["usual_fit"], "sureness": factors / scale}


def logistic(columns: Numbers, wanted: npt.NDArray[np.bool_], counts: Numbers) -> Numbers:
    """The factors of columns by which a row is most likely what is wanted, found by Newton's method.

    It goes on until rounding alone is left, and adds in an order that depends neither on threads nor on where arrays
    are in memory, as BLAS does. So the same rows give the same bits.
    """
    order = np.asfortranarray(columns)  # a column's sum is pairwise
    factors = np.zeros(columns.shape[1])
    held, loss = factors, np.inf
    for _ in range(_MOST_STEPS):
        surely = sum(factor * column for factor, column in zip(factors, order.T, strict=True))
        now = (counts * np.logaddexp(0, np.where(wanted, -surely, surely))).sum() + (factors**2).sum() * _PENALTY / 2
        if now < loss:
            held, loss = factors, now
            chance = (1 + np.tanh(surely / 2)) / 2
            slope = _sums(order, counts * (chance - wanted)) + _PENALTY * factors
            weighted = order * (counts * chance * (1 - chance))[:, np.newaxis]
            curve = np.stack([_sums(weighted, column) for column in order.T]) + _PENALTY * np.eye(len(factors))
            step = np.linalg.solve(curve, slope)
        elif np.abs(factors - held).max() < 1e-14 * np.abs(held).max():
            break
        else:
            step = step / 2
        factors = held - step
    return held


def _sums(columns: Numbers, factors: Numbers) -> Numbers:
    return np.array([(column * factors).sum() for column in columns.T])


def _texts(learnt: ByLabel, held_out: ByLabel) -> tuple[list[str], list[str], list[str]]:
    """Texts of known languages of several sizes with their codes, and texts of unknown languages."""
    known: list[str] = []
    codes: list[str] = []
    unknown: list[str] = []
    for label, by_source in sorted(learnt.items()):
        code = label.partition("_")[0]
        chance = random.Random(f"{_SEED} {label}")
        if is_known(by_source):
            taken = drawn(held_out.get(label, {}), _TEXTS_OF_A_LANGUAGE, chance)
            known += taken
            codes += [code] * len(taken)
        else:
            unknown += drawn(by_source, _TEXTS_OF_AN_UNKNOWN, chance)
    return known, codes, unknown


def drawn(by_source: dict[str, list[str]], most: int, chance: random.Random, sizes: Sequence[int] = SIZES) -> list[str]:
    """At most so many texts, each put together of some until it has one of the sizes."""
    texts = [text for source in sorted(by_source) for text in by_source[source]]
    if not texts:
        return []
    found = []
    for number in range(min(most, 3 * len(texts))):
        size = sizes[number % len(sizes)]
        held = ""
        while len(held) < size:
            held = f"{held} {chance.choice(texts)}".strip()
        found.append(held[:size].rsplit(" ", 1)[0] or held[:size])
    return found


def _judged(network: Network, texts: list[str]) -> Judged:
    heads = heads_of(pa.array(texts, pa.large_string()), 1 << 20)
    return judge(network, heads.buffer, heads.starts, heads.ends, heads.scripts)


def _is_language(network: Network, label: int) -> bool:
    return label >= 0 and _code(network, label) not in (UNKNOWN, NO_LANGUAGE)


def _code(network: Network, label: int) -> str:
    return network.labels[label].split(" ")[1]


def _right(network: Network, best: npt.NDArray[np.int32], codes: list[str]) -> npt.NDArray[np.bool_]:
    """Whether each label is that of the text, or of another member of its macrolanguage."""
    pairs = zip(best.tolist(), codes, strict=True)
    return np.array(
        [label >= 0 and macrolanguage(_code(network, label)) == macrolanguage(code) for label, code in pairs], np.bool_
    )


def _usual(labels: npt.NDArray[np.int32], fits: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.float32]:
    """The mean score of each label's own texts, that of all where there are few."""
    sums, sizes = np.bincount(labels, fits, count), np.bincount(labels, minlength=count)
    middle = float(fits.mean())
    return ((sums + 10 * middle) / (sizes + 10)).astype(np.float32)
