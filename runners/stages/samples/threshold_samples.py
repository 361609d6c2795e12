"""The samples around the thresholds of a recipe's rules, for `winnow stats` and the report."""

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.query.recipe_rules import pinned_rules
from winnow.pipelines.rules.near_thresholds import EVERY, NearThreshold, SampleFilter, threshold_cuts
from winnow.pipelines.store.generations import Store
from winnow.runners.stages.rule_decisions import decisions_if_any, rule_decisions, thresholds_among
from winnow.schemas.errors import WinnowError
from winnow.schemas.problems import nearest
from winnow.schemas.records import Generation


def counted_thresholds(recipe: BoundRecipe | None, store: Store, generation: Generation) -> list[NearThreshold]:
    """The thresholds of the recipe's rules without samples; none if there are no rules, or they cannot run yet."""
    decisions = decisions_if_any(recipe, store, generation)
    return [] if decisions is None else decisions.counted_thresholds


def recipe_thresholds(
    recipe: BoundRecipe, store: Store, generation: Generation, reason: str = "", among: SampleFilter = EVERY
) -> list[NearThreshold]:
    """The thresholds of the recipe's rules, or of those with one `reason` if given, with the nearest samples in
    `among`.

    RecipeError if a layer that they read is missing.
    """
    pinned = pinned_rules(recipe, store, generation)
    if pinned is None:
        return []
    decided = rule_decisions(recipe, generation, pinned)
    if among != EVERY:
        return thresholds_among(decided, recipe.config.text, among, reason)
    return decided.thresholds(recipe.config.text, reason)


def thresholds_with_reason(
    recipe: BoundRecipe, store: Store, generation: Generation, reason: str, among: SampleFilter = EVERY
) -> list[NearThreshold]:
    """The thresholds of the rule with this reason, with the nearest samples; WinnowError if there is none, or a
    layer is missing."""
    chosen = recipe_thresholds(recipe, store, generation, reason, among)
    if not chosen:
        reasons = dict.fromkeys(one.rule.reason for one, _ in threshold_cuts(recipe.rules))
        near = nearest(reason, reasons)
        hint = f"did you mean {near!r}?" if near else f"known: {', '.join(reasons) or 'none'}"
        raise WinnowError(f"--near {reason}: no rule with a threshold has this reason ({hint})")
    return chosen
