"""The report of a store, gathered, drawn and put where it was asked for."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.export.places.opening import existing_manifest
from winnow.pipelines.export.stage import bind_exports
from winnow.pipelines.fetch.facts import fetched_sources
from winnow.pipelines.mix.laws import read_laws
from winnow.pipelines.mix.plans import drawn_plan
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.rules.summary import RulesSummary
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.runners.facts.examples import Examples, ExportState, UnfinishedRun
from winnow.runners.facts.figures import Remembered, figures_of, read_remembered
from winnow.runners.facts.headline import unfinished as of_unfinished
from winnow.runners.facts.page import SECTIONS, render_report
from winnow.runners.facts.shards import shard_lines
from winnow.runners.facts.sites import with_duplicates
from winnow.runners.stages.duplicates.clusters import duplicates_found
from winnow.runners.stages.reports.gathered_sheets import WantedSheets, gather_sheets
from winnow.runners.stages.reports.score_overviews import overviews, scores_if_bound
from winnow.runners.stages.reports.summarise import example_ranges, example_rows, summarise
from winnow.runners.stages.rule_decisions import decisions_if_any
from winnow.schemas.errors import WinnowError
from winnow.schemas.mixture import MixturePlan
from winnow.schemas.records import Generation
from winnow.schemas.summary import StoreSummary

if TYPE_CHECKING:
    from winnow.runners.engines.engine import Engine


_RECIPE = "recipe"
_USUAL = frozenset({"store", "texts", "pictures", "videos", "winnow-data"})  # what `winnow init` names folders


def write_report(
    store: Store,
    target: Path | None,
    recipe: BoundRecipe | None,
    engine: "Engine | None" = None,
    console: Console | None = None,
    wanted: WantedSheets | None = None,
    plan: MixturePlan | None = None,
    unfinished: UnfinishedRun | None = None,
    *,
    unblurred: bool = False,
) -> tuple[StoreSummary, RulesSummary | None]:
    """Make the page and put it where it was asked for, or into the store; returns what is on it to show it as well.

    `plan` is the mixture's if the caller has just made it; else the one that the recipe asks for is looked up.
    """
    generation = require_latest_for(recipe, store)
    summary = summarise(store, generation, recipe, engine, console)
    read = scores_if_bound(recipe, store, generation, summary)
    decisions = decisions_if_any(recipe, store, generation, engine, console)
    rules = None if decisions is None else decisions.summary_if_decided
    coverage = None if decisions is None or rules is None else decisions.coverage
    found = duplicates_found(store, generation, recipe, engine, console, unblurred=unblurred)
    text = () if recipe is None else recipe.config.text
    thresholds = () if decisions is None else tuple(decisions.thresholds(text))
    scores = overviews(read, recipe, decisions)
    plan = plan or mixture_if_drawn(store, generation, recipe)
    remembered, now = _remembered(store), figures_of(summary, rules, plan)
    examples = Examples(
        unfinished=unfinished,
        plan=plan,
        exports=tuple(_exports(recipe)),
        now=now,
        before=None if remembered is None else remembered.then(now).before,
        fetched=tuple(fetched_sources(store.objects)),
        rows=example_rows(store, generation),
        ranges=tuple(example_ranges(store, generation)),
        thresholds=thresholds,
        rules=rules,
        undecided=None if decisions is None else decisions.undecided,
        coverage=coverage,
        duplicates=found,
        scores=scores,
        sites=() if decisions is None or rules is None else with_duplicates(decisions.sites, store, generation),
        shards=shard_lines(store, generation),
        unrecorded=() if read is None else read.unrecorded,
        sheets=() if wanted is None else gather_sheets(wanted, store, generation, recipe),
    )
    title = report_title(store.root, None if recipe is None else recipe.file)
    page = render_report(summary, examples, title=title).encode()
    _put(page, store, target)
    return summary, rules


def write_report_of_records(
    store: Store, recipe: BoundRecipe, unfinished: UnfinishedRun, target: Path | None = None
) -> None:
    """The page of a failed run where nothing is ingested, or where rows cannot be read: what records say, if they can.

    At the least it says where the run failed, and why.
    """
    summary = StoreSummary(store.record.name, 0, None)
    tasks = 0
    try:
        if store.latest_record() is None:
            tasks = sum(1 for _ in store.objects.list(layout.TASK_COMMITS))
        else:
            summary = summarise(store, require_latest_for(recipe, store), recipe, reads_rows=False)
    except (WinnowError, OSError) as problem:
        unfinished = replace(unfinished, unread=unfinished.unread or str(problem).splitlines()[0])
    sections = SECTIONS if summary.generation else (of_unfinished,)
    examples = Examples(unfinished=replace(unfinished, tasks=tasks))
    page = render_report(summary, examples, sections, report_title(store.root, recipe.file))
    _put(page.encode(), store, target)


def _put(page: bytes, store: Store, target: Path | None) -> None:
    if target is None:
        store.objects.put(layout.REPORT, page)
    else:
        target.write_bytes(page)


def _remembered(store: Store) -> Remembered | None:
    """What the store's report remembers; None if there is none."""
    try:
        return read_remembered(store.objects.read(layout.REPORT))
    except OSError:  # there is none, or it cannot be read: the new page compares with nothing
        return None


def mixture_if_drawn(store: Store, generation: Generation, recipe: BoundRecipe | None) -> MixturePlan | None:
    """The mixture that the recipe asks for, if it is made."""
    if recipe is None or recipe.config.mix is None:
        return None
    try:
        record = drawn_plan(recipe, store, generation, read_laws(recipe))
    except (WinnowError, OSError):  # what is wrong with the mixture is an error of winnow mix, not of a report
        return None
    return None if record is None else record.plan


def _exports(recipe: BoundRecipe | None) -> Iterator[ExportState]:
    """The exports of the recipe, by their manifests."""
    if recipe is None or not recipe.config.export:
        return
    try:
        bound = recipe.part(bind_exports)
    except WinnowError:  # an option is wrong, or a package is missing: winnow export says so
        return
    for entry, one in zip(recipe.config.export, bound, strict=True):
        manifest = problem = None
        try:
            manifest = existing_manifest(one.path)
        except (WinnowError, OSError) as error:
            problem = str(error).splitlines()[0]
        yield ExportState(one.format.name, entry.path, manifest, problem)


def report_title(store: str, recipe: str | None = None) -> str:
    """A heading that tells reports apart.

    `fineweb.yaml` gives `fineweb`; `recipe-pictures.yaml` in the folder `museum` gives `museum, pictures`; without a
    recipe the store `museum/store` gives `museum`.
    """
    if recipe is None:
        return _project(store)
    path = PurePath(os.path.abspath(recipe))
    name, _, part = path.stem.partition("-")
    if name != _RECIPE:
        return path.stem
    project = path.parent.name or path.stem
    return f"{project}, {part}" if part else project


def _project(store: str) -> str:
    names = [name for name in PurePath(store if "://" in store else os.path.abspath(store)).parts if name.strip("/")]
    told = [name for name in names if name not in _USUAL]
    return (told or names or [store])[-1]
