"""`winnow stats`: the content of a store, and the time its runs took."""

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import place_argument
from winnow.runners.stages.opening import open_console, open_place
from winnow.schemas.errors import WinnowError

if TYPE_CHECKING:
    from rich.console import Console

    from winnow.pipelines.binding.bound_recipe import BoundRecipe
    from winnow.pipelines.store.generations import Store


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    place_argument(parser)
    parser.add_argument("--rates", metavar="FILE", help="compare past runs with the rates in this file")
    parser.add_argument("--measured", action="store_true", help="print the rates of past runs in the format of --rates")
    parser.add_argument("--near", metavar="REASON", help="show the samples closest to the thresholds of this rule")
    parser.add_argument("--language", metavar="CODE", default="", help="with --near: only samples in this language")
    parser.add_argument("--source", metavar="NAME", default="", help="with --near: only samples of this source")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> int:
    """Show the latest generation, or one of its details."""
    from winnow.pipelines.query.generation import require_latest_for
    from winnow.pipelines.score.overview import unrecorded_note
    from winnow.runners.estimating.rates import read_rates
    from winnow.runners.estimating.run_log import read_runs
    from winnow.runners.estimating.tables import measured_yaml, past_runs
    from winnow.runners.facts.scores import print_scores
    from winnow.runners.facts.store import print_stats
    from winnow.runners.facts.thresholds import print_thresholds
    from winnow.runners.stages.reports.score_overviews import scores_if_bound, with_scores
    from winnow.runners.stages.reports.summarise import summarise
    from winnow.runners.stages.samples.threshold_samples import counted_thresholds
    from winnow.runners.terminal.tables import print_tables

    recipe, store = open_place(options.place)
    rates = read_rates(options.rates)
    runs = read_runs(store.objects)
    if options.measured:
        sys.stdout.write(measured_yaml(runs, rates))
        return 0
    console = open_console()
    if (options.language or options.source) and not options.near:
        raise WinnowError("--language and --source choose among the samples of --near REASON")
    if options.near:
        return _near(options, recipe, store, console)
    generation = require_latest_for(recipe, store)
    summary = summarise(store, generation, recipe)
    read = scores_if_bound(recipe, store, generation, summary, shown=0)
    scores = () if read is None else read.counted
    for layer in () if read is None else read.unrecorded:
        sys.stderr.write(f"winnow: {store.root}: {unrecorded_note(layer)}\n")
    if options.json:
        found = json.loads(with_scores(summary.to_json(), scores))
        found["runs"] = past_runs(runs, rates).without("shuffled", "actual/estimate").to_json()
        sys.stdout.write(json.dumps(found, ensure_ascii=False) + "\n")
    else:
        print_stats(summary, console)
        print_tables(console, past_runs(runs, rates))
        print_scores(scores, console)
        print_thresholds(counted_thresholds(recipe, store, generation), console)
    return 0


def _near(options: argparse.Namespace, recipe: "BoundRecipe | None", store: "Store", console: "Console") -> int:
    from winnow.pipelines.query.generation import require_latest_for
    from winnow.pipelines.rules.near_thresholds import SampleFilter
    from winnow.runners.facts.thresholds import print_nearest_samples
    from winnow.runners.stages.samples.threshold_samples import thresholds_with_reason

    if recipe is None:
        raise WinnowError(f"--near {options.near} needs the rules of a recipe; give a recipe file instead of a store")
    among = SampleFilter(options.language, options.source)
    generation = require_latest_for(recipe, store)
    thresholds = thresholds_with_reason(recipe, store, generation, options.near, among)
    if options.json:
        sys.stdout.write(json.dumps([asdict(threshold) for threshold in thresholds], ensure_ascii=False) + "\n")
    else:
        print_nearest_samples(thresholds, console)
    return 0


COMMAND = Command("show the content of the store", arguments, run, place=5, slow_start=True)
