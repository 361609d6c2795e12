"""Runs exports: finished exports are kept, all others are written by one pipeline and published when complete."""

import errno
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from winnow.pipelines.export.graph import ExportGraph, drawn_groups, make_graph
from winnow.pipelines.export.places.destination import ExportPlace
from winnow.pipelines.export.places.existing import OtherPlanError
from winnow.pipelines.export.places.manifest import Manifest
from winnow.pipelines.export.places.opening import export_place
from winnow.pipelines.export.planning.cutting import cut_outputs
from winnow.pipelines.export.planning.export_run import Places
from winnow.pipelines.export.planning.fitting import require_media
from winnow.pipelines.export.planning.sizing import Cutting, Way, notes_of
from winnow.pipelines.export.reading import BEATS, READ, RELAYED
from winnow.pipelines.export.stage import (
    BoundExport,
    Closing,
    Finished,
    Unfinished,
    Written,
    finish_export,
    no_closing,
    require_planned,
)
from winnow.pipelines.media.pictures import PictureSource
from winnow.pipelines.mix.draws import Draw
from winnow.pipelines.reading.chosen_captions import SAMPLE_CAPTIONS
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.reading.text_edits import BoundEdit, with_keys
from winnow.pipelines.running.exchange import Route
from winnow.pipelines.running.step_progress import steps_done
from winnow.pipelines.store.leases.command_lease import require_held
from winnow.runners.engines.engine import staged
from winnow.runners.engines.failures import WorkerLostError
from winnow.runners.stages.running.engine_jobs import EngineJobs
from winnow.runners.stages.running.stage_run import StageRun
from winnow.runners.tables.quantities import byte_size
from winnow.runners.terminal.progress.status import Status
from winnow.runners.terminal.progress.status_line import StatusLine
from winnow.schemas.counts import count_of
from winnow.schemas.errors import ExportError, StageError

_CHECK = ", --check compares hashes"
LOSSES = 3  # consecutive deaths of workers without a new shard


@dataclass(frozen=True)
class _Work:
    """The inputs shared by all exports of one run."""

    run: StageRun
    draw: Draw
    text: Sequence[str]
    edits: Sequence[BoundEdit]
    media: PictureSource | None
    captions: Sequence[Column]


def no_preparation(_: BoundExport) -> None:
    """Nothing."""


def export_draw(
    run: StageRun,
    draw: Draw,
    text: Sequence[str],
    edits: Sequence[BoundEdit],
    exports: Sequence[BoundExport],
    *,
    media: PictureSource | None = None,
    captions: Sequence[Column] = (SAMPLE_CAPTIONS,),
    prepare: Callable[[BoundExport], None] = no_preparation,
    closing: Closing = no_closing,
    replace: bool = False,
    keep: bool = False,
) -> list[Finished]:
    """Write all exports that are not finished yet.

    `text`, `edits`, `captions`: the columns of texts, their edits, and the columns of captions; `media`: where media
    are read, for exports that include their bytes. `prepare` is called with each unfinished export before it is
    written; `closing` returns additional files of an export once its shards are written.

    `replace`: replace exports of other plans or options; finished exports are verified in full, and written again if
    they are damaged or lack samples. `keep`: leave exports of other plans unchanged, note it, and write the rest; else
    they are errors.

    ExportError for foreign files, a sample that a format cannot represent, or a store that differs from the plan;
    RecipeError if a sample lacks the medium that a format requires.
    """
    if not any(output.given.samples for output in draw.plan.outputs):
        raise ExportError(
            f"{run.store.objects.root}: plan {draw.plan.name} contains no samples; there is nothing to export"
        )
    if media is None and any(export.way.media for export in exports):
        raise ValueError("exports with media bytes need `media`")
    with_keys(edits)  # reports a missing key before anything starts

    def still_ours(written: Written) -> Mapping[str, bytes]:
        files = closing(written)
        require_held(run.store.objects)  # as late as can be: writing takes hours
        return files

    work = _Work(run, draw, text, edits, media, captions)
    finished: dict[int, Finished] = {}
    with ExitStack() as stack:
        opened = [
            stack.enter_context(export_place(one.path, one.identity(draw.plan), one.outline(draw.plan.name)))
            for one in exports
        ]
        notes: list[str] = []
        pending: dict[int, tuple[BoundExport, ExportPlace]] = {}
        for number, manifest in enumerate(_existing_exports(opened, notes, replace=replace, keep=keep)):
            if isinstance(manifest, OtherPlanError):
                run.console.print(f"note    {manifest}; it is left unchanged")
                continue
            if manifest is None:
                pending[number] = exports[number], opened[number]
                continue
            finished[number] = Finished(exports[number], manifest, False)
            compared = "hashes" if replace else "sizes"
            how = f"{compared} of {count_of(len(manifest.files), 'file')} compared{'' if replace else _CHECK}"
            line = f"export  {exports[number].path}: already finished; {how}"
            run.console.print(line)
        if pending:
            cuttings = _cut_outputs(work, [export for export, _ in pending.values()])
            unfinished = []
            for export, folder in pending.values():
                prepare(export)
                folder.begin(notes, replace=replace)
                unfinished.append(Unfinished(export, folder, folder.committed()))
                notes += [_labelled(export, note) for note in notes_of(cuttings[export.way])]
            for note in notes:
                run.console.print(f"note    {note}")
            _write(work, cuttings, unfinished)
            for number, one in zip(pending, unfinished, strict=True):
                export_notes = notes_of(cuttings[one.export.way])
                finished[number] = finish_export(one, draw, cuttings[one.export.way], still_ours, export_notes)
                for note in finished[number].notes[len(export_notes) :]:
                    run.console.print(f"note    {_labelled(one.export, note)}")
    return [finished[number] for number in sorted(finished)]


def _existing_exports(
    folders: Sequence[ExportPlace], notes: list[str], *, replace: bool, keep: bool
) -> list[Manifest | OtherPlanError | None]:
    """The manifest of each finished export, or what stands in its place and is kept.

    Raises an ExportError with one line per folder that cannot be used.
    """
    found: list[Manifest | OtherPlanError | None] = []
    wrong: list[str] = []
    for folder in folders:
        try:
            found.append(folder.finished_manifest(replace=replace, notes=notes))
        except ExportError as error:
            if keep and isinstance(error, OtherPlanError):
                found.append(error)
            else:
                wrong.append(str(error))
    if wrong:
        raise ExportError("\n".join(wrong))
    return found


def _cut_outputs(work: _Work, exports: Sequence[BoundExport]) -> dict[Way, Cutting]:
    """Cut the outputs into shards, after checking the draw against the plan and the formats."""
    objects, jobs = work.run.store.objects, EngineJobs(work.run, "export")
    require_media(objects, work.draw, exports, jobs)
    ways = [export.way for export in exports]
    cuttings = cut_outputs(objects, work.draw, ways, jobs)
    require_planned(work.draw.plan, cuttings)
    return cuttings


def _labelled(export: BoundExport, note: str) -> str:
    return f"{export.format.name} {export.path}: {note}"


def _write(work: _Work, cuttings: Mapping[Way, Cutting], exports: Sequence[Unfinished]) -> None:
    """Run the pipeline until all shards of all exports are written."""
    run, losses = work.run, 0
    route = Route(len(drawn_groups(work.draw, cuttings)), len(Places(cuttings)))
    progress = _Progress(work.draw, cuttings, exports, route)
    with StatusLine(run.console, progress.status(), progress.status):
        while True:
            for one in exports:
                one.refresh()
            graph = make_graph(
                run.store, work.draw, work.text, work.edits, cuttings, exports, work.media, work.captions, run.shuffle
            )
            if graph is None:
                break
            before = progress.written()
            try:
                run.workers.run(staged("export", graph.build), stage="export", tasks=progress.widest)
                for one in exports:
                    one.refresh()
                break
            except WorkerLostError as error:
                losses = 0 if progress.written() > before else losses + 1
                if losses > LOSSES:
                    raise WorkerLostError(f"export: {error}") from error
                run.console.print("export: a worker process died; writing the remaining shards")
            except (StageError, ExportError) as error:
                if os.strerror(errno.ENOSPC) not in str(error):
                    raise
                raise full_disk(graph, cuttings, exports, str(error)) from None
    run.console.print(progress.last_line())


class _Progress:
    """The progress of exports: shards read, relays if there are some, and files written. For display only."""

    def __init__(
        self, draw: Draw, cuttings: Mapping[Way, Cutting], exports: Sequence[Unfinished], route: Route
    ) -> None:
        self._exports = exports
        self._scratch = exports[0].place.scratch
        self._shards = len(draw.shards)
        self._relays = route.relays if route.relayed else 0
        self._total = sum(cuttings[export.export.way].shards for export in exports)
        self._samples = sum(output.given.samples for output in draw.plan.outputs)
        self._started = time.monotonic()

    @property
    def widest(self) -> int:
        """The tasks of the widest step."""
        return max(self._shards, self._relays, self._total)

    def written(self) -> int:
        """The number of written shards of all exports."""
        return sum(export.place.work.count() for export in self._exports)

    def status(self) -> Status:
        """How much is read, relayed and written; one is as long as the other."""
        written, done = self.written(), steps_done(self._scratch, BEATS)
        read, relayed = min(self._shards, done[READ]), min(self._relays, done[RELAYED])
        facts = [f"{written:,}/{self._total:,} shards", f"{read:,}/{self._shards:,} shards of the store read"]
        shares = [written / max(self._total, 1), read / max(self._shards, 1)]
        if self._relays:
            facts.append(f"{relayed:,}/{self._relays:,} relays")
            shares.append(relayed / self._relays)
        return Status("export", tuple(facts), min(sum(shares) / len(shares), 0.99))

    def last_line(self) -> str:
        """What is printed when all shards are written."""
        seconds = time.monotonic() - self._started
        return Status("export", (f"{self._total:,}/{self._total:,} shards", count_of(self._samples, "sample"))).line(
            f"{seconds:.1f} s"
        )


@dataclass(frozen=True)
class _Place:
    """A folder being written, and how much is still to be written there."""

    name: str
    folder: Path
    needs: int = 0  # bytes, before compression

    @property
    def device(self) -> int:
        return self.folder.stat().st_dev

    @property
    def free(self) -> int:
        return shutil.disk_usage(self.folder).free


def full_disk(
    graph: ExportGraph, cuttings: Mapping[Way, Cutting], exports: Sequence[Unfinished], message: str
) -> ExportError:
    """The error for a full disk, with the folders on that disk; the system's error (`message`) usually names no
    file."""
    for export in exports:
        export.refresh()
    # Exchanged data is stored with the first export; the next run writes it again.
    travels = graph.scratch_bytes(sum(size.bytes for cutting in cuttings.values() for size in cutting.outputs))
    places = [
        _Place(one.export.path, disk, _missing_bytes(one, cuttings[one.export.way]) + (0 if number else travels))
        for number, one in enumerate(exports)
        if (disk := one.place.disk) is not None
    ]
    places.append(_Place("temporary files", Path(tempfile.gettempdir())))
    full = _full(places, message)
    there = [place for place in places if place.device == full.device and (place.needs or place is full)]
    free, needs = full.free, sum(place.needs for place in there)
    needed = f", and up to {byte_size(needs)} more still have to be written there" if needs else ""
    names = ", ".join(place.name for place in there)
    return ExportError(
        f"{names}: {os.strerror(errno.ENOSPC)}: {byte_size(free)} are free on the disk of {full.folder}{needed}; "
        f"finished files are kept: free some space and run the same command again"
    )


def _full(places: Sequence[_Place], message: str) -> _Place:
    """The folder that the error names, or the one with the least free space."""
    named = re.search(r"'(/[^']*)'", message)
    if named is not None:
        for place in places:
            if Path(named[1]).is_relative_to(place.folder):
                return place
    return min(places, key=lambda place: place.free)


def _missing_bytes(unfinished: Unfinished, cutting: Cutting) -> int:
    """The approximate size of the export's unwritten shards."""
    remaining = 0
    for size in cutting.outputs:
        committed = sum(
            count for number, count in enumerate(size.counts) if (size.output, number) in unfinished.commits
        )
        remaining += size.bytes * (size.samples - committed) // max(1, size.samples)
    return remaining
