"""The report of a store, gathered, drawn and put where it was asked for."""

from pathlib import Path

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.rules.summary import RulesSummary
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.runners.report import render_report
from winnow.runners.report.summarise import examples_of, summarise
from winnow.runners.terminal.duplicates.clusters import duplicates_found
from winnow.runners.terminal.rules import coverage_counter, decided_if_possible, pinned_if_measured
from winnow.runners.terminal.scores import overviews, scores_if_bound
from winnow.runners.terminal.threshold_samples import rule_thresholds
from winnow.schemas.summary import StoreSummary


def write_report(
    store: Store, target: Path | None, recipe: BoundRecipe | None
) -> tuple[StoreSummary, RulesSummary | None]:
    """Make the page and put it where it was asked for, or into the store; returns what is on it to show it as well."""
    generation = require_latest_for(recipe, store)
    pinned = pinned_if_measured(recipe, store, generation)
    counter = coverage_counter(recipe, pinned, generation)
    summary = summarise(store, generation, recipe)
    read = scores_if_bound(recipe, store, generation, summary)
    rules = decided_if_possible(pinned, generation.number, counter, read)
    coverage = counter.coverage() if counter is not None and rules is not None else None
    found = duplicates_found(store, generation, recipe)
    thresholds = rule_thresholds(pinned, recipe, generation)
    scores = overviews(read, recipe, None if rules is None else pinned)
    examples = examples_of(store, generation, thresholds, rules, coverage, found, scores)
    page = render_report(summary, examples).encode()
    if target is None:
        store.objects.put(layout.REPORT, page)
    else:
        target.write_bytes(page)
    return summary, rules
