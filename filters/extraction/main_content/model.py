"""The learned model of main content: weights of words and markup, trees over the features, and the confidence.

All parts are plain arrays in one numpy file (no pickle). Linear weights are stored in eight bits with a scale per
column; the tables that find a key's row are built when the file is read.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.filters.extraction.main_content.blocks import PageBlocks
from winnow.filters.extraction.main_content.features import KINDS, filled
from winnow.filters.extraction.main_content.measures import COPIES, WORDS
from winnow.filters.extraction.main_content.names import BIT, HEADING_LEVEL, MARKS, NUMBER
from winnow.filters.extraction.main_content.network import MOST_BLOCKS, Network, logits
from winnow.filters.language.kernels.open_tables import look_up, open_keys
from winnow.schemas.kernels import arithmetic, kernel

Table = npt.NDArray[np.float32]
Keys = npt.NDArray[np.uint64]

CROSSES = (len(KINDS), 10, 3)  # by the page's kind; by tag and links; by the position of the first <h1>
WEIGHTS = 1 + sum(CROSSES) + 1  # of a key: its own, one per cross, and one for use without crosses
LEAST_WORDS_OF_A_COPY = 8
LEAST_WORDS_WITHOUT_SCRIPTS = 40  # of a <noscript> that is all of a page: fewer ask a reader to allow scripts
LEAST_KNOWN = 0.35  # of the keys of a page's words, for these to say something
_PRE = MARKS.index("pre")
_EVERY_LEAF = np.uint32(0xFFFFFFFF)
_SEQUENCE = np.uint32(0x077CB531)  # a de Bruijn sequence, by which the place of a single bit is found
_PLACES = np.zeros(32, np.int32)
for _bit in range(32):
    _PLACES[(0x077CB531 << _bit & 0xFFFFFFFF) >> 27] = _bit
_ITEM, _PARAGRAPH, _CELL, _HEADER_CELL = (NUMBER[name] for name in ("li", "p", "td", "th"))


class KeyWeights(NamedTuple):
    """A linear model over keys."""

    table: Keys
    rows: npt.NDArray[np.int32]
    weights: Table  # [rows, WEIGHTS]
    bias: Table  # [2] with crosses and without


class Trees(NamedTuple):
    """Trees as flat arrays: a node has a column, a threshold and two children; a negative node is a leaf."""

    roots: npt.NDArray[np.int32]
    column: npt.NDArray[np.int16]
    threshold: Table
    left: npt.NDArray[np.int16]
    right: npt.NDArray[np.int16]
    leaves: Table  # of each tree, from left to right
    first_leaf: npt.NDArray[np.int32]  # of each tree


class Cuts(NamedTuple):
    """The same trees by what each node excludes: a row above its threshold reaches no leaf on its left."""

    roots: npt.NDArray[np.int32]
    column: npt.NDArray[np.int16]
    threshold: Table
    stay: npt.NDArray[np.uint32]  # bits of the remaining leaves
    leaves: Table
    first_leaf: npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class KindWeights:
    """A multinomial logistic regression over a page's signs and numbers, which gives its kind."""

    keys: Keys  # ascending
    weights: Table  # [keys, kinds]
    mean: Table
    scale: Table
    numbers: Table  # [numbers, kinds]
    bias: Table

    def probabilities(self, signs: Keys, numbers: Table) -> Table:
        """The probability of each kind."""
        places = np.searchsorted(self.keys, signs)
        places = places[self.keys[np.minimum(places, len(self.keys) - 1)] == signs]
        values = np.clip((numbers - self.mean) / self.scale, -3, 3)
        sums = self.weights[places].sum(0, dtype=np.float64) / max(1.0, len(places)) ** 0.5 + self.bias
        sums += (values[:, np.newaxis].astype(np.float64) * self.numbers).sum(
            0
        )  # in a fixed order, which a matrix product does not have
        found = np.exp(sums - sums.max())
        return np.asarray(found / found.sum(), np.float32)


@kernel
def rows_of(table, rows, keys):  # type: ignore[no-untyped-def]
    """The row of each key, -1 for one that is not known."""
    found = np.empty(len(keys), np.int32)
    for place in range(len(keys)):
        found[place] = look_up(table, rows, keys[place])
    return found


@kernel
def crossed(page, layout, kind):  # type: ignore[no-untyped-def]
    """The columns of weights that count for each block beside a key's own."""
    blocks = len(page.block_begins)
    found = np.empty((blocks, 3), np.int32)
    for block in range(blocks):
        tag = page.tag[layout.owner[block]]
        what = 4
        if tag == _PARAGRAPH:
            what = 0
        elif tag == _ITEM:
            what = 1
        elif tag in (_CELL, _HEADER_CELL):
            what = 2
        elif HEADING_LEVEL[tag] > 0:
            what = 3
        linked = 2 * page.linked[block] > page.block_ends[block] - page.block_begins[block]
        stand = 0 if layout.first_h1 < 0 else 1 if block < layout.first_h1 else 2
        found[block, 0] = 1 + kind
        found[block, 1] = 1 + CROSSES[0] + 2 * what + linked
        found[block, 2] = 1 + CROSSES[0] + CROSSES[1] + stand
    return found


@arithmetic
def summed(places, rows, crosses, weights, bias):  # type: ignore[no-untyped-def]
    """The score of each block with crosses and without."""
    blocks = len(places) - 1
    found = np.empty((blocks, 2), np.float32)
    for block in range(blocks):
        total = plain = np.float32(0)
        known = 0
        for place in range(places[block], places[block + 1]):
            row = rows[place]
            if row >= 0:
                known += 1
                total += weights[row, 0]
                for cross in crosses[block]:
                    total += weights[row, cross]
                plain += weights[row, WEIGHTS - 1]
        length = np.float32(max(known, 1))
        found[block, 0] = total / np.sqrt(4 * length) + bias[0]
        found[block, 1] = plain / np.sqrt(length) + bias[1]
    return found


@kernel
def cuts_of(trees):  # type: ignore[no-untyped-def]
    """What the nodes of trees of at most 32 leaves rule out."""
    nodes, count = len(trees.column), len(trees.roots)
    first, end, stay = np.zeros(nodes, np.int32), np.zeros(nodes, np.int32), np.zeros(nodes, np.uint32)
    for tree in range(count):
        root = trees.roots[tree]
        last = trees.roots[tree + 1] if tree + 1 < count else nodes
        for node in range(last - 1, root - 1, -1):  # a node stands before those below it
            left, right = trees.left[node], trees.right[node]
            first[node] = first[root + left] if left >= 0 else -left - 1
            middle = end[root + left] if left >= 0 else -left
            end[node] = end[root + right] if right >= 0 else -right
            ruled_out = (np.uint64(1) << np.uint64(middle)) - (np.uint64(1) << np.uint64(first[node]))
            stay[node] = ~np.uint32(ruled_out)
    return Cuts(trees.roots, trees.column, trees.threshold, stay, trees.leaves, trees.first_leaf)


@kernel
def _leaf_sums(cuts, columns):  # type: ignore[no-untyped-def]
    """The sum of all trees' leaves for each row. A node looks at all rows at once, which processors do by the dozen."""
    rows, nodes, count = columns.shape[1], len(cuts.column), len(cuts.roots)
    found, possible = np.zeros(rows, np.float32), np.empty(rows, np.uint32)
    for tree in range(count):
        possible[:] = _EVERY_LEAF
        for node in range(cuts.roots[tree], cuts.roots[tree + 1] if tree + 1 < count else nodes):
            values, threshold, stay = columns[cuts.column[node]], cuts.threshold[node], cuts.stay[node]
            for row in range(rows):
                possible[row] &= stay | (np.uint32(0) - np.uint32(values[row] <= threshold))
        for row in range(rows):
            lowest = possible[row] & (np.uint32(0) - possible[row])
            found[row] += cuts.leaves[cuts.first_leaf[tree] + _PLACES[np.uint32(lowest * _SEQUENCE) >> np.uint32(27)]]
    return found


def tree_sums(cuts: Cuts, rows: Table) -> Table:
    """The sum of all trees' leaves for each row."""
    return np.asarray(_leaf_sums(cuts, np.ascontiguousarray(rows.T)))


def _sigmoid(values: Table) -> Table:
    return np.asarray(1 / (1 + np.exp(-values.astype(np.float64))), np.float32)


def network_probabilities(network: Network, blocks: PageBlocks, rows: Table) -> Table:
    """The network's probability that each block of a page is main content."""
    return _sigmoid(
        logits(network, rows, np.ascontiguousarray(blocks.layout.group[:, 0]), blocks.layout.heading + np.int32(1))
    )


@dataclass(frozen=True, slots=True)
class Model:
    """All learned parts."""

    kinds: KindWeights
    names: KeyWeights
    words: KeyWeights
    trees: Cuts
    network: Network
    calibration: tuple[Table, Table]  # expected F1, and the mean F1 measured at it

    def scores(self, blocks: PageBlocks, kinds: Table) -> Table:
        """The scores of each block's names and words: [, 4], those without crosses last."""
        return linear_scores(blocks, int(kinds.argmax()), self.names, self.words)

    def probabilities(self, blocks: PageBlocks) -> tuple[Table, Table]:
        """The probability that each block is main content, and of each kind. Very long pages use trees alone."""
        kinds = self.kinds.probabilities(blocks.signs, blocks.layout.page_numbers)
        found = np.zeros(len(blocks), np.float32)
        scores = self.scores(blocks, kinds) if len(blocks) else None
        for first in range(0, len(blocks), MOST_BLOCKS):
            end = min(len(blocks), first + MOST_BLOCKS)
            rows = filled(blocks.page, blocks.measures.stats, blocks.layout, scores, kinds, first, end)
            found[first:end] = _sigmoid(tree_sums(self.trees, rows))
            if len(blocks) <= MOST_BLOCKS:
                found = (found + network_probabilities(self.network, blocks, rows)) / np.float32(2)
        return found, kinds


def linear_scores(
    blocks: PageBlocks, kind: int, names: KeyWeights, words: KeyWeights, *, foreign: bool = False
) -> Table:
    """The scores of names and words of each block of a page of this kind.

    Words do not count on a page in a language that the model has not learned, or with `foreign`.
    """
    measures = blocks.measures
    crosses = crossed(blocks.page, blocks.layout, kind)
    name_rows = rows_of(names.table, names.rows, measures.name_keys)
    word_rows = rows_of(words.table, words.rows, measures.word_keys)
    by_name = summed(measures.name_places, name_rows, crosses, names.weights, names.bias)
    by_word = summed(measures.word_places, word_rows, crosses, words.weights, words.bias)
    if foreign or (word_rows >= 0).sum() < LEAST_KNOWN * len(word_rows):
        by_word[:] = 0
    return np.stack([by_name[:, 0], by_word[:, 0], by_name[:, 1], by_word[:, 1]], 1)


def chosen(probabilities: Table, words: npt.NDArray[Any]) -> tuple[npt.NDArray[np.bool_], float]:
    """The blocks that maximise the expected F1 of words (the most likely, as many as raise it), and that F1."""
    kept = np.zeros(len(words), np.bool_)
    if not len(words):
        return kept, 0.0
    order = np.argsort(-probabilities, kind="stable")
    wanted = (probabilities * words)[order].astype(np.float64)
    sizes = words[order].astype(np.float64)
    expected = 2 * np.cumsum(wanted) / (np.cumsum(sizes) + wanted.sum() + 1e-9)
    best = int(expected.argmax())
    kept[order[: best + 1]] = True
    return kept & (words > 0), float(expected[best])


def without_copies(blocks: PageBlocks, kept: npt.NDArray[np.bool_], probabilities: Table) -> npt.NDArray[np.bool_]:
    """Keep each long text once, where it is most likely; code may repeat."""
    stats, page = blocks.measures.stats, blocks.page
    repeated = np.flatnonzero(kept & (stats[:, COPIES] > 1) & (stats[:, WORDS] >= LEAST_WORDS_OF_A_COPY))
    seen: set[bytes] = set()
    for block in repeated[np.argsort(-probabilities[repeated], kind="stable")].tolist():
        if not page.mask[blocks.layout.owner[block]] >> _PRE & 1:
            text = page.text[page.block_begins[block] : page.block_ends[block]].tobytes()
            if text in seen:
                kept[block] = False
            seen.add(text)
    return kept


@dataclass(frozen=True, slots=True)
class Judgement:
    """The main content of a page."""

    kept: npt.NDArray[np.bool_]  # of each block
    kind: str
    confidence: float  # the F1 that pages with such an expected F1 had when the model had not seen them
    share: float  # of the page's words
    probabilities: Table  # of each block, that it is main content


def judged(blocks: PageBlocks, model: "Model") -> Judgement:
    """The main content of a page. The repetitions of documentation are kept."""
    probabilities, kinds = model.probabilities(blocks)
    words = blocks.measures.stats[:, WORDS]
    kept, expected = chosen(probabilities, words)
    kind = KINDS[int(kinds.argmax())]
    if kind != "documentation":
        kept = without_copies(blocks, kept, probabilities)
    in_noscript = blocks.page.mask[blocks.layout.owner] & BIT["noscript"] != 0
    if in_noscript.all() and words[kept].sum() < LEAST_WORDS_WITHOUT_SCRIPTS:
        kept[:] = False
    share = float(words[kept].sum() / max(float(words.sum()), 1.0))
    confidence = float(np.interp(expected, *model.calibration))
    return Judgement(kept, kind, confidence, share, probabilities)


def read(file: Path) -> Model:
    """Read a model from its file."""
    with np.load(file, allow_pickle=False) as stored:
        return Model(
            KindWeights(*(stored[f"kinds_{name}"] for name in ("keys", "weights", "mean", "scale", "numbers", "bias"))),
            _key_weights(stored, "names"),
            _key_weights(stored, "words"),
            cuts_of(Trees(*(stored[f"trees_{name}"] for name in Trees._fields))),
            Network(*(_whole(stored[f"network_{name}"]) for name in Network._fields)),
            (stored["calibration"][0], stored["calibration"][1]),
        )


def _whole(stored: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array in the precision of computation."""
    return stored.astype(np.float32) if stored.dtype == np.float16 else stored


def _key_weights(stored: Any, name: str) -> KeyWeights:
    table, rows = open_keys(stored[f"{name}_keys"])
    weights = stored[f"{name}_weights"].astype(np.float32) * stored[f"{name}_scale"]
    return KeyWeights(table, rows, weights, stored[f"{name}_bias"])
