"""Checks that each export written from the store is unchanged and contains all that was planned.

Every file is hashed again, and its samples are counted by its format's `count`, which shares no code with the
writer: footers, newlines, headers. The counts are compared with the export's own record and with the plan, if still
the store.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from winnow.pipelines.audit.draws import plan_records
from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.export.formats import formats
from winnow.pipelines.export.formats.counting import FILES, Counted
from winnow.pipelines.export.formats.protocol import FileRecord
from winnow.pipelines.export.places.bucket import fetch
from winnow.pipelines.export.places.existing import sha256_in
from winnow.pipelines.export.places.manifest import MANIFEST, Manifest
from winnow.pipelines.export.places.opening import is_being_written
from winnow.pipelines.forgetting.outputs import EXPORT, registered
from winnow.pipelines.running.run_folder import temporary_folder
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.scans import load_hiding
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.location import open_location
from winnow.schemas.errors import ExportError, RecipeError, StoreError
from winnow.schemas.mixture import MixturePlan

SHOWN = 3  # reported files that winnow did not write


class Amounts(NamedTuple):
    """The sample counts that an export's record declares for one output."""

    planned: int
    samples: int


def check_exports(store: Store, stale: Mapping[str, int], findings: Findings) -> None:
    """Checks every registered export that still exists; `stale`: since-forgotten rows by plan."""
    paths = sorted({output.path for output in registered(store.objects) if output.kind == EXPORT})
    if not paths:
        return
    plans = {record.plan.name: record.plan for record in plan_records(store.objects, Findings())}  # said already
    for path in paths:
        plan = _Export(store, plans, path, findings).check()
        if gone := stale.get(plan, 0):
            findings.notes.append(
                f"export {path}: has samples of {gone:,} rows forgotten since; delete it or write it again"
            )


class _Export:
    """One folder of an export."""

    def __init__(self, store: Store, plans: Mapping[str, MixturePlan], path: str, findings: Findings) -> None:
        self._store = store
        self._plans = plans
        self._path = path
        self._objects = open_location(path)
        self._findings = findings
        self._complete = True  # whether all samples could be counted

    def check(self) -> str:
        """Reports what is proved or wrong; returns the name of the plan, if it is an export of this store."""
        before = len(self._findings.problems)
        try:
            if self._is_gone():
                self._note("unfinished; run: winnow export" if is_being_written(self._path) else "no longer exists")
                return ""
            manifest, amounts = self._manifest()
        except (ExportError, StoreError, OSError) as error:
            self._wrong(str(error).splitlines()[0])
            return ""
        if manifest.store != self._store.record.name:
            self._note(f"now belongs to the store {manifest.store}: not checked")
            return ""
        self._outline(manifest, amounts)
        self._files(manifest, amounts)
        self._others(manifest)
        if len(self._findings.problems) == before:
            size = sum(file.bytes for file in manifest.files)
            samples = sum(amount.samples for amount in amounts.values())
            said = f"{samples:,} samples" if self._complete else "samples not counted"
            self._findings.proved.append(
                f"export {self._path}: {len(manifest.files):,} files, {size:,} bytes are unchanged; {said}"
            )
        return manifest.plan

    def _is_gone(self) -> bool:
        """Whether nothing is there; an empty folder counts as nothing, and so do files that no record names yet."""
        if isinstance(self._objects, LocalStore):
            folder = self._objects.folder
            return not folder.is_dir() or not any(folder.iterdir())
        return not self._objects.exists(MANIFEST) and (is_being_written(self._path) or not any(self._objects.list()))

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

    def _outline(self, manifest: Manifest, amounts: Mapping[str, Amounts]) -> None:
        """Checks that samples plus those left out match the record, and the record matches the plan."""
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
            said, wanted = amounts.get(name, Amounts(0, 0)).planned, given.get(name, 0)
            if said != wanted:
                self._wrong(f"{name}: {MANIFEST} declares {said:,} planned samples, but the plan has {wanted:,}")

    def _files(self, manifest: Manifest, amounts: Mapping[str, Amounts]) -> None:
        """Checks that each file is unchanged, and that together they have the declared samples."""
        found: Counter[tuple[str, str]] = Counter({(FILES, name): 0 for name in amounts})
        uncounted: set[str] = set()
        for files in _groups(manifest.files):
            with self._brought(files) as folder:
                for file in files:
                    try:
                        for counted in self._counted(manifest, folder, file.path) if self._unchanged(file) else ():
                            found[counted.by, counted.output] += counted.samples
                    except RecipeError as error:
                        uncounted.add(f"not counted: {error}")
                    except (ExportError, StoreError, OSError, ValueError) as error:
                        self._wrong(f"{file.path} {str(error).splitlines()[0]}")
        if not hasattr(formats().get(manifest.format), "count"):
            uncounted.add(f"not counted: no counter for {manifest.format}")
        for line in sorted(uncounted):
            self._complete = False
            self._note(line)
        for (by, name), samples in sorted(found.items()):
            said = amounts.get(name, Amounts(0, 0)).samples
            if samples != said and not (uncounted and by == FILES):
                holds = "its files have" if by == FILES else f"{by} lists"
                self._wrong(f"{name}: {holds} {samples:,} samples, but {MANIFEST} declares {said:,}")

    @contextmanager
    def _brought(self, files: Sequence[FileRecord]) -> Iterator[Path]:
        """Yields a folder with these files: the export's own, or one for downloaded copies."""
        if isinstance(self._objects, LocalStore):
            yield self._objects.folder
            return
        with temporary_folder("audit") as name:
            for file in files:
                with suppress(FileNotFoundError):  # reported when it is checked
                    fetch(self._objects, file.path, Path(name))
            yield Path(name)

    def _counted(self, manifest: Manifest, folder: Path, path: str) -> Iterator[Counted]:
        count = getattr(formats().get(manifest.format), "count", None)
        if count is not None:
            yield from count(folder, path)

    def _unchanged(self, file: FileRecord) -> bool:
        try:
            size = self._objects.size(file.path)
        except (FileNotFoundError, NotADirectoryError):
            self._wrong(f"{file.path} is missing")
            return False
        if size != file.bytes:
            self._wrong(f"{file.path} has {size:,} bytes instead of {file.bytes:,}")
            return True  # still count its samples
        if (found := sha256_in(self._objects, file.path)) != file.sha256:
            self._wrong(f"{file.path} has changed since it was written: its SHA-256 is {found}")
        return True

    def _others(self, manifest: Manifest) -> None:
        """Reports foreign files: readers that take every file would include them."""
        known = {MANIFEST, *(file.path for file in manifest.files)}
        there = {info.path for info in self._objects.list()}
        if others := sorted(there - known):
            names = (name.encode(errors="backslashreplace").decode() for name in others[:SHOWN])
            shown = ", ".join([*names, *(["…"] if len(others) > SHOWN else [])])
            self._note(f"{len(others):,} {'file' if len(others) == 1 else 'files'} that winnow did not write: {shown}")

    def _note(self, line: str) -> None:
        self._findings.notes.append(f"export {self._path}: {line}")

    def _wrong(self, line: str) -> None:
        self._findings.problems.append(f"export {self._path}: {line}")


def _groups(files: Sequence[FileRecord]) -> Iterator[list[FileRecord]]:
    """Groups files whose names differ only in their suffix, so that an index is checked with its data."""
    for _, group in itertools.groupby(sorted(files, key=_stem), _stem):
        yield list(group)


def _stem(file: FileRecord) -> str:
    folder, _, name = file.path.rpartition("/")
    return f"{folder}/{name.partition('.')[0]}"


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError
    return value
