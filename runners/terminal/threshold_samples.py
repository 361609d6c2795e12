"""The samples around the thresholds of a recipe's rules, for `winnow stats` and the report."""

from collections.abc import Sequence

from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.rules.near_thresholds import NearSample, NearThreshold, find_near_thresholds
from winnow.pipelines.rules.pinning import PinnedProgram
from winnow.pipelines.store.generations import Store
from winnow.runners.terminal.quantities import grouped, share
from winnow.runners.terminal.rules import pinned_rules
from winnow.runners.terminal.tables import Grid, print_grid
from winnow.schemas.errors import WinnowError
from winnow.schemas.problems import nearest
from winnow.schemas.records import Generation

EXCERPT_CHARACTERS = 70


def recipe_thresholds(recipe: BoundRecipe, store: Store, generation: Generation) -> tuple[NearThreshold, ...]:
    """All thresholds of the recipe's rules. Raises a RecipeError if a layer that they read is missing."""
    return rule_thresholds(pinned_rules(recipe, store, generation), recipe, generation)


def rule_thresholds(
    pinned: PinnedProgram | None, recipe: BoundRecipe | None, generation: Generation
) -> tuple[NearThreshold, ...]:
    """The thresholds of pinned rules; empty if there are no rules."""
    if pinned is None or recipe is None:
        return ()
    return tuple(find_near_thresholds(pinned, generation, recipe.config.text))


def print_thresholds(thresholds: Sequence[NearThreshold], console: Console) -> None:
    """Print one line per threshold: how many samples are on each side."""
    rows = [
        (
            f"{threshold.phase}.{threshold.reason}",
            f"{threshold.cut.column} {threshold.cut.operator} {threshold.cut.value:g}",
            grouped(threshold.met),
            share(threshold.met, threshold.met + threshold.unmet),
            grouped(threshold.unmet),
            grouped(threshold.null),
        )
        for threshold in thresholds
    ]
    headers = ("rule", "threshold", "met", "share", "not met", "null")
    print_grid(console, Grid("Thresholds", headers, rows, frozenset({0, 1}), whole=frozenset({0, 1})))


def thresholds_with_reason(thresholds: Sequence[NearThreshold], reason: str) -> list[NearThreshold]:
    """The thresholds of the rule with this reason. Raises a WinnowError if there is none."""
    chosen = [threshold for threshold in thresholds if threshold.reason == reason]
    if not chosen:
        reasons = dict.fromkeys(threshold.reason for threshold in thresholds)
        near = nearest(reason, reasons)
        hint = f"did you mean {near!r}?" if near else f"known: {', '.join(reasons) or 'none'}"
        raise WinnowError(f"--near {reason}: no rule with a threshold has this reason ({hint})")
    return chosen


def print_nearest_samples(thresholds: Sequence[NearThreshold], console: Console) -> None:
    """Print the samples closest to each threshold."""
    for threshold in thresholds:
        condition = f"{threshold.cut.column} {threshold.cut.operator} {threshold.cut.value:g}"
        for words, samples in (("meet", threshold.met_samples), ("do not meet", threshold.unmet_samples)):
            rows = [_sample(sample) for sample in samples]
            title = f"{threshold.reason}: closest samples that {words} {condition}"
            print_grid(console, Grid(title, ("value", "source", "id", "text"), rows, frozenset({1, 2, 3})))


def _sample(sample: NearSample) -> tuple[str, ...]:
    return f"{sample.value:.6g}", sample.source, sample.id, " ".join(sample.text.split())[:EXCERPT_CHARACTERS]
