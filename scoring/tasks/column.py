"""Task `column`: a number that another layer has measured, taken as the score.

It adds to a measure what filters can do: the best share by language, ranks, and votes of mixtures of Gaussians.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.schemas.errors import ScoreError
from winnow.scoring.protocol import NO_INPUT, NOT_FINITE, OK, Encoded, Files, Floats, TaskKind

NAME = "column"


@dataclass(frozen=True, slots=True)
class ColumnConfig:
    """The column."""

    column: str = ""  # the dotted column of numbers, such as text.head.edu_score; required


class ColumnValues:
    """A column's numbers; implements `Measure`."""

    def __init__(self, column: str) -> None:
        self._column = column

    @property
    def reads(self) -> tuple[str, ...]:
        """The column."""
        return (self._column,)

    @property
    def side(self) -> int:
        """It reads no pictures."""
        return 0

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        """Rows with a finite number."""
        column = rows.column(self._column)
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            raise ScoreError(f"{NAME}: {self._column} holds {column.type}; expected a column of numbers")
        numbers = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        absent = column.is_null().to_numpy(zero_copy_only=False)
        finite = np.isfinite(numbers)
        status = np.where(absent, NO_INPUT, np.where(finite, OK, NOT_FINITE)).astype(object)
        return Encoded(status, numbers[finite & ~absent], int((finite & ~absent).sum()))

    def joined(self, parts: Sequence[Floats]) -> Floats:
        """Concatenate numbers."""
        return np.concatenate(parts)

    def chosen(self, examples: Floats, which: NDArray[np.int64]) -> Floats:
        """Some numbers, in this order."""
        return examples[which]

    def values(self, examples: Floats) -> Floats:
        """The numbers themselves."""
        return examples


def _load(config: ColumnConfig, _files: Files) -> ColumnValues:
    if not config.column:
        raise ScoreError(f"{NAME}: `column` is missing; expected a column of numbers, such as text.head.edu_score")
    return ColumnValues(config.column)


TASK = TaskKind(
    name=NAME,
    version=1,
    summary="A number of another layer: for the best share by language of any measure.",
    config=ColumnConfig,
    load=_load,
    reads=lambda config: (config.column,),
    measures=True,
)
