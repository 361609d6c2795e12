"""Checks every file of a store separately, of any kind, whether or not a record names it."""

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.audit.older_generations import NAMED, named_by
from winnow.pipelines.running.job_tasks import OPENING_BYTES, TaskFolder, TaskKind, TaskWithoutBlocks, slices
from winnow.pipelines.running.ledger.intake import read_intake
from winnow.pipelines.running.tasks import TaskLine
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectInfo
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hash_set import HashSet
from winnow.pipelines.store.integrity.content import check_content, check_sha256
from winnow.pipelines.store.integrity.damage import DamagedError, MissingError, for_older
from winnow.pipelines.store.integrity.sealed import check_record
from winnow.pipelines.store.tables import check_table
from winnow.schemas.errors import StoreError
from winnow.schemas.records import GenerationRecord

SHOWN = 3  # files that do not belong to the store


@dataclass(frozen=True, slots=True)
class FilesTask(TaskLine):
    """Some files, by path."""

    paths: tuple[str, ...]


@dataclass(slots=True)
class FilesFound:
    """What is wrong with the files of a task."""

    problems: dict[str, str] = field(default_factory=dict)  # a line, by path


def check_some(store: Store, task: FilesTask) -> FilesFound:
    """Checks each file on its own, in bounded memory."""
    found = FilesFound()
    for path in task.paths:
        try:
            check_file(store, path)
        except MissingError:  # a running command has deleted it since it was listed
            continue
        except StoreError as error:
            found.problems[path] = str(error)
    return found


class FilesCheck:
    """Checks each file of a store on its own; files that the check of objects reads are only counted."""

    def __init__(self, store: Store, record: GenerationRecord | None, findings: Findings) -> None:
        """`record`: the generation whose objects are checked otherwise; None: nothing is."""
        self._store = store
        self._record = record
        self._findings = findings
        self._kind = TaskKind("files", FilesTask, TaskWithoutBlocks(partial(check_some, store)))
        self._count: Counter[str] = Counter()
        self._foreign: list[str] = []
        self._others = 0  # foreign files that are not listed

    def plan(self, tasks: TaskFolder) -> None:
        """Adds the tasks: lists the store once, and holds the paths of one layer's objects at a time."""
        for some, size in slices(self._unchecked(), lambda info: info.size + OPENING_BYTES):
            tasks.add(self._kind, FilesTask(tuple(info.path for info in some)), size)

    def _unchecked(self) -> Iterator[ObjectInfo]:
        for layer, infos in itertools.groupby(self._store.objects.list(), lambda info: _layer(info.path)):
            checked = self._checked(layer)
            for info in infos:
                match layout.proof_of(info.path):
                    case None:
                        self._note_foreign(info.path)
                    case layout.Proof.NONE | layout.Proof.LOG:
                        pass
                    case _:
                        self._count[info.path.partition("/")[0]] += 1
                        if info.path not in checked:
                            yield info

    def _checked(self, layer: str) -> HashSet:
        """The objects of a layer that the check of objects reads whole; of an empty table it reads few bytes."""
        if self._record is None or layer not in self._record.layers:
            return HashSet()
        try:
            return HashSet(row.object for row in self._store.every_row(self._record, layer) if row.rows)
        except (DamagedError, MissingError):  # its objects are checked here
            return HashSet()

    def _note_foreign(self, path: str) -> None:
        if len(self._foreign) < SHOWN:
            self._foreign.append(path)
        else:
            self._others += 1

    def conclude(self, tasks: TaskFolder) -> None:
        """Reports files that are not what was written."""
        findings = self._findings
        damaged = {
            path: line for found in tasks.found(self._kind.name, FilesFound) for path, line in found.problems.items()
        }
        wrong = self._with_remedies(damaged)
        findings.problems += [line for line in wrong if line not in findings.problems]
        if not wrong:
            findings.proved.append(f"{self._count.total():,} files have their checksums ({_told(self._count)})")
        if self._foreign:
            more = f" and {self._others:,} more" if self._others else ""
            findings.notes.append(f"not files of the store, not checked: {', '.join(self._foreign)}{more}")

    def _with_remedies(self, damaged: dict[str, str]) -> list[str]:
        """The lines; files that only older generations need are not made again by a stage."""
        record = self._record
        if record is None or not any(path.startswith(NAMED) for path in damaged):
            return list(damaged.values())
        needed = HashSet(named_by(self._store, record))
        return [
            for_older(line) if path.startswith(NAMED) and path not in needed else line for path, line in damaged.items()
        ]


def check_file(store: Store, path: str) -> None:
    """Reads a file whole, if it has anything that proves it.

    Raises:
        DamagedError: It is not what was put under this path.
        MissingError: It does not exist.
    """
    match layout.proof_of(path):
        case layout.Proof.TABLE:
            check_table(store.objects, path)
        case layout.Proof.CONTENT:
            check_content(store.objects, path)
        case layout.Proof.SHA256:
            check_sha256(store.objects, path)
        case layout.Proof.INTAKE:
            read_intake(store.objects, store.record, path)
        case layout.Proof.RECORD if path.startswith(layout.GENERATIONS):
            store.generation(layout.generation_number(path))
        case layout.Proof.RECORD:
            check_record(store.objects, path)


def _told(count: Counter[str]) -> str:
    return ", ".join(f"{number:,} in {name}" for name, number in sorted(count.items()))


def _layer(path: str) -> str:
    """The layer of an object whose bytes the check of objects reads; "" for every other file."""
    return layout.layer_of(path) if path.startswith((layout.SAMPLES_OBJECTS, layout.LAYERS)) else ""
