"""What was written from a store to somewhere else: registered, so that forgetting can say where copies may be.

Each writer of plans, decisions, reports or exports puts one small record that names the file and the generation. A
dataset card is none: it has counts, and the names of sources, languages and rules, and nothing of a row. What a person
copies by hand, nobody can know.
"""

import itertools
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from winnow.pipelines.export.places.existing import replaced_folder, unfinished_folder
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.errors import StoreError
from winnow.schemas.identity import content_name
from winnow.schemas.records import from_json, to_json

DECISIONS, REPORT, ROBOTS, EXPORT = "decisions", "report", "robots", "export"


@dataclass(frozen=True, slots=True)
class Output:
    """`outputs/<content>.json`: one file or folder that holds something of a generation."""

    kind: str  # decisions, report, robots or export; a plan is none: it has counts alone
    path: str  # absolute, or with its scheme
    generation: int


@dataclass(frozen=True, slots=True)
class AffectedOutput:
    """An output that holds forgotten rows, or may."""

    output: Output
    inside: bool  # it lies in the store's own folder, where a purge takes it away
    rows: int | None  # forgotten rows in it; None where that cannot be told


def register(objects: ObjectStore, kind: str, path: str | Path, generation: int) -> bool:
    """Note an output; False where the store cannot be written to."""
    address = str(path) if "://" in str(path) else os.path.abspath(path)
    raw = to_json(Output(kind, address, generation))
    try:
        objects.put_if_absent(layout.output(content_name(raw)), raw)
    except (OSError, StoreError):
        return False
    return True


def registered(objects: ObjectStore) -> list[Output]:
    """Every output, by kind, path and generation; the report in the store itself is always one while it is there."""
    found = [
        from_json(Output, objects.read(info.path), f"{objects.root}/{info.path}")
        for info in objects.list(layout.OUTPUTS)
    ]
    return sorted(found, key=lambda one: (one.kind, one.path, one.generation))


def affected(objects: ObjectStore, ids: Iterable[bytes]) -> list[AffectedOutput]:
    """The outputs that are there still and hold these samples, or may; and those that cannot be looked at."""
    wanted = frozenset(ids)
    found: dict[tuple[str, str], AffectedOutput] = {}
    if not wanted:
        return []
    if objects.exists(layout.REPORT):
        own = Output(REPORT, f"{objects.root}/{layout.REPORT}", 0)
        found[REPORT, own.path] = AffectedOutput(own, True, None)
    for output in itertools.chain.from_iterable((one, *_unfinished(one)) for one in registered(objects)):
        inside = inside_path(objects, output) is not None
        if inside or "://" in output.path or os.path.exists(output.path):
            rows = _rows(output, wanted) if output.kind == DECISIONS else None
            if rows != 0:
                found[output.kind, output.path] = AffectedOutput(output, inside, rows)
    return list(found.values())


def drop_gone(objects: ObjectStore, *, dry_run: bool = False) -> list[Output]:
    """Drop the records of outputs that are on this machine no longer; nobody is told of them again.

    For who has deleted them: where a disk is not mounted now, they only seem to be gone.
    """
    dropped = []
    for info in list(objects.list(layout.OUTPUTS)):
        output = from_json(Output, objects.read(info.path), f"{objects.root}/{info.path}")
        there = "://" in output.path or os.path.exists(output.path) or _unfinished(output)
        if not there and inside_path(objects, output) is None:
            dropped.append(output)
            if not dry_run:
                objects.delete(info.path)
    return sorted(dropped, key=lambda one: (one.kind, one.path, one.generation))


def own_files(objects: ObjectStore) -> list[str]:
    """What lies in the store's own folder and may show its rows: the report, and outputs that were written there."""
    paths = {path for output in registered(objects) if (path := inside_path(objects, output)) is not None}
    return sorted(paths | ({layout.REPORT} if objects.exists(layout.REPORT) else set()))


def inside_path(objects: ObjectStore, output: Output) -> str | None:
    """The object that an output is, where it was written into the store's own folder."""
    if not isinstance(objects, LocalStore):
        return None
    root = os.path.abspath(objects.folder)
    if not output.path.startswith(root + os.sep):
        return None
    path = os.path.relpath(output.path, root).replace(os.sep, "/")
    return path if objects.exists(path) else None


def _unfinished(output: Output) -> list[Output]:
    """What a run that was stopped left beside an export's folder: its rows are there, though nobody shows them."""
    if output.kind != EXPORT or "://" in output.path:
        return []
    hidden = [str(folder(output.path)) for folder in (unfinished_folder, replaced_folder)]
    return [Output(EXPORT, path, output.generation) for path in hidden if os.path.isdir(path)]


def _rows(output: Output, wanted: frozenset[bytes]) -> int | None:
    try:
        with pq.ParquetFile(output.path) as parquet:
            batches = parquet.iter_batches(columns=["id", "url"])
            rows = (row for batch in batches for row in zip(batch["id"], batch["url"], strict=True))
            # One that was forgotten when the file was written has no address in it.
            return sum(bool(url.is_valid) and identity.as_py() in wanted for identity, url in rows)
    except (OSError, pa.ArrowInvalid, KeyError):
        return None
