"""SQL conditions over the columns of a batch, by DuckDB with no way to files or the network."""

import duckdb
import pyarrow as pa

from winnow.schemas.errors import RecipeError


def evaluate(condition: str, batch: pa.RecordBatch) -> list[bool]:
    """Whether each row meets the condition, in order; null is no."""
    with duckdb.connect(config={"enable_external_access": "false", "threads": "1"}) as connection:
        connection.register("samples", pa.Table.from_batches([batch]))
        try:
            rows = connection.execute(f"SELECT coalesce(({condition}), false) FROM samples").fetchall()
        except duckdb.Error as error:
            raise RecipeError(f"condition {condition!r}: {str(error).splitlines()[0]}") from None
    return [bool(row[0]) for row in rows]
