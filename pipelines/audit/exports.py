"""Is each export that was written from the store still what it says, and does it hold all that was planned?

Every file is hashed again, and its samples are counted by its format's `count`, which shares no code with what wrote
it: footers, newlines, headers. They are held against the export's own record and against the plan, while that is in
the store.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.audit.plans import plan_records
from winnow.pipelines.export.formats import formats
from winnow.pipelines.export.formats.counting import FILES, Counted
from winnow.pipelines.export.formats.protocol import FileRecord
from winnow.pipelines.export.manifest import MANIFEST, Manifest
from winnow.pipelines.export.standing import unfinished_folder
from winnow.pipelines.forgetting.outputs import EXPORT, registered
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hidden.hiding import load_hiding
from winnow.schemas.errors import ExportError, RecipeError
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
        self._folder = Path(path)
        self._findings = findings
        self._complete = True  # whether all samples could be counted

    def check(self) -> str:
        """Say what is proved of it, or what is wrong; returns the name of its plan, if it is an export of the store."""
        if "://" in self._path:
            self._note("is not on this machine: it is not looked at")
            return ""
        before = len(self._findings.problems)
        try:
            if not _held(self._folder):
                stopped = unfinished_folder(self._path).exists()
                self._note("is not finished; run: winnow export" if stopped else "is no longer there")
                return ""
            manifest, amounts = self._manifest()
        except (ExportError, OSError) as error:
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

    def _manifest(self) -> tuple[Manifest, dict[str, Amounts]]:
        try:
            raw = (self._folder / MANIFEST).read_bytes()
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
            if not all(isinstance(one, str) for one in (manifest.format, manifest.plan, manifest.store)):
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
        for file in manifest.files:
            try:
                for counted in self._counted(manifest, file.path) if self._unchanged(file) else ():
                    found[counted.by, counted.output] += counted.samples
            except RecipeError as error:
                uncounted.add(f"not counted: {error}")
            except (ExportError, OSError, ValueError) as error:
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

    def _counted(self, manifest: Manifest, path: str) -> Iterator[Counted]:
        count = getattr(formats().get(manifest.format), "count", None)
        if count is not None:
            yield from count(self._folder, path)

    def _unchanged(self, file: FileRecord) -> bool:
        path = self._folder / file.path
        if not path.is_file():
            self._wrong(f"{file.path} is gone")
            return False
        size = path.stat().st_size
        if size != file.bytes:
            self._wrong(f"{file.path} has {size:,} bytes, not {file.bytes:,}")
            return True  # what it holds now is of interest
        with path.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != file.sha256:
            self._wrong(f"{file.path} is not as it was written: its SHA-256 is {found}")
        return True

    def _others(self, manifest: Manifest) -> None:
        """Files that were put there by others: for readers that take all they find, they are part of it."""
        known = {MANIFEST, *(file.path for file in manifest.files)}
        there = {
            (Path(folder) / name).relative_to(self._folder).as_posix()
            for folder, _, names in os.walk(self._folder)
            for name in names
        }
        if others := sorted(there - known):
            names = (name.encode(errors="backslashreplace").decode() for name in others[:SHOWN])
            shown = ", ".join([*names, *(["…"] if len(others) > SHOWN else [])])
            self._note(f"{len(others):,} {'file' if len(others) == 1 else 'files'} that winnow did not write: {shown}")

    def _note(self, line: str) -> None:
        self._findings.notes.append(f"export {self._path}: {line}")

    def _wrong(self, line: str) -> None:
        self._findings.problems.append(f"export {self._path}: {line}")


def _held(folder: Path) -> bool:
    """Whether there is anything: an empty folder is as good as none."""
    try:
        return bool(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return False


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError
    return value
