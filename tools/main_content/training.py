"""Fits the parts of the model: kinds of pages, linear scores of names and words, and trees over the features."""

from dataclasses import dataclass
from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt
from numba import njit
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

from tools.main_content.pages import LabelledPage, folds_of
from winnow.filters.extraction.main_content.features import COLUMNS, KINDS, filled
from winnow.filters.extraction.main_content.model import (
    WEIGHTS,
    KeyWeights,
    KindWeights,
    Trees,
    crossed,
    linear_scores,
    rows_of,
)
from winnow.filters.language.kernels.open_tables import open_keys

Table = npt.NDArray[np.float32]
LEAST_DOMAINS = {"names": 3, "words": 4, "signs": 3}
INNER_FOLDS = 8
TREES: dict[str, Any] = {
    "objective": "cross_entropy", "num_leaves": 31, "learning_rate": 0.06, "min_data_in_leaf": 200,
    "feature_fraction": 0.2, "bagging_fraction": 0.7, "bagging_freq": 1, "lambda_l2": 20.0, "max_bin": 63,
    "num_threads": 1, "deterministic": True, "seed": 5, "verbose": -1,
}  # fmt: skip
ROUNDS = 240
FOREIGN_WEIGHT = 0.3
MADE_WEIGHT = 0.3  # of a page that was made
CASED = [COLUMNS.index("upper"), COLUMNS.index("capitals")]


@dataclass(frozen=True, slots=True)
class Linear:
    """What is learned before the trees."""

    kinds: KindWeights
    names: KeyWeights
    words: KeyWeights
    name_keys: npt.NDArray[np.uint64]
    word_keys: npt.NDArray[np.uint64]


def weights_of(page: LabelledPage) -> npt.NDArray[np.float64]:
    """How much each block counts: by its words, a page with far more than its body no more than three bodies."""
    part = MADE_WEIGHT if page.language else 1.0
    size = max(float(page.reference.total()), 60.0)
    weights = page.sizes / size
    return np.asarray(part * (weights * min(1.0, 3.0 / max(weights.sum(), 1e-9)) + 0.0005))


def vocabulary(pages: list[LabelledPage], keys: list[npt.NDArray[np.uint64]], least: int) -> npt.NDArray[np.uint64]:
    """The keys that pages of at least so many domains have."""
    by_domain: dict[str, list[npt.NDArray[np.uint64]]] = {}
    for page, found in zip(pages, keys, strict=True):
        by_domain.setdefault(page.domain, []).append(found)
    unique = [np.unique(np.concatenate(found)) for found in by_domain.values()]
    every, counts = np.unique(np.concatenate(unique), return_counts=True)
    return np.asarray(every[counts >= least])


def fit_kinds(pages: list[LabelledPage]) -> KindWeights:
    """The regression of kinds."""
    signs = [page.blocks.signs for page in pages]
    keys = vocabulary(pages, signs, LEAST_DOMAINS["signs"])
    table = np.zeros((len(pages), len(keys)), np.float32)
    for place, own in enumerate(signs):
        at = np.searchsorted(keys, own)
        at = at[keys[np.minimum(at, len(keys) - 1)] == own]
        table[place, at] = 1 / max(1.0, len(at)) ** 0.5
    numbers = np.stack([page.blocks.layout.page_numbers for page in pages])
    mean, scale = numbers.mean(0), numbers.std(0) + 1e-6
    values = np.clip((numbers - mean) / scale, -3, 3)
    model = LogisticRegression(C=3.0, max_iter=500).fit(
        np.concatenate([table * 3, values * 0.5], 1),
        [page.kind for page in pages],
        [MADE_WEIGHT if page.language else 1.0 for page in pages],
    )
    assert list(model.classes_) == list(range(len(KINDS)))
    coefficients = model.coef_.T.astype(np.float32)
    return KindWeights(
        keys,
        coefficients[: len(keys)] * 3,
        mean,
        scale,
        coefficients[len(keys) :] * 0.5,
        model.intercept_.astype(np.float32),
    )


@njit(cache=True, nogil=True)
def _descend(places, rows, columns, shares, counts, order, weights, bias, rate, decay, epochs, crosses):  # type: ignore[no-untyped-def]
    """Adagrad on logistic loss; the crossed weights and the plain ones are two models."""
    gradients = np.full(weights.shape, 1e-2)
    bias_gradient = 1e-2
    for epoch in range(epochs):
        for turn in order[epoch]:
            known = 0
            total = bias
            for place in range(places[turn], places[turn + 1]):
                if rows[place] >= 0:
                    known += 1
                    for column in columns[turn, :crosses]:
                        total += weights[rows[place], column] / np.float64(1)
            if known == 0:
                continue
            unit = 1 / np.sqrt(np.float64(known * crosses))
            total = bias + (total - bias) * unit
            error = (1 / (1 + np.exp(-total)) - shares[turn]) * counts[turn]
            for place in range(places[turn], places[turn + 1]):
                if rows[place] >= 0:
                    for column in columns[turn, :crosses]:
                        slope = error * unit + decay * weights[rows[place], column]
                        gradients[rows[place], column] += slope * slope
                        weights[rows[place], column] -= rate * slope / np.sqrt(gradients[rows[place], column])
            bias_gradient += error * error
            bias -= rate * error / np.sqrt(bias_gradient)
    return bias


def fit_keys(
    pages: list[LabelledPage], kinds: npt.NDArray[np.int64], what: str, seed: int
) -> tuple[npt.NDArray[np.uint64], KeyWeights]:
    """A linear model over the keys of blocks' names or words; words are learned from real pages alone."""
    if what == "words":
        real = [not page.language for page in pages]
        pages, kinds = [page for page, is_real in zip(pages, real, strict=True) if is_real], kinds[real]
    found = [(page.blocks.measures.name_places, page.blocks.measures.name_keys) if what == "names"
             else (page.blocks.measures.word_places, page.blocks.measures.word_keys) for page in pages]  # fmt: skip
    keys = vocabulary(pages, [own for _, own in found], LEAST_DOMAINS[what])
    table, slots = open_keys(keys)
    rows = np.concatenate([rows_of(table, slots, own) for _, own in found])
    places = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(own) for own, _ in found]))])
    crosses = np.concatenate(
        [crossed(page.blocks.page, page.blocks.layout, int(kind)) for page, kind in zip(pages, kinds, strict=True)]
    )
    columns = np.concatenate([np.zeros((len(crosses), 1), np.int32), crosses], 1)
    shares = np.concatenate([page.shares for page in pages]).astype(np.float64)
    counts = np.concatenate([weights_of(page) for page in pages])
    counts = np.minimum(counts / counts.mean(), 8.0)
    random = np.random.RandomState(seed)
    order = np.stack([random.permutation(len(shares)) for _ in range(3)])
    weights = np.zeros((len(keys), WEIGHTS))
    bias = _descend(places, rows, columns, shares, counts, order, weights, 0.0, 0.1, 1e-3, 3, 4)
    plain = np.full((len(shares), 1), WEIGHTS - 1, np.int32)
    plain_bias = _descend(places, rows, plain, shares, counts, order, weights, 0.0, 0.1, 1e-4, 3, 1)
    return keys, KeyWeights(table, slots, weights.astype(np.float32), np.array([bias, plain_bias], np.float32))


def fit_linear(pages: list[LabelledPage], kinds: npt.NDArray[np.int64], seed: int) -> Linear:
    """Everything before the trees; `kinds` are what an earlier model took the pages for."""
    name_keys, names = fit_keys(pages, kinds, "names", seed)
    word_keys, words = fit_keys(pages, kinds, "words", seed + 1)
    return Linear(fit_kinds(pages), names, words, name_keys, word_keys)


def kind_probabilities(model: KindWeights, pages: list[LabelledPage]) -> Table:
    """What a model takes pages for."""
    return np.stack([model.probabilities(page.blocks.signs, page.blocks.layout.page_numbers) for page in pages])


def features(page: LabelledPage, linear: Linear, kinds: Table, *, foreign: bool = False) -> Table:
    """A page's rows; as if it were in a language that the words' model does not know, if it is `foreign`."""
    blocks = page.blocks
    if not len(blocks):
        return np.zeros((0, len(COLUMNS)), np.float32)
    scores = linear_scores(blocks, int(kinds.argmax()), linear.names, linear.words, foreign=foreign)
    return np.asarray(filled(blocks.page, blocks.measures.stats, blocks.layout, scores, kinds, 0, len(blocks)))


def unseen_features(pages: list[LabelledPage], seed: int) -> tuple[list[Table], list[Table], npt.NDArray[np.int64]]:
    """Each page's rows by linear models that did not see its domain, as they are and as if they were in an unknown
    language (every second one in a script without capitals), and the kind that it was taken for."""
    folds = folds_of(pages, INNER_FOLDS, seed)
    kinds = np.zeros((len(pages), len(KINDS)), np.float32)
    for fold in range(INNER_FOLDS):
        model = fit_kinds([page for page, own in zip(pages, folds, strict=True) if own != fold])
        inside = np.flatnonzero(folds == fold)
        kinds[inside] = kind_probabilities(model, [pages[place] for place in inside])
    taken = kinds.argmax(1)
    rows: list[Table] = [np.zeros((0, len(COLUMNS)), np.float32)] * len(pages)
    foreign = list(rows)
    for fold in range(INNER_FOLDS):
        outside = np.flatnonzero(folds != fold)
        linear = fit_linear([pages[place] for place in outside], taken[outside], seed + fold)
        for place in np.flatnonzero(folds == fold):
            rows[place] = features(pages[place], linear, kinds[place])
            foreign[place] = features(pages[place], linear, kinds[place], foreign=True)
            if place % 2:
                foreign[place][:, CASED] = -1
    return rows, foreign, taken


def fit_trees(
    pages: list[LabelledPage], rows: list[Table], foreign: list[Table], rounds: int = ROUNDS, **more: Any
) -> lightgbm.Booster:
    """The trees over rows, and over the same as they would be in an unknown language."""
    counts = np.concatenate([weights_of(page) for page in pages])
    shares = np.concatenate([page.shares for page in pages])
    weights = np.concatenate([counts, FOREIGN_WEIGHT * counts]) / counts.mean()
    every = np.concatenate([*rows, *foreign])
    table = lightgbm.Dataset(every, np.concatenate([shares, shares]), weight=weights, feature_name=list(COLUMNS))
    return lightgbm.train(TREES | more, table, rounds)


def flat(booster: lightgbm.Booster) -> Trees:
    """LightGBM's trees as arrays."""
    roots: list[int] = []
    column: list[int] = []
    threshold: list[float] = []
    left: list[int] = []
    right: list[int] = []
    leaves: list[float] = []
    first_leaf: list[int] = []

    def add(node: dict[str, Any], root: int) -> int:
        if "leaf_value" in node:
            leaves.append(node["leaf_value"])
            return first_leaf[-1] - len(leaves)
        at = len(column)
        column.append(node["split_feature"])
        threshold.append(node["threshold"])
        left.append(0)
        right.append(0)
        left[at] = add(node["left_child"], root)
        right[at] = add(node["right_child"], root)
        return at - root

    for tree in booster.dump_model()["tree_info"]:
        roots.append(len(column))
        first_leaf.append(len(leaves))
        structure = tree["tree_structure"]
        if "leaf_value" in structure:  # one that divides nothing
            structure = {"split_feature": 0, "threshold": 0.0, "left_child": structure, "right_child": structure}
        add(structure, roots[-1])
    small = [np.array(values, np.int16) for values in (column, left, right)]
    return Trees(
        np.array(roots, np.int32), small[0], np.array(threshold, np.float32), small[1], small[2],
        np.array(leaves, np.float32), np.array(first_leaf, np.int32),
    )  # fmt: skip
