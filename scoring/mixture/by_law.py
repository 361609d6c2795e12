"""The level of families by the scaling law, with a fallback method for families that the law lacks.

It is `sampling.by_law` in whole units and within what earlier stages left. The law's D is the whole budget, not one
source's part.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Final, TypeAlias, get_args

from winnow.schemas.errors import RecipeError, WinnowError
from winnow.schemas.languages import grouping
from winnow.schemas.law import ScalingLaw
from winnow.schemas.problems import shown
from winnow.schemas.recipe.mix import FamiliesBy, FamilyLevel
from winnow.scoring.mixture.cells import Cell, Node, listed
from winnow.scoring.mixture.filling import distributed, quantised
from winnow.scoring.mixture.levels import Level, Proportional, Tempered, UniMax
from winnow.scoring.sampling import TEMPERATURE
from winnow.scoring.scaling_law.mixing import Question, family_ratios

_DIGITS: Final = 8
"""Of the law's shares: its file writes no more, and the solver's last digits are floats'."""

_Parts: TypeAlias = tuple[list[int], tuple[str, ...]]


@dataclass
class ByLaw:
    """The law's optimum."""

    law: ScalingLaw
    config: FamilyLevel
    fallback: Level
    cells: Sequence[Cell]
    budget: int
    where: str  # the setting, for messages
    solved: dict[tuple[tuple[str, ...], int, int], _Parts] = field(default_factory=dict)  # without bounds
    warnings: dict[str, list[str]] = field(default_factory=dict)  # of the law, and the nodes that it gave them for

    def weigh(self, children: Sequence[Node]) -> list[int]:
        """The fallback's weights: the law has none that are independent of the amount."""
        return self.fallback.weigh(children)

    def most(self, child: Node) -> int:
        """The remaining units; a fallback's epochs do not limit families that the law knows."""
        return child.capacity

    def share(self, node: Node, amount: int, *, within: bool) -> list[int]:
        """The shares of least loss for families that the law knows, in the room left by the fallback."""
        found = self.fallback.share(node, amount, within=within)
        known = [place for place, child in enumerate(node.children) if child.name in self.law.names]
        room = sum(found[place] for place in known)
        if room == 0 or len(known) == 1:  # the room is what the fallback gives it
            return found
        children = [node.children[place] for place in known]
        problem = node.path, room, amount
        if problem not in self.solved:
            self.solved[problem] = self._optimum(children, room, amount, None)
        parts, warnings = self.solved[problem]
        if within and any(part > child.capacity for part, child in zip(parts, children, strict=True)):
            parts, warnings = self._optimum(children, room, amount, [child.capacity for child in children])
        if within:
            of = self.cells[node.cells[0]].stratum
            for line in warnings:
                self.warnings.setdefault(line, []).append(f"{of.source_class} / {of.source}")
        for place, part in zip(known, parts, strict=True):
            found[place] = part
        return found

    def _optimum(self, children: Sequence[Node], room: int, amount: int, most: Sequence[int] | None) -> _Parts:
        """Each child's part of the room, and the law's warnings."""
        if most is not None and room == sum(most):
            return list(most), ()
        open_ = [place for place in range(len(children)) if most is None or most[place]]
        named = [children[place] for place in open_]
        narrowed = replace(
            self.law,
            # Draws give the uncertainty of shares, which is not needed here and takes long.
            families=tuple(
                replace(family, draws=()) for family in self.law.families if self._is_of(family.family, named)
            ),
        )
        question = Question(
            self.config.objective,
            self.config.n,
            float(self.budget),
            room / amount,
            None if most is None else {children[place].name: most[place] / amount for place in open_},
            {child.name: child.units / amount for child in named} if self.config.repeats else None,
        )
        try:
            ratios = family_ratios(narrowed, question)
        except WinnowError as error:
            raise RecipeError(f"{self.where}{error}") from None
        by_name = dict(zip(ratios.families, ratios.shares, strict=True))
        weights = quantised([Decimal(repr(by_name[child.name])) for child in named], _DIGITS)
        parts = [0] * len(children)
        bounds = None if most is None else [most[place] for place in open_]
        for place, part in zip(open_, distributed(weights, room, bounds), strict=True):
            parts[place] = part
        return parts, ratios.warnings[:-1]  # the last says that there are no draws

    @staticmethod
    def _is_of(family: str, children: Sequence[Node]) -> bool:
        return any(child.name == family for child in children)


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


def foreign_families(law: ScalingLaw, config: FamilyLevel) -> str:
    """The message for families of the law that belong to another grouping; empty if there are none."""
    known = set(grouping(config.by).groups())
    for way in get_args(FamiliesBy):
        strange = sorted((set(law.names) - known) & set(grouping(way).groups()))
        if strange:
            return f"the law's {listed(strange)} are families by: {way}, the recipe's by: {config.by}"
    return ""
