"""Checks that the draw of each mixture plan matches the plan, row by row.

Plans are read from the records of the latest generation. Their draws are summed again, by output and stratum, and
compared with the sample rows; only the plan itself is taken from the planner.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from math import ceil

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.audit.drawn_media import OF_SAMPLES, Drawn, needs_media, wrong_media
from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.mix.drawn_objects import DrawnObject, DrawnObjects
from winnow.pipelines.mix.plans import PlanRecord
from winnow.pipelines.running.job_tasks import OPENING_BYTES, TaskFolder, TaskKind, TaskWithoutBlocks, slices
from winnow.pipelines.running.tasks import TaskLine
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.integrity.content import name_content
from winnow.pipelines.store.integrity.sealed import read_record
from winnow.pipelines.store.manifests.rows import ManifestRow
from winnow.pipelines.store.tables import read_batches, read_table
from winnow.schemas.counts import count_of
from winnow.schemas.errors import StoreError
from winnow.schemas.identity import content_name
from winnow.schemas.mixture import VALIDATION, Amount, MixturePlan, PlannedOutput
from winnow.schemas.records import Generation, to_json
from winnow.schemas.rows.draws import DRAW
from winnow.schemas.rows.interleaved import LAYER

SHOWN = 5  # mismatched strata reported per output
_ROW_BYTES = 32  # of a drawn row and its id, about

_BEFORE_ITEMS = DRAW.remove(DRAW.get_field_index("dropped"))  # of plans from before there were rules of items

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DrawsTask(TaskLine):
    """The draws of some shards, by one plan."""

    request: str
    plan: str  # a hash of the plan
    draws: tuple[DrawnObject, ...]
    again: tuple[bool, ...]  # whether the plan has drawn from the shard before
    samples: Mapping[str, ManifestRow]  # by shard
    shown: Mapping[str, str]  # by shard, the object that says which pictures pages show, if there is one
    forgotten: Mapping[str, tuple[int, ...]]  # hidden rows, by shard


@dataclass(slots=True)
class DrawsFound:
    """What was found in the draws of a task, by output and stratum."""

    problems: list[str] = field(default_factory=list)
    counted: list[list[int]] = field(default_factory=list)  # copies, their units; samples, their units
    largest: list[int] = field(default_factory=list)
    gone: int = 0  # drawn rows that were forgotten since


def check_draws(store: Store, task: DrawsTask) -> DrawsFound:
    """Adds up the draws, and compares each with the rows of its shard."""
    plan = _plan(store.objects, task)
    found, totals = DrawsFound(), _Totals(plan)
    named = cache(lambda: plan.name)  # a hash of all strata: not for each shard, and not where nothing is wrong
    for one, again in zip(task.draws, task.again, strict=True):
        try:
            drawn = _read(store, plan, one, task.samples.get(one.shard), task.shown.get(one.shard), again=again)
        except (StoreError, OSError, pa.ArrowInvalid) as error:
            found.problems.append(f"plan {named()}: {one.object}: {str(error).splitlines()[0]}")
            continue
        lines = (*_misplaced(drawn), *_exposure(plan, drawn), *wrong_media(plan.unit, drawn))
        found.problems += [f"plan {named()}: shard {drawn.shard}: {line}" for line in lines]
        totals.add(drawn)
        found.gone += int(np.isin(drawn.rows, np.array(task.forgotten.get(one.shard, ()), np.int64)).sum())
    found.counted, found.largest = totals.counted.tolist(), totals.largest.tolist()
    return found


_last_plan: dict[tuple[str, str], MixturePlan] = {}  # the plan that this process read last, by its hash


def _plan(objects: ObjectStore, task: DrawsTask) -> MixturePlan:
    known = _last_plan.get((objects.root, task.plan))
    if known is None:
        known = read_record(objects, PlanRecord, layout.plan_record(task.request)).plan
        _last_plan.clear()
        _last_plan[objects.root, task.plan] = known
    return known


class DrawsCheck:
    """Checks every draw of a generation's plans."""

    def __init__(self, store: Store, generation: Generation, findings: Findings) -> None:
        self._store = store
        self._generation = generation
        self._findings = findings
        self._plans: list[MixturePlan] = []
        self._heard = Findings()  # about the plans themselves

    def plan(self, tasks: TaskFolder, hidden: Mapping[str, NDArray[np.int64]]) -> None:
        """Adds the tasks; `hidden`: the hidden rows, by samples object."""
        records = list(plan_records(self._store.objects, self._heard))
        current = [record for record in records if record.plan.tree_hash == self._generation.tree_hash]
        if not current:
            if records:
                number = self._generation.number
                self._heard.notes.append(f"no plan of generation {number}: no draw was checked")
            return
        if others := len(records) - len(current):
            self._heard.notes.append(f"{count_of(others, 'plan')} of other generations: no draw of these was checked")
        samples = self._store.manifest(self._generation, layout.SAMPLES).by_shard
        shown = self._store.manifest(self._generation, LAYER).objects if LAYER in self._generation.layers else {}
        self._plans = [record.plan for record in current]
        for record in current:
            kind = TaskKind(_kind(record.plan), DrawsTask, TaskWithoutBlocks(partial(check_draws, self._store)))
            seen: set[str] = set()
            digest = content_name(to_json(record.plan))
            for some, size in slices(self._draws(record), lambda one: one.rows * _ROW_BYTES + 2 * OPENING_BYTES):
                again = []
                for one in some:
                    again.append(one.shard in seen)
                    seen.add(one.shard)
                mine = {one.shard: samples[one.shard] for one in some if one.shard in samples}
                gone = {
                    shard: tuple(hidden[row.object].tolist()) for shard, row in mine.items() if row.object in hidden
                }
                of_pages = {shard: shown[shard] for shard in mine if shard in shown}
                tasks.add(kind, DrawsTask(record.plan.request, digest, some, tuple(again), mine, of_pages, gone), size)

    def _draws(self, record: PlanRecord) -> Iterable[DrawnObject]:
        """The draws that a plan lists; none if the list cannot be read."""
        try:
            return DrawnObjects.read(self._store.objects, record.draws)
        except (StoreError, OSError) as error:
            self._heard.problems.append(f"plan {record.plan.name}: {str(error).splitlines()[0]}")
            return ()

    def conclude(self, tasks: TaskFolder) -> dict[str, int]:
        """Reports differences from the plans; returns the number of since-forgotten rows by plan."""
        findings = self._findings
        findings.problems += self._heard.problems
        findings.notes += self._heard.notes
        stale: dict[str, int] = {}
        for plan in self._plans:
            before = len(findings.problems)
            totals, gone = _Totals(plan), 0
            for found in tasks.found(_kind(plan), DrawsFound):
                findings.problems += found.problems
                totals.merge(found)
                gone += found.gone
            findings.problems += [f"plan {plan.name}: {line}" for line in totals.wrong()]
            if len(findings.problems) == before:
                findings.proved.append(
                    f"plan {plan.name}: {count_of(totals.samples, 'sample is', 'samples are')} drawn as planned, each "
                    f"stratum of {', '.join(output.name for output in plan.outputs)} and each row"
                )
            if gone:
                stale[plan.name] = gone
                findings.notes.append(
                    f"plan {plan.name}: {count_of(gone, 'drawn row has', 'drawn rows have')} been forgotten since; run "
                    "winnow mix to make a new plan"
                )
        return stale


def _kind(plan: MixturePlan) -> str:
    return f"draws-{plan.request}"


def _read(
    store: Store,
    plan: MixturePlan,
    drawn_object: DrawnObject,
    row: ManifestRow | None,
    pages: str | None,
    *,
    again: bool,
) -> Drawn:
    """Reads the draw of a shard; StoreError if its bytes, columns or ranges are wrong."""
    if row is None or row.source != drawn_object.source:
        raise StoreError(f"{drawn_object.source} has no shard {drawn_object.shard}")
    if again:
        raise StoreError(f"shard {drawn_object.shard} is drawn from twice")
    if drawn_object.object != layout.draw_object(plan.request, drawn_object.shard, name_content(drawn_object.object)):
        raise StoreError("it is the draw of another plan or shard")
    table = read_table(store.objects, drawn_object.object)
    if not table.schema.equals(DRAW) and not table.schema.equals(_BEFORE_ITEMS):
        raise StoreError("its columns are not those of a draw")
    if table.num_rows != drawn_object.rows:
        raise StoreError(f"{table.num_rows:,} rows, but the plan says {drawn_object.rows:,}")
    samples = read_batches(store.objects, row.object, OF_SAMPLES if needs_media(plan.unit, table) else ["id"])
    held = [
        (batch["id"].cast(DRAW.field("id").type), batch["media"] if "media" in batch.schema.names else None)
        for batch in samples
    ]
    ids = pa.chunked_array([id for id, _ in held], DRAW.field("id").type).combine_chunks()
    media = [lists for _, lists in held if lists is not None]
    shown = None if pages is None or not media else read_table(store.objects, pages, ["media.list.element.bytes"])
    drawn = Drawn(
        drawn_object.shard,
        ids,
        table.combine_chunks(),
        pa.concat_arrays(media) if media else None,
        None if shown is None else shown["media"].combine_chunks(),
    )
    if bool((drawn.rows >= len(ids)).any()):
        raise StoreError(f"it names row {int(drawn.rows.max()):,} of a shard of {len(ids):,}")
    strata = np.array([len(output.strata) for output in plan.outputs], np.int64)
    if bool((drawn.outputs >= len(strata)).any()):
        raise StoreError(f"it names output {int(drawn.outputs.max())} of {len(strata)}")
    if bool((table["stratum"].to_numpy() >= strata[drawn.outputs]).any()):
        raise StoreError("it names a stratum that its output does not have")
    return drawn


def _misplaced(drawn: Drawn) -> Iterator[str]:
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


def _exposure(plan: MixturePlan, drawn: Drawn) -> Iterator[str]:
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
        what = count_of(int(both.sum()), "sample is", "samples are")
        yield f"{what} in {VALIDATION} and in a stage, such as row {int(np.argmax(both)):,}"
    most = ceil(plan.max_epochs)
    if len(given) and given.max() > most:
        yield f"row {int(np.argmax(given)):,} is used {given.max():,} times, but max_epochs is {plan.max_epochs:g}"


class _Totals:
    """The totals of a draw over all shards, by output and stratum."""

    def __init__(self, plan: MixturePlan) -> None:
        self._plan = plan
        sizes = [len(output.strata) for output in plan.outputs]
        self._starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self.counted = np.zeros((4, int(self._starts[-1])), np.int64)  # copies, their units; samples, their units
        self.largest = np.zeros(int(self._starts[-1]), np.int64)

    @property
    def samples(self) -> int:
        """The number of copies counted."""
        return int(self.counted[0].sum())

    def add(self, drawn: Drawn) -> None:
        """Adds one shard."""
        place = self._starts[drawn.outputs] + drawn.table["stratum"].to_numpy()
        units = drawn.table["units"].to_numpy()
        ones = np.ones(len(units), np.int64)
        for total, amount in zip(self.counted, (drawn.copies, drawn.copies * units, ones, units), strict=True):
            np.add.at(total, place, amount)
        np.maximum.at(self.largest, place, units)

    def merge(self, found: DrawsFound) -> None:
        """Adds the shards of a task."""
        self.counted += np.array(found.counted, np.int64).reshape(self.counted.shape)
        np.maximum(self.largest, np.array(found.largest, np.int64), out=self.largest)

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
            counted = [int(value) for value in self.counted[:, number]]
            given, unique = Amount(counted[0], counted[1]), Amount(counted[2], counted[3])
            if (given, unique) != (one.given, one.unique):
                yield (
                    f"{output.name}: {one.stratum}: {_told(given)} of {_told(unique)} are drawn, but the plan has "
                    f"{_told(one.given)} of {_told(one.unique)}"
                )
            over = one.exposed + given.units - most * one.available.units
            if output.name != VALIDATION and given.units and over > self.largest[number]:
                yield f"{output.name}: {one.stratum}: is used more often than max_epochs {self._plan.max_epochs:g}"


def _told(amount: Amount) -> str:
    return f"{count_of(amount.samples, 'sample')} ({count_of(amount.units, 'unit')})"


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
