"""Chooses each row's text among the columns that a recipe's `text` names, the same for operators, plans and exports."""

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_RULE: Final = "first that is not empty"


def first_text(texts: Sequence[pa.Array]) -> pa.LargeStringArray:
    """Each row's first text that is not empty, given columns in order of preference: an empty extraction gives way to
    the next.

    Empty if all texts of the row are empty, null if it has none.
    """
    chosen = texts[0].cast(pa.large_string())
    for text in texts[1:]:
        lacking = pc.fill_null(pc.equal(pc.binary_length(chosen), 0), True)
        if pc.any(lacking).as_py():
            chosen = pc.if_else(pc.and_(lacking, pc.is_valid(text)), text.cast(pa.large_string()), chosen)
    return chosen


def text_of(names: Sequence[str], columns: Mapping[str, pa.Array]) -> pa.LargeStringArray:
    """Each row's text, by the columns named in the recipe's `text`."""
    return first_text([columns[name] for name in names])


def text_setting(names: Sequence[str]) -> list[str]:
    """The text columns as they are written in a layer's key."""
    return [*names, _RULE] if len(names) > 1 else list(names)
