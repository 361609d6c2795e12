"""Draws the rows of a shard for all outputs, once the strata's limits are known, and stores them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.mix.candidates import DROPPED_ITEM, DROPPED_OF
from winnow.pipelines.mix.dropped_media import DroppedMedia
from winnow.pipelines.mix.passes import Arrays, Pass
from winnow.pipelines.mix.scratch import Scratch
from winnow.pipelines.mix.split_passes import HELD_OUT
from winnow.pipelines.mix.stage_passes import NO_STRATUM, DrawLimit, first_copies, mark_column
from winnow.pipelines.running.shard_list import ListedShard, ShardList
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.tables import put_table
from winnow.schemas.rows.draws import DRAW
from winnow.schemas.uint128 import values_of


@dataclass(frozen=True, kw_only=True)
class PutDraws(Pass):
    """Stores the draw of each shard that has one.

    given: `held`, the stratum of each cell's held-out candidates; by stage its limit, and the stratum of each mark.
    """

    name = "Draws"
    objects: ObjectStore
    request: str
    shards: ShardList[ListedShard]
    stages: int
    held_out: bool

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """The shard's `shard`, `source`, `object` and `rows`, if any are drawn."""
        drawn, one = self.drawn(columns, shard), self.shards.all[shard]
        if not drawn.num_rows:
            return _lines([])
        put = put_table(self.objects, drawn, lambda content: layout.draw_object(self.request, one.shard, content))
        return _lines([(one.shard, one.source, put.path, drawn.num_rows)])

    def merged(self, parts: Iterator[Arrays]) -> Arrays:
        """The same of several shards, in order."""
        held = list(parts) or [_lines([])]
        return {name: np.concatenate([part[name] for part in held]) for name in held[0]}

    def drawn(self, columns: Scratch, shard: int) -> pa.Table:
        """Return the drawn rows of a shard, by output and row."""
        row, high, low, units, size, draw = columns.columns(shard, ("row", "high", "low", "units", "bytes", "draw"))
        outputs: list[dict[str, NDArray[Any]]] = []

        def add(output: int, chosen: NDArray[np.int64], stratum: Any, first: Any, copies: Any) -> None:
            outputs.append(
                {
                    "output": np.full(len(chosen), output, np.uint8),
                    "chosen": chosen,
                    "stratum": stratum,
                    "first": first,
                    "copies": copies,
                }
            )

        for stage in range(self.stages):
            marks = self.given[f"{stage}.number"][columns.load(shard, mark_column(stage))]
            first = first_copies(columns, shard, stage, len(row))
            in_strata = np.flatnonzero(marks != NO_STRATUM)
            limit = DrawLimit.of(self.given, str(stage))
            copies = limit.copies(marks[in_strata], first[in_strata], draw[in_strata])
            given = np.flatnonzero(copies)
            chosen = in_strata[given]
            add(stage, chosen, marks[chosen], first[chosen], copies[given])
        if self.held_out:
            held, cell = columns.columns(shard, (HELD_OUT, "cell"))
            chosen = np.flatnonzero(held)
            ones = np.ones(len(chosen), np.uint16)
            add(self.stages, chosen, self.given["held"][cell[chosen]], ones - 1, ones)
        dropped = DroppedMedia(*columns.columns(shard, (DROPPED_OF, DROPPED_ITEM)))
        drawn = {name: np.concatenate([one[name] for one in outputs]) for name in outputs[0]}
        chosen = drawn["chosen"]
        return pa.Table.from_arrays(
            [
                pa.array(drawn["output"]),
                pa.array(row[chosen]),
                values_of(high[chosen], low[chosen]),
                pa.array(drawn["stratum"].astype(np.uint32)),
                pa.array(drawn["first"].astype(np.uint16)),
                pa.array(drawn["copies"].astype(np.uint16)),
                pa.array(units[chosen]),
                pa.array(size[chosen]),
                dropped.lists(chosen),
            ],
            schema=DRAW,
        )


def _lines(lines: list[tuple[str, str, str, int]]) -> Arrays:
    """Return lines as columns."""
    names = ("shard", "source", "object")
    texts = {name: np.array([line[at] for line in lines], np.object_) for at, name in enumerate(names)}
    return {**texts, "rows": np.array([line[3] for line in lines], np.int64)}
