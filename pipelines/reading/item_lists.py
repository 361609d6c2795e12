"""The media of a block of rows, one line each, with what rules of `items` read of them.

A page has no media of its own: where the recipe measures `page.interleaved`, its media are the pictures that it shows.

A column with a value for each medium is taken apart; any other column has its row's value on each of the row's lines.
A row whose medium has no value in a column, as the row was not measured, has null there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.reading.columns import MEDIA, Column
from winnow.pipelines.reading.items import list_counts, rows_and_items
from winnow.schemas.rows.interleaved import LAYER, fact_name

Positions = NDArray[np.int64]
Marks = NDArray[np.bool_]

KEPT: Final = "items.kept"
DROPPED: Final = "items.dropped"
"""The columns that rules of rows may read: how many of the row's media the rules of `items` keep, and drop."""

SHOWN: Final = Column(LAYER, "media")
"""The pictures that each page shows; null for rows with media of their own."""

SIZE: Final = f"{MEDIA.name}.bytes"
_OF_MEDIA: Final = f"{MEDIA.name}."


def fact_of(name: str) -> Column:
    """The column that has, for pictures that pages show, the values of a column of the pictures' own rows."""
    return Column(LAYER, fact_name(name))


def media_of(block: Mapping[str, pa.Array]) -> pa.ListArray:
    """The media of each row of a block: its own or, if the block has them, the pictures of other rows that it shows."""
    own, shown = block[MEDIA.name], block.get(SHOWN.name)
    if shown is None or not len(shown.flatten()):
        return own
    shows = list_counts(shown) > 0
    rows = np.arange(len(own)) + np.where(shows, len(own), 0)
    return pa.concat_arrays([own.cast(shown.type), shown]).take(pa.array(rows))


@dataclass(frozen=True)
class ItemLists:
    """The media of a block of rows."""

    numbers: Positions  # of media of each row
    rows: Positions  # the row of each medium, ascending
    items: Positions  # its number in its row

    @classmethod
    def of(cls, media: pa.ListArray) -> "ItemLists":
        """The lines of these rows."""
        numbers = list_counts(media)
        return cls(numbers, *rows_and_items(numbers))

    def columns(
        self, names: Iterable[str], block: Mapping[str, pa.Array], lists: frozenset[str]
    ) -> dict[str, pa.Array]:
        """The columns of these names, as conditions write them, with one value for each medium.

        `block`: the columns of the rows, of which `lists` have a value for each medium.
        """
        return {name: self._column(name, block, lists) for name in names}

    def _column(self, name: str, block: Mapping[str, pa.Array], lists: frozenset[str]) -> pa.Array:
        if name.startswith(_OF_MEDIA) and name not in block:
            return pc.struct_field(media_of(block).flatten(), name.removeprefix(_OF_MEDIA).split("."))
        if name in lists:
            values = self._taken_apart(block[name])
            fact = block.get(fact_of(name).name)
            if fact is None:
                return values
            return pc.coalesce(values, self._taken_apart(fact).cast(values.type, safe=False))
        return block[name].take(pa.array(self.rows))

    def _taken_apart(self, lists: pa.ListArray) -> pa.Array:
        own, values = list_counts(lists), lists.flatten()
        fits = (own == self.numbers)[self.rows]
        if fits.all() and len(values) == len(self.rows):
            return values
        at = (np.cumsum(own) - own)[self.rows] + self.items
        return values.take(pa.array(at, mask=~fits))

    def rows_with(self, marked: Marks) -> Marks:
        """Which rows have a medium among the marked ones."""
        found = np.zeros(len(self.numbers), np.bool_)
        found[self.rows[marked]] = True
        return found

    def count(self, marked: Marks) -> Positions:
        """How many of the marked media each row has."""
        return np.bincount(self.rows[marked], minlength=len(self.numbers)).astype(np.int64)


def marked_lists(numbers: Positions, rows: Positions, items: Positions) -> pa.ListArray:
    """A list of booleans for each row, one per medium: true for the named ones.

    `numbers`: media per row; `rows` and `items`: the row of each named medium, and its number there.
    """
    ends = np.cumsum(numbers)
    marks = np.zeros(int(ends[-1]) if len(ends) else 0, np.bool_)
    marks[(ends - numbers)[rows] + items] = True
    offsets = pa.array(np.concatenate([np.zeros(1, np.int64), ends]).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, pa.array(marks))


def represented_lists(
    block: Mapping[str, pa.Array],
    represented: Mapping[str, tuple[Positions, Positions]],
    names: Iterable[str],
    first: int,
) -> dict[str, pa.Array]:
    """Return the columns of `names` that say which media of some rows are represented by others, for rules of `items`.

    `represented`: by column, the rows of the shard and the media numbers, ascending. `first`: the shard's number of the
    first of these rows.
    """
    found = {}
    for name in names:
        numbers = list_counts(media_of(block))
        rows, items = represented.get(name, (np.zeros(0, np.int64), np.zeros(0, np.int64)))
        within = slice(*np.searchsorted(rows, (first, first + len(numbers))).tolist())
        found[f"items.{name}"] = marked_lists(numbers, rows[within] - first, items[within])
    return found
