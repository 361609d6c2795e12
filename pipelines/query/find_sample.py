"""Reads all layers of one sample, and what rules decide on it: in each layer, only the row group that has it."""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from winnow.pipelines.binding.rules import RuleProgram
from winnow.pipelines.reading.columns import Column, leaf_of
from winnow.pipelines.reading.item_lists import represented_lists
from winnow.pipelines.rules.decisions import Masks, has_rule
from winnow.pipelines.rules.evaluation import Evaluator, NullConditionError, threshold_columns
from winnow.pipelines.rules.near_thresholds import threshold_cuts
from winnow.pipelines.rules.pinning import PinnedProgram
from winnow.pipelines.rules.representatives.replaced import NO_DUPLICATES, Duplicates
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.manifests.rows import ManifestRow
from winnow.pipelines.store.tables import read_rows
from winnow.schemas.records import Generation
from winnow.schemas.rules.conditions import Cut


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
class Compared:
    """A measure of a sample beside the threshold of a rule that drops it."""

    reason: str
    cut: Cut
    value: float
    limit: float  # the threshold: of a table, that of the sample's row


@dataclass(frozen=True, slots=True)
class Verdict:
    """The rules' decision on one sample."""

    reasons: tuple[str, ...]  # of the rules that fire, in order; the first is the reason
    undecided: tuple[str, ...] = ()  # of rules whose condition is null where that is an error
    items: tuple[tuple[str, ...], ...] = ()  # the reasons for which each medium is dropped; empty without such rules
    compared: tuple[Compared, ...] = ()  # with what, in the order of the rules

    @property
    def kept(self) -> bool:
        """Whether no rule drops it."""
        return not self.reasons and not self.undecided


def read_sample(store: Store, generation: Generation, place: Place) -> Sample:
    """Reads a sample's row of every layer of the generation."""
    layers = {}
    for layer in (layout.SAMPLES, *sorted(set(generation.layers) - {layout.SAMPLES})):
        row = next((row for row in store.manifest(generation, layer) if row.shard == place.shard.shard), None)
        if row is not None:
            table = read_rows(store.objects, row.object, [place.row]).combine_chunks()
            layers[layer] = table.to_batches()[0]
    return Sample(place, layers)


def verdict(pinned: PinnedProgram, sample: Sample, choose: Callable[[], Duplicates]) -> Verdict:
    """The rules' decision on a sample, which has the layers that they read.

    `choose` chooses the representatives of all duplicates. It is called only if the sample has any, as whether another
    row is kept in its place depends on them.
    """
    program = pinned.program
    columns = {column.name: sample.column(column) for column in program.columns}
    if program.duplicate_columns or program.duplicate_lists:
        duplicates = choose() if _has_duplicates(program, sample) else NO_DUPLICATES
        marks = duplicates.of(sample.place.shard.shard, sample.place.shard.rows)
        columns |= {
            name: pa.array([bool(name in marks and marks[name][sample.place.row])])
            for name in program.duplicate_columns
        }
        represented = duplicates.items_of(sample.place.shard.shard)
        columns |= represented_lists(columns, represented, program.duplicate_lists, sample.place.row)
    with Evaluator(program) as evaluator:
        try:
            decided = evaluator.decide(1, columns)
        except NullConditionError as error:
            return Verdict((), (error.rule.rule.reason,))
    items = () if decided.items is None else tuple(_reasons(program, one[None]) for one in decided.items.fired)
    reasons = _reasons(program, decided.fired)
    return Verdict(reasons, items=items, compared=tuple(_compared(program, reasons, columns)))


def _compared(program: RuleProgram, reasons: tuple[str, ...], columns: Mapping[str, pa.Array]) -> Iterator[Compared]:
    """The comparisons that hold, of the rules that fire."""
    limits = threshold_columns(program.tables, columns)
    for one, cut in threshold_cuts(program):
        if one.rule.reason in reasons:
            value = columns[cut.column][0].as_py()
            limit = limits[cut.table][0].as_py() if cut.value is None else cut.value
            if isinstance(value, int | float) and limit is not None and _HOLDS[cut.operator](value, limit):
                yield Compared(one.rule.reason, cut, value, limit)


_HOLDS: Final = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def _reasons(program: RuleProgram, fired: Masks) -> tuple[str, ...]:
    """The reasons of the rules that the only mask has, in order."""
    return tuple(name for number, name in enumerate(program.reasons) if has_rule(fired, number)[0])


def _has_duplicates(program: RuleProgram, sample: Sample) -> bool:
    assert program.choice is not None
    sizes = (sample.column(column)[0].as_py() for column in program.choice.columns if column.leaf == "size")
    of_items = (size if isinstance(size, list) else [size] for size in sizes)  # kinds that compare items have lists
    return any(size is not None and size > 1 for of_row in of_items for size in of_row)
