"""`winnow diff`: compares the decisions of two recipes, and prints how they differ."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
from winnow.runners.tables.quantities import grouped
from winnow.runners.tables.table import Column, Share, Table, largest, table
from winnow.runners.tables.units import BYTES, CHANGE, COUNT, ID, NAME, REASON, SHARE
from winnow.runners.terminal.tables import print_json, print_line, print_tables
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
    """Compare two recipes; WinnowError if one cannot be decided, or their stores do not hold the same samples."""
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
        print_json(difference_json(old, new, found, tokens=tokens))
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
    print_line(console, f"A  {old}")
    print_line(console, f"B  {new}")
    for letter, only in (("A", found.only_old), ("B", found.only_new)):
        for source, rows in (only or {}).items():
            counted = count_of(rows, "sample")
            print_line(console, f"note  only the store of {letter} has {counted} of {source}: left out")
    console.print()
    by_source, by_language = (_summed(found.cells, name) for name in ("source", "language"))
    for name, cells in (("source", by_source), ("language", by_language)):
        print_tables(console, _kept(name, cells, found.total, tokens=tokens))
    differing = [row for row in _reasons(found) if row.old != row.new or row.freed or row.lost]
    print_tables(console, table("Reasons that differ; each sample counts by its first", REASONS, differing))
    for title, samples in (("Only A keeps", found.lost), ("Only B keeps", found.gained)):
        of = found.total.lost if samples is found.lost else found.total.gained
        print_tables(console, table(f"{title}: {grouped(len(samples))} of {grouped(of)}", SAMPLES, samples))
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


def _kept(name: str, cells: Mapping[str, Cell], total: Cell, *, tokens: bool) -> Table:
    size, unit = (COUNT, "tokens") if tokens else (BYTES, "bytes")
    columns: tuple[Column[tuple[str, Cell]], ...] = (
        Column(name, NAME, lambda one: one[0]),
        Column("samples", COUNT, lambda one: one[1].rows),
        Column("A", COUNT, lambda one: one[1].old),
        Column("B", COUNT, lambda one: one[1].new),
        Column("A share", SHARE, lambda one: Share(one[1].old, one[1].rows)),
        Column("B share", SHARE, lambda one: Share(one[1].new, one[1].rows)),
        Column(f"A {unit}", size, lambda one: one[1].old_size),
        Column(f"B {unit}", size, lambda one: one[1].new_size),
        Column("only A", COUNT, lambda one: one[1].lost),
        Column("only B", COUNT, lambda one: one[1].gained),
    )
    shown = largest(
        list(cells.items()),
        SHOWN_GROUPS,
        lambda rest: (f"(other {len(rest):,})", sum((cell for _, cell in rest), Cell("", ""))),
    )
    return table(f"Kept by {name}", columns, shown, ("total", total))


@dataclass
class ReasonCount:
    """What two recipes drop by a reason."""

    reason: str
    old: int = 0
    new: int = 0
    freed: int = 0  # dropped by it in A, and kept in B
    lost: int = 0


REASONS: tuple[Column[ReasonCount], ...] = (
    Column("reason", REASON, lambda one: one.reason),
    Column("A drops", COUNT, lambda one: one.old, "old"),
    Column("B drops", COUNT, lambda one: one.new, "new"),
    Column("change", CHANGE, lambda one: one.new - one.old),
    Column("of A's, B keeps", COUNT, lambda one: one.freed, "old_drops_new_keeps"),
    Column("of B's, A keeps", COUNT, lambda one: one.lost, "new_drops_old_keeps"),
)
SAMPLES: tuple[Column[ChangedSample], ...] = (
    Column("id", ID, lambda one: one.id),
    Column("source", NAME, lambda one: one.source),
    Column("language", NAME, lambda one: one.language),
    Column("dropped by the other as", REASON, lambda one: one.old or one.new),
)


def _reasons(found: Comparison) -> list[ReasonCount]:
    counts: dict[str, ReasonCount] = {}
    for move in found.moves:
        old, new = (counts.setdefault(name, ReasonCount(name)) for name in (move.old, move.new))
        old.old += move.rows
        new.new += move.rows
        if move.new == KEPT:
            old.freed += move.rows
        if move.old == KEPT:
            new.lost += move.rows
    counts.pop(KEPT, None)
    return sorted(counts.values(), key=lambda one: (-one.freed - one.lost, one.reason))


def difference_json(old: str, new: str, found: Comparison, *, tokens: bool) -> dict[str, object]:
    """The whole difference as plain values."""
    return {
        "old": old,
        "new": new,
        "unit": "tokens" if tokens else "bytes",
        "total": _counts(found.total),
        "cells": [{"source": cell.source, "language": cell.language, **_counts(cell)} for cell in found.cells],
        "reasons": {
            str(row.pop("reason")): row for row in table("", REASONS, _reasons(found)).without("change").to_json()
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
