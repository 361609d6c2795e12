"""Does a forgotten row hold anything still, in any layer or quarantined range?"""

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.forgetting.hidden_rows import hidden_rows
from winnow.pipelines.forgetting.hiding import load_hiding
from winnow.pipelines.forgetting.ranges import ForgottenRanges
from winnow.pipelines.store.generations import ManifestRow, Store
from winnow.pipelines.store.neutral import neutral_stream
from winnow.pipelines.store.tables import read_batches
from winnow.schemas.errors import StoreError
from winnow.schemas.records import Generation


def check_forgotten(store: Store, generation: Generation, findings: Findings) -> None:
    """Rows that are purged hold nothing in any layer; those that are not are hidden, and counted."""
    hiding = load_hiding(store.objects)
    if not hiding:
        return
    hidden = hidden_rows(store, generation, hiding)
    purged = {shard: np.setdiff1d(found.rows, found.pending) for shard, found in hidden.items()}
    wrong = [
        f"{row.object}: holds something of a forgotten row that is marked as purged"
        for layer in sorted(generation.layers)
        for row in store.manifest(generation, layer)
        if len(purged.get(row.shard, ())) and not _is_neutral(store, layer, row, purged[row.shard])
    ]
    findings.problems += wrong
    rows = sum(map(len, purged.values()))
    if rows and not wrong:
        findings.proved.append(f"{rows:,} forgotten rows hold nothing in any layer")
    ranges = ForgottenRanges(store, hiding, hidden)
    waiting = sum(len(found.pending) for found in hidden.values())
    quoted = sum(ranges.quotes(task) for task in store.tasks(generation))
    if waiting or quoted:
        findings.notes.append(
            f"{waiting:,} forgotten rows are hidden and not purged yet; winnow gc --purge takes their content away"
        )


def _is_neutral(store: Store, layer: str, row: ManifestRow, rows: NDArray[np.int64]) -> bool:
    try:
        as_it_is = read_batches(store.objects, row.object)
        emptied = neutral_stream(layer, read_batches(store.objects, row.object), rows)
        return all(left.equals(right) for left, right in zip(as_it_is, emptied, strict=True))
    except StoreError:
        return True  # said already, where objects are checked
