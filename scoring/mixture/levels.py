"""The levels of a mixture, from outermost to innermost, and how each shares a node's amount among its children.

Without class shares, source shares are of the whole; with them they are within each class, scaled to 1 there, and
language shares are scaled to 1 within each family of each source. A level that is not set is shared in proportion to
what may be used: anything excluded by a share of 0 or a band does not count, and texts of a repeated band count as
often as they are repeated.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Protocol

from winnow.schemas.recipe.mix import BandLevel, FamilyLevel, LanguageLevel, Shares, StageConfig
from winnow.scoring.mixture.bands import band_weights, times
from winnow.scoring.mixture.cells import Cell, Key, Node, capacity
from winnow.scoring.mixture.filling import EXACT, distributed, exactly, quantised


class Level(Protocol):
    """How a node's amount is shared among its children."""

    def weigh(self, children: Sequence[Node]) -> list[int]:
        """The children's weights, above zero."""

    def most(self, child: Node) -> int:
        """The limit of a child."""

    def share(self, node: Node, amount: int, *, within: bool) -> list[int]:
        """Each child's amount: by the shares alone, or within each child's limit."""


@dataclass(frozen=True)
class Proportional:
    """In proportion to what is available."""

    def weigh(self, children: Sequence[Node]) -> list[int]:
        """The available amounts, including bands' repeats."""
        return [child.worth for child in children]

    def most(self, child: Node) -> int:
        """The remaining units."""
        return child.capacity

    def share(self, node: Node, amount: int, *, within: bool) -> list[int]:
        """By weight."""
        most = [child.capacity for child in node.children] if within else None
        return distributed(node.weights, amount, most)


@dataclass(frozen=True)
class Tempered(Proportional):
    """Sizes to the power of 1/tau: 1 is proportional, a large one uniform."""

    tau: float

    def weigh(self, children: Sequence[Node]) -> list[int]:
        """The powers."""
        with localcontext(EXACT):
            tau = Decimal(repr(self.tau))
            return quantised([(Decimal(child.worth).ln() / tau).exp() for child in children])


@dataclass(frozen=True)
class UniMax(Proportional):
    """As uniform as a number of epochs of each child allows (Chung et al. 2023, arXiv 2304.09151)."""

    epochs: float

    def weigh(self, children: Sequence[Node]) -> list[int]:
        """Equal weights."""
        return [1] * len(children)

    def most(self, child: Node) -> int:
        """The units left by its epochs, over all stages."""
        return max(min(child.capacity, self._epochs(child) - child.exposed), 0)

    def share(self, node: Node, amount: int, *, within: bool) -> list[int]:
        """By weight; beyond all epochs of all children, in proportion to what is available."""
        if within:
            return super().share(node, amount, within=True)
        most = [self._epochs(child) for child in node.children]
        if sum(most) < amount:
            return distributed([child.units for child in node.children], amount)
        return distributed(node.weights, amount, most)

    def _epochs(self, child: Node) -> int:
        most = exactly(self.epochs) * child.units
        return most.numerator // most.denominator


@dataclass(frozen=True)
class NamedShares(Proportional):
    """By the recipe's shares; in proportion if it names none of the children."""

    shares: Mapping[str, float]

    def weigh(self, children: Sequence[Node]) -> list[int]:
        """The shares, scaled to the existing children."""
        if any(child.name not in self.shares for child in children):
            return super().weigh(children)
        return quantised([Decimal(repr(self.shares[child.name])) for child in children])


@dataclass(frozen=True)
class BandShares(Proportional):
    """By the bands of a column."""

    level: BandLevel
    cells: Sequence[Cell]

    def weigh(self, children: Sequence[Node]) -> list[int]:
        """The bands' weights; integers unchanged."""
        weights = band_weights(self.level, [self.cells[child.cells[0]] for child in children])
        if all(weight == int(weight) for weight in weights):
            return [int(weight) for weight in weights]
        return quantised(weights)


def by_shares(shares: Shares | None) -> Level:
    """A level with shares, or without settings."""
    return Proportional() if shares is None else NamedShares(shares.by_name)


def by_method(level: FamilyLevel | LanguageLevel) -> Level:
    """A level of families or languages by a method; None for a law, which is not such a method."""
    if level.temperature is not None:
        return Tempered(level.temperature)
    if level.unimax is not None:
        return UniMax(level.unimax)
    return by_shares(level.weights)


def ordered(
    stage: StageConfig, families: Level, cells: Sequence[Cell]
) -> tuple[tuple[Key, ...], tuple[Level, ...], int]:
    """Each level's key and how it shares, from outermost to innermost; and the place of the level of families.

    A law is of the whole mixture. So it is bound by shares of classes and sources only where the recipe sets them;
    otherwise sources are inside families, and each family is taken from wherever it is available.
    """
    outer: list[tuple[Key, Level]] = [
        (lambda stratum: stratum.source_class, by_shares(stage.classes)),
        (lambda stratum: stratum.source, by_shares(stage.sources)),
    ]
    written = [stage.classes is not None, stage.sources is not None]
    if stage.classes is None:  # shares of sources are of the whole
        outer.reverse()
        written.reverse()
    free: list[tuple[Key, Level]] = []
    if stage.families is not None and stage.families.law is not None:
        free = [level for level, own in zip(outer, written, strict=True) if not own]
        outer = [level for level, own in zip(outer, written, strict=True) if own]
    languages = Proportional() if stage.languages is None else by_method(stage.languages)
    bands = Proportional() if stage.bands is None else BandShares(stage.bands, cells)
    inner: list[tuple[Key, Level]] = [
        (lambda stratum: stratum.family, families),
        *free,
        (lambda stratum: stratum.language, languages),
        (lambda stratum: stratum.band, bands),
    ]
    keys, levels = zip(*outer, *inner, strict=True)
    return keys, levels, len(outer)


def weighted_tree(
    node: Node, levels: Sequence[Level], cells: Sequence[Cell], bands: BandLevel | None, max_epochs: float
) -> Node:
    """The node with its available units, its limit, and its children's weights."""
    if not levels:
        cell = cells[node.cells[0]]
        node.units, node.exposed = cell.available.units, cell.exposed
        node.worth = node.units * times(bands, cell)
        node.capacity = capacity(cell, max_epochs)
        return node
    level, *inner = levels
    for child in node.children:
        weighted_tree(child, inner, cells, bands, max_epochs)
        child.capacity = level.most(child)
        node.units += child.units
        node.worth += child.worth
        node.exposed += child.exposed
        node.capacity += child.capacity
    node.weights = [1] if len(node.children) == 1 else level.weigh(node.children)
    return node


def spread(node: Node, levels: Sequence[Level], amount: int, into: list[int], *, within: bool) -> None:
    """Share an amount down to the cells, within each node's limit."""
    if not levels:
        into[node.cells[0]] = amount
    elif amount:
        level, *inner = levels
        for child, part in zip(node.children, level.share(node, amount, within=within), strict=True):
            spread(child, inner, part, into, within=within)


def amounts_at(
    depth: int, node: Node, levels: Sequence[Level], amount: int, *, within: bool
) -> Iterator[tuple[Node, int]]:
    """The nodes at a depth that get anything, and what they get."""
    if not amount:
        return
    if not depth:
        yield node, amount
        return
    level, *inner = levels
    for child, part in zip(node.children, level.share(node, amount, within=within), strict=True):
        yield from amounts_at(depth - 1, child, inner, part, within=within)
