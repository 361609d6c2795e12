"""Rows as Arrow batches and back, and what a batch must be like to be given to one of these transforms."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.pvalue import PCollection
from apache_beam.transforms.window import GlobalWindow, GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from winnow.pipelines.running import block_coders  # noqa: F401  registers the coder of batches
from winnow.schemas.errors import RecipeError, StageError
from winnow.schemas.identity import canonical_json
from winnow.schemas.recipe import Recipe, recipe_from_text

TEXTS: Final = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("text", pa.large_string())])
"""What rows are if nothing else is said."""

BATCH_ROWS: Final = 1024
BATCH_BYTES: Final = 8 << 20  # of texts and bytes


class ToBatches(beam.PTransform[PCollection[Any], PCollection[pa.RecordBatch]]):
    """Rows as mappings or named tuples, such as `beam.Row`, to Arrow batches of one schema.

    A row with other names than the schema's, or a value of another type, ends the pipeline with a line that names it.
    Batches depend on how the runner cuts the rows into bundles; what is made of a row never depends on its batch.
    """

    def __init__(self, schema: pa.Schema = TEXTS) -> None:
        super().__init__()
        if not isinstance(schema, pa.Schema):
            raise TypeError(f"ToBatches: expected a pyarrow.Schema, not {type(schema).__name__}")
        self._schema = schema

    def expand(self, rows: PCollection[Any]) -> PCollection[pa.RecordBatch]:
        """Fixed before anything reads them: a bundle that is computed again may be cut differently."""
        require_global_window(self.label, rows)
        batches: PCollection[pa.RecordBatch] = (
            rows
            | "Gather" >> beam.ParDo(_Gather(self._schema)).with_output_types(pa.RecordBatch)
            | "Fix" >> beam.Reshuffle().with_output_types(pa.RecordBatch)
        )
        return batches


class FromBatches(beam.PTransform[PCollection[pa.RecordBatch], PCollection[dict[str, Any]]]):
    """Arrow batches to a mapping for each row."""

    def expand(self, batches: PCollection[pa.RecordBatch]) -> PCollection[dict[str, Any]]:
        """One row at a time, for the steps that need it; between transforms batches are much faster."""
        rows: PCollection[dict[str, Any]] = batches | "Rows" >> beam.FlatMap(_rows).with_output_types(dict[str, Any])
        return rows


def recipe_of(label: str, written: Mapping[str, Any]) -> Recipe:
    """A recipe of what a transform was given."""
    try:
        text = canonical_json({"version": 1, "store": {"path": "none"}, **written})
    except TypeError as error:
        raise RecipeError(f"{label}: options are numbers, texts, lists and mappings, as in a recipe: {error}") from None
    return recipe_from_text(text, label)


def require_global_window(label: str, given: PCollection[Any]) -> None:
    """Refuse windows: rows of a crawl meet whenever they were read."""
    if not isinstance(given.windowing.windowfn, GlobalWindows):
        raise TypeError(f"{label}: expected the global window; put beam.WindowInto(GlobalWindows()) in front")


def named_column(label: str, batch: object, name: str) -> pa.Array:
    """The only column of an element with this name, or the field of a struct with its dotted name, such as
    `source.fetched_at`; StageError if there is none, or no batch."""
    if not isinstance(batch, pa.RecordBatch):
        raise StageError(
            f"{label}: expected a pyarrow.RecordBatch, found {type(batch).__name__}; put ToBatches() in front"
        )
    first, *rest = name.split(".")
    if rest and name not in batch.schema.names and batch.schema.names.count(first) == 1:
        found = batch.column(first)
        while rest and pa.types.is_struct(found.type) and found.type.get_field_index(rest[0]) >= 0:
            found = pc.struct_field(found, rest.pop(0))
        if not rest:
            return found
    if batch.schema.names.count(name) != 1:
        times = "no" if name not in batch.schema.names else "more than one"
        raise StageError(f"{label}: {times} column {name!r}; the batch has {', '.join(batch.schema.names) or 'none'}")
    return batch.column(name)


def column_of_batch(label: str, batch: object, name: str, type_: pa.DataType) -> pa.Array:
    """A column of an element, as this type of the same kind: numbers never become text, nor text numbers.

    Raises:
        StageError: It is of another kind, or a value does not fit; the line says what it is.
    """
    column = named_column(label, batch, name)
    try:
        cast = column.cast(type_) if _same_kind(column.type, type_) else None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        cast = None
    if cast is None:
        raise StageError(f"{label}: column {name!r}: expected {type_}, the batch has {column.type}")
    return cast


_KINDS: Final = (
    (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary),
    (pa.types.is_integer, pa.types.is_floating),
    (pa.types.is_boolean,),
    (pa.types.is_temporal,),
    (pa.types.is_list, pa.types.is_large_list, pa.types.is_list_view, pa.types.is_fixed_size_list),
    (pa.types.is_struct,),
)


def _same_kind(found: pa.DataType, expected: pa.DataType) -> bool:
    """Whether a cast changes how values are kept, not what they are."""
    if pa.types.is_null(found):
        return True
    if pa.types.is_dictionary(found):
        return _same_kind(found.value_type, expected)
    if not any(any(test(found) for test in kind) and any(test(expected) for test in kind) for kind in _KINDS):
        return False
    if pa.types.is_struct(expected):
        names = {field.name for field in found}
        return all(_same_kind(found.field(field.name).type, field.type) for field in expected if field.name in names)
    return not pa.types.is_nested(expected) or _same_kind(found.value_type, expected.value_type)


def batch_of_rows(rows: list[Any], schema: pa.Schema) -> pa.RecordBatch:
    """Rows as one batch; StageError names the first that does not fit."""
    names = schema.names
    mappings = [_mapping(row) for row in rows]
    for row in mappings:
        if unknown := row.keys() - set(names):
            raise StageError(
                f"ToBatches: the row has {sorted(map(str, unknown))[0]!r}, which its schema has not: {', '.join(names)}"
            )
    columns = []
    for field in schema:
        values = [row.get(field.name) for row in mappings]
        try:
            column = pa.array(values, field.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, UnicodeError) as error:
            line = str(error).splitlines()[0]
            raise StageError(f"ToBatches: column {field.name!r}: expected {field.type}: {line}") from None
        if column.null_count and not field.nullable:
            raise StageError(f"ToBatches: a row has no {field.name!r}; its schema does not allow that")
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _mapping(row: Any) -> Mapping[str, Any]:
    if isinstance(row, Mapping):
        return row
    if hasattr(row, "_asdict"):
        named: Mapping[str, Any] = row._asdict()
        return named
    raise StageError(f"ToBatches: expected a mapping or a named tuple for each row, found {type(row).__name__}")


def _rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    if not isinstance(batch, pa.RecordBatch):
        raise StageError(f"FromBatches: expected a pyarrow.RecordBatch, found {type(batch).__name__}")
    for start in range(0, batch.num_rows, BATCH_ROWS):
        yield from batch.slice(start, BATCH_ROWS).to_pylist()


class _Gather(beam.DoFn):
    """Gathers rows until a batch is full or the bundle ends."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._rows: list[Any] = []
        self._held = 0

    def start_bundle(self) -> None:
        """Forgets the rows of a bundle that failed."""
        self._rows, self._held = [], 0

    def process(self, row: Any) -> Iterator[pa.RecordBatch]:
        """Adds a row."""
        self._rows.append(row)
        self._held += sum(len(value) for value in _mapping(row).values() if isinstance(value, str | bytes))
        if len(self._rows) >= BATCH_ROWS or self._held >= BATCH_BYTES:
            yield self._batch()

    def finish_bundle(self) -> Iterator[Any]:
        """Gives the last rows."""
        if self._rows:
            window = GlobalWindow()
            yield WindowedValue(self._batch(), window.max_timestamp(), (window,))

    def _batch(self) -> pa.RecordBatch:
        rows, self._rows, self._held = self._rows, [], 0
        return batch_of_rows(rows, self._schema)
