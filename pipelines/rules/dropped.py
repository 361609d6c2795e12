"""The samples that rules drop, one row each, for reviewing, sampling or tuning a threshold.

Forgotten samples are included, by id only.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.rules.decisions import WORD, ShardDecisions
from winnow.pipelines.rules.pinning import PinnedProgram, ShardObjects
from winnow.pipelines.rules.representatives import NO_DUPLICATES, Duplicates
from winnow.pipelines.store import layout
from winnow.pipelines.store.tables import read_batches

DROPPED_SAMPLES = pa.schema(
    [
        pa.field("id", pa.binary(16), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("url", pa.string()),
        pa.field("reason", pa.string(), nullable=False),  # of the first rule that fired
        pa.field(
            "reasons", pa.list_(pa.field("item", pa.string(), nullable=False)), nullable=False
        ),  # of all, in order
        pa.field("duplicate_of", pa.binary(16)),  # the row that stayed in its place when it was chosen among duplicates
    ]
)


def dropped_samples(
    pinned: PinnedProgram, shard: ShardObjects, decisions: ShardDecisions, duplicates: Duplicates = NO_DUPLICATES
) -> pa.Table:
    """The dropped rows of one shard, in order."""
    batches = list(read_batches(pinned.store.objects, shard.objects[layout.SAMPLES], ["id", "url"]))
    first = decisions.first
    at = np.flatnonzero(first >= 0)
    if not len(at):
        return DROPPED_SAMPLES.empty_table()
    samples = pa.Table.from_batches(batches).take(pa.array(at)).combine_chunks()
    names = pa.array(pinned.program.all_reasons)
    forgotten = pa.array(first[at] == decisions.rules)
    return pa.table(
        [
            samples["id"].cast(pa.binary(16)),
            pa.array([shard.source]).take(pa.array(np.zeros(len(at), np.int64))),
            pc.if_else(forgotten, pa.scalar(None, pa.string()), samples["url"]),
            names.take(pa.array(first[at])),
            _reasons(decisions, at, names),
            duplicates.gone_for(shard.shard, shard.rows).take(pa.array(at)),
        ],
        schema=DROPPED_SAMPLES,
    )


def _reasons(decisions: ShardDecisions, at: np.ndarray[tuple[int], np.dtype[np.int64]], names: pa.Array) -> pa.Array:
    fired = decisions.fired[at]
    rows, rules = [], []
    for number in range(decisions.rules + 1):
        found = np.flatnonzero(fired[:, number // WORD] >> np.uint64(number % WORD) & np.uint64(1))
        rows.append(found)
        rules.append(np.full(len(found), number, np.int64))
    every, which = np.concatenate(rows), np.concatenate(rules)
    order = np.argsort(every, kind="stable")  # rules were gone through in order, and stay so in each row
    offsets = np.concatenate([[0], np.cumsum(np.bincount(every, minlength=len(at)))])
    values = names.take(pa.array(which[order]))
    kind = DROPPED_SAMPLES.field("reasons").type
    return pc.cast(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values), kind)
