"""The report of a store, gathered, drawn and put where it was asked for."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.rules.summary import RulesSummary
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.runners.report import render_report
from winnow.runners.report.gathered_sheets import WantedSheets, gather_sheets
from winnow.runners.report.summarise import examples_of, summarise
from winnow.runners.stages.rule_decisions import decisions_if_any
from winnow.runners.terminal.duplicates.clusters import duplicates_found
from winnow.runners.terminal.scores import overviews, scores_if_bound
from winnow.schemas.summary import StoreSummary

if TYPE_CHECKING:
    from winnow.runners.engines.engine import Engine


def write_report(
    store: Store,
    target: Path | None,
    recipe: BoundRecipe | None,
    engine: "Engine | None" = None,
    console: Console | None = None,
    wanted: WantedSheets | None = None,
) -> tuple[StoreSummary, RulesSummary | None]:
    """Make the page and put it where it was asked for, or into the store; returns what is on it to show it as well."""
    generation = require_latest_for(recipe, store)
    summary = summarise(store, generation, recipe)
    read = scores_if_bound(recipe, store, generation, summary)
    decisions = decisions_if_any(recipe, store, generation, engine, console)
    rules = None if decisions is None else decisions.summary_if_decided
    coverage = None if decisions is None or rules is None else decisions.coverage
    found = duplicates_found(store, generation, recipe, engine, console)
    text = () if recipe is None else recipe.config.text
    thresholds = () if decisions is None else tuple(decisions.thresholds(text))
    scores = overviews(read, recipe, decisions)
    examples = examples_of(store, generation, thresholds, rules, coverage, found, scores)
    if wanted is not None:
        examples = replace(examples, sheets=gather_sheets(wanted, store, generation, recipe))
    page = render_report(summary, examples).encode()
    if target is None:
        store.objects.put(layout.REPORT, page)
    else:
        target.write_bytes(page)
    return summary, rules
