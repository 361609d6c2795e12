"""Allocate a stage's budget to strata: shares level by level, then water-filling within what is available.

`allocate` first follows only the recipe's shares, then shares the budget again so that no stratum is used more often
than `max_epochs` over all stages: what a stratum, language or source cannot give goes to its siblings in proportion.
All numbers are integers: the same on every machine, and a larger budget gives no stratum less, unless weights depend
on the budget (a law's do).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from pathlib import PurePath
from typing import Final

from winnow.schemas.errors import RecipeError
from winnow.schemas.law import ScalingLaw
from winnow.schemas.mixture import OF_LAW
from winnow.schemas.problems import listed
from winnow.schemas.recipe.mix import MAX_EPOCHS, FamilyLevel, StageConfig, Unit
from winnow.scoring.mixture.cells import NOT_SAID, Absent, Cell, Node, cell_tree, leaves
from winnow.scoring.mixture.filling import EXACT
from winnow.scoring.mixture.law_shares import LawShares, fallback, foreign_families, no_common_families, probes
from winnow.scoring.mixture.levels import Level, amounts_at, by_method, ordered, spread, weighted_tree
from winnow.scoring.mixture.usable_cells import narrowed, of_stage, refused

__all__ = ["Allocation", "Cell", "allocate"]

_NOTED: Final = 4  # most strata or nodes named in a note


@dataclass(frozen=True)
class Allocation:
    """Units for each of the cells, in their order."""

    asked: tuple[int, ...]  # by the shares alone
    target: tuple[int, ...]  # within what is available
    notes: tuple[str, ...]


def allocate(
    cells: Sequence[Cell],
    stage: StageConfig,
    budget: int | None,
    max_epochs: float,
    law: ScalingLaw | None,
    unit: Unit,
    absent: Absent = NOT_SAID,
    *,
    strict: bool = True,
) -> Allocation:
    """The requested and the allocated units of each cell.

    Without a budget and shares each cell is used once, bands with repeats as often as they specify; with shares but no
    budget the same total is shared, and resulting repeats are noted.

    Args:
        cells: Each stratum once.
        stage: The levels, filled in.
        budget: Units to allocate.
        max_epochs: How often a cell's samples may be used on average, over all stages.
        law: The law named at the level of families.
        unit: The name of the unit.
        absent: Why a share's name may have no cell.
        strict: Whether a budget above what there is is an error; else what there is is given, with a note.

    Raises:
        RecipeError: A share names something that does not exist, nothing is left to give, or the law knows no family.
    """
    if len({cell.stratum for cell in cells}) != len(cells):
        raise ValueError("a stratum occurs twice")
    numbers, notes = narrowed(cells, stage, unit, absent)
    families = stage.families or FamilyLevel()

    def build_tree(epochs: float) -> tuple[Node, tuple[Level, ...], int]:
        level: Level = by_method(families) if families.law is None else fallback(families, epochs)
        keys, levels, place = ordered(stage, level, cells)
        return weighted_tree(cell_tree(cells, numbers, keys), levels, cells, stage.bands, epochs), levels, place

    root, levels, of_families = build_tree(max_epochs)
    written = budget is not None
    if budget is None:
        if root.capacity == 0:
            raise refused(stage, "mix.max_epochs", f"{max_epochs:g} epochs over all stages leave nothing to give")
        if not _shared(stage):
            return _without_budget(cells, root, notes, unit)
        budget = min(root.worth, root.capacity)
        if budget < root.worth:
            notes.append(f"without a budget it is what caps on epochs leave: {budget:,} of {root.worth:,} {unit}")
    if budget > root.capacity and root.capacity and not strict:
        notes.append(_less(budget, root, max_epochs, stage, unit))
        budget = root.capacity
    if budget > root.capacity:
        raise _too_large(budget, root, max_epochs, stage, unit, lambda epochs: build_tree(epochs)[0].capacity)
    by_law: LawShares | None = None
    if families.law is not None:
        by_law = _by_law(law, families, cells, root, levels[of_families], of_families, stage, budget)
        for within in (False, True):
            by_law.share_all(list(amounts_at(of_families, root, levels, budget, within=within)), within=within)
        levels = tuple(by_law if place == of_families else level for place, level in enumerate(levels))
    asked, target = [0] * len(cells), [0] * len(cells)
    spread(root, levels, budget, asked, within=False)
    spread(root, levels, budget, target, within=True)
    if by_law is not None:
        recipe = PurePath(stage.place.file).name  # its folder is no part of a plan, whose notes are hashed, too
        notes += _of_law(by_law, cells, numbers, target, unit, recipe)
    notes += _moved_notes(cells, asked, target, unit)
    if not written:
        notes += _repeat_notes(root, levels if by_law is None else None, target, budget, max_epochs, unit)
    return Allocation(tuple(asked), tuple(target), tuple(notes))


def _shared(stage: StageConfig) -> bool:
    """Whether a level defines shares: a top share and repeats only define how often each text is used."""
    methods = (stage.families, stage.languages)
    ways = ("law", "temperature", "unimax", "weights")
    return (
        stage.classes is not None
        or stage.sources is not None
        or any(getattr(level, way, None) is not None for level in methods for way in ways)
        or (stage.bands is not None and (stage.bands.softmax is not None or stage.bands.weights is not None))
    )


def _without_budget(cells: Sequence[Cell], root: Node, notes: list[str], unit: Unit) -> Allocation:
    """Every cell as often as requested, as far as allowed."""
    asked, target = [0] * len(cells), [0] * len(cells)
    for node in leaves(root):
        place = node.cells[0]
        asked[place], target[place] = node.worth, min(node.worth, node.capacity)
    if (short := sum(asked) - sum(target)) > 0:
        less = _most_reduced(cells, asked, target, unit)
        notes = [*notes, f"max_epochs leaves {short:,} {unit} less than the recipe requests: {less}"]
    return Allocation(tuple(asked), tuple(target), tuple(notes))


def _by_law(
    law: ScalingLaw | None,
    families: FamilyLevel,
    cells: Sequence[Cell],
    root: Node,
    fallback_level: Level,
    depth: int,
    stage: StageConfig,
    budget: int,
) -> LawShares:
    if law is None:
        raise ValueError(f"the law {families.law} is not given")
    names = _names(root, depth)
    if not set(names) & set(law.names):
        codes = {cells[number].stratum.language for number in root.cells}
        raise refused(stage, "mix.families.law", no_common_families(law, families, names, codes))
    return LawShares(law, families, fallback_level, budget, f"{stage.place}: mix.families.law: {of_stage(stage)}")


def _names(root: Node, depth: int) -> list[str]:
    """The distinct names of the children of the nodes at this depth."""
    nodes = [root]
    for _ in range(depth + 1):
        nodes = [child for node in nodes for child in node.children]
    return sorted({node.name for node in nodes})


def _less(budget: int, root: Node, max_epochs: float, stage: StageConfig, unit: Unit) -> str:
    """The note for a budget that is too large, of which as much is given as there is."""
    limit = f"unimax {min(found):g}" if (found := _unimax(stage)) else f"max_epochs {max_epochs:g}"
    return (
        f"the budget of {budget:,} {unit} is more than there is: {root.capacity:,} are given, of {root.units:,} that "
        f"may be used, by {limit}; mix.strict: true makes this an error"
    )


def _too_large(
    budget: int, root: Node, max_epochs: float, stage: StageConfig, unit: Unit, capacities: Callable[[float], int]
) -> RecipeError:
    """The message for a budget that is too large, with the cap on epochs that would suffice."""
    given = f", of which earlier stages gave {root.exposed:,}" if root.exposed else ""
    ways = [f"lower the budget to {root.capacity:,}" if root.capacity else "leave the stage out"]
    if (enough := _sufficient_epochs(budget, root, max_epochs, capacities)) is not None:
        ways.append(f"raise max_epochs to {enough:g}")
    elif _unimax(stage):
        ways.append(f"raise unimax {' and '.join(f'{one:g}' for one in _unimax(stage))}")
    message = (
        f"{budget:,} {unit} are more than available: {root.units:,} {unit} may be used{given}, for at most "
        f"{max_epochs:g} epochs, which leaves {root.capacity:,}; {', or '.join(ways)}"
    )
    return refused(stage, "mix.budget", message)


def _sufficient_epochs(budget: int, root: Node, epochs: float, capacities: Callable[[float], int]) -> float | None:
    """The smallest four-digit `max_epochs` that fits the budget; None if there is none."""
    if capacities(MAX_EPOCHS) < budget:
        return None
    room, step, rounding = root.capacity, Decimal(0), Context(prec=4, rounding=ROUND_CEILING)
    while room < budget:
        step = max(EXACT.divide(Decimal(budget - room), Decimal(root.units)), 2 * step)  # whole units may need more
        epochs = min(float(rounding.add(Decimal(repr(epochs)), step)), MAX_EPOCHS)
        room = capacities(epochs)
    return epochs


def _unimax(stage: StageConfig) -> list[float]:
    methods = (stage.families, stage.languages)
    return [level.unimax for level in methods if level is not None and level.unimax is not None]


def _of_law(
    by_law: LawShares, cells: Sequence[Cell], numbers: Sequence[int], target: Sequence[int], unit: Unit, recipe: str
) -> list[str]:
    """Notes on families without an exponent, and the law's warnings."""
    notes = []
    unfitted: dict[str, int] = {}
    known = set(by_law.law.names)
    for number in numbers:
        family = cells[number].stratum.family
        if family not in known:
            unfitted[family] = unfitted.get(family, 0) + target[number]
    if unfitted:
        got = listed([f"{name} {units:,}" for name, units in sorted(unfitted.items())], 12)
        strange = foreign_families(by_law.law, by_law.config)
        more = f"; {strange}" if strange else probes(by_law.law, by_law.config, sorted(unfitted), recipe)
        notes.append(f"{OF_LAW}no fitted exponent, shares by {by_law.config.unfitted} instead, in {unit}: {got}{more}")
    if unit != "tokens":
        notes.append(f"{OF_LAW}it counts D in tokens, this mixture in {unit}: D is assumed to be {by_law.budget:,}")
    return notes + [f"{OF_LAW}{line}" for line in by_law.warnings]


def _moved_notes(cells: Sequence[Cell], asked: Sequence[int], target: Sequence[int], unit: Unit) -> list[str]:
    """Notes on units that moved from exhausted strata to others."""
    moved = sum(max(wanted - found, 0) for wanted, found in zip(asked, target, strict=True))
    if not moved:
        return []
    return [f"{moved:,} {unit} went to strata that have more left; {_most_reduced(cells, asked, target, unit)}"]


def _repeat_notes(
    root: Node, levels: Sequence[Level] | None, target: Sequence[int], budget: int, max_epochs: float, unit: Unit
) -> list[str]:
    """Notes on repeats caused by shares without a budget, which the recipe did not request.

    Args:
        root: The tree.
        levels: How it is shared; None if shares depend on the budget, so that no smaller one can be suggested.
        target: The units of each cell.
        budget: The shared amount.
        max_epochs: The cap.
        unit: The name of the unit.
    """
    worths = {node.cells[0]: node.worth for node in leaves(root)}
    again = sum(max(target[number] - worth, 0) for number, worth in worths.items())
    if not again:
        return []
    most = 0 if levels is None else _budget_without_repeats(root, levels, worths, budget)
    ways = [f"a budget of {most:,} or less avoids repeats"] if most else []
    ways.append("max_epochs: 1 uses everything once, whatever the shares")
    return [
        f"without a budget the shares apply to everything once: {budget:,} {unit}; {again:,} of them are repeats, "
        f"within {max_epochs:g} epochs, as their strata have less than their share; {'; '.join(ways)}"
    ]


def _budget_without_repeats(root: Node, levels: Sequence[Level], worths: Mapping[int, int], budget: int) -> int:
    """The largest budget whose shares request no more than each cell's worth."""
    fits, too_large = 0, budget
    asked = [0] * (max(worths) + 1)
    while too_large - fits > 1:  # a larger budget requests no less from any cell
        tried = (fits + too_large) // 2
        asked = [0] * len(asked)
        spread(root, levels, tried, asked, within=False)
        if all(asked[number] <= worth for number, worth in worths.items()):
            fits = tried
        else:
            too_large = tried
    return fits


def _most_reduced(cells: Sequence[Cell], asked: Sequence[int], target: Sequence[int], unit: Unit) -> str:
    """The strata that give the smallest part of what is requested."""
    short = sorted(
        (found - wanted, str(cell.stratum), wanted, found)
        for cell, wanted, found in zip(cells, asked, target, strict=True)
        if found < wanted
    )
    return listed([f"{name} gives {found:,} of {wanted:,} {unit}" for _, name, wanted, found in short], _NOTED)
