"""The tree of cells is the same in whatever order cells come, and has every cell once."""

import random
from itertools import product

import pytest

from winnow.schemas.mixture import Amount, Stratum
from winnow.schemas.problems import listed
from winnow.scoring.mixture.cells import Cell, Node, capacity, cell_tree, leaves

STRATA = [Stratum(of, source, "", code) for of, source, code in product("wp", "tsu", ("swe", "deu", "fra"))]
CELLS = [Cell(stratum, Amount(1, 10)) for stratum in STRATA]
KEYS = (lambda one: one.source_class, lambda one: one.source, lambda one: one.language)


def strata_of(node: Node, cells: list[Cell]) -> list[tuple[tuple[str, ...], list[Stratum]]]:
    """Every node's path and strata, from above."""
    own = (node.path, [cells[number].stratum for number in node.cells])
    return [own, *(one for child in node.children for one in strata_of(child, cells))]


def test_siblings_are_sorted_and_each_name_is_one_node() -> None:
    tree = strata_of(cell_tree(CELLS, range(len(CELLS)), KEYS), CELLS)
    paths = [path for path, _ in tree]
    assert paths == sorted(set(paths))
    assert len(paths) == 1 + 2 + 2 * 3 + 2 * 3 * 3
    for path, strata in tree:
        assert strata == sorted(
            one for one in STRATA if (one.source_class, one.source, one.language)[: len(path)] == path
        )
    for seed in range(5):
        shuffled = random.Random(seed).sample(CELLS, len(CELLS))
        numbers = random.Random(-seed - 1).sample(range(len(CELLS)), len(CELLS))
        assert strata_of(cell_tree(shuffled, numbers, KEYS), shuffled) == tree


def test_leaves_have_each_chosen_cell_once() -> None:
    chosen = [11, 3, 17, 0, 4]
    tree = cell_tree(CELLS, chosen, KEYS)
    found = [(node.name, node.cells) for node in leaves(tree)]
    assert sorted(found) == sorted((STRATA[number].language, (number,)) for number in chosen)


@pytest.mark.parametrize(
    ("epochs", "exposed", "left"), [(1, 0, 10), (1.25, 3, 9), (1.25, 12, 0), (1, 25, 0), (0.1, 0, 1)]
)
def test_a_cell_may_be_used_until_its_samples_were_seen_often_enough(epochs: float, exposed: int, left: int) -> None:
    assert capacity(Cell(STRATA[0], Amount(3, 10), exposed), epochs) == left


@pytest.mark.parametrize(("count", "more"), [(6, ""), (7, " and 1 more"), (8, " and 2 more")])
def test_six_names_are_listed(count: int, more: str) -> None:
    assert listed([str(number) for number in range(count)]) == ", ".join("012345") + more
