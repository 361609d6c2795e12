"""Writes the layer of a score: each row's values by the fits of its group, and its place in the orders of the group."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.running.scratch_parts import read_arrays
from winnow.pipelines.score.deciding.batch_votes import BatchVotes
from winnow.pipelines.score.deciding.decision import Decision, ScoredRows, read_scores
from winnow.pipelines.score.deciding.placing import Order, Places, Placing
from winnow.pipelines.score.deciding.records import find_decision
from winnow.pipelines.score.deciding.voting import Voter
from winnow.pipelines.store import layout
from winnow.pipelines.store.global_keys import GlobalKey
from winnow.pipelines.store.layers import LayerWriter, commit_layers
from winnow.schemas.errors import StageError
from winnow.schemas.recipe.score import Measured
from winnow.schemas.rows.scores import score_schema
from winnow.schemas.statistics import layer_spec
from winnow.schemas.tombstones import FORGOTTEN
from winnow.scoring.selection.label_model import KeepRule
from winnow.scoring.selection.ranks import Floats, Integers


@dataclass(frozen=True)
class Writing:
    """The job that writes the layer. Picklable."""

    decision: Decision
    placing: Placing
    batches: BatchVotes | None
    key: GlobalKey

    def write(self, number: int) -> Iterator[int]:
        """Write and commit the layer for the shards of the n-th group that lacks some of them."""
        decision, objects = self.decision, self.decision.store.objects
        layer, schema = decision.bound.entry.layer, score_schema(decision.bound.entry.beside)
        record = find_decision(objects, layer, self.key.covered)
        if record is None:
            raise StageError(f"{layer}: the record of its fits is gone; run the same command again")
        shard_group = int(read_arrays(objects, decision.scratch, "owed", 0)["groups"][number].as_py())
        groups = {group.name: at for at, group in enumerate(record.groups)}
        voter = Voter(decision, [group.cuts for group in record.groups], self.batches)
        keeps = KeepRule([group.rates for group in record.groups], decision.checkpoints)
        places = self.placing.read(shard_group)
        for shard in decision.shards.in_group(shard_group):
            one = decision.shards.all[shard]
            with LayerWriter(decision.store, schema, layer_spec(layer, schema)) as writer:
                for rows in read_scores(decision, shard, ids=voter.needs_ids, measures=True):
                    numbers = rows.numbered_groups(groups)
                    votes = voter.votes(shard, rows, numbers)
                    ranks = [_fractions(places, order, shard, rows, numbers) for order in ("score", "random")]
                    writer.write(_rows(schema, rows, votes, keeps.probability(votes, numbers), *ranks))
                written = writer.finish(layer, self.key.covered, one.shard, under=self.key.settings)
            commit_layers(decision.store, one.shard, one.source, one.objects[layout.SAMPLES], [written])
        yield shard_group


def _fractions(places: Places, order: Order, shard: int, rows: ScoredRows, groups: Integers) -> Floats:
    """Return the place of each row as a fraction of its group's rows; NaN if it is not in the order."""
    which, place, total = places.of(order, shard, rows, groups)
    found = np.full(len(rows), np.nan)
    found[which] = (place + 0.5) / total  # symmetric: as many below f as above 1 - f
    return found


def _measured(rows: ScoredRows, name: str) -> pa.Array:
    values = rows.measures.get(name)
    return pa.nulls(len(rows), pa.float64()) if values is None else pa.array(values, mask=~np.isfinite(values))


def _rows(
    schema: pa.Schema, rows: ScoredRows, votes: NDArray[np.int8], keep: Floats, rank: Floats, random: Floats
) -> pa.RecordBatch:
    unscored, unfiltered = ~np.isfinite(rows.means), ~np.isfinite(keep)
    forgotten = np.asarray(rows.status.to_numpy(zero_copy_only=False) == FORGOTTEN)
    return pa.RecordBatch.from_arrays(
        [
            rows.status,
            pa.array(rows.means, mask=unscored),
            pa.array(keep, mask=unfiltered),
            pa.array((votes == 1).sum(axis=1).astype(np.int16), mask=unfiltered | forgotten),
            pa.array((votes >= 0).sum(axis=1).astype(np.int16), mask=unscored | forgotten),
            pa.array(rank, mask=unscored),
            pa.array(random, mask=unscored),
            *(_measured(rows, name) for name in schema.names if name in get_args(Measured)),
        ],
        schema=schema,
    )
