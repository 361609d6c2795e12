"""The level of families by the scaling law, with a fallback method for families that the law lacks.

The law's D is the whole budget, and its p a family's share of the whole mixture. So all nodes that are divided into
families (sources with a share of their own, or the whole mixture) are solved at once, in whole units and within what
earlier stages left.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Final, get_args

import numpy as np

from winnow.schemas.errors import RecipeError, WinnowError
from winnow.schemas.languages import grouping
from winnow.schemas.law import ScalingLaw
from winnow.schemas.problems import listed, shown
from winnow.schemas.recipe.mix import FamiliesBy, FamilyLevel
from winnow.scoring.mixture.cells import Node
from winnow.scoring.mixture.filling import distributed, quantised
from winnow.scoring.mixture.levels import Level, Proportional, Tempered, UniMax
from winnow.scoring.sampling import TEMPERATURE
from winnow.scoring.scaling_law.mixing import RatioObjective, ratios_across_sources

_DIGITS: Final = 8
"""Of the law's shares: its file writes no more, and the solver's last digits are floats'."""


@dataclass
class LawShares:
    """The law's optimum over all nodes whose families it shares: the p of the law is of the whole mixture."""

    law: ScalingLaw
    config: FamilyLevel
    fallback: Level
    budget: int
    where: str  # the setting, for messages
    warnings: tuple[str, ...] = ()  # of the law, about the shares within what is available
    _shared: dict[tuple[tuple[str, ...], bool], list[int]] = field(default_factory=dict)

    def weigh(self, children: Sequence[Node]) -> list[int]:
        """The fallback's weights: the law has none that are independent of the amount."""
        return self.fallback.weigh(children)

    def most(self, child: Node) -> int:
        """The remaining units; a fallback's epochs do not limit families that the law knows."""
        return child.capacity

    def share(self, node: Node, amount: int, *, within: bool) -> list[int]:
        """The node's part of the amounts that `share_all` found."""
        found = self._shared[node.path, within]
        assert sum(found) == amount
        return found

    def share_all(self, nodes: Sequence[tuple[Node, int]], *, within: bool) -> None:
        """Share the amounts of all nodes among their families, at once.

        Families that the law lacks get what the fallback gives them in each node; the law shares out the rest.
        """
        rooms: list[tuple[Node, list[int], int]] = []
        for node, amount in nodes:
            found = self.fallback.share(node, amount, within=within)
            self._shared[node.path, within] = found
            if (room := sum(found[place] for place in self._known(node))) > 0:
                rooms.append((node, found, room))
        most = [[self._limit(child, room, within) for child in node.children] for node, _, room in rooms]
        there = {
            node.children[place].name
            for (node, _, _), limits in zip(rooms, most, strict=True)
            for place in self._known(node)
            if limits[place]
        }
        # Draws give the uncertainty of shares, which is not needed here and takes long.
        law = replace(
            self.law,
            families=tuple(replace(one, draws=()) for one in self.law.families if one.family in there),
        )
        if not rooms:
            return
        column = {name: number for number, name in enumerate(law.names)}
        caps, unique = np.zeros((2, len(rooms), len(column)))
        for number, ((node, _, _), limits) in enumerate(zip(rooms, most, strict=True)):
            for place in self._known(node):
                if limits[place]:
                    child = node.children[place]
                    caps[number, column[child.name]] = limits[place]
                    unique[number, column[child.name]] = child.units
        of = np.array([room for _, _, room in rooms], np.float64)
        question = RatioObjective(self.config.objective, self.config.n, float(self.budget))
        try:
            shares, warnings = ratios_across_sources(
                law,
                question,
                of / self.budget,
                caps / self.budget,
                unique / self.budget if self.config.repeats else None,
            )
        except WinnowError as error:
            raise RecipeError(f"{self.where}{error}") from None
        if within:
            self.warnings = warnings
        for (node, found, room), limits, given in zip(rooms, most, shares, strict=True):
            open_ = [place for place in self._known(node) if limits[place]]
            weights = quantised(
                [Decimal(repr(float(given[column[node.children[one].name]]))) for one in open_], _DIGITS
            )
            parts = dict(zip(open_, distributed(weights, room, [limits[one] for one in open_]), strict=True))
            for place in self._known(node):
                found[place] = parts.get(place, 0)

    def _known(self, node: Node) -> list[int]:
        """The places of the children that the law knows."""
        return [place for place, child in enumerate(node.children) if child.name in self.law.names]

    @staticmethod
    def _limit(child: Node, room: int, within: bool) -> int:
        return min(child.capacity, room) if within else room


def fallback(config: FamilyLevel, max_epochs: float) -> Level:
    """The method for families without an exponent."""
    if config.unfitted == "proportional":
        return Proportional()
    return Tempered(TEMPERATURE) if config.unfitted == "temperature" else UniMax(max_epochs)


def no_common_families(law: ScalingLaw, config: FamilyLevel, names: Sequence[str], codes: Iterable[str]) -> str:
    """The message for a law that knows none of the families, with a remedy.

    Args:
        law: The law.
        config: The level that names it.
        names: The mixture's families.
        codes: Their languages, such as `deu_Latn`.
    """
    plain = {code.partition("_")[0] for code in codes}
    there = {way: {grouping(way).of(code) for code in plain} for way in get_args(FamiliesBy)}
    fits = {way: len(groups & set(law.names)) for way, groups in there.items() if way != config.by}
    ways = [f"by: {way}" for way, count in fits.items() if count and count == max(fits.values())]
    what = f"write {' or '.join(ways)} under families" if ways else "fit a law of these families"
    return (
        f"{shown(config.law or '', 200)} is of {listed(law.names)}, and knows none of the mixture's families "
        f"(by: {config.by}): {listed(names)}; {what}"
    )


def probes(law: ScalingLaw, config: FamilyLevel, unfitted: Sequence[str], recipe: str) -> str:
    """The runs that would give families an exponent; empty if none of them has text of one family."""
    groups = set(grouping(config.by).groups())
    missing = [name for name in unfitted if name in groups]
    if not missing:
        return ""
    beside = [name for name in law.names if name in groups][:1]  # a mixture has two families at least
    full = law.mode == "full"
    sizes = ", three models and three tokens" if full else ""
    return (
        f"; to measure them: winnow law probe {recipe} --grid grid.yaml --output more.csv, with families: "
        f"[{listed([*beside, *missing], 40)}] and grouping: {config.by}{sizes} in grid.yaml; then winnow law fit "
        f"runs.csv more.csv{'' if full else ' --mode gamma'} --output {config.law}"
    )


def foreign_families(law: ScalingLaw, config: FamilyLevel) -> str:
    """The message for families of the law that belong to another grouping; empty if there are none."""
    known = set(grouping(config.by).groups())
    for way in get_args(FamiliesBy):
        strange = sorted((set(law.names) - known) & set(grouping(way).groups()))
        if strange:
            return f"the law's {listed(strange)} are families by: {way}, the recipe's by: {config.by}"
    return ""
