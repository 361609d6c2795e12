"""Cells (strata with their available amounts) in a tree of the recipe's levels."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeAlias

from winnow.schemas.mixture import Amount, Stratum
from winnow.schemas.recipe.mix import Unit
from winnow.scoring.mixture.filling import exactly

Key: TypeAlias = Callable[[Stratum], str]

Absent: TypeAlias = Mapping[tuple[str, str], str]
"""Why a share's name has no cell: by its level (`source`, `class`) and name."""

NOT_SAID: Absent = {}


@dataclass(frozen=True)
class Cell:
    """One stratum, and what a stage may use of it."""

    stratum: Stratum
    available: Amount  # each sample once
    exposed: int = 0  # units that earlier stages gave
    score: float | None = None  # the mean of its band's column, for a softmax
    repeats: int | None = None  # of a rehydration band


@dataclass(slots=True)
class Node:
    """All cells of one class, one source in it, and so on down to one cell."""

    path: tuple[str, ...]
    cells: tuple[int, ...]  # their numbers
    units: int = 0  # each sample once
    worth: int = 0  # including their band's repeats
    exposed: int = 0
    capacity: int = 0  # what may still be used
    children: "tuple[Node, ...]" = ()  # sorted by name
    weights: list[int] = field(default_factory=list)  # of the children

    @property
    def name(self) -> str:
        """Its name among its siblings."""
        return self.path[-1]


def capacity(cell: Cell, max_epochs: float) -> int:
    """What may still be used before its samples are seen too often on average."""
    most = exactly(max_epochs) * cell.available.units
    return max(most.numerator // most.denominator - cell.exposed, 0)


def cell_tree(cells: Sequence[Cell], numbers: Iterable[int], keys: Sequence[Key]) -> Node:
    """The tree of these cells, one level per key; siblings are sorted, so that the order of cells does not matter."""

    def names(number: int) -> tuple[str, ...]:
        return tuple(key(cells[number].stratum) for key in keys)

    def branch(path: tuple[str, ...], leaves: Sequence[tuple[tuple[str, ...], int]]) -> Node:
        depth, numbers = len(path), tuple(number for _, number in leaves)
        if depth == len(keys):
            return Node(path, numbers)
        parts = groupby(leaves, key=lambda leaf: leaf[0][depth])
        return Node(path, numbers, children=tuple(branch((*path, name), list(part)) for name, part in parts))

    return branch((), sorted((names(number), number) for number in numbers))


def leaves(root: Node) -> Iterator[Node]:
    """The nodes of one cell each."""
    nodes = [root]
    while nodes:
        node = nodes.pop()
        nodes += node.children
        if not node.children:
            yield node


def counted(amount: Amount, unit: Unit) -> str:
    """An amount in words."""
    samples = f"{amount.samples:,} samples"
    return samples if unit == "samples" else f"{samples}, {amount.units:,} {unit}"
