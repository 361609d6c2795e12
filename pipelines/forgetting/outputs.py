"""Registers what a store has written elsewhere, so that forgetting can say where copies may be.

Each writer of decisions, reports, robots.txt files, maps, labels or exports puts one small record with the path and the
generation, before it writes: so what a killed command leaves is known, too. The record is put twice, since nothing
else of the store would tell that one is lost; what has only one of both is known all the same, and `gc` puts the other
again.

A dataset card is not registered: it has counts and the names of sources, languages and rules, but no row. Copies that
a person makes by hand are unknown.
"""

import glob
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
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

DECISIONS, REPORT, ROBOTS, EXPORT, MAP, LABELS = "decisions", "report", "robots", "export", "map", "labels"

_WRITE_AGAIN = {
    DECISIONS: "winnow plan RECIPE --decisions {path}",
    REPORT: "winnow report STORE --output {path}",
    ROBOTS: "winnow robots STORE --output {path}",
    EXPORT: "winnow export RECIPE --replace",
    MAP: "winnow vectors RECIPE --atlas {path}",
    LABELS: "rm {path} && winnow gc STORE --gone",  # it is never written over
}


@dataclass(frozen=True, slots=True)
class Output:
    """`outputs/<content>.json`: one file or folder with content of a generation."""

    kind: str  # decisions, report, robots, export, map or labels; not a plan, which only has counts
    path: str  # absolute, or with its scheme
    generation: int


@dataclass(frozen=True, slots=True)
class AffectedOutput:
    """An output that contains, or may contain, forgotten rows."""

    output: Output
    inside: bool  # it is in the store's own folder, where a purge removes it
    rows: int | None  # forgotten rows in it; None if unknown


def register(objects: ObjectStore, kind: str, path: str | Path, generation: int) -> bool:
    """Registers an output, before it is written; False if the store cannot be written to."""
    raw = to_json(Output(kind, output_address(path), generation))
    content = content_name(raw)
    try:
        for name in (layout.output(content), layout.output_copy(content)):  # `lost_records` lists the other way
            objects.put_if_absent(name, raw)
    except (OSError, StoreError):
        return False
    return True


def register_finished(objects: ObjectStore, kind: str, path: str | Path, generation: int) -> None:
    """Registers an output that is written, and drops its records of other generations: it has none of their rows.

    Records that were lost are put again.
    """
    if not register(objects, kind, path, generation):
        return
    restore_records(objects)
    address = output_address(path)
    for content, one in _records(objects).items():
        if (one.kind, one.path) == (kind, address) and one.generation != generation:
            _drop(objects, content)


def output_address(path: str | Path) -> str:
    """The path as outputs are registered with it: absolute, or with its scheme."""
    return str(path) if "://" in str(path) else str(absolute_folder(path))


def registered(objects: ObjectStore) -> list[Output]:
    """Every output, by kind, path and generation; includes the store's own report if it exists."""
    return sorted(_records(objects).values(), key=lambda one: (one.kind, one.path, one.generation))


def lost_records(objects: ObjectStore) -> list[str]:
    """The registered outputs whose record is lost, though its copy is there: their paths in the store."""
    return _lost(objects, *_both(objects))


def lost_copies(objects: ObjectStore) -> list[str]:
    """The copies of records that are lost, or that a running command has not put yet: their paths in the store."""
    records, copies = _both(objects)
    return [layout.output_copy(content) for content in sorted(records - copies)]


def restore_records(objects: ObjectStore) -> list[str]:
    """Restores lost records from their copies, and copies that are missing; returns the paths of the records."""
    records, copies = _both(objects)
    lost = _lost(objects, records, copies)
    places = layout.output, layout.output_copy
    for content in sorted(records ^ copies):
        there, gone = places if content in records else places[::-1]
        objects.put_if_absent(gone(content), read_content(objects, there(content)))
    return lost


def _both(objects: ObjectStore) -> tuple[set[str], set[str]]:
    """The names of records and of copies, the latter as they were first."""
    copies = _names(objects, layout.COPIES)  # a running command puts them last, and drops them first
    return _names(objects, layout.OUTPUTS), copies


def _lost(objects: ObjectStore, records: set[str], copies: set[str]) -> list[str]:
    lost = sorted(copies - records)
    return [layout.output(content) for content in lost if objects.exists(layout.output_copy(content))]


def _records(objects: ObjectStore) -> dict[str, Output]:
    """The registered outputs, by the names of their records. Of two copies one is read."""
    paths = {content: layout.output_copy(content) for content in _names(objects, layout.COPIES)}
    paths |= {content: layout.output(content) for content in _names(objects, layout.OUTPUTS)}
    return {
        content: from_json(Output, read_content(objects, path), f"{objects.root}/{path}")
        for content, path in sorted(paths.items())
    }


def _drop(objects: ObjectStore, content: str) -> None:
    for path in (layout.output_copy(content), layout.output(content)):  # see `lost_records`
        objects.delete(path)


def _names(objects: ObjectStore, prefix: str) -> set[str]:
    return {info.path.removeprefix(prefix).removesuffix(".json") for info in objects.list(prefix)}


def lost_generation(store: Store) -> MissingError | None:
    """What is wrong if something was written from a generation that is newer than the latest: that one is lost."""
    last = max(registered(store.objects), key=lambda one: one.generation, default=None)
    numbers = store.generation_numbers()  # after the outputs: a command may be writing
    if last is None or last.generation <= (numbers[-1] if numbers else 0):
        return None
    there = _may_exist(store.objects, last)
    without = _WRITE_AGAIN[last.kind].format(path=last.path) if there else "winnow gc STORE --gone"
    return MissingError(
        f"{store.root}: {layout.generation(last.generation)} is missing, from which {last.path} was written; "
        "run 'winnow run RECIPE' with each recipe of the store; if one is gone, or this line stays, "
        f"'{without}' goes on without it"
    )


def list_rows(objects: ObjectStore) -> bool:
    """Whether an output lists rows by id, so that the number of forgotten rows in it can be told."""
    return any(output.kind == DECISIONS and os.path.exists(output.path) for output in registered(objects))


def affected(objects: ObjectStore, ids: NDArray[np.bytes_]) -> list[AffectedOutput]:
    """The existing outputs that have or may have forgotten samples, including those that cannot be checked.

    `ids` are sorted, and only needed if an output lists rows.
    """
    found: dict[tuple[str, str], AffectedOutput] = {}
    if objects.exists(layout.REPORT):
        own = Output(REPORT, f"{objects.root}/{layout.REPORT}", 0)
        found[REPORT, own.path] = AffectedOutput(own, True, None)
    for output, inside in _existing(objects):
        rows = _rows(output, ids) if output.kind == DECISIONS else None
        if rows != 0:
            found[output.kind, output.path] = AffectedOutput(output, inside, rows)
    return list(found.values())


def unsearched(store: Store) -> list[AffectedOutput]:
    """The existing outputs of generations that are gone: their rows cannot be searched, so they may have any."""
    left = set(store.generation_numbers())
    found = {
        (output.kind, output.path): AffectedOutput(output, inside, None)
        for output, inside in _existing(store.objects)
        if output.generation not in left
    }
    return list(found.values())


def _existing(objects: ObjectStore) -> Iterator[tuple[Output, bool]]:
    """The outputs that exist or cannot be looked at from here, unfinished ones too, and whether the store has them."""
    for output in itertools.chain.from_iterable((one, *_unfinished(one)) for one in registered(objects)):
        if _may_exist(objects, output):
            yield output, inside_path(objects, output) is not None


def _may_exist(objects: ObjectStore, output: Output) -> bool:
    """Whether an output exists, or cannot be looked at from here."""
    return "://" in output.path or os.path.exists(output.path) or inside_path(objects, output) is not None


def drop_missing(objects: ObjectStore, *, dry_run: bool = False) -> list[Output]:
    """Drops the records of outputs that no longer exist on this machine, so that they are not reported again.

    Use it after deleting them: on a disk that is not mounted, outputs only seem to be missing.
    """
    dropped = []
    for content, output in _records(objects).items():
        if not _may_exist(objects, output) and not _unfinished(output):
            dropped.append(output)
            if not dry_run:
                _drop(objects, content)
    return sorted(dropped, key=lambda one: (one.kind, one.path, one.generation))


def own_files(objects: ObjectStore) -> list[str]:
    """Files in the store's own folder that may show its rows: the report, and outputs written there."""
    paths = {path for output, _ in _existing(objects) if (path := inside_path(objects, output)) is not None}
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


def unfinished_file(file: str | Path) -> Path:
    """Where this process writes a file until it is whole: beside it."""
    return Path(file).with_name(f"{_hidden(Path(file))}{os.getpid()}")


def unfinished_files(file: str | Path) -> list[Path]:
    """All such files that are there, also of other processes, living or killed."""
    return sorted(Path(file).parent.glob(f"{glob.escape(_hidden(Path(file)))}*"))


def _hidden(file: Path) -> str:
    return f".{file.name[:60]}.winnow-unfinished-"  # a name has at most 255 bytes


def _unfinished(output: Output) -> list[Output]:
    """Unfinished work beside an output, which has its rows though it was never published."""
    if "://" in output.path:
        return []
    if output.kind == EXPORT:
        found = [folder(output.path) for folder in (unfinished_folder, replaced_folder)]
    else:
        found = unfinished_files(output.path)
    return [replace(output, path=str(path)) for path in found if path.exists()]


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
