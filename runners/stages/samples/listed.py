"""Some samples that a rule drops, or of a language or a source, for `winnow show`."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from rich.console import Console

from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.query.recipe_rules import pinned_rules
from winnow.pipelines.reading.text_previews import read_previews
from winnow.pipelines.rules.near_thresholds import SampleFilter
from winnow.runners.facts.thresholds import EXCERPT_CHARACTERS
from winnow.runners.stages.opening import bound_recipe, store_of
from winnow.runners.stages.rule_decisions import listed_samples, require_among, rule_decisions
from winnow.runners.tables.table import Table, heads
from winnow.runners.tables.units import ID
from winnow.runners.terminal.tables import print_json, print_tables
from winnow.schemas.errors import WinnowError

_FEW: Final = 2


def run_list(file: str, among: SampleFilter, most: int, console: Console, *, as_json: bool) -> int:
    """`winnow show` with a reason, a language or a source."""
    recipe = bound_recipe(file)
    store = store_of(recipe)
    generation = require_latest_for(recipe, store)
    pinned = pinned_rules(recipe, store, generation)
    if pinned is None:
        raise WinnowError(f"{file}: has no rules, by which samples are listed")
    decided = rule_decisions(recipe, generation, pinned)
    require_among(decided, among)
    samples = listed_samples(decided, among, most)
    wanted: dict[str, set[int]] = {}
    for sample in samples:
        wanted.setdefault(sample.shard, set()).add(sample.row)
    previews = read_previews(store, generation, recipe.config.text, wanted)
    shown = [(sample, previews[sample.shard, sample.row]) for sample in samples]
    if as_json:
        said = [asdict(one) | {"url": preview.url, "text": preview.text} for one, preview in shown]
        print_json(said)
        return 0
    rows = [(one.id, one.source, one.language, _named(one.reasons), _excerpt(preview.text)) for one, preview in shown]
    columns = heads(("id", ID), "source", "language", "rules", "text")
    print_tables(console, Table("Some samples, each with the rules that drop it", columns, rows))
    return 0


def _named(reasons: Sequence[str]) -> str:
    more = f" and {len(reasons) - _FEW} more" if len(reasons) > _FEW else ""
    return f"{', '.join(reasons[:_FEW])}{more}" if reasons else "kept"


def _excerpt(text: str) -> str:
    return " ".join(text.split())[:EXCERPT_CHARACTERS]
