"""`winnow diff`: compares the decisions of two recipes, and prints how they differ."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
from rich.console import Console

from winnow.pipelines.binding.tokens import TOKENS_LAYER
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.query.recipe_rules import pinned_rules
from winnow.pipelines.rules.comparing import CHANGED, KEPT, Cell, ChangedSample, Comparison, ComparisonTasks
from winnow.pipelines.rules.decision_tasks import DecisionTasks, pinned_tasks
from winnow.pipelines.rules.pinning import PinnedProgram
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import NoStoreError
from winnow.runners.stages.lists.whole_file import require_writable, whole_parquet
from winnow.runners.stages.opening import bound_recipe, store_of
from winnow.runners.stages.rule_decisions import rule_decisions
from winnow.runners.stages.running.command_jobs import command_jobs
from winnow.runners.tables.quantities import byte_size, grouped, share
from winnow.runners.terminal.tables import Grid, print_grid, print_line
from winnow.schemas.counts import count_of
from winnow.schemas.errors import RecipeError, StoreError, WinnowError

if TYPE_CHECKING:
    from winnow.pipelines.running.job_steps import JobSteps
    from winnow.runners.engines.engine import Engine

SHOWN_GROUPS = 20
MOST_SAMPLES = 1_000


def show_difference(
    old: str,
    new: str,
    engine: "Engine",
    console: Console,
    *,
    ids: Path | None = None,
    shown: int = 10,
    as_json: bool = False,
) -> None:
    """Compare two recipes.

    Raises:
        WinnowError: A recipe cannot be decided, or their stores do not hold the same samples.
    """
    if not 0 <= shown <= MOST_SAMPLES:
        raise WinnowError(f"--samples {shown}: expected 0 to {MOST_SAMPLES:,}; --ids FILE lists all of them")
    if ids is not None:
        require_writable("--ids", ids)
    pinned = [pinned_to_compare(file, engine, console) for file in (old, new)]
    tokens = all(TOKENS_LAYER in one.layers for one in pinned)
    jobs = command_jobs(pinned[0].store, "diff", engine, console)
    with jobs.folder("diff") as first, jobs.folder("diff") as second:
        tasks = ComparisonTasks(_tasks(pinned[0], first), _tasks(pinned[1], second), tokens, shown, ids is not None)
        _require_common(tasks, old, new)
        found = tasks.run(jobs)
        if found.misfit is not None:
            raise WinnowError(
                f"winnow diff: shard {found.misfit} holds other samples in the store of {old} than in that of {new}; "
                "compare recipes over one store, or ingest both from the same files"
            )
        if ids is not None:
            _write(tasks, ids)
    if as_json:
        sys.stdout.write(orjson.dumps(_json(old, new, found, tokens=tokens)).decode() + "\n")
        return
    _print(old, new, found, console, tokens=tokens)
    if ids is not None:
        changed = found.total.lost + found.total.gained
        said = count_of(changed, "sample that changes sides", "samples that change sides")
        print_line(console, f"ids     {ids}: {said}")


def pinned_to_compare(file: str, engine: "Engine", console: Console) -> PinnedProgram:
    """Return a recipe's rules over its store, all of which can be decided."""
    recipe = bound_recipe(file)
    try:
        store = store_of(recipe)
    except NoStoreError:
        address = recipe.config.store.path
        raise StoreError(f"{file}: its store {address} does not exist yet; run: winnow run {file}") from None
    generation = require_latest_for(recipe, store)
    counted = TOKENS_LAYER in generation.layers and TOKENS_LAYER not in generation.partial
    pinned = pinned_rules(recipe, store, generation, (layout.SAMPLES, *([TOKENS_LAYER] if counted else [])))
    if pinned is None:
        raise RecipeError(f"{file}: decides nothing that could be compared")
    _ = rule_decisions(recipe, generation, pinned, engine, console).summary  # raises if a rule cannot be decided
    return pinned


def _tasks(pinned: PinnedProgram, steps: "JobSteps") -> DecisionTasks:
    return pinned_tasks(pinned, pinned.layers, steps)


def _require_common(tasks: ComparisonTasks, old: str, new: str) -> None:
    shards = {one.shard for one in tasks.old.shards.all}
    if any(one.shard in shards for one in tasks.new.shards.all):
        return
    sources = [sorted({one.source for one in side.shards.all}) for side in (tasks.old, tasks.new)]
    raise WinnowError(
        f"winnow diff: the stores of {old} ({', '.join(sources[0])}) and {new} ({', '.join(sources[1])}) have no shard "
        "in common; both must read the same files, by the same names of sources and the same limits of shards"
    )


def _write(tasks: ComparisonTasks, file: Path) -> None:
    with whole_parquet(file, CHANGED) as writer:
        for batch in tasks.changed():
            writer.write_batch(batch)


def _print(old: str, new: str, found: Comparison, console: Console, *, tokens: bool) -> None:
    size: Callable[[int], str] = grouped if tokens else byte_size
    unit = "tokens" if tokens else "bytes"
    print_line(console, f"A  {old}")
    print_line(console, f"B  {new}")
    for letter, only in (("A", found.only_old), ("B", found.only_new)):
        for source, rows in (only or {}).items():
            counted = count_of(rows, "sample")
            print_line(console, f"note  only the store of {letter} has {counted} of {source}: left out")
    console.print()
    by_source, by_language = (_summed(found.cells, name) for name in ("source", "language"))
    for name, cells in (("source", by_source), ("language", by_language)):
        print_grid(console, _kept(f"Kept by {name}", name, cells, found.total, size, unit))
    print_grid(console, _reasons(found))
    for title, samples in (("Only A keeps", found.lost), ("Only B keeps", found.gained)):
        of = found.total.lost if samples is found.lost else found.total.gained
        print_grid(console, _samples(f"{title}: {grouped(len(samples))} of {grouped(of)}", samples))
    same = found.total.rows - found.total.lost - found.total.gained
    whole = count_of(found.total.rows, "sample")
    print_line(
        console,
        f"A keeps {grouped(found.total.old)} and B {grouped(found.total.new)} of {whole}; "
        f"{grouped(same)} are kept by both or by neither, {grouped(found.total.lost)} only by A, "
        f"{grouped(found.total.gained)} only by B",
    )


def _summed(cells: Iterable[Cell], by: str) -> dict[str, Cell]:
    found: dict[str, Cell] = {}
    for cell in cells:
        name = getattr(cell, by)
        found[name] = found.get(name, Cell("", "")) + cell
    return dict(sorted(found.items(), key=lambda item: (-item[1].lost - item[1].gained, -item[1].rows, item[0])))


def _kept(title: str, name: str, cells: Mapping[str, Cell], total: Cell, size: Callable[[int], str], unit: str) -> Grid:
    some = list(cells.items())
    rest = some[SHOWN_GROUPS:]
    rows = [_line(key, cell, size) for key, cell in some[:SHOWN_GROUPS]]
    if rest:
        rows.append(_line(f"(other {len(rest):,})", sum((cell for _, cell in rest), Cell("", "")), size))
    headers = (name, "samples", "A", "B", "A share", "B share", f"A {unit}", f"B {unit}", "only A", "only B")
    return Grid(title, headers, rows, footer=_line("total", total, size))


def _line(name: str, cell: Cell, size: Callable[[int], str]) -> tuple[str, ...]:
    return (
        name,
        grouped(cell.rows),
        grouped(cell.old),
        grouped(cell.new),
        share(cell.old, cell.rows),
        share(cell.new, cell.rows),
        size(cell.old_size),
        size(cell.new_size),
        grouped(cell.lost),
        grouped(cell.gained),
    )


def _reason_counts(found: Comparison) -> dict[str, tuple[int, int, int, int]]:
    """Of each reason: samples that A drops by it, B, those that A drops by it and B keeps, and the reverse."""
    counts: dict[str, Counter[str]] = {}
    for move in found.moves:
        if move.old != KEPT:
            counts.setdefault(move.old, Counter()).update({"old": move.rows})
        if move.new != KEPT:
            counts.setdefault(move.new, Counter()).update({"new": move.rows})
        if move.old != KEPT and move.new == KEPT:
            counts[move.old]["freed"] += move.rows
        if move.new != KEPT and move.old == KEPT:
            counts[move.new]["lost"] += move.rows
    return {
        reason: (one["old"], one["new"], one["freed"], one["lost"])
        for reason, one in sorted(counts.items(), key=lambda item: (-item[1]["freed"] - item[1]["lost"], item[0]))
    }


def _reasons(found: Comparison) -> Grid:
    rows = [
        (reason, grouped(old), grouped(new), f"{new - old:+,}", grouped(freed), grouped(lost))
        for reason, (old, new, freed, lost) in _reason_counts(found).items()
        if old != new or freed or lost
    ]
    headers = ("reason", "A drops", "B drops", "change", "of A's, B keeps", "of B's, A keeps")
    return Grid("Reasons that differ; each sample counts by its first", headers, rows, whole=frozenset({0}))


def _samples(title: str, samples: Sequence[ChangedSample]) -> Grid:
    rows = [(one.id, one.source, one.language, one.old or one.new) for one in samples]
    headers = ("id", "source", "language", "dropped by the other as")
    return Grid(title, headers, rows, frozenset(range(4)), whole=frozenset({0, 3}))


def _json(old: str, new: str, found: Comparison, *, tokens: bool) -> dict[str, object]:
    return {
        "old": old,
        "new": new,
        "unit": "tokens" if tokens else "bytes",
        "total": _counts(found.total),
        "cells": [{"source": one.source, "language": one.language, **_counts(one)} for one in found.cells],
        "reasons": {
            reason: {"old": was, "new": now, "old_drops_new_keeps": freed, "new_drops_old_keeps": lost}
            for reason, (was, now, freed, lost) in _reason_counts(found).items()
        },
        "lost": [asdict(one) for one in found.lost],
        "gained": [asdict(one) for one in found.gained],
        "only_old": found.only_old,
        "only_new": found.only_new,
    }


def _counts(cell: Cell) -> dict[str, int]:
    return {
        "samples": cell.rows,
        "old": cell.old,
        "new": cell.new,
        "old_size": cell.old_size,
        "new_size": cell.new_size,
        "lost": cell.lost,
        "gained": cell.gained,
    }
