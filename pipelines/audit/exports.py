"""Is each export that was written from the store still what it says, and does it hold all that was planned?

Every file is hashed again, and its samples are counted by its format's `count`, which shares no code with what wrote
it: footers, newlines, headers. They are held against the export's own record and against the plan, while that is in
the store.
"""

import itertools
import tempfile
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
from winnow.pipelines.export.places.opening import being_made
from winnow.pipelines.forgetting.hiding import load_hiding
from winnow.pipelines.forgetting.outputs import EXPORT, registered
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.location import open_location
from winnow.schemas.errors import ExportError, RecipeError, StoreError
from winnow.schemas.mixture import MixturePlan

SHOWN = 3  # of files that winnow did not write


class Amounts(NamedTuple):
    """What an export's record says of one output, in samples."""

    planned: int
    samples: int


def check_exports(store: Store, stale: Mapping[str, int], findings: Findings) -> None:
    """Check every export that is registered and still there; `stale`: by plan, rows that are forgotten since."""
    paths = sorted({output.path for output in registered(store.objects) if output.kind == EXPORT})
    if not paths:
        return
    plans = {record.plan.name: record.plan for record in plan_records(store.objects, Findings())}  # said already
    for path in paths:
        plan = _Export(store, plans, path, findings).check()
        if gone := stale.get(plan, 0):
            findings.notes.append(
                f"export {path}: holds samples of {gone:,} rows that are forgotten since; delete it or write it again"
            )


class _Export:
    """One folder, as it is found."""

    def __init__(self, store: Store, plans: Mapping[str, MixturePlan], path: str, findings: Findings) -> None:
        self._store = store
        self._plans = plans
        self._path = path
        self._objects = open_location(path)
        self._findings = findings
        self._complete = True  # whether all samples could be counted

    def check(self) -> str:
        """Say what is proved of it, or what is wrong; returns the name of its plan, if it is an export of the store."""
        before = len(self._findings.problems)
        try:
            if self._is_gone():
                self._note("is not finished; run: winnow export" if being_made(self._path) else "is no longer there")
                return ""
            manifest, amounts = self._manifest()
        except (ExportError, StoreError, OSError) as error:
            self._wrong(str(error).splitlines()[0])
            return ""
        if manifest.store != self._store.record.name:
            self._note(f"is of the store {manifest.store} now: it is not looked at")
            return ""
        self._outline(manifest, amounts)
        self._files(manifest, amounts)
        self._others(manifest)
        if len(self._findings.problems) == before:
            size = sum(file.bytes for file in manifest.files)
            samples = sum(amount.samples for amount in amounts.values())
            said = f"{samples:,} samples are in them" if self._complete else "their samples were not counted"
            self._findings.proved.append(
                f"export {self._path}: {len(manifest.files):,} files, {size:,} bytes are what was written; {said}"
            )
        return manifest.plan

    def _is_gone(self) -> bool:
        """Whether there is nothing; an empty folder is as good as none, and so are files that no record names yet."""
        if isinstance(self._objects, LocalStore):
            folder = self._objects.folder
            return not folder.is_dir() or not any(folder.iterdir())
        return not self._objects.exists(MANIFEST) and (being_made(self._path) or not any(self._objects.list()))

    def _manifest(self) -> tuple[Manifest, dict[str, Amounts]]:
        try:
            raw = self._objects.read(MANIFEST)
        except FileNotFoundError:
            raise ExportError(f"{MANIFEST} is gone") from None
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
            raise ExportError(f"{MANIFEST} is not as winnow writes it") from None
        return manifest, amounts

    def _outline(self, manifest: Manifest, amounts: Mapping[str, Amounts]) -> None:
        """Samples and what is left out are what was planned, and what was planned is what the plan gives."""
        planned, held = (sum(column) for column in zip(*amounts.values(), strict=True)) if amounts else (0, 0)
        left_out = sum(line.samples for line in manifest.left_out)
        if planned != held + left_out:
            self._wrong(f"{planned:,} samples were planned; {held:,} are in it and {left_out:,} are left out")
        plan = self._plans.get(manifest.plan)
        if plan is None:
            self._note(f"its plan {manifest.plan} is no longer in the store: only its own record was looked at")
            if load_hiding(self._store.objects):
                self._note("may hold rows that are forgotten since; delete it or write it again")
            return
        given = {output.name: output.given.samples for output in plan.outputs}
        for name in sorted(given.keys() | amounts.keys()):
            said, wanted = amounts.get(name, Amounts(0, 0)).planned, given.get(name, 0)
            if said != wanted:
                self._wrong(f"{name}: {MANIFEST} says that {said:,} samples were planned, the plan gives {wanted:,}")

    def _files(self, manifest: Manifest, amounts: Mapping[str, Amounts]) -> None:
        """Each file is as it was written, and together they hold what the record says."""
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
            uncounted.add(f"not counted: nothing here knows how to count {manifest.format}")
        for line in sorted(uncounted):
            self._complete = False
            self._note(line)
        for (by, name), samples in sorted(found.items()):
            said = amounts.get(name, Amounts(0, 0)).samples
            if samples != said and not (uncounted and by == FILES):
                holds = "its files hold" if by == FILES else f"{by} lists"
                self._wrong(f"{name}: {holds} {samples:,} samples, {MANIFEST} says {said:,}")

    @contextmanager
    def _brought(self, files: Sequence[FileRecord]) -> Iterator[Path]:
        """A folder that has these files: the export's own, or one for copies of what lies elsewhere."""
        if isinstance(self._objects, LocalStore):
            yield self._objects.folder
            return
        with tempfile.TemporaryDirectory(prefix="winnow-audit-") as name:
            for file in files:
                with suppress(FileNotFoundError):  # said when it is looked at
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
            self._wrong(f"{file.path} is gone")
            return False
        if size != file.bytes:
            self._wrong(f"{file.path} has {size:,} bytes, not {file.bytes:,}")
            return True  # what it holds now is of interest
        if (found := sha256_in(self._objects, file.path)) != file.sha256:
            self._wrong(f"{file.path} is not as it was written: its SHA-256 is {found}")
        return True

    def _others(self, manifest: Manifest) -> None:
        """Files that were put there by others: for readers that take all they find, they are part of it."""
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
    """The files, those together whose names differ in their ends alone: an index is looked at with what it is of."""
    for _, group in itertools.groupby(sorted(files, key=_stem), _stem):
        yield list(group)


def _stem(file: FileRecord) -> str:
    folder, _, name = file.path.rpartition("/")
    return f"{folder}/{name.partition('.')[0]}"


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError
    return value
