"""Nested cross-validation: every page is judged by a model of which no part, and no choice, saw its domain."""

from collections import Counter

import numpy as np
import numpy.typing as npt
from sklearn.isotonic import IsotonicRegression  # type: ignore[import-untyped]

from tools.main_content.labels import word_f1
from tools.main_content.network import fit_network
from tools.main_content.pages import LabelledPage, folds_of
from tools.main_content.training import (
    Table,
    features,
    fit_linear,
    fit_trees,
    flat,
    kind_probabilities,
    unseen_features,
)
from winnow.filters.extraction.main_content.features import KINDS
from winnow.filters.extraction.main_content.measures import WORDS
from winnow.filters.extraction.main_content.model import (
    Trees,
    chosen,
    cuts_of,
    network_probabilities,
    tree_sums,
    without_copies,
)
from winnow.filters.extraction.main_content.network import MOST_BLOCKS, Network

FOLDS = 5
SEED = 7
CALIBRATION_POINTS = 16
_DOCUMENTATION = KINDS.index("documentation")


def score(page: LabelledPage, probabilities: Table, kind: int) -> tuple[float, float]:
    """The F1 of a page's words, of those blocks that the product would keep, and the one that was expected."""
    kept, expected = chosen(probabilities, page.blocks.measures.stats[:, WORDS])
    if kind != _DOCUMENTATION:
        kept = without_copies(page.blocks, kept, probabilities)
    found: Counter[str] = Counter()
    for block in np.flatnonzero(kept):
        found.update(page.words[block])
    return word_f1(page.reference, found), expected


def line(name: str, pages: list[LabelledPage], scores: npt.NDArray[np.float64]) -> str:
    """The mean over all pages, and over those of each kind."""
    kinds = np.array([page.kind for page in pages])
    means = [f"{scores[kinds == kind].mean():.3f}" if (kinds == kind).any() else "    –" for kind in range(len(KINDS))]
    return f"{name:<24}{scores.mean():.4f}  " + "  ".join(means)


def calibration(scores: npt.NDArray[np.float64], expected: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """What an expected F1 was worth: two rows of equal length, the second never falling."""
    order = np.argsort(expected, kind="stable")
    fitted = IsotonicRegression().fit_transform(expected[order], scores[order])
    parts = np.array_split(np.arange(len(order)), CALIBRATION_POINTS)
    return np.array([[part_of[part].mean() for part in parts] for part_of in (expected[order], fitted)], np.float32)


def page_probabilities(page: LabelledPage, rows: Table, trees: Trees, network: Network) -> Table:
    """What trees and network together make of a page's rows."""
    by_trees = 1 / (1 + np.exp(-tree_sums(cuts_of(trees), rows)))
    if not 0 < len(rows) <= MOST_BLOCKS:
        return np.asarray(by_trees, np.float32)
    return np.asarray((by_trees + network_probabilities(network, page.blocks, rows)) / 2, np.float32)


def measure(pages: list[LabelledPage]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Each page's F1 by a model that saw nothing of its domain, and the one that was expected."""
    folds = folds_of(pages, FOLDS, SEED)
    scores, expected = np.zeros(len(pages)), np.zeros(len(pages))
    print(" " * 24 + "all     " + "  ".join(kind[:5] for kind in KINDS))
    for fold in range(FOLDS):
        others = [page for page, own in zip(pages, folds, strict=True) if own != fold]
        rows, foreign, taken = unseen_features(others, fold)
        trees = flat(fit_trees(others, rows, foreign))
        network = fit_network(others, rows, foreign, fold)
        linear = fit_linear(others, taken, fold)
        inside = np.flatnonzero(folds == fold)
        kinds = kind_probabilities(linear.kinds, [pages[place] for place in inside])
        for place, kind in zip(inside, kinds, strict=True):
            found = page_probabilities(pages[place], features(pages[place], linear, kind), trees, network)
            scores[place], expected[place] = score(pages[place], found, int(kind.argmax()))
        ours = [place for place in inside if not pages[place].language]
        print(line(f"fold {fold}", [pages[place] for place in ours], scores[ours]), flush=True)
    real = np.array([not page.language for page in pages])
    some = [page for page in pages if not page.language]  # what was made says nothing of real pages
    print(line(f"{len(some)} real pages, unseen", some, scores[real]))
    made = [page for page in pages if page.language]
    if made:
        print(line(f"{len(made)} made pages, unseen", made, scores[~real]))
    for language in sorted({page.language for page in made}):
        inside = np.array([page.language == language for page in pages])
        own = [page for page in made if page.language == language]
        print(line(f"  {language}, {len(own)}", own, scores[inside]))
    return scores[real], expected[real]
