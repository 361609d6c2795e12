"""Audits one generation completely, in the order in which a person would ask."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.audit.draws import check_draws
from winnow.pipelines.audit.exports import check_exports
from winnow.pipelines.audit.files import check_files
from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.audit.objects import (
    check_alignment,
    check_balance,
    check_environments,
    check_identities,
    check_intake,
    check_objects,
)
from winnow.pipelines.audit.sources import check_sources
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.forgetting.hidden_rows import every_hidden_row
from winnow.pipelines.forgetting.ranges import ForgottenRanges
from winnow.pipelines.ingest.planning.context import IngestContext
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.store import layout
from winnow.pipelines.store.damage import DamagedError, MissingError
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.neutral import neutral_stream
from winnow.pipelines.store.hiding.scans import load_hiding
from winnow.pipelines.store.manifests import ManifestRow
from winnow.pipelines.store.sealed import find_record
from winnow.pipelines.store.tables import read_batches
from winnow.schemas.errors import StoreError
from winnow.schemas.records import Generation, GenerationRecord, StoredWeights, TaskCommit, WeightKeys
from winnow.schemas.rows.scores import TRACES

T = TypeVar("T")


def audit_generation(
    store: Store, generation: Generation, context: IngestContext | None, *, exports: bool = True
) -> Findings:
    """Audits the store's objects, draws and files, its exports, and its sources.

    Args:
        store: The store.
        generation: Its latest generation, as the recipe reads it; the objects of every recipe are checked.
        context: From the recipe: where the sources are. None: do not read them again.
        exports: Whether to read registered exports again.
    """
    findings = Findings()
    checked: set[str] = set()
    stale: dict[str, int] = {}
    tasks: list[TaskCommit] = []
    with _going_on(findings):
        tasks = store.tasks(generation)
    record = store.generation_record(generation.number)
    with _going_on(findings):
        checked = check_objects(store, record, findings)
    for check in (
        partial(check_alignment, store, generation, findings),
        partial(check_balance, store, tasks, findings),
        partial(check_intake, store, tasks, findings),
        partial(check_identities, store, generation, findings),
        partial(check_forgotten, store, record, findings),
    ):
        with _going_on(findings):
            check()
    with _going_on(findings):
        stale = check_draws(store, generation, findings)
    check_environments(generation, findings)
    with _going_on(findings):
        check_weights(store, generation, findings)
    check_files(store, checked, findings)
    if exports:
        with _going_on(findings):
            check_exports(store, stale, findings)
    if context is None:
        findings.notes.append("the sources were not read again; name the recipe to prove that nothing was lost")
    else:
        with _going_on(findings):
            check_sources(context, tasks, findings)
    return findings


def audit_store(
    store: Store, recipe: BoundRecipe | None, context: IngestContext | None, *, exports: bool = True
) -> Findings:
    """Audits the latest generation as a recipe reads it; if its record is damaged, every file by itself."""
    try:
        generation = require_latest_for(recipe, store)
    except DamagedError as error:
        findings = Findings(problems=[str(error)])
        check_files(store, frozenset(), findings)
        return findings
    return audit_generation(store, generation, context, exports=exports)


@contextmanager
def _going_on(findings: Findings) -> Iterator[None]:
    """Ends one check at a file that it cannot do without; the others go on."""
    try:
        yield
    except (DamagedError, MissingError) as error:
        if str(error) not in findings.problems:
            findings.problems.append(str(error))


def check_weights(store: Store, generation: Generation, findings: Findings) -> None:
    """Notes weights and traces from several environments, which may differ in pinned values."""
    for layer in sorted(generation.layers):
        if not layer.startswith(TRACES):
            continue
        score = layer.removeprefix(TRACES)
        rows = store.manifest(generation, layer)
        made = {row.fingerprint for row in rows}
        for key in sorted({row.key for row in rows}):
            made |= _weights_made(store, score, key)
        if len(made) > 1:
            findings.notes.append(
                f"{layer} and its weights were made in {len(made)} different environments ({', '.join(sorted(made))})"
            )


def _weights_made(store: Store, score: str, trace: str) -> set[str]:
    """The recorded environments of a trace's weights."""
    use = _found(store, WeightKeys, layout.weights_use(score, trace))
    keys = (use.reference, use.trajectory) if use is not None else ()
    found = (_found(store, StoredWeights, layout.weights_record(score, key)) for key in filter(None, keys))
    return {stored.fingerprint for stored in found if stored is not None and stored.fingerprint}


def _found(store: Store, kind: type[T], path: str) -> T | None:
    """A record; None if it is missing, since weights may be collected before their traces, or damaged."""
    try:
        return find_record(store.objects, kind, path)
    except StoreError:
        return None


def check_forgotten(store: Store, record: GenerationRecord, findings: Findings) -> None:
    """Checks that purged rows are empty in every layer; counts the rows that are hidden but not purged."""
    hiding = load_hiding(store.objects)
    if not hiding:
        return
    hidden = every_hidden_row(store, record, hiding)
    purged = {samples: np.setdiff1d(found.rows, found.pending) for samples, found in hidden.items()}
    wrong = [
        f"{row.object}: still has content of a forgotten row that is marked as purged"
        for layer in sorted(record.layers)
        for row in store.every_row(record, layer)
        if len(purged.get(row.samples, ())) and not _is_neutral(store, layer, row, purged[row.samples])
    ]
    findings.problems += wrong
    rows = sum(map(len, purged.values()))
    if rows and not wrong:
        findings.proved.append(f"{rows:,} forgotten rows are empty in every layer")
    ranges = ForgottenRanges(store, hiding, hidden)
    waiting = sum(len(found.pending) for found in hidden.values())
    quoted = sum(ranges.quotes(task) for task in store.every_task(record))
    if waiting or quoted:
        findings.notes.append(
            f"{waiting:,} forgotten rows are hidden but not purged yet; run winnow gc --purge to remove their content"
        )


def _is_neutral(store: Store, layer: str, row: ManifestRow, rows: NDArray[np.int64]) -> bool:
    try:
        as_it_is = read_batches(store.objects, row.object)
        emptied = neutral_stream(layer, read_batches(store.objects, row.object), rows)
        return all(left.equals(right) for left, right in zip(as_it_is, emptied, strict=True))
    except StoreError:
        return True  # already reported by the check of objects
