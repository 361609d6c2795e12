"""The compiled model says what its formulas say, and the choice is the best there is."""

import itertools
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.extraction.written_pages import TABLES, article
from tests.property_sizes import scaled
from winnow.filters.extraction.extract_main import WEIGHTS as MODEL
from winnow.filters.extraction.extract_main import model
from winnow.filters.extraction.main_content.blocks import PageBlocks, page_blocks
from winnow.filters.extraction.main_content.features import COLUMNS, KINDS, filled
from winnow.filters.extraction.main_content.model import (
    WEIGHTS,
    KeyWeights,
    Trees,
    chosen,
    crossed,
    cuts_of,
    judged,
    linear_scores,
    tree_sums,
)
from winnow.filters.extraction.main_content.names import MARKS
from winnow.filters.extraction.main_content.network import MOST_BLOCKS

URL = "https://example.org/a/b"
REPEATED = "The very same sentence of more than eight words, once more. "


def blocks(html: str) -> PageBlocks:
    return page_blocks(html.encode(), URL)


@cache
def pages() -> list[PageBlocks]:
    """An article, tables, and many small blocks."""
    many = "<h1>T</h1>" + "<p class=post-body>x y z</p><li><a>b</a>" * 40
    return [blocks(html) for html in (article("en"), TABLES, many)]


def places_of(weights: KeyWeights) -> dict[int, int]:
    """The row of each key that has weights."""
    return {int(key): int(weights.rows[slot]) for slot, key in enumerate(weights.table) if key}


def reference_scores(
    weights: KeyWeights, place: dict[int, int], keys: npt.NDArray[Any], crosses: list[int]
) -> tuple[float, float]:
    """The two scores of one block, by numpy."""
    rows = [place[int(key)] for key in keys if int(key) in place]
    own = weights.weights[rows].astype(np.float64) if rows else np.zeros((0, WEIGHTS))
    known = max(1, len(rows))
    return (
        own[:, [0, *crosses]].sum() / (4 * known) ** 0.5 + weights.bias[0],
        own[:, -1].sum() / known**0.5 + weights.bias[1],
    )


@pytest.mark.parametrize("number", range(3))
def test_linear_scores_are_those_of_the_formula(number: int) -> None:
    page, learned = pages()[number], model()
    names_at, words_at = places_of(learned.names), places_of(learned.words)
    for kind in (0, len(KINDS) - 1):
        found = linear_scores(page, kind, learned.names, learned.words)
        crosses = crossed(page.page, page.layout, kind)
        measures = page.measures
        for block in range(len(page)):
            names = measures.name_keys[measures.name_places[block] : measures.name_places[block + 1]]
            words = measures.word_keys[measures.word_places[block] : measures.word_places[block + 1]]
            by_name = reference_scores(learned.names, names_at, names, crosses[block].tolist())
            by_word = reference_scores(learned.words, words_at, words, crosses[block].tolist())
            expected = [by_name[0], by_word[0], by_name[1], by_word[1]]
            np.testing.assert_allclose(found[block], expected, rtol=1e-4, atol=1e-4)


def stored_trees() -> Trees:
    with np.load(MODEL, allow_pickle=False) as stored:
        return Trees(*(stored[f"trees_{name}"] for name in Trees._fields))


def reference_tree(trees: Trees, tree: int, row: npt.NDArray[np.float32]) -> float:
    node = 0
    while node >= 0:
        at = trees.roots[tree] + node
        node = int(trees.left[at] if row[trees.column[at]] <= trees.threshold[at] else trees.right[at])
    return float(trees.leaves[trees.first_leaf[tree] - node - 1])


def test_trees_give_the_sum_of_their_leaves() -> None:
    learned, trees = model(), stored_trees()
    for page in pages():
        kinds = learned.kinds.probabilities(page.signs, page.layout.page_numbers)
        assert kinds.sum() == pytest.approx(1)
        scores = linear_scores(page, int(kinds.argmax()), learned.names, learned.words)
        rows = filled(page.page, page.measures.stats, page.layout, scores, kinds, 0, len(page))
        assert rows.shape == (len(page), len(COLUMNS))
        assert np.isfinite(rows).all()
        expected = [sum(reference_tree(trees, tree, row) for tree in range(len(trees.roots))) for row in rows]
        np.testing.assert_allclose(tree_sums(learned.trees, rows), expected, rtol=1e-3, atol=1e-3)
        np.testing.assert_array_equal(tree_sums(learned.trees, rows[:5]), tree_sums(learned.trees, rows)[:5])


def test_trees_of_one_leaf_and_of_thirty_two() -> None:
    """A chain to the left has all 32 leaves; one that divides nothing has two of the same value."""
    chain = np.arange(31, dtype=np.int16)
    trees = Trees(
        np.array([0, 31], np.int32), np.zeros(32, np.int16), np.append(np.arange(30, -1, -1), 0).astype(np.float32),
        np.append(np.append(chain[1:], -1), -1).astype(np.int16), np.append(-32 + chain, -2).astype(np.int16),
        np.append(np.arange(32), [100, 100]).astype(np.float32), np.array([0, 32], np.int32),
    )  # fmt: skip
    rows = np.linspace(-1, 32, 67, dtype=np.float32)[:, np.newaxis]
    expected = [100 + reference_tree(trees, 0, row) for row in rows]
    assert tree_sums(cuts_of(trees), rows).tolist() == expected


def test_rows_do_not_depend_on_how_many_are_written_at_once() -> None:
    page = pages()[-1]
    scores = np.random.default_rng(0).normal(size=(len(page), 4)).astype(np.float32)
    kinds = np.full(len(KINDS), 1 / len(KINDS), np.float32)
    every = filled(page.page, page.measures.stats, page.layout, scores, kinds, 0, len(page))
    some = filled(page.page, page.measures.stats, page.layout, scores, kinds, 17, 23)
    np.testing.assert_array_equal(every[17:23], some)
    assert every[0, COLUMNS.index("is_nav")] == 0
    assert set(COLUMNS) >= {f"is_{mark}" for mark in MARKS}


@settings(deadline=None, max_examples=scaled(60))
@given(st.lists(st.tuples(st.integers(1, 999), st.integers(1, 50)), min_size=1, max_size=9))
def test_the_choice_has_the_best_expected_f1(drawn: list[tuple[int, int]]) -> None:
    thousandths, words = (np.array(column) for column in zip(*drawn, strict=True))
    probabilities = (thousandths / 1000).astype(np.float32)
    kept, expected = chosen(probabilities, words)
    wanted = (probabilities * words).sum()

    def worth(some: npt.NDArray[np.bool_]) -> float:
        return float(2 * (probabilities * words)[some].sum() / (words[some].sum() + wanted))

    best = max(worth(np.array(some)) for some in itertools.product([False, True], repeat=len(words)) if any(some))
    assert worth(kept) == pytest.approx(expected, abs=1e-5) == pytest.approx(best, abs=1e-5)


def test_a_text_that_stands_twice_is_kept_once_and_code_as_often_as_it_stands() -> None:
    body = f"<article><h1>A title of some words</h1><p>{REPEATED * 3}</p><p>{REPEATED}</p><p>{REPEATED}</p></article>"
    page = blocks(f"<title>A title of some words</title>{body}")
    found = judged(page, model())
    texts = [text for text, kept in zip(page.texts(), found.kept, strict=True) if kept]
    assert found.kind != "documentation"
    assert texts.count(REPEATED.strip()) == 1
    assert 0 < found.confidence <= 1
    assert 0 < found.share <= 1


def test_a_page_of_more_blocks_than_rows_at_once() -> None:
    page = blocks("<p>some words of a paragraph</p>" * (MOST_BLOCKS + 10))
    probabilities, _ = model().probabilities(page)
    assert len(probabilities) == len(page) == MOST_BLOCKS + 10
    assert ((probabilities > 0) & (probabilities < 1)).all()


def test_a_page_without_blocks_has_no_content() -> None:
    found = judged(blocks("<script>x</script>"), model())
    assert (found.kept.tolist(), found.share) == ([], 0.0)
