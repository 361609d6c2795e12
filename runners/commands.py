"""What each command does: a function a command, each a few lines over the stages and the views."""

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from winnow.pipelines.forgetting.outputs import REPORT as REPORT_OUTPUT
from winnow.pipelines.forgetting.outputs import drop_gone, register
from winnow.pipelines.forgetting.purging import finish_purge
from winnow.pipelines.rules.summary import RulesSummary
from winnow.pipelines.store import layout
from winnow.pipelines.store.gc import collect_garbage
from winnow.pipelines.store.generations import Store, open_store
from winnow.pipelines.store.lease import Lease
from winnow.pipelines.store.location import open_location
from winnow.runners.borders import borders_around, borders_of, named_borders, print_borders, print_nearest
from winnow.runners.duplicates import asked, duplicates_found, run_duplicates
from winnow.runners.engines import Engine, named_engine, parse_workers
from winnow.runners.estimating.rates import read_rates
from winnow.runners.estimating.run_log import read_runs
from winnow.runners.estimating.tables import measured_yaml, print_runs, runs_json
from winnow.runners.mixture.command import run_diff, run_mix
from winnow.runners.mixture.shipping import print_exports, run_export
from winnow.runners.mixture.tables import print_given
from winnow.runners.planning import show_plan
from winnow.runners.report import render_report
from winnow.runners.rules import (
    coverage_counter,
    decided_if_possible,
    pinned_if_measured,
    print_effects,
    require_writable,
)
from winnow.runners.scores import overviews, print_scores, scores_counted, scores_if_bound, with_scores
from winnow.runners.slices import SliceDone, annotate_slice, ingest_slice, parse_slice
from winnow.runners.stages import annotate as run_annotate
from winnow.runners.stages import dedupe as run_dedupe
from winnow.runners.stages import ingest as run_ingest
from winnow.runners.summarise import examples_of, summarise
from winnow.runners.tables import print_layers, print_stats, print_summary
from winnow.runners.whole import Whole, run_whole
from winnow.schemas.errors import StoreError, WinnowError
from winnow.schemas.recipe import Recipe, load_recipe
from winnow.schemas.summary import StoreSummary

REPORT = layout.REPORT


def demo(options: argparse.Namespace) -> int:
    """`winnow demo`."""
    from winnow.runners.demo.command import run_demo

    console = _console()
    recipe, whole = run_demo(Path(options.into), _engine(options), console)
    _finish(recipe, whole, console)
    return 0


def run(options: argparse.Namespace) -> int:
    """`winnow run`: every stage there is, then the report."""
    console = _console()
    recipe = load_recipe(options.recipe)
    _finish(recipe, run_whole(recipe, _engine(options), console, replace=options.replace), console)
    return 0


def ingest(options: argparse.Namespace) -> int:
    """`winnow ingest`."""
    console = _console()
    recipe = load_recipe(options.recipe)
    if options.tasks is not None:
        part, engine = parse_slice(options.tasks), _engine(options)
        return _sliced(ingest_slice(recipe, part, engine, console, replace_files=options.replace), recipe, console)
    outcome = run_ingest(recipe, _engine(options), console, replace=options.replace)
    print_summary(summarise(outcome.store, outcome.generation, recipe), console)
    return 0


def annotate(options: argparse.Namespace) -> int:
    """`winnow annotate`."""
    console = _console()
    recipe = load_recipe(options.recipe)
    if not recipe.annotate:
        raise WinnowError(f"{options.recipe}: nothing to annotate; name operators under 'annotate' (winnow operators)")
    if options.tasks is not None:
        return _sliced(annotate_slice(recipe, parse_slice(options.tasks), _engine(options), console), recipe, console)
    outcome = run_annotate(recipe, _engine(options), console)
    print_layers(summarise(outcome.store, outcome.generation), console)
    return 0


def dedupe(options: argparse.Namespace) -> int:
    """`winnow dedupe`."""
    console = _console()
    recipe = load_recipe(options.recipe)
    if recipe.dedupe is None:
        raise WinnowError(f"{options.recipe}: nothing to look for; write 'dedupe: {{exact: {{}}, near: {{}}}}'")
    outcome = run_dedupe(recipe, _engine(options), console)
    print_layers(summarise(outcome.store, outcome.generation), console)
    return 0


def score(options: argparse.Namespace) -> int:
    """`winnow score`."""
    from winnow.runners.scoring import score as run_score
    from winnow.runners.scoring import score_slice

    console = _console()
    recipe = load_recipe(options.recipe)
    if options.tasks is not None:
        return _sliced(score_slice(recipe, parse_slice(options.tasks), _engine(options), console), recipe, console)
    outcome = run_score(recipe, _engine(options), console)
    print_layers(summarise(outcome.store, outcome.generation), console)
    return 0


def reference(options: argparse.Namespace) -> int:
    """`winnow reference train`, and `winnow reference merge`."""
    from winnow.runners.references import run_reference

    return run_reference(options, _console())


def duplicates(options: argparse.Namespace) -> int:
    """`winnow duplicates`, and `winnow duplicates show`."""
    said = asked(options.words)
    return run_duplicates(options, said, *_place(said.place), _console())


def operators(options: argparse.Namespace) -> int:
    """`winnow operators`."""
    from winnow.runners.operators import print_operators

    return print_operators(options.names, _console(), as_json=options.json)


def assets(options: argparse.Namespace) -> int:
    """`winnow assets`."""
    from winnow.runners.assets import assets as run_assets

    return run_assets(options)


def curve(options: argparse.Namespace) -> int:
    """`winnow curve`."""
    from winnow.runners.curve import run_curve

    return run_curve(options, _console())


def train_quality(options: argparse.Namespace) -> int:
    """`winnow train-quality`."""
    from winnow.runners.training.command import train_quality as run_training

    return run_training(options)


def parity(options: argparse.Namespace) -> int:
    """`winnow parity`: 0 when both sides say the same, 1 when something differs."""
    from winnow.runners.parity.command import run_parity

    return run_parity(options, _console())


def safety_parity(options: argparse.Namespace) -> int:
    """`winnow safety-parity`."""
    from winnow.runners.safety.command import run_safety_parity

    return run_safety_parity(options, _console())


def plan(options: argparse.Namespace) -> int:
    """`winnow plan`: of a recipe, or between two plans of mixtures."""
    if (options.recipe is None) == (options.diff is None):
        raise WinnowError("winnow plan: expected a recipe, or --diff OLD NEW")
    if options.diff is not None:
        return run_diff(options, _console())
    show_plan(
        load_recipe(options.recipe),
        _console(),
        as_json=options.json,
        decisions=options.decisions,
        rates=options.rates,
        workers=parse_workers(options.workers) or os.cpu_count() or 1,
    )
    return 0


def mix(options: argparse.Namespace) -> int:
    """`winnow mix`."""
    return run_mix(options, _console())


def export(options: argparse.Namespace) -> int:
    """`winnow export`."""
    return run_export(options, _console())


def audit(options: argparse.Namespace) -> int:
    """`winnow audit`: 0 when everything is proved, 1 when something is wrong."""
    from winnow.runners.audit import audit_store, print_findings

    recipe, store = _place(options.place)
    findings = audit_store(store, None if options.store_only else recipe, exports=not options.store_only)
    return print_findings(findings, _console(), as_json=options.json)


def stats(options: argparse.Namespace) -> int:
    """`winnow stats`."""
    recipe, store = _place(options.place)
    rates = read_rates(options.rates)
    runs = read_runs(store.objects)
    if options.measured:
        sys.stdout.write(measured_yaml(runs, rates))
        return 0
    generation = store.require_latest()
    console = _console()
    if options.near:
        if recipe is None:
            raise WinnowError(f"--near {options.near}: rules are in a recipe; give its file in place of the store")
        borders = named_borders(borders_of(recipe, store, generation), options.near)
        if options.json:
            sys.stdout.write(json.dumps([asdict(border) for border in borders], ensure_ascii=False) + "\n")
        else:
            print_nearest(borders, console)
        return 0
    summary = summarise(store, generation, recipe)
    scores = scores_counted(recipe, store, generation)
    if options.json:
        found = json.loads(with_scores(summary.to_json(), scores))
        sys.stdout.write(json.dumps(found | {"runs": runs_json(runs, rates)}, ensure_ascii=False) + "\n")
    else:
        print_stats(summary, console)
        print_runs(runs, rates, console)
        print_scores(scores, console)
        print_borders(borders_around(pinned_if_measured(recipe, store, generation), recipe, generation), console)
    return 0


def report(options: argparse.Namespace) -> int:
    """`winnow report`."""
    recipe, store = _place(options.place)
    target = Path(options.output) if options.output else None
    if target is not None:
        require_writable("--output", target)
    write_report(store, target, recipe)
    if target is not None:
        register(store.objects, REPORT_OUTPUT, target, store.require_latest().number)
    _console().print(f"report  {target or f'{store.root}/{REPORT}'}", soft_wrap=True)
    return 0


def card(options: argparse.Namespace) -> int:
    """`winnow card`."""
    from winnow.runners.cards.store import card as made_card

    recipe = load_recipe(options.recipe)
    store = open_store(open_location(recipe.located(recipe.store.path)))
    if options.output is None:
        sys.stdout.write(made_card(recipe, store))
        return 0
    target = Path(options.output)
    require_writable("--output", target)
    target.write_text(made_card(recipe, store), encoding="utf-8")
    _console().print(f"card  {target}", soft_wrap=True)
    return 0


def forget(options: argparse.Namespace) -> int:
    """`winnow forget`: 3 when nothing in the store is meant by what was named."""
    from winnow.runners.forgetting import run_forget

    return run_forget(options, _place(options.place)[1], _console())


def robots(options: argparse.Namespace) -> int:
    """`winnow robots`: 3 when the store holds no such file."""
    from winnow.runners.robots import write_kept_files

    return write_kept_files(*_place(options.place), Path(options.output), _console())


def show(options: argparse.Namespace) -> int:
    """`winnow show`."""
    from winnow.runners.show import run_show

    return run_show(options, _console())


def gc(options: argparse.Namespace) -> int:
    """`winnow gc`."""
    if options.keep < 1:
        raise WinnowError(f"--keep {options.keep}: the latest generation is always kept; expected 1 or more")
    recipe, store = _place(options.place)
    if options.purge:
        from winnow.runners.forgetting import run_purge

        done = run_purge(store, options.keep, _console(), dry_run=options.dry_run)
        if layout.REPORT in done.removed and not options.dry_run:
            write_report(store, None, recipe)
            _console().print("report        written again")
        gone = done.collected
    else:
        with Lease(store.objects):
            if not options.dry_run:
                finish_purge(store)
            elif store.objects.exists(layout.PURGE):
                word = "would finish the purge that was begun: what it still has to drop comes on top"
                _console().print(word, soft_wrap=True)
            gone = collect_garbage(store, options.keep, dry_run=options.dry_run)
    word = "would drop" if options.dry_run else "dropped"
    for output in drop_gone(store.objects, dry_run=options.dry_run) if options.gone else ():
        _console().print(f"{word} the record of {output.kind} {output.path}", markup=False, soft_wrap=True)
    if options.purge and options.dry_run:
        return 0
    _console().print(
        f"{word} {gone.generations} generations, {gone.objects} objects, {gone.commits} commits "
        f"({gone.bytes:,} bytes) and {gone.unfinished} unfinished files",
        soft_wrap=True,
    )
    return 0


def write_report(store: Store, target: Path | None, recipe: Recipe | None) -> tuple[StoreSummary, RulesSummary | None]:
    """Make the page and put it where it was asked for, or into the store; returns what is on it to show it as well."""
    generation = store.require_latest()
    pinned = pinned_if_measured(recipe, store, generation)
    counter = coverage_counter(recipe, pinned, generation)
    read = scores_if_bound(recipe, store, generation)
    rules = decided_if_possible(pinned, generation.number, counter, read)
    coverage = counter.coverage() if counter is not None and rules is not None else None
    summary = summarise(store, generation, recipe)
    found = duplicates_found(store, generation, recipe)
    borders = borders_around(pinned, recipe, generation)
    scores = overviews(read, recipe, None if rules is None else pinned)
    examples = examples_of(store, generation, borders, rules, coverage, found, scores)
    page = render_report(summary, examples).encode()
    if target is None:
        store.objects.put(REPORT, page)
    else:
        target.write_bytes(page)
    return summary, rules


def _finish(recipe: Recipe, whole: Whole, console: Console) -> None:
    outcome = whole.outcome
    store = outcome.store
    summary, rules = write_report(store, None, recipe)
    print_summary(summary, console)
    if rules is not None:
        print_effects(rules, console)
    if whole.mixed is not None:
        print_given(whole.mixed.record.plan, console)
    print_exports(whole.exported, console)
    console.print(f"store   {store.root}  (generation {outcome.generation.number})", soft_wrap=True)
    console.print(f"report  {store.root}/{REPORT}", soft_wrap=True)
    commands = ["plan", "stats", "audit"] if recipe.annotate else ["stats", "audit"]
    if recipe.mix is not None:
        commands.insert(0, "mix" if recipe.export else "export")
    following = "; ".join(f"winnow {command} {recipe.file}" for command in commands)
    console.print(f"next    {following}", soft_wrap=True)


def _sliced(done: SliceDone, recipe: Recipe, console: Console) -> int:
    console.print(done.line(recipe), markup=False, soft_wrap=True)
    return 0


def _place(place: str) -> tuple[Recipe | None, Store]:
    """A recipe and its store, or a store alone."""
    if Path(place).is_dir() or "://" in place:
        return None, open_store(open_location(place))
    if not Path(place).exists():
        raise StoreError(f"{place}: neither a recipe file nor a store's folder")
    recipe = load_recipe(place)
    return recipe, open_store(open_location(recipe.located(recipe.store.path)))


def _engine(options: argparse.Namespace) -> Engine:
    return named_engine(options.runner, parse_workers(options.workers), options.beam)


def _console() -> Console:
    return Console(highlight=False)
