"""winnow's operators as one transform over batches: each adds its columns beside those that are there."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import apache_beam as beam
import pyarrow as pa
from apache_beam.pvalue import PCollection

from winnow.filters.operators import CAPTIONS, TEXT, TextOperator
from winnow.pipelines.annotate.one_layer import layer_of_batch, selected
from winnow.pipelines.annotate.rows import BatchRows, Excluded
from winnow.pipelines.annotate.task import LoadedOperators
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.operators import BoundOperator
from winnow.pipelines.reading.columns import leaves
from winnow.pipelines.running.worker import prepare_worker
from winnow.pipelines.store import layout
from winnow.pipelines.transforms.batches import column_of_batch, recipe_of
from winnow.schemas.errors import RecipeError, StageError
from winnow.schemas.rows.samples import SAMPLES
from winnow.schemas.rules.conditions import columns_read

Entry: TypeAlias = str | Mapping[str, Any]

_SAMPLE_TYPES: Final = {name: info.type for name, info in leaves(SAMPLES)}


class Annotate(beam.PTransform[PCollection[pa.RecordBatch], PCollection[pa.RecordBatch]]):
    """Batches to batches of the same rows in the same order, with the columns of some operators behind theirs.

    What operators read as `samples.url` is the batch's column `url`, and so for all that `samples` has; what is in a
    struct there, such as `source.fetched_at`, may be in one here, or a column of that name. What they read of each
    other keeps its name, such as `text.language.code`. A row that an operator cannot measure has nulls, and its
    `status` says why.

    Args:
        operators: As under `annotate` in a recipe: names, or a mapping of one name to its options.
        text: The column with the texts.

    Raises:
        RecipeError: An operator or an option is unknown, or one needs what batches do not have: the bytes of pictures
            and videos, captions, or rows of the whole store.
    """

    def __init__(self, operators: Sequence[Entry], *, text: str = TEXT) -> None:
        super().__init__()
        self._operators = _bound(operators)
        self._text = text

    def expand(self, batches: PCollection[pa.RecordBatch]) -> PCollection[pa.RecordBatch]:
        """Measures batch by batch."""
        step = _Measure(self._operators, self._text)
        measured: PCollection[pa.RecordBatch] = batches | "Measure" >> beam.ParDo(step).with_output_types(
            pa.RecordBatch
        )
        return measured


def _bound(operators: Sequence[Entry]) -> tuple[BoundOperator, ...]:
    """The operators, checked as those of a recipe are, and each after those that it reads."""
    from winnow.pipelines.preflight.check import AskedOperators, preflight  # which no worker needs

    if isinstance(operators, str | Mapping) or not isinstance(operators, Sequence) or not operators:
        raise RecipeError(f'Annotate: expected a list of operators, such as ["text.language"], not {operators!r}')
    source = {"batches": {"root": ".", "files": ["*"], "class": "batches"}}
    entries = [dict(entry) if isinstance(entry, Mapping) else entry for entry in operators]
    recipe = bind(recipe_of("Annotate", {"sources": source, "annotate": entries}))
    bound = recipe.operators
    for one in bound:
        needs = None
        if not isinstance(one.operator, TextOperator):
            needs = "the bytes of pictures or videos"
        elif one.operator.lookup is not None:
            needs = "rows of the whole store"
        elif CAPTIONS in one.operator.reads(one.config):
            needs = "captions"
        if needs is not None:
            raise RecipeError(f"Annotate: {one.layer} reads {needs}, which a batch does not have; use 'winnow run'")
    preflight(AskedOperators(recipe=recipe, operators=(), untried=bound))
    return bound


def annotated(
    batch: pa.RecordBatch, operators: Sequence[BoundOperator], loaded: LoadedOperators, text: str
) -> pa.RecordBatch:
    """A batch with the columns of these operators, in the order in which they are given."""
    columns, schema = list(batch.columns), list(batch.schema)
    rows = BatchRows({"": pa.nulls(batch.num_rows)})  # so that it knows how many rows there are
    for bound in operators:
        rows.add(_read(bound, batch, rows, text))
        excluded = Excluded(selected(bound, rows), None)
        layer = layer_of_batch(bound, loaded.kernels[bound.layer], rows, excluded, None)
        for field, column in zip(layer.schema, layer.columns, strict=True):
            name = f"{bound.layer}.{field.name}"
            if name in batch.schema.names:
                raise StageError(f"Annotate: the batch has a column {name!r} already; give the operator a name by 'as'")
            rows.add({name: column})
            columns.append(column)
            schema.append(field.with_name(name))
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(schema, batch.schema.metadata))


def _read(bound: BoundOperator, batch: pa.RecordBatch, rows: BatchRows, text: str) -> dict[str, pa.Array]:
    """What an operator reads of the batch itself."""
    found = {}
    reads_text = TEXT in bound.operator.inputs(bound.config)
    if reads_text and TEXT not in rows:
        found[TEXT] = column_of_batch("Annotate", batch, text, pa.large_string())
    where = () if bound.where is None else columns_read(bound.where)
    for column in bound.columns:
        if column.name in rows or (column.name in bound.text and reads_text and column.name not in where):
            continue
        if column.layer != layout.SAMPLES:
            found[column.name] = column_of_batch("Annotate", batch, column.name, _type(bound, column.name))
        elif column.leaf == TEXT:
            found[column.name] = column_of_batch("Annotate", batch, text, pa.large_string())
        else:
            found[column.name] = column_of_batch("Annotate", batch, column.leaf, _type(bound, column.name))
    return found


def _type(bound: BoundOperator, name: str) -> pa.DataType:
    if name in bound.input_schema.names:
        return bound.input_schema.field(name).type
    known = _SAMPLE_TYPES.get(name.removeprefix(f"{layout.SAMPLES}."))
    return pa.string() if known is None else known


class _Measure(beam.DoFn):
    """A batch → the batch with measurements."""

    def __init__(self, operators: tuple[BoundOperator, ...], text: str) -> None:
        self._operators, self._text = operators, text
        self._loaded = LoadedOperators()

    def setup(self) -> None:
        """Loads every operator, once a process."""
        prepare_worker()
        for bound in self._operators:
            self._loaded.load(bound)

    def process(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Measures one batch."""
        if not isinstance(batch, pa.RecordBatch):
            raise StageError(
                f"Annotate: expected a pyarrow.RecordBatch, found {type(batch).__name__}; put ToBatches() in front"
            )
        if batch.num_rows:
            yield annotated(batch, self._operators, self._loaded, self._text)
