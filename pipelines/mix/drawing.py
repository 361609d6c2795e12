"""Draws a plan: finds the rows of each shard that each output takes, and how often. Moves no data."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.binding.mixture import BoundMix, family_of
from winnow.pipelines.mix.candidates import DROPPED_ITEM, DROPPED_OF
from winnow.pipelines.mix.dropped_media import DroppedMedia
from winnow.pipelines.mix.inventory import Inventory
from winnow.pipelines.mix.splitting import HELD_OUT
from winnow.pipelines.mix.stage_plans import NO_STRATUM, PlannedStage, first_column, mark_column
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.tables import put_table
from winnow.schemas.mixture import VALIDATION, Amount, PlannedOutput, PlannedStratum, Stratum
from winnow.schemas.rows.draws import DRAW
from winnow.schemas.uint128 import values_of

HELD_STRATUM = "held_stratum"


def plan_validation(inventory: Inventory, bound: BoundMix, notes: Sequence[str]) -> PlannedOutput | None:
    """Return the held-out samples as an output, each once; None if the recipe holds nothing out."""
    config = bound.config
    if not config.split.validation and not config.split.min_samples:
        return None
    families = family_of(config.outputs[0], [cell.language for cell in inventory.cells])
    of_cell = [
        Stratum(cell.source_class, cell.source, family, cell.language)
        for cell, family in zip(inventory.cells, families, strict=True)
    ]
    counted = np.zeros((2, len(of_cell)), np.int64)
    for shard in range(len(inventory.shards)):
        held, units = inventory.scratch.columns(shard, (HELD_OUT, "units"))
        cell = inventory.cell(shard)[held]
        counted[0] += np.bincount(cell, minlength=len(of_cell))
        np.add.at(counted[1], cell, units[held])
    order = sorted(np.flatnonzero(counted[0]).tolist(), key=lambda cell: of_cell[cell])
    number = np.full(len(of_cell), NO_STRATUM, np.uint32)
    number[order] = np.arange(len(order), dtype=np.uint32)
    for shard in range(len(inventory.shards)):
        held = inventory.column(shard, HELD_OUT)
        inventory.scratch.save(shard, HELD_STRATUM, np.where(held, number[inventory.cell(shard)], NO_STRATUM))
    strata = []
    for cell in order:
        amount = Amount(int(counted[0, cell]), int(counted[1, cell]))
        strata.append(PlannedStratum(of_cell[cell], amount, 0, amount.units, amount.units, amount, amount, 1, -1))
    budget = int(counted[1].sum())
    return PlannedOutput(VALIDATION, budget, tuple(strata), tuple(notes))


def draw_shard(inventory: Inventory, shard: int, stages: Sequence[PlannedStage], held_out: bool) -> pa.Table:
    """Return the drawn rows of a shard, by output and row."""
    scratch = inventory.scratch
    row, high, low, units, size, draw = scratch.columns(shard, ("row", "high", "low", "units", "bytes", "draw"))
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

    for number, stage in enumerate(stages):
        raw, first = scratch.columns(shard, (mark_column(number), first_column(number)))
        marks = stage.strata[raw]
        takeable = np.flatnonzero(marks != NO_STRATUM)
        copies = stage.limit.copies(marks[takeable], first[takeable], draw[takeable])
        given = np.flatnonzero(copies)
        chosen = takeable[given]
        add(number, chosen, marks[chosen], first[chosen], copies[given])
    if held_out:
        marks = scratch.load(shard, HELD_STRATUM)
        chosen = np.flatnonzero(marks != NO_STRATUM)
        ones = np.ones(len(chosen), np.uint16)
        add(len(stages), chosen, marks[chosen], ones - 1, ones)
    dropped = DroppedMedia(*scratch.columns(shard, (DROPPED_OF, DROPPED_ITEM)))
    columns = {name: np.concatenate([one[name] for one in outputs]) for name in outputs[0]}
    chosen = columns["chosen"]
    return pa.Table.from_arrays(
        [
            pa.array(columns["output"]),
            pa.array(row[chosen]),
            values_of(high[chosen], low[chosen]),
            pa.array(columns["stratum"].astype(np.uint32)),
            pa.array(columns["first"].astype(np.uint16)),
            pa.array(columns["copies"].astype(np.uint16)),
            pa.array(units[chosen]),
            pa.array(size[chosen]),
            dropped.lists(chosen),
        ],
        schema=DRAW,
    )


def put_draw(store: Store, request: str, shard: str, drawn: pa.Table) -> str:
    """Publish the draw of a shard; return its path."""
    return put_table(store.objects, drawn, lambda content: layout.draw_object(request, shard, content)).path
