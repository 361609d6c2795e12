"""Finds one sample of a store by id or URL, and reads all its layers.

In every shard only the column of ids or URLs is read; then, in each layer, the row group that
has the sample.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.binding.rules import RuleProgram
from winnow.pipelines.forgetting.hidden_rows import hidden_rows
from winnow.pipelines.query.columns import Column, leaf_of
from winnow.pipelines.rules.deciding import choose_representatives
from winnow.pipelines.rules.decisions import WORD
from winnow.pipelines.rules.evaluation import Evaluator, NullConditionError
from winnow.pipelines.rules.pinning import PinnedProgram
from winnow.pipelines.rules.representatives import NO_DUPLICATES
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.manifests import ManifestRow
from winnow.pipelines.store.tables import read_batches, read_rows
from winnow.pipelines.store.together import TABLES_AT_ONCE, each
from winnow.schemas.errors import StoreError, WinnowError
from winnow.schemas.records import Generation

ID_BYTES = 16
SHOWN = 5
"""How many samples an error lists if several match."""

Matching: TypeAlias = Callable[[pa.RecordBatch], pa.Array]

_DIGITS = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a sample: its shard's row of the manifest, and its row number in the shard."""

    shard: ManifestRow
    row: int
    id: str  # hexadecimal


@dataclass(frozen=True)
class Sample:
    """A sample and its row of every layer."""

    place: Place
    layers: Mapping[str, pa.RecordBatch]  # by name, `samples` first; one row each

    def column(self, column: Column) -> pa.Array:
        """A value of a layer, as an array; KeyError if the layer or column is missing."""
        return leaf_of(self.layers[column.layer], column.leaf)

    def text(self, columns: Sequence[Column]) -> str | None:
        """The first of these columns that is not null."""
        there = (self.column(column)[0].as_py() for column in columns if column.layer in self.layers)
        return next((value for value in there if value is not None), None)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The rules' decision on one sample."""

    reasons: tuple[str, ...]  # of the rules that fire, in order; the first is the reason
    undecided: tuple[str, ...] = ()  # of rules whose condition is null where that is an error

    @property
    def kept(self) -> bool:
        """Whether no rule drops it."""
        return not self.reasons and not self.undecided


def find_by_id(store: Store, generation: Generation, beginning: str) -> Place:
    """The one sample whose id begins with these digits.

    Raises:
        WinnowError: No sample or several match, or it is forgotten.
    """
    digits = beginning.lower()
    if not digits or not set(digits) <= _DIGITS or len(digits) > 2 * ID_BYTES:
        raise WinnowError(f"{beginning!r} is not an id: expected 1 to {2 * ID_BYTES} hexadecimal digits, or --url URL")
    low = int(digits.ljust(2 * ID_BYTES, "0"), 16).to_bytes(ID_BYTES, "big")
    high = int(digits.ljust(2 * ID_BYTES, "f"), 16).to_bytes(ID_BYTES, "big")

    def matching(batch: pa.RecordBatch) -> pa.Array:
        ids = batch.column("id").cast(pa.binary())
        return pc.and_(pc.greater_equal(ids, pa.scalar(low)), pc.less_equal(ids, pa.scalar(high)))

    most = 1 if len(digits) == 2 * ID_BYTES else SHOWN + 1  # a full id matches one sample only
    found = _found(store, generation, "id", matching, most)
    return _the_one(store, generation, found, f"id {digits}", f"begins with {digits}")


def find_by_url(store: Store, generation: Generation, url: str) -> Place:
    """The one sample with this URL.

    Raises:
        WinnowError: No sample or several match, or it is forgotten.
    """

    def matching(batch: pa.RecordBatch) -> pa.Array:
        return pc.equal(batch.column("url"), pa.scalar(url, batch.column("url").type))

    found = _found(store, generation, "url", matching, SHOWN + 1)
    return _the_one(store, generation, found, f"URL {url}", "has this URL")


def read_sample(store: Store, generation: Generation, place: Place) -> Sample:
    """Reads a sample's row of every layer of the generation."""
    layers = {}
    for layer in (layout.SAMPLES, *sorted(set(generation.layers) - {layout.SAMPLES})):
        row = next((row for row in store.manifest(generation, layer) if row.shard == place.shard.shard), None)
        if row is not None:
            table = read_rows(store.objects, row.object, [place.row]).combine_chunks()
            layers[layer] = table.to_batches()[0]
    return Sample(place, layers)


def verdict(pinned: PinnedProgram, sample: Sample) -> Verdict:
    """The rules' decision on a sample with the layers that they read.

    Whether another row is kept in its place depends on all duplicates: all rows are read if it has any.
    """
    program = pinned.program
    columns = {column.name: sample.column(column) for column in program.columns}
    if program.duplicate_columns:
        duplicates = choose_representatives(pinned) if _has_duplicates(program, sample) else NO_DUPLICATES
        marks = duplicates.of(sample.place.shard.shard, sample.place.shard.rows)
        columns |= {
            name: pa.array([bool(name in marks and marks[name][sample.place.row])])
            for name in program.duplicate_columns
        }
    undecided: list[str] = []
    with Evaluator(program) as evaluator:
        try:
            fired, _ = evaluator.decide(1, columns)
        except NullConditionError as error:
            undecided.append(error.rule.rule.reason)
            fired = np.zeros((1, 1), np.uint64)
    names = (one.rule.reason for one in program.rules) if not undecided else ()
    said = (bool(int(fired[0, number // WORD]) >> number % WORD & 1) for number in range(len(program.rules)))
    return Verdict(tuple(name for name, fires in zip(names, said, strict=False) if fires), tuple(undecided))


def _has_duplicates(program: RuleProgram, sample: Sample) -> bool:
    assert program.choice is not None
    sizes = (sample.column(column)[0].as_py() for column in program.choice.columns if column.leaf == "size")
    return any(size is not None and size > 1 for size in sizes)


@dataclass(frozen=True, slots=True)
class _Found:
    """Samples that match, and whether a forgotten one did."""

    places: tuple[Place, ...] = ()
    forgotten: bool = False


def _found(store: Store, generation: Generation, column: str, matching: Matching, most: int) -> _Found:
    """The first matching samples, up to a number. Little is read after that, on a disk nothing."""
    hidden = hidden_rows(store, generation)

    def matched(shard: ManifestRow) -> _Found:
        places, forgotten, start = list[Place](), False, 0
        unseen = frozenset(hidden[shard.shard].rows.tolist()) if shard.shard in hidden else frozenset[int]()
        for batch in read_batches(store.objects, shard.object, [column]):
            for row in (np.flatnonzero(np.asarray(matching(batch).fill_null(False))) + start).tolist():
                if row in unseen:
                    forgotten = True
                    continue
                identity = read_rows(store.objects, shard.object, [row], ["id"])["id"][0].as_py()
                places.append(Place(shard, row, identity.hex()))
                if len(places) == most:
                    return _Found(tuple(places), forgotten)
            start += batch.num_rows
        return _Found(tuple(places), forgotten)

    total = _Found()
    for found in each(store.objects, matched, store.manifest(generation, layout.SAMPLES), TABLES_AT_ONCE):
        total = _Found((*total.places, *found.places)[:most], total.forgotten or found.forgotten)
        if len(total.places) == most:
            break
    return total


def _the_one(store: Store, generation: Generation, found: _Found, wanted: str, what: str) -> Place:
    places = found.places
    if len(places) == 1:
        return places[0]
    if places:
        ids = ", ".join(place.id for place in places[:SHOWN])
        more = ", …" if len(places) > SHOWN else ""
        raise WinnowError(f"more than one sample {what}: {ids}{more}")
    if found.forgotten:
        raise WinnowError(f"{store.root}: the sample of {wanted} is forgotten and cannot be shown")
    raise StoreError(f"{store.root}: generation {generation.number} has no sample of {wanted}")
