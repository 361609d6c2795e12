"""Checks that the draw of each mixture plan matches the plan, row by row.

Plans of the latest generation are read from their records alone. Their draws are added up anew, by output and stratum,
and held against the rows of the samples: nothing is taken from the planner but the plan under test.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.forgetting.hidden_rows import hidden_rows
from winnow.pipelines.mix.plans import DrawnObject, PlanRecord
from winnow.pipelines.store import layout
from winnow.pipelines.store.content import name_content
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.manifests import ManifestRow
from winnow.pipelines.store.sealed import read_record
from winnow.pipelines.store.tables import read_batches, read_table
from winnow.schemas.errors import StoreError
from winnow.schemas.mixture import VALIDATION, Amount, MixturePlan, PlannedOutput
from winnow.schemas.records import Generation
from winnow.schemas.rows.draws import DRAW

SHOWN = 5  # mismatched strata reported per output

Numbers = NDArray[np.int64]


def check_draws(store: Store, generation: Generation, findings: Findings) -> dict[str, int]:
    """Checks every draw of this generation's plans; returns the number of since-forgotten rows by plan."""
    records = list(plan_records(store.objects, findings))
    current = [record for record in records if record.plan.tree_hash == generation.tree_hash]
    if not current:
        if records:
            findings.notes.append(f"no plan of generation {generation.number}: no draw was checked")
        return {}
    if others := len(records) - len(current):
        findings.notes.append(f"{others:,} plans of other generations: their draws were not checked")
    samples = {row.shard: row for row in store.manifest(generation, layout.SAMPLES)}
    forgotten = {shard: found.rows for shard, found in hidden_rows(store, generation).items()}
    stale: dict[str, int] = {}
    for record in current:
        before = len(findings.problems)
        plan = record.plan
        totals, gone = _Totals(plan), 0
        for drawn in _shards(store, record, samples, findings):
            said = f"plan {plan.name}: shard {drawn.shard}"
            findings.problems += [f"{said}: {line}" for line in (*_misplaced(drawn), *_exposure(plan, drawn))]
            totals.add(drawn)
            gone += int(np.isin(drawn.rows, forgotten.get(drawn.shard, np.zeros(0, np.int64))).sum())
        findings.problems += [f"plan {plan.name}: {line}" for line in totals.wrong()]
        if len(findings.problems) == before:
            findings.proved.append(
                f"plan {plan.name}: {totals.samples:,} samples are drawn as planned, each stratum of "
                f"{', '.join(output.name for output in plan.outputs)} and each row"
            )
        if gone:
            stale[plan.name] = gone
            findings.notes.append(
                f"plan {plan.name}: {gone:,} drawn rows have been forgotten since; run winnow mix to make a new plan"
            )
    return stale


@dataclass(frozen=True)
class _Drawn:
    """The draw of one shard, with all values in range; by output, and by row within it."""

    shard: str
    ids: pa.Array  # for all rows of the shard
    table: pa.Table
    outputs: Numbers = field(init=False)
    rows: Numbers = field(init=False)
    first: Numbers = field(init=False)
    copies: Numbers = field(init=False)

    def __post_init__(self) -> None:
        for name, column in (("outputs", "output"), ("rows", "row"), ("first", "first"), ("copies", "copies")):
            object.__setattr__(self, name, self.table[column].to_numpy().astype(np.int64))


def _shards(
    store: Store, record: PlanRecord, samples: Mapping[str, ManifestRow], findings: Findings
) -> Iterator[_Drawn]:
    """Yields the readable draws, and reports the others as problems."""
    seen: set[str] = set()
    for one in record.draws:
        try:
            drawn = _read(store, record.plan, one, samples.get(one.shard), again=one.shard in seen)
        except (StoreError, OSError, pa.ArrowInvalid) as error:
            findings.problems.append(f"plan {record.plan.name}: {one.object}: {str(error).splitlines()[0]}")
            continue
        seen.add(one.shard)
        yield drawn


def _read(store: Store, plan: MixturePlan, one: DrawnObject, row: ManifestRow | None, *, again: bool) -> _Drawn:
    """Reads the draw of a shard; StoreError if its bytes, columns or ranges are wrong."""
    if row is None or row.source != one.source:
        raise StoreError(f"{one.source} has no shard {one.shard}")
    if again:
        raise StoreError(f"shard {one.shard} is drawn from twice")
    if one.object != layout.draw_object(plan.request, one.shard, name_content(one.object)):
        raise StoreError("it is the draw of another plan or shard")
    table = read_table(store.objects, one.object)
    if not table.schema.equals(DRAW):
        raise StoreError("its columns are not those of a draw")
    if table.num_rows != one.rows:
        raise StoreError(f"{table.num_rows:,} rows, but the plan says {one.rows:,}")
    ids = pa.chunked_array(
        [batch["id"].cast(DRAW.field("id").type) for batch in read_batches(store.objects, row.object, ["id"])],
        DRAW.field("id").type,
    ).combine_chunks()
    drawn = _Drawn(one.shard, ids, table.combine_chunks())
    if bool((drawn.rows >= len(ids)).any()):
        raise StoreError(f"it names row {int(drawn.rows.max()):,} of a shard of {len(ids):,}")
    strata = np.array([len(output.strata) for output in plan.outputs], np.int64)
    if bool((drawn.outputs >= len(strata)).any()):
        raise StoreError(f"it names output {int(drawn.outputs.max())} of {len(strata)}")
    if bool((table["stratum"].to_numpy() >= strata[drawn.outputs]).any()):
        raise StoreError("it names a stratum that its output does not have")
    return drawn


def _misplaced(drawn: _Drawn) -> Iterator[str]:
    """Yields rows that are repeated, have a different id, or have no copies."""
    order = np.diff(drawn.outputs)
    twice = (order < 0) | ((order == 0) & (np.diff(drawn.rows) <= 0))
    if twice.any():
        at = int(np.argmax(twice)) + 1
        yield f"row {drawn.rows[at]:,} is repeated or out of order"
    other = pc.not_equal(drawn.ids.take(pa.array(drawn.rows)), drawn.table["id"].combine_chunks())
    if wrong := pc.sum(other).as_py():
        at = int(drawn.rows[pc.index(other, True).as_py()])
        yield f"{wrong:,} drawn rows have different ids than the samples: row {at:,} is {drawn.ids[at].as_py().hex()}"
    if (drawn.copies < 1).any():
        yield f"row {drawn.rows[int(np.argmin(drawn.copies))]:,} is drawn with no copies"


def _exposure(plan: MixturePlan, drawn: _Drawn) -> Iterator[str]:
    """Checks that copies are numbered across stages, never exceed `max_epochs`, and avoid validation samples."""
    given = np.zeros(len(drawn.ids), np.int64)
    held_out = np.zeros(len(drawn.ids), np.bool_)
    for number, output in enumerate(plan.outputs):
        mine = drawn.outputs == number
        rows, first, copies = drawn.rows[mine], drawn.first[mine], drawn.copies[mine]
        if output.name == VALIDATION:
            held_out[rows] = True
            if bool((first != 0).any() or (copies != 1).any()):
                yield f"{output.name} contains a sample more than once"
            continue
        # For a share of a plan, earlier stages count in full, though less of them is drawn.
        wrong = first != given[rows] if plan.sample == "1" else first < given[rows]
        if wrong.any():
            at = int(np.argmax(wrong))
            yield f"{output.name} starts row {rows[at]:,} at copy {first[at]}, earlier stages used {given[rows[at]]}"
        given[rows] = np.maximum(given[rows], first + copies)
    both = held_out & (given > 0)
    if both.any():
        yield f"{int(both.sum()):,} samples are in {VALIDATION} and in a stage, such as row {int(np.argmax(both)):,}"
    most = ceil(plan.max_epochs)
    if len(given) and given.max() > most:
        yield f"row {int(np.argmax(given)):,} is used {given.max():,} times, but max_epochs is {plan.max_epochs:g}"


class _Totals:
    """The totals of a draw over all shards, by output and stratum."""

    def __init__(self, plan: MixturePlan) -> None:
        self._plan = plan
        sizes = [len(output.strata) for output in plan.outputs]
        self._starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self._counted = np.zeros((4, int(self._starts[-1])), np.int64)  # copies, their units; samples, their units
        self._largest = np.zeros(int(self._starts[-1]), np.int64)

    @property
    def samples(self) -> int:
        """The number of copies counted."""
        return int(self._counted[0].sum())

    def add(self, drawn: _Drawn) -> None:
        """Adds one shard."""
        place = self._starts[drawn.outputs] + drawn.table["stratum"].to_numpy()
        units = drawn.table["units"].to_numpy()
        ones = np.ones(len(units), np.int64)
        for total, amount in zip(self._counted, (drawn.copies, drawn.copies * units, ones, units), strict=True):
            np.add.at(total, place, amount)
        np.maximum.at(self._largest, place, units)

    def wrong(self) -> Iterator[str]:
        """Yields the differences from the plan."""
        for output, start in zip(self._plan.outputs, self._starts.tolist(), strict=False):
            lines = list(self._wrong(output, start))
            yield from lines[:SHOWN]
            if len(lines) > SHOWN:
                yield f"{output.name}: and {len(lines) - SHOWN:,} more"

    def _wrong(self, output: PlannedOutput, start: int) -> Iterator[str]:
        most = Fraction(repr(self._plan.max_epochs))
        for number, one in enumerate(output.strata, start):
            counted = [int(value) for value in self._counted[:, number]]
            given, unique = Amount(counted[0], counted[1]), Amount(counted[2], counted[3])
            if (given, unique) != (one.given, one.unique):
                yield (
                    f"{output.name}: {one.stratum}: {_told(given)} of {_told(unique)} are drawn, but the plan has "
                    f"{_told(one.given)} of {_told(one.unique)}"
                )
            over = one.exposed + given.units - most * one.available.units
            if output.name != VALIDATION and given.units and over > self._largest[number]:
                yield f"{output.name}: {one.stratum}: is used more often than max_epochs {self._plan.max_epochs:g}"


def _told(amount: Amount) -> str:
    return f"{amount.samples:,} samples ({amount.units:,} units)"


def plan_records(objects: ObjectStore, findings: Findings) -> Iterator[PlanRecord]:
    """Every plan with a finished draw, by request; an unreadable one is a problem."""
    for info in objects.list(layout.PLANS):
        request = info.path.split("/")[1]
        if info.path != layout.plan_record(request):
            continue
        try:
            record = read_record(objects, PlanRecord, info.path)
        except (StoreError, OSError) as error:
            findings.problems.append(str(error).splitlines()[0])
            continue
        if record.plan.request != request:
            findings.problems.append(f"{info.path}: is the plan of the request {record.plan.request}")
        yield record
