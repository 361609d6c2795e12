"""A store as people open it in Python."""

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

import pyarrow as pa

from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.location import open_store_at
from winnow.pipelines.store.manifests.rows import ManifestRow
from winnow.pipelines.store.tables import read_schema
from winnow.runners.notebook.result import Rows
from winnow.runners.notebook.sql import sql
from winnow.runners.notebook.store_tables import StoreTables
from winnow.schemas.errors import StoreError
from winnow.schemas.problems import suggestion
from winnow.schemas.recipe import Recipe, load_recipe


@dataclass(frozen=True)
class OpenedStore(Store):
    """A store, and the recipe that it is read by: with one, what its rules decide is a table, too."""

    recipe: Recipe | None = None

    @cached_property
    def tables(self) -> StoreTables:
        """Its tables, as of the generation that is the latest when they are first read."""
        return StoreTables(Store(self.objects, self.record), None if self.recipe is None else bind(self.recipe))

    @property
    def columns(self) -> dict[str, pa.DataType]:
        """Every column by its dotted name, such as `text.language.code`."""
        return dict(self.tables.columns)

    def table(self, columns: Sequence[str]) -> Rows:
        """Columns of samples and layers side by side, such as `["samples.url", "text.language.code"]`.

        StoreError, which names the nearest column, if one does not exist.
        """
        if isinstance(columns, str) or not columns or not all(isinstance(name, str) for name in columns):
            raise StoreError(f'{self.root}: name columns in a list, such as table(["id", "url"])')
        types = [self.tables.type_of(name) for name in columns]
        schema = pa.schema(list(zip(columns, types, strict=True)))
        return Rows(schema, lambda: self.tables.read_columns(columns))

    def batches(self, row: ManifestRow, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of one object, with these of its columns; StoreError for a column that it lacks."""
        names = read_schema(self.objects, row.object).names if columns else []
        for name in columns or ():
            if name.partition(".")[0] not in names:
                raise StoreError(f"{self.root}: no column {name!r} in {row.object}{suggestion(name, names)}")
        return super().batches(row, columns)

    def sql(self, query: str) -> Rows:
        """The result of one SELECT over `samples`, layers such as `text.language`, and the other `tables`.

        QueryError if it is not one SELECT, or names what does not exist.
        """
        return sql(self.tables, query)

    def __repr__(self) -> str:
        return "\n".join(
            [self._title, *(f"{table}: {_listed(schema)}" for table, schema in self.tables.schemas.items())]
        )

    def _repr_html_(self) -> str:
        lines = "".join(
            f"<tr><td>{html.escape(table)}</td><td>{html.escape(_listed(schema))}</td></tr>"
            for table, schema in self.tables.schemas.items()
        )
        return f"<p>{html.escape(self._title)}</p><table><tr><th>table</th><th>columns</th></tr>{lines}</table>"

    @property
    def _title(self) -> str:
        return f"{self.root}, generation {self.tables.generation.number}"


def _listed(schema: pa.Schema) -> str:
    """The columns of a table; of one that holds those of all others side by side, how many and the first."""
    whole = all("." in name for name in schema.names)
    return (
        f"{len(schema.names)} columns, of samples and layers, such as {schema.names[0]}"
        if whole
        else ", ".join(schema.names)
    )


def open_store(address: str | PathLike[str], recipe: str | Path | Recipe | None = None) -> OpenedStore:
    """Opens a store: a folder, `s3://BUCKET/PREFIX` or `gs://BUCKET/PREFIX`; StoreError if there is none.

    `recipe`: reads it as this recipe does; None for the recipe that published its latest generation.
    """
    store = open_store_at(address if isinstance(address, str) else Path(address))
    loaded = recipe if recipe is None or isinstance(recipe, Recipe) else load_recipe(recipe)
    return OpenedStore(store.objects, store.record, loaded)
