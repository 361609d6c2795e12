"""Exports, as their folders say: their amounts, whether each is of the mixture shown, and what it lacks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import groupby

from rich.console import Console

from winnow.pipelines.export.places.manifest import MANIFEST, LeftOut, Manifest
from winnow.pipelines.export.stage import Finished
from winnow.runners.facts.examples import Examples, ExportState
from winnow.runners.report.block import Block
from winnow.runners.report.tables import drawn
from winnow.runners.tables.escaping import visible
from winnow.runners.tables.quantities import grouped
from winnow.runners.tables.table import Column, Table, Value, table
from winnow.runners.tables.units import BYTES, COUNT, COUNTS, NAME, REASON, WORDS
from winnow.runners.terminal.tables import print_remarks, print_tables
from winnow.schemas.counts import count_of
from winnow.schemas.identity import Json
from winnow.schemas.mixture import MixturePlan
from winnow.schemas.summary import StoreSummary

SHOWN_FILES = 10  # of each reason for which samples are left out


def _written(read: Callable[[Manifest], Value]) -> Callable[[ExportState], Value]:
    """A value of an export that is there."""
    return lambda one: None if one.manifest is None else read(one.manifest)


def _samples(outputs: Mapping[str, Mapping[str, Json]]) -> str:
    counts = ((name, output.get("samples")) for name, output in outputs.items())
    return ", ".join(f"{name} {count if isinstance(count, int) else 0:,}" for name, count in counts)


EXPORTS: tuple[Column[ExportState], ...] = (
    Column("format", WORDS, lambda one: one.format),
    Column("place", REASON, lambda one: one.place, "path"),
    Column("new", WORDS, lambda one: one.new),
    Column("samples", replace(COUNTS, write=_samples, absent="-"), _written(lambda one: one.outputs), "outputs"),
    Column("files", replace(COUNT, absent="-"), _written(lambda one: len(one.files))),
    Column("size", replace(BYTES, absent="-"), _written(lambda one: sum(file.bytes for file in one.files)), "bytes"),
    Column("plan", NAME, _written(lambda one: one.plan)),
    Column("left out", WORDS, _written(lambda one: [asdict(lost) for lost in one.left_out])),
    Column("notes", WORDS, _written(lambda one: list(one.notes))),
)
_DETAILS = ("new", "left out", "notes")


def finished_exports(finished: Iterable[Finished]) -> Table:
    """The exports that a command has written or found."""
    rows = [ExportState(one.manifest.format, one.export.path, one.manifest, new=one.new) for one in finished]
    return table("Exports", EXPORTS, rows)


def print_exports(finished: Sequence[Finished], console: Console) -> None:
    """Print the exports, and what each lacks."""
    print_tables(console, finished_exports(finished).without(*_DETAILS))
    for one in finished:
        print_remarks(console, (f"{one.export.path}: {line}" for line in left_out_lines(one.manifest.left_out)))


def left_out_lines(left_out: Sequence[LeftOut]) -> Iterator[str]:
    """Yield what an export lacks: the first files of each reason by name, and how many others there are."""
    for reason, found in groupby(sorted(left_out, key=lambda lost: lost.reason), lambda lost: lost.reason):
        lost = list(found)
        for one in lost[:SHOWN_FILES]:
            yield f"{count_of(one.samples, 'sample')} left out: {reason}, {visible(one.file)} ({one.detail})"
        if others := lost[SHOWN_FILES:]:
            yield (
                f"{count_of(sum(one.samples for one in others), 'sample')} left out: {reason}, "
                f"in {count_of(len(others), 'more file')}, which {MANIFEST} names"
            )


def exports(_: StoreSummary, examples: Examples) -> Block | None:
    """The section of the page: the exports that the recipe names, as they are now."""
    if not examples.exports:
        return None
    shown = table("Exports of the recipe", EXPORTS, examples.exports).without("plan", *_DETAILS)
    states = (_state(one, examples.plan) for one in examples.exports)
    return Block("exports", "Exports", drawn(shown.beside("state", WORDS, states)))


def _state(one: ExportState, plan: MixturePlan | None) -> str:
    if one.manifest is None:
        return one.problem or "not written yet"
    if plan is None or one.manifest.plan != plan.name:
        return f"of another plan, {one.manifest.plan}"
    left_out = sum(lost.samples for lost in one.manifest.left_out)
    return f"complete; {grouped(left_out)} samples left out" if left_out else "complete"
