"""Chooses the representative of each cluster of duplicates: the best eligible row, by the recipe's preferences.

Clusters of equal addresses come first, then equal texts among the remaining rows, then near duplicates among those that
remain, then pictures. A row is dropped by the first kind with a better row. Only rows with duplicates are held, beyond
a bound on disk.

Where items are compared, a row is dropped if each of its items is in a cluster with an item of a better row, so that no
picture is lost. The best row of a cluster is never dropped by the same kind: it has an item that no better row has.
Items that rules of `items` drop before duplicates are known neither count nor represent others.

For rules of `items`, an item is represented if its cluster has an item of a better row, or an earlier one of its own.

Here one process chooses, with a database on its disk; more candidates are chosen among in tasks, by `rounds`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.kind import find_kind
from winnow.pipelines.binding.preferences import Choice
from winnow.pipelines.processes.cancelling import check_cancelled, interrupted_if_cancelled
from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.pipelines.rules.representatives.candidates import (
    ITEMS,
    MAX_HELD,
    ROW_BITS,
    TEXT,
    Candidates,
    LargeCluster,
    candidate_columns,
    preference_names,
    unaccepted,
)
from winnow.pipelines.rules.representatives.replaced import NONE_COMPARED, Duplicates, UnequalTexts
from winnow.schemas.errors import StageError
from winnow.schemas.rows.duplicates import Kind
from winnow.schemas.rules.conditions import CLOSED
from winnow.schemas.uint128 import Words

_MEMORY = "1GiB"  # for sorting; the rest spills to a temporary folder


class RepresentativeChooser:
    """Collects candidates, then chooses representatives.

    A context manager: data that does not fit in memory is in a temporary folder, which it deletes at the end.
    """

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._folder = temporary_folder("representatives")
        self._engine = duckdb.connect(
            f"{self._folder.name}/candidates.duckdb",
            config=CLOSED | {"memory_limit": _MEMORY, "temp_directory": f"{self._folder.name}/spilled"},
        )
        self._large: list[LargeCluster] = []
        self._large_count = 0
        self._accepted: dict[str, int] = {}
        self._addresses = NONE_COMPARED
        self._execute(f"CREATE TABLE candidate ({_integers(candidate_columns(choice))})")
        for kind in choice.of_items:
            self._execute(f"CREATE TABLE item_{kind} ({_integers(ITEMS)})")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine.close()
        self._folder.cleanup()

    def add(self, found: Candidates) -> None:
        """Add the candidates of a shard."""
        self._large = sorted([*self._large, *found.large], reverse=True)[:MAX_HELD]
        self._large_count += found.large_count
        self._accepted |= found.accepted
        tables = {"candidate": found.table, **{f"item_{kind}": table for kind, table in found.items.items()}}
        for name, table in tables.items():
            if table.num_rows:
                self._engine.register("found", table)
                self._execute(f"INSERT INTO {name} SELECT * FROM found")
                self._engine.unregister("found")

    def chosen(self, shards: Sequence[str]) -> Duplicates:
        """Choose among all candidates."""
        preferred = ", ".join(preference_names(self._choice))
        self._execute(
            "CREATE TABLE ranked AS SELECT *, row_number() OVER "
            f"(ORDER BY {preferred}{', ' if preferred else ''}id_high, id_low, place) AS rank FROM candidate"
        )
        self._execute("DROP TABLE candidate")
        lost: dict[Kind, NDArray[np.uint64]] = {}
        lost_items: dict[Kind, tuple[Words, Words]] = {}
        self._execute("CREATE TABLE represented (place UBIGINT, item UBIGINT)")
        replacements: dict[Kind, tuple[Words, Words]] = {}
        for kind in self._choice.kinds:
            if kind in self._choice.by_item:
                lost_items[kind] = self._represented_items(kind)
            lost[kind], *ids = self._replaced_rows(kind)
            replacements[kind] = (ids[0], ids[1])
        large, large_count = unaccepted(self._large, self._large_count, self._accepted)
        numbers = {name: number for number, name in enumerate(shards)}
        return Duplicates(lost, replacements, large, large_count, self._addresses, numbers, lost_items)

    def _represented_items(self, kind: Kind) -> tuple[Words, Words]:
        """Return the items with a better item in their cluster, sorted.

        One that is represented by an item of an earlier kind represents none, so that of each cluster one stays.
        """
        order = f"rank::UBIGINT * {1 << ROW_BITS} + item"
        self._execute(
            f"CREATE TABLE found AS SELECT place, item FROM item_{kind} JOIN ranked USING (place) JOIN "
            f"(SELECT high, low, min({order}) AS best FROM item_{kind} JOIN ranked USING (place) "
            f"ANTI JOIN represented USING (place, item) GROUP BY ALL) USING (high, low) WHERE {order} > best"
        )
        self._execute("INSERT INTO represented SELECT * FROM found")
        with self._one_line_errors():
            table = self._engine.sql("SELECT place, item FROM found ORDER BY ALL").to_arrow_table()
        self._execute("DROP TABLE found")
        places, items = (column.to_numpy().astype(np.uint64) for column in table.columns)
        return places, items

    def _replaced_rows(self, kind: Kind) -> tuple[Words, Words, Words]:
        """Return the rows with a better row in their cluster, and the ids of those; remove them from the candidates."""
        if find_kind(kind).unit.of_items:
            self._execute(
                f"CREATE TABLE replaced AS SELECT place, arg_min(best, item) AS best FROM item_{kind} "
                "JOIN ranked USING (place) JOIN (SELECT high, low, min(rank) AS best "
                f"FROM item_{kind} JOIN ranked USING (place) GROUP BY ALL) USING (high, low) "
                "WHERE all_items = 1 GROUP BY place, rank HAVING max(best) < rank"
            )
        else:
            self._execute(
                f"CREATE TABLE replaced AS SELECT place, best FROM ranked JOIN (SELECT {kind}_high, {kind}_low, "
                f"min(rank) AS best FROM ranked WHERE {kind}_high IS NOT NULL GROUP BY ALL) "
                f"USING ({kind}_high, {kind}_low) WHERE rank > best"
            )
        if find_kind(kind).of_address:
            self._addresses = self._compared_texts()
        self._execute("DELETE FROM ranked WHERE place IN (SELECT place FROM replaced)")
        with self._one_line_errors():
            found = self._engine.sql(
                "SELECT replaced.place, id_high, id_low "
                "FROM replaced JOIN ranked ON rank = best ORDER BY replaced.place"
            ).to_arrow_table()
        self._execute("DROP TABLE replaced")
        places, high, low = (column.to_numpy().astype(np.uint64) for column in found.columns)
        return places, high, low

    def _compared_texts(self) -> UnequalTexts:
        """Compare the texts of replaced rows with those of the rows that stay, by their other clusters or digests."""
        others: list[str] = [kind for kind in self._choice.of_rows if find_kind(kind).of_wording]
        others += [] if self._choice.digest is None else [TEXT]
        if not others:
            return NONE_COMPARED
        known = " OR ".join(f"(gone.{kind}_high IS NOT NULL AND stays.{kind}_high IS NOT NULL)" for kind in others)
        equal = " OR ".join(
            f"coalesce(gone.{kind}_high = stays.{kind}_high AND gone.{kind}_low = stays.{kind}_low, false)"
            for kind in others
        )
        with self._one_line_errors():
            found = self._engine.sql(
                f"SELECT count(*) FILTER ({known}), count(*) FILTER (({known}) AND NOT ({equal})) FROM replaced "
                "JOIN ranked AS gone USING (place) JOIN ranked AS stays ON stays.rank = replaced.best"
            ).to_arrow_table()
        compared, unequal = (int(column[0].as_py()) for column in found.columns)
        return UnequalTexts(compared, unequal)

    def _execute(self, statement: str) -> None:
        with self._one_line_errors():
            self._engine.execute(statement)

    @contextmanager
    def _one_line_errors(self) -> Iterator[None]:
        check_cancelled()
        try:
            with interrupted_if_cancelled(self._engine.interrupt):
                yield
        except duckdb.Error as error:
            message = str(error).splitlines()[0][:200]
            where = Path(self._folder.name).parent
            raise StageError(
                f"choosing representatives of duplicates: {message}; temporary files are in {where}; free some space "
                "there, or set TMPDIR to another folder"
            ) from None


def _integers(schema: pa.Schema) -> str:
    """Return the columns of a table, as SQL."""
    return ", ".join(f"{name} UBIGINT" for name in schema.names)
