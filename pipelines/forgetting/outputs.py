"""Registers what a store has written elsewhere, so that forgetting can say where copies may be.

Each writer of plans, decisions, reports or exports puts one small record with the path and the generation. A
dataset card is not registered: it has counts and the names of sources, languages and rules, but no row. Copies that
a person makes by hand are unknown.
"""

import itertools
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from winnow.pipelines.export.places.existing import absolute_folder, replaced_folder, unfinished_folder
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.integrity.content import read_content
from winnow.pipelines.store.integrity.damage import MissingError
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.errors import StoreError
from winnow.schemas.identity import ID_BYTES, content_name
from winnow.schemas.records import from_json, to_json

DECISIONS, REPORT, ROBOTS, EXPORT = "decisions", "report", "robots", "export"


@dataclass(frozen=True, slots=True)
class Output:
    """`outputs/<content>.json`: one file or folder with content of a generation."""

    kind: str  # decisions, report, robots or export; not a plan, which only has counts
    path: str  # absolute, or with its scheme
    generation: int


@dataclass(frozen=True, slots=True)
class AffectedOutput:
    """An output that contains, or may contain, forgotten rows."""

    output: Output
    inside: bool  # it is in the store's own folder, where a purge removes it
    rows: int | None  # forgotten rows in it; None if unknown


def register(objects: ObjectStore, kind: str, path: str | Path, generation: int) -> bool:
    """Registers an output; False if the store cannot be written to."""
    raw = to_json(Output(kind, output_address(path), generation))
    try:
        objects.put_if_absent(layout.output(content_name(raw)), raw)
    except (OSError, StoreError):
        return False
    return True


def output_address(path: str | Path) -> str:
    """The path as outputs are registered with it: absolute, or with its scheme."""
    return str(path) if "://" in str(path) else str(absolute_folder(path))


def registered(objects: ObjectStore) -> list[Output]:
    """Every output, by kind, path and generation; includes the store's own report if it exists."""
    found = [
        from_json(Output, read_content(objects, info.path), f"{objects.root}/{info.path}")
        for info in objects.list(layout.OUTPUTS)
    ]
    return sorted(found, key=lambda one: (one.kind, one.path, one.generation))


def lost_generation(store: Store) -> MissingError | None:
    """What is wrong if something was written from a generation that is newer than the latest: that one is lost."""
    last = max(registered(store.objects), key=lambda one: one.generation, default=None)
    numbers = store.generation_numbers()  # after the outputs: a command may be writing
    if last is None or last.generation <= (numbers[-1] if numbers else 0):
        return None
    return MissingError(
        f"{store.root}: {layout.generation(last.generation)} is missing, from which {last.path} was written; "
        "run 'winnow run RECIPE' with each recipe of the store"
    )


def list_rows(objects: ObjectStore) -> bool:
    """Whether an output lists rows by id, so that the number of forgotten rows in it can be told."""
    return any(output.kind == DECISIONS and os.path.exists(output.path) for output in registered(objects))


def affected(objects: ObjectStore, ids: NDArray[np.bytes_]) -> list[AffectedOutput]:
    """The existing outputs that have or may have forgotten samples, including those that cannot be checked.

    Args:
        objects: The store.
        ids: The sorted ids of the samples; only needed if an output lists rows.
    """
    found: dict[tuple[str, str], AffectedOutput] = {}
    if objects.exists(layout.REPORT):
        own = Output(REPORT, f"{objects.root}/{layout.REPORT}", 0)
        found[REPORT, own.path] = AffectedOutput(own, True, None)
    for output in itertools.chain.from_iterable((one, *_unfinished(one)) for one in registered(objects)):
        inside = inside_path(objects, output) is not None
        if inside or "://" in output.path or os.path.exists(output.path):
            rows = _rows(output, ids) if output.kind == DECISIONS else None
            if rows != 0:
                found[output.kind, output.path] = AffectedOutput(output, inside, rows)
    return list(found.values())


def drop_missing(objects: ObjectStore, *, dry_run: bool = False) -> list[Output]:
    """Drops the records of outputs that no longer exist on this machine, so that they are not reported again.

    Use it after deleting them: on a disk that is not mounted, outputs only seem to be missing.
    """
    dropped = []
    for info in list(objects.list(layout.OUTPUTS)):
        output = from_json(Output, read_content(objects, info.path), f"{objects.root}/{info.path}")
        there = "://" in output.path or os.path.exists(output.path) or _unfinished(output)
        if not there and inside_path(objects, output) is None:
            dropped.append(output)
            if not dry_run:
                objects.delete(info.path)
    return sorted(dropped, key=lambda one: (one.kind, one.path, one.generation))


def own_files(objects: ObjectStore) -> list[str]:
    """Files in the store's own folder that may show its rows: the report, and outputs written there."""
    paths = {path for output in registered(objects) if (path := inside_path(objects, output)) is not None}
    return sorted(paths | ({layout.REPORT} if objects.exists(layout.REPORT) else set()))


def inside_path(objects: ObjectStore, output: Output) -> str | None:
    """The object of an output that was written into the store's own folder, else None."""
    if not isinstance(objects, LocalStore):
        return None
    root = os.path.abspath(objects.folder)
    if not output.path.startswith(root + os.sep):
        return None
    path = os.path.relpath(output.path, root).replace(os.sep, "/")
    return path if objects.exists(path) else None


def _unfinished(output: Output) -> list[Output]:
    """Unfinished work beside an export's folder, which has its rows though it was never published."""
    if output.kind != EXPORT or "://" in output.path:
        return []
    hidden = [str(folder(output.path)) for folder in (unfinished_folder, replaced_folder)]
    return [Output(EXPORT, path, output.generation) for path in hidden if os.path.isdir(path)]


def _rows(output: Output, ids: NDArray[np.bytes_]) -> int | None:
    try:
        with pq.ParquetFile(output.path) as parquet:
            # An output written after forgetting has no address of the row.
            return sum(
                _count(batch["id"].filter(batch["url"].is_valid()), ids)
                for batch in parquet.iter_batches(columns=["id", "url"])
            )
    except (OSError, pa.ArrowInvalid, KeyError):
        return None


def _count(column: pa.Array, ids: NDArray[np.bytes_]) -> int:
    """How many values of a column are among sorted ids."""
    if not len(ids) or not len(column):
        return 0
    held = pa.concat_arrays([column.cast(pa.binary(ID_BYTES))])
    wanted = np.frombuffer(held.buffers()[1], ids.dtype, len(held), held.offset * ID_BYTES)
    at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    return int((ids[at] == wanted).sum())
