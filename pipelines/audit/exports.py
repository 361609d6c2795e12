"""Checks that each export written from the store is unchanged and contains all that was planned.

Every file is hashed again, and its samples are counted by its format's `count`, which shares no code with the writer.
The counts are compared with the export's own record, and with its plan while the store still has that plan.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from winnow.pipelines.audit.draws import plan_records
from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.export.formats import formats
from winnow.pipelines.export.formats.counting import FILES
from winnow.pipelines.export.formats.protocol import FileRecord
from winnow.pipelines.export.places.bucket import fetch
from winnow.pipelines.export.places.existing import sha256_in
from winnow.pipelines.export.places.manifest import MANIFEST, Manifest
from winnow.pipelines.export.places.opening import is_being_written
from winnow.pipelines.forgetting.outputs import EXPORT, output_address, registered
from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.pipelines.running.job_tasks import TaskFolder, TaskKind, TasksAt, TaskWithoutBlocks, slices
from winnow.pipelines.running.tasks import TaskLine
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.scans import load_hiding
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.location import open_location
from winnow.schemas.counts import count_of
from winnow.schemas.errors import ExportError, RecipeError, StoreError
from winnow.schemas.identity import content_name
from winnow.schemas.mixture import MixturePlan

SHOWN = 3  # reported files that winnow did not write


class Amounts(NamedTuple):
    """The sample counts that an export's record declares for one output."""

    planned: int
    samples: int


@dataclass(frozen=True, slots=True)
class FilesTask(TaskLine):
    """Some files of an export; those whose names differ only in their suffix are together."""

    path: str  # of the export
    format: str
    groups: tuple[tuple[FileRecord, ...], ...]


@dataclass(slots=True)
class FilesFound:
    """What was found in the files of a task."""

    problems: list[str] = field(default_factory=list)  # each begins with the file
    uncounted: list[str] = field(default_factory=list)  # why samples could not be counted
    samples: list[tuple[str, str, int]] = field(default_factory=list)  # by what they were counted, output, number


def check_files(task: FilesTask) -> FilesFound:
    """Checks that each file is unchanged, and counts its samples."""
    objects, found = open_location(task.path), FilesFound()
    known = formats().get(task.format)
    samples: Counter[tuple[str, str]] = Counter()
    uncounted: set[str] = set()
    for files in task.groups:
        with _brought(objects, files) as folder:
            for file in files:
                try:
                    readable = _unchanged(objects, file, found)
                    for counted in known.count(folder, file.path) if readable and known is not None else ():
                        samples[counted.by, counted.output] += counted.samples
                except RecipeError as error:
                    uncounted.add(f"not counted: {error}")
                except (ExportError, StoreError, OSError, ValueError) as error:
                    found.problems.append(f"{file.path} {str(error).splitlines()[0]}")
    found.uncounted = sorted(uncounted)
    found.samples = [(*key, number) for key, number in sorted(samples.items())]
    return found


@contextmanager
def _brought(objects: ObjectStore, files: Sequence[FileRecord]) -> Iterator[Path]:
    """Yields a folder with these files: the export's own, or one for downloaded copies."""
    if isinstance(objects, LocalStore):
        yield objects.folder
        return
    with temporary_folder("audit") as name:
        for file in files:
            with suppress(FileNotFoundError):  # reported when it is checked
                fetch(objects, file.path, Path(name))
        yield Path(name)


def _unchanged(objects: ObjectStore, file: FileRecord, found: FilesFound) -> bool:
    """Notes how a file differs from its record; returns whether its samples can be counted."""
    try:
        size = objects.size(file.path)
    except (FileNotFoundError, NotADirectoryError):
        found.problems.append(f"{file.path} is missing")
        return False
    if size != file.bytes:
        found.problems.append(f"{file.path} has {size:,} bytes instead of {file.bytes:,}")
    elif (sha256 := sha256_in(objects, file.path)) != file.sha256:
        found.problems.append(f"{file.path} has changed since it was written: its SHA-256 is {sha256}")
    return True


class ExportsCheck:
    """Checks every registered export that still exists, and those of the recipe whose registration is lost."""

    def __init__(self, store: Store, findings: Findings, named: Iterable[str] = ()) -> None:
        """`named`: the folders that the recipe exports to."""
        self._store = store
        self._findings = findings
        self._named = frozenset(map(output_address, named))
        self._exports: list[_Export] = []

    def plan(self, tasks_at: TasksAt) -> None:
        """Adds the tasks."""
        known = {output.path for output in registered(self._store.objects) if output.kind == EXPORT}
        if not known and not self._named:
            return
        # What is wrong with plans is reported by the check of draws.
        plans = {record.plan.name: record.plan for record in plan_records(self._store.objects, Findings())}
        paths = sorted(known | self._named)
        self._exports = [_Export(self._store, plans, path, registered=path in known) for path in paths]
        for export in self._exports:
            export.plan(tasks_at(export.path))

    def conclude(self, stale: Mapping[str, int]) -> None:
        """Reports exports that are not what was written; `stale`: since-forgotten rows by plan."""
        for one in self._exports:
            one.conclude(self._findings)
            if one.manifest is not None and (gone := stale.get(one.manifest.plan, 0)):
                self._findings.notes.append(
                    f"export {one.path}: has samples of {count_of(gone, 'row')} forgotten since; delete it or write "
                    "it again"
                )


class _Export:
    """One folder of an export."""

    def __init__(self, store: Store, plans: Mapping[str, MixturePlan], path: str, *, registered: bool) -> None:
        self.path = path
        self._registered = registered
        self.manifest: Manifest | None = None  # None: it is not checked
        self._amounts: dict[str, Amounts] = {}
        self._store = store
        self._plans = plans
        self._objects = open_location(path)
        self._heard = Findings()  # known without reading its files
        self._complete = True  # whether all samples could be counted
        self._kind = TaskKind(f"export-{content_name(path.encode())}", FilesTask, TaskWithoutBlocks(check_files))

    def plan(self, tasks: TaskFolder) -> None:
        """Reads its record, and adds tasks for its files."""
        self._tasks = tasks
        if not self._registered and not self._is_ours():
            return
        try:
            if self._is_gone():
                self._note("unfinished; run: winnow export" if is_being_written(self.path) else "no longer exists")
                return
            manifest, self._amounts = self._manifest()
        except (ExportError, StoreError, OSError) as error:
            self._wrong(str(error).splitlines()[0])
            return
        if manifest.store != self._store.record.name:
            self._note(f"now belongs to the store {manifest.store}: not checked")
            return
        self.manifest = manifest
        self._outline(manifest)
        for some, size in slices(_groups(manifest.files), lambda group: sum(file.bytes for file in group)):
            tasks.add(self._kind, FilesTask(self.path, manifest.format, some), size)

    def conclude(self, findings: Findings) -> None:
        """Reports what is proved or wrong."""
        if self.manifest is not None:
            self._files(self.manifest, self._tasks)
            self._others(self.manifest)
        findings.notes += self._heard.notes
        findings.problems += self._heard.problems
        if self.manifest is not None and not self._heard.problems:
            size = sum(file.bytes for file in self.manifest.files)
            samples = sum(amount.samples for amount in self._amounts.values())
            counted = count_of(samples, "sample") if self._complete else "samples not counted"
            files = count_of(len(self.manifest.files), "file")
            findings.proved.append(f"export {self.path}: {files}, {size:,} bytes are unchanged; {counted}")

    def _is_gone(self) -> bool:
        """Whether the export is gone: the folder is empty, or has only files that no record names yet."""
        if isinstance(self._objects, LocalStore):
            folder = self._objects.folder
            return not folder.is_dir() or not any(folder.iterdir())
        return not self._objects.exists(MANIFEST) and (is_being_written(self.path) or not any(self._objects.list()))

    def _manifest(self) -> tuple[Manifest, dict[str, Amounts]]:
        try:
            raw = self._objects.read(MANIFEST)
        except FileNotFoundError:
            raise ExportError(f"{MANIFEST} is missing") from None
        manifest = Manifest.from_json(raw, MANIFEST)
        try:
            amounts = {
                name: Amounts(_whole(output["planned"]), _whole(output["samples"]))
                for name, output in manifest.outputs.items()
            }
            for file in manifest.files:
                _whole(file.bytes)
                if ".." in PurePosixPath(file.path).parts or file.path.startswith("/") or not file.path:
                    raise ValueError
            for line in manifest.left_out:
                _whole(line.samples)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ExportError(f"{MANIFEST} is invalid") from None
        return manifest, amounts

    def _outline(self, manifest: Manifest) -> None:
        """Checks that samples plus those left out match the record, and the record matches the plan."""
        amounts = self._amounts
        planned, held = (sum(column) for column in zip(*amounts.values(), strict=True)) if amounts else (0, 0)
        left_out = sum(line.samples for line in manifest.left_out)
        if planned != held + left_out:
            self._wrong(f"{planned:,} samples were planned, but it has {held:,} and {left_out:,} were left out")
        plan = self._plans.get(manifest.plan)
        if plan is None:
            self._note(f"its plan {manifest.plan} is no longer in the store: only the export's own record was checked")
            if load_hiding(self._store.objects):
                self._note("may contain rows that have been forgotten since; delete it or write it again")
            return
        given = {output.name: output.given.samples for output in plan.outputs}
        for name in sorted(given.keys() | amounts.keys()):
            declared, wanted = amounts.get(name, Amounts(0, 0)).planned, given.get(name, 0)
            if declared != wanted:
                self._wrong(f"{name}: {MANIFEST} declares {declared:,} planned samples, but the plan has {wanted:,}")

    def _files(self, manifest: Manifest, tasks: TaskFolder) -> None:
        """Reports changed files, and samples that are not as many as declared."""
        samples: Counter[tuple[str, str]] = Counter({(FILES, name): 0 for name in self._amounts})
        uncounted: set[str] = set()
        for found in tasks.found(self._kind.name, FilesFound):
            uncounted.update(found.uncounted)
            for line in found.problems:
                self._wrong(line)
            for by, name, number in found.samples:
                samples[by, name] += number
        if manifest.format not in formats():
            uncounted.add(f"not counted: no counter for {manifest.format}")
        for line in sorted(uncounted):
            self._complete = False
            self._note(line)
        for (by, name), number in sorted(samples.items()):
            declared = self._amounts.get(name, Amounts(0, 0)).samples
            if number != declared and not (uncounted and by == FILES):
                holds = "its files have" if by == FILES else f"{by} lists"
                self._wrong(f"{name}: {holds} {number:,} samples, but {MANIFEST} declares {declared:,}")

    def _others(self, manifest: Manifest) -> None:
        """Reports foreign files: readers that take every file would include them."""
        known = {MANIFEST, *(file.path for file in manifest.files)}
        there = {info.path for info in self._objects.list()}
        if others := sorted(there - known):
            names = (name.encode(errors="backslashreplace").decode() for name in others[:SHOWN])
            shown = ", ".join([*names, *(["…"] if len(others) > SHOWN else [])])
            self._note(f"{len(others):,} {'file' if len(others) == 1 else 'files'} that winnow did not write: {shown}")

    def _is_ours(self) -> bool:
        """Whether this store wrote an unregistered folder, by a plan that it still has; reports it."""
        try:
            if self._is_gone():
                return False
            plan = self._manifest()[0].plan
        except (ExportError, StoreError, OSError):
            return False  # it is no export of this store
        if plan not in self._plans:
            self._note("not written by this store, as far as it knows: `winnow forget` does not name it; not checked")
            return False
        self._wrong(
            "the store has no record of it here (it is lost, or the folder was moved), so `winnow forget` would not "
            "name it; run: winnow export"
        )
        return True

    def _note(self, line: str) -> None:
        self._heard.notes.append(f"export {self.path}: {line}")

    def _wrong(self, line: str) -> None:
        self._heard.problems.append(f"export {self.path}: {line}")


def _groups(files: Sequence[FileRecord]) -> Iterator[tuple[FileRecord, ...]]:
    """Groups files whose names differ only in their suffix, so that an index is checked with its data."""
    for _, group in itertools.groupby(sorted(files, key=_stem), _stem):
        yield tuple(group)


def _stem(file: FileRecord) -> str:
    folder, _, name = file.path.rpartition("/")
    return f"{folder}/{name.partition('.')[0]}"


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError
    return value
