"""Driving exports: what stands is left as it is, the rest is made by one run, and each is shown when it is whole."""

import errno
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.text import Text

from winnow.pipelines.dedupe.scratch import steps_done
from winnow.pipelines.edits import BoundEdit, with_keys
from winnow.pipelines.export.folder import ExportFolder, committed_count
from winnow.pipelines.export.media import MediaSources
from winnow.pipelines.export.reading import BEATS, READ
from winnow.pipelines.export.sizing import Cutting, Way, cut_outputs, notes_of
from winnow.pipelines.export.stage import (
    BoundExport,
    Closing,
    Finished,
    Unfinished,
    finish_export,
    make_graph,
    no_closing,
    require_planned,
)
from winnow.pipelines.mix.drawn import Draw
from winnow.runners.driving import StageRun
from winnow.runners.engines import WorkerLostError
from winnow.runners.watched_line import WatchedLine
from winnow.schemas.errors import ExportError, StageError

LOSSES = 3  # deaths of a worker in a row without a shard written between them


def export_draw(
    run: StageRun,
    draw: Draw,
    text: Sequence[str],
    edits: Sequence[BoundEdit],
    exports: Sequence[BoundExport],
    *,
    media: MediaSources | None = None,
    closing: Closing = no_closing,
    replace: bool = False,
    verify: bool = False,
) -> list[Finished]:
    """Bring every export up to date with a draw.

    Args:
        run: The console, the engine and the store.
        draw: What is given.
        text: The columns that the recipe's `text` names.
        edits: What is done to texts.
        exports: What to write.
        media: Where media are read, for exports that want their bytes.
        closing: The files beside an export's own, asked for when its shards stand.
        replace: An export of another plan or with other options, or one that is damaged, makes room for this one.
        verify: Read a standing export whole, and compare its hashes.

    Raises:
        ExportError: A folder is not ours, a format cannot hold a sample, or the store is not what was planned.
    """
    if not any(output.given.samples for output in draw.plan.outputs):
        raise ExportError(
            f"{run.store.objects.root}: plan {draw.plan.name} gives no sample; there is nothing to export"
        )
    if media is None and any(export.way.media for export in exports):
        raise ValueError("exports that want the bytes of media need to know where those are read")
    with_keys(edits)  # a key that is missing is said before anything starts
    finished: dict[int, Finished] = {}
    unfinished: dict[int, Unfinished] = {}
    with ExitStack() as stack:
        notes: list[str] = []
        for number, export in enumerate(exports):
            folder = stack.enter_context(ExportFolder(Path(export.path), export.identity(draw.plan)))
            manifest = folder.standing(verify=verify, replace=replace)
            if manifest is not None:
                finished[number] = Finished(export, manifest, False)
                run.console.print(f"export  {export.path}: stands already", soft_wrap=True, markup=False)
                continue
            folder.begin(notes)
            unfinished[number] = Unfinished(export, folder, folder.committed())
        if unfinished:
            cuttings = cut_outputs(run.store.objects, draw, [one.export.way for one in unfinished.values()])
            require_planned(draw.plan, cuttings)
            notes += notes_of(cuttings)
            for note in notes:
                run.console.print(f"note    {note}", soft_wrap=True, markup=False)
            _write(run, draw, text, edits, cuttings, list(unfinished.values()), media)
            for number, one in unfinished.items():
                cutting = cuttings[one.export.way]
                told = notes_of({cutting.way: cutting})
                finished[number] = finish_export(one, draw, cutting, closing, told)
    return [finished[number] for number in range(len(exports))]


def _write(
    run: StageRun,
    draw: Draw,
    text: Sequence[str],
    edits: Sequence[BoundEdit],
    cuttings: Mapping[Way, Cutting],
    exports: Sequence[Unfinished],
    media: MediaSources | None,
) -> None:
    """Until every shard of every export stands."""
    losses = 0
    progress = _Progress(draw, cuttings, exports)
    with WatchedLine(run.console, progress.line(), progress.line):
        while True:
            for one in exports:
                one.refresh()
            graph = make_graph(run.store, draw, text, edits, cuttings, exports, media)
            if graph is None:
                break
            before = progress.written()
            try:
                run.engine.run(graph.build)
                for one in exports:
                    one.refresh()
                break
            except WorkerLostError as error:
                losses = 0 if progress.written() > before else losses + 1
                if losses > LOSSES:
                    raise WorkerLostError(f"export: {error}") from error
                run.console.print("export: a worker process died; writing what is left again")
            except StageError as error:
                if os.strerror(errno.ENOSPC) not in str(error):
                    raise
                folders = ", ".join(one.export.path for one in exports)  # the error of a full disk names no file
                raise ExportError(f"{folders}: {error}") from None
    run.console.print(progress.line(), soft_wrap=True)


class _Progress:
    """Where an export is: shards of the draw that are read, files that stand. Nothing is ever decided by it."""

    def __init__(self, draw: Draw, cuttings: Mapping[Way, Cutting], exports: Sequence[Unfinished]) -> None:
        self._exports = exports
        self._scratch = exports[0].folder.scratch
        self._shards = len(draw.shards)
        self._total = sum(cuttings[one.export.way].shards for one in exports)
        self._samples = sum(output.given.samples for output in draw.plan.outputs)
        self._started = time.monotonic()

    def written(self) -> int:
        """How many shards of all exports stand."""
        return sum(committed_count(one.folder.work) for one in self._exports)

    def line(self) -> Text:
        """One line."""
        seconds = time.monotonic() - self._started
        written = self.written()
        parts = [f"{'export':<16}", f"{written:,}/{self._total:,} shards"]
        if written == self._total:
            parts += [f"{self._samples:,} samples", f"{seconds:.1f} s"]
        else:
            read = min(self._shards, steps_done(self._scratch, BEATS)[READ])
            parts += [f"{read:,}/{self._shards:,} shards of the store read", f"{seconds:.0f} s"]
        return Text("  ".join(parts))
