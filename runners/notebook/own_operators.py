"""Operators that a notebook or a script registers by a decorator, for the recipes that it runs.

    @winnow.operator("text.shouting", writes={"capitals": pa.int64()})
    def shouting(batch: pa.RecordBatch) -> dict[str, pa.Array]:
        return {"capitals": pc.count_substring_regex(batch["text"], r"\\p{Lu}")}

    winnow.run("recipe.yaml")     # whose `annotate` names text.shouting

The function travels to worker processes by value, with what it refers to; its code is part of the layer's key, so an
edited function is measured anew.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from winnow.filters.operators import STATUS, TEXT, Assets, Kernel, Resource, TextOperator, register_operator
from winnow.schemas.counts import count_of
from winnow.schemas.errors import RecipeError, WinnowError
from winnow.schemas.identity import digest
from winnow.schemas.problems import shown

Measure: TypeAlias = Callable[[pa.RecordBatch], "pa.RecordBatch | Mapping[str, Any]"]


@dataclass(frozen=True, slots=True)
class NoSettings:
    """Such an operator has no settings in the recipe: what it needs is in the function."""


@dataclass(frozen=True, slots=True)
class _Constant:
    """A function of the configuration that always returns the same. Picklable."""

    value: Any

    def __call__(self, _config: Any) -> Any:
        return self.value


@dataclass(frozen=True, slots=True)
class _Carried:
    """A function as bytes, which any process can call: those of `__main__` cannot be imported there."""

    name: str
    raw: bytes
    writes: pa.Schema

    def __call__(self, _config: Any, _assets: Assets) -> Kernel:
        """Load it, once a process."""
        from apache_beam.internal.cloudpickle import cloudpickle

        measure: Measure = cloudpickle.loads(self.raw)

        def kernel(batch: pa.RecordBatch) -> pa.RecordBatch:
            return _checked(self.name, measure(batch), batch.num_rows, self.writes)

        return kernel


def operator(
    name: str,
    *,
    writes: Mapping[str, pa.DataType] | pa.Schema,
    reads: Sequence[str] = (TEXT,),
    needs: Sequence[str] | None = None,
    version: int = 1,
    summary: str = "",
    resource: Resource = "cpu",
) -> Callable[[Measure], Measure]:
    """Register a function as an operator of the recipes that this process runs.

    Args:
        name: Its name in recipes, such as `text.shouting`; one that another operator has is refused.
        writes: The columns that it writes, with their types.
        reads: The columns that it gets, such as `text`, `samples.url` or `text.language.code`.
        needs: Those that a row must have to be measured; all that it reads if not given.
        version: Raise it if values change for another reason than the function's code.
        summary: One line for `winnow operators`; the function's first line if empty.
        resource: `cpu`, `model` or `gpu`.

    Returns:
        The decorator, which returns the function as it is. The function gets a batch with the columns of `reads` and
        returns the columns of `writes` for the same rows in the same order, as a batch or a mapping. A row's values
        depend on that row alone.

    Raises:
        RecipeError: The name is taken or is none, there is nothing to write, or the function cannot be sent to workers.
    """
    where = f"operator {name!r}"
    if isinstance(reads, str) or isinstance(needs, str):
        raise RecipeError(f"{where}: 'reads' and 'needs' must be lists of columns, such as ['text']")
    schema = _schema(where, writes)
    if not schema.names or len(set(schema.names)) < len(schema.names) or STATUS.name in schema.names:
        raise RecipeError(
            f"{where}: 'writes' must name columns, each once, and not {STATUS.name!r}, which winnow writes"
        )

    def register(function: Measure) -> Measure:
        raw = _carried(where, function)
        register_operator(
            TextOperator(
                name=name,
                version=version,
                summary=summary or (inspect.getdoc(function) or "an operator of a notebook").splitlines()[0],
                config=NoSettings,
                reads=_Constant(tuple(reads)),
                writes=_Constant(schema),
                load=_Carried(name, raw, schema),
                needs=tuple(reads if needs is None else needs),
                resource=resource,
                depends=_Constant((_code_digest(function, raw),)),
            )
        )
        return function

    return register


def _schema(where: str, writes: Mapping[str, pa.DataType] | pa.Schema) -> pa.Schema:
    try:
        schema = writes if isinstance(writes, pa.Schema) else pa.schema(list(writes.items()))
    except (AttributeError, TypeError, ValueError):
        line = f"{where}: 'writes' must map columns to Arrow types, such as {{'capitals': pa.int64()}}"
        raise RecipeError(line) from None
    if wrong := [one for one in schema.names if not one or "." in one]:
        raise RecipeError(f"{where}: 'writes': {shown(wrong[0])} is no name of a column; it may have no dot")
    return schema


def _carried(where: str, function: Measure) -> bytes:
    from apache_beam.internal.cloudpickle import cloudpickle

    try:
        raw = cloudpickle.dumps(function)
        cloudpickle.loads(raw)
    except Exception as error:  # noqa: BLE001 - whatever the function refers to may refuse to be pickled
        raise RecipeError(
            f"{where}: the function cannot be sent to workers, as it refers to something that cannot be pickled "
            f"({type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no reason given'}); open files, "
            "connections and models inside the function"
        ) from None
    return bytes(raw)


def _code_digest(function: Measure, raw: bytes) -> str:
    """What the values depend on: the source, where it can be read, which is the same in every process."""
    try:
        return digest(inspect.getsource(function)).hex()
    except (OSError, TypeError):  # typed at a prompt
        return digest(raw.hex()).hex()


def _checked(name: str, made: "pa.RecordBatch | Mapping[str, Any]", rows: int, schema: pa.Schema) -> pa.RecordBatch:
    """What the function returned, as a batch; a clear line if it is not what it said."""
    found = {one: made[one] for one in made.schema.names} if isinstance(made, pa.RecordBatch) else dict(made)
    if set(found) != set(schema.names):
        raise WinnowError(
            f"operator {name!r} returned the columns {', '.join(found) or 'none'}, not {', '.join(schema.names)}"
        )
    columns = []
    for field in schema:
        values = found[field.name]
        try:
            array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values, field.type)
            array = array.cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError) as error:
            line = str(error).splitlines()[0]
            raise WinnowError(f"operator {name!r}: the column {field.name!r} is not {field.type}: {line}") from None
        if len(array) != rows:
            given = count_of(len(array), "value")
            raise WinnowError(f"operator {name!r}: {given} of {field.name!r} for {count_of(rows, 'row')}")
        columns.append(array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array)
    return pa.RecordBatch.from_arrays(columns, schema=schema)
