"""Checks files that only older generations name: `forget` and `gc` read them, too.

Existing files are checked one by one in `files`; here only names are compared.
"""

from collections.abc import Iterator

from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hash_set import HashSet
from winnow.pipelines.store.integrity.damage import DROP_OLDER, DamagedError, MissingError
from winnow.schemas.errors import StoreError
from winnow.schemas.records import GenerationRecord

NAMED = (layout.SAMPLES_OBJECTS, layout.LAYERS, layout.MANIFESTS, layout.QUARANTINE, layout.DROPPED)
"""Where the files are that generations name."""


def named_by(store: Store, record: GenerationRecord) -> Iterator[str]:
    """The files that a generation names; of a manifest that cannot be read only itself."""
    yield record.tasks
    yield from _ranges(store, record)
    for layer, entry in record.layers.items():
        yield entry.manifest
        yield from _objects(store, record, layer)


def check_older_generations(store: Store, latest: GenerationRecord, findings: Findings) -> None:
    """Reports lost files that an older generation names and the latest does not. Holds one layer's names at a time."""
    older = [record for number in store.generation_numbers() if (record := _record(store, number, latest)) is not None]
    lost: dict[str, int] = {}  # the last generation that names each
    for record in older:
        for path in _lost(store, record, latest):
            lost[path] = record.number
    findings.problems += [
        f"{store.root}: {path} is missing, which generation {number} names; {DROP_OLDER}"
        for path, number in lost.items()
    ]


def _lost(store: Store, record: GenerationRecord, latest: GenerationRecord) -> Iterator[str]:
    manifests = {record.tasks, *(entry.manifest for entry in record.layers.values())}
    new = {latest.tasks, *(entry.manifest for entry in latest.layers.values())}
    gone = {path for path in manifests - new if not store.objects.exists(path)}
    yield from sorted(gone)
    if record.tasks not in new | gone:
        yield from _absent(store, (layout.QUARANTINE, layout.DROPPED), _ranges(store, record), _ranges(store, latest))
    for layer, entry in sorted(record.layers.items()):
        if entry.manifest in new | gone:
            continue
        prefix = layout.SAMPLES_OBJECTS if layer == layout.SAMPLES else f"{layout.LAYERS}{layer}/"
        yield from _absent(store, (prefix,), _objects(store, record, layer), _objects(store, latest, layer))


def _absent(store: Store, prefixes: tuple[str, ...], named: Iterator[str], by_latest: Iterator[str]) -> list[str]:
    """The names that no file has, without those that the latest generation reports itself."""
    there = HashSet(info.path for prefix in prefixes for info in store.objects.list(prefix))
    absent = [path for path in named if path not in there]
    if not absent:
        return []
    own = HashSet(by_latest)
    return [path for path in absent if path not in own]


def _objects(store: Store, record: GenerationRecord, layer: str) -> Iterator[str]:
    if layer in record.layers:
        try:
            yield from (row.object for row in store.every_row(record, layer))
        except (DamagedError, MissingError):  # a damaged manifest is reported as a file
            return


def _ranges(store: Store, record: GenerationRecord) -> Iterator[str]:
    try:
        for task in store.every_task(record):
            yield from (ranges.path for ranges in (task.dropped, task.quarantine) if ranges)
    except (DamagedError, MissingError):
        return


def _record(store: Store, number: int, latest: GenerationRecord) -> GenerationRecord | None:
    if number >= latest.number:
        return None
    try:
        return store.generation_record(number)
    except StoreError:  # it is damaged, which is reported, or was collected meanwhile
        return None
