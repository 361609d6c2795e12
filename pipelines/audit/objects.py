"""Checks that the objects of a generation exist and are unchanged, aligned and balanced.

Only the records under test come from the writers: bytes are hashed again, values are hashed
again after reading them, and rows are counted from footers.
"""

from collections.abc import Iterable
from contextlib import closing

import duckdb
import pyarrow as pa

from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.running.ledger.intake import require_tasks
from winnow.pipelines.store import layout
from winnow.pipelines.store.damage import missing
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.manifests import ManifestRow
from winnow.pipelines.store.tables import open_table
from winnow.schemas.errors import StoreError
from winnow.schemas.records import Generation, GenerationRecord, TaskCommit, values_hash
from winnow.schemas.values import ValueHasher


def check_objects(store: Store, record: GenerationRecord, findings: Findings) -> set[str]:
    """Checks that every object of every layer exists and has its commit's values; returns the paths of those objects.

    Reading the values checks every byte of an object against its name.
    """
    checked: set[str] = set()
    count = size = 0
    wrong = False
    for layer, entry in sorted(record.layers.items()):
        values: dict[str, dict[str, str]] = {key: {} for key in entry.keys}
        for row in store.every_row(record, layer):
            values.setdefault(row.key, {})[row.shard] = _check_object(store.objects, row, findings)
            checked |= {row.object} if row.rows else set()  # of an empty table, few bytes are read
            if not store.objects.exists(row.statistics):
                findings.problems.append(str(missing(store.root, row.statistics)))
            count += 1
            size += row.bytes
        wrong |= {key: values_hash(found) for key, found in values.items()} != {
            key: one.values for key, one in entry.keys.items()
        }
    if wrong:
        findings.problems.append(f"generation {record.number}: the hash of a layer's values is not the recorded one")
    else:
        findings.proved.append(f"{count:,} objects, {size:,} bytes: content and values are as committed")
    return checked


def check_alignment(store: Store, generation: Generation, findings: Findings) -> None:
    """Checks that every layer has each shard of the samples, with as many rows (law 2)."""
    samples = {row.shard: row for row in store.manifest(generation, layout.SAMPLES)}
    for layer, shards in sorted(generation.partial.items()):
        findings.notes.append(f"layer {layer} covers {shards:,} of {len(samples):,} shards; run its stage again")
    for layer in sorted(set(generation.layers) - {layout.SAMPLES}):
        rows = {row.shard: row for row in store.manifest(generation, layer)}
        for shard in sorted(samples.keys() ^ rows.keys()):
            side = layer if shard in samples else layout.SAMPLES
            findings.problems.append(f"layer {side} has no object for shard {shard}")
        uneven = [shard for shard in samples.keys() & rows.keys() if samples[shard].rows != rows[shard].rows]
        findings.problems += [
            f"layer {layer}: shard {shard} has {rows[shard].rows} rows, but its samples have {samples[shard].rows}"
            for shard in sorted(uneven)
        ]
        other = [shard for shard in samples.keys() & rows.keys() if rows[shard].samples != samples[shard].object]
        findings.problems += [f"layer {layer}: shard {shard} was made from other samples" for shard in sorted(other)]
        if samples.keys() == rows.keys() and not uneven and not other:
            findings.proved.append(f"layer {layer} is aligned with the samples of all {len(samples):,} shards")


def check_balance(store: Store, tasks: Iterable[TaskCommit], findings: Findings) -> None:
    """Checks that records = kept + dropped + quarantined, counted from the footers of what was written."""
    records = kept = dropped = quarantined = 0
    wrong = False
    for task in tasks:
        written = sum(_footer_rows(store.objects, shard.object.path, findings) for shard in task.shards)
        refused = [
            _footer_rows(store.objects, ranges.path, findings) if ranges else 0
            for ranges in (task.dropped, task.quarantine)
        ]
        if not task.balanced or task.records != written + sum(refused):
            wrong = True
            findings.problems.append(
                f"task {task.task}: {task.records} records in, {written} rows, "
                f"{refused[0]} dropped, {refused[1]} quarantined"
            )
        records, kept = records + task.records, kept + written
        dropped, quarantined = dropped + refused[0], quarantined + refused[1]
    if not wrong:
        findings.proved.append(
            f"{records:,} records = {kept:,} rows + {dropped:,} dropped + {quarantined:,} quarantined"
        )


def check_intake(store: Store, tasks: Iterable[TaskCommit], findings: Findings) -> None:
    """Checks that every task of the generation is in its source's list of tasks."""
    names: dict[str, set[str]] = {}
    for task in tasks:
        names.setdefault(task.source, set()).add(task.task)
    for source, committed in sorted(names.items()):
        try:
            require_tasks(store, source, committed)
        except StoreError as error:
            findings.problems.append(str(error))


def check_identities(store: Store, generation: Generation, findings: Findings) -> None:
    """Checks that ids are unique. They are partitioned in tables on disk, so memory stays bounded."""
    rows = store.manifest(generation, layout.SAMPLES)
    with closing(duckdb.connect(config={"threads": "1", "memory_limit": "1GB"})) as connection:
        connection.execute("CREATE TABLE ids (id BLOB)")
        total = 0
        for row in rows:
            for batch in store.batches(row, ["id"]):
                connection.register("batch", pa.table({"id": batch["id"].cast(pa.binary())}))
                connection.execute("INSERT INTO ids SELECT id FROM batch")
                total += batch.num_rows
        repeated = connection.execute(
            "SELECT hex(id), count(*) FROM ids GROUP BY id HAVING count(*) > 1 ORDER BY 1 LIMIT 10"
        ).fetchall()
    findings.problems += [f"{count} rows share the id {identity.lower()}" for identity, count in repeated]
    if not repeated:
        findings.proved.append(f"{total:,} ids are all different")


def check_environments(generation: Generation, findings: Findings) -> None:
    """Notes objects made in different environments, which may differ in pinned values."""
    if len(generation.environments) > 1:
        made = ", ".join(f"{name}: {count}" for name, count in generation.environments.items())
        findings.notes.append(f"objects were made in {len(generation.environments)} different environments ({made})")


def _check_object(objects: ObjectStore, row: ManifestRow, findings: Findings) -> str:
    try:
        with open_table(objects, row.object) as parquet:
            schema = parquet.schema_arrow
            hasher = ValueHasher(schema)
            for batch in parquet.iter_batches(use_threads=False):
                hasher.update(batch.cast(schema) if batch.schema != schema else batch)
    except StoreError as error:
        findings.problems.append(str(error))
        return ""
    values = hasher.hexdigest()
    if values != row.values:
        findings.problems.append(f"{row.object}: its values have the hash {values}, {row.values} was committed")
    if hasher.rows != row.rows:
        findings.problems.append(f"{row.object}: {hasher.rows} rows, {row.rows} were committed")
    return values


def _footer_rows(objects: ObjectStore, path: str, findings: Findings) -> int:
    try:
        with open_table(objects, path) as parquet:
            return int(parquet.metadata.num_rows)
    except StoreError as error:
        if str(error) not in findings.problems:
            findings.problems.append(str(error))
        return -1
