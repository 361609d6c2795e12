"""The reader of tables without a schema. A file of another format is an error, or quarantined as one range."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, TypeAlias

from winnow.pipelines.ingest.files import holds_start
from winnow.pipelines.ingest.records import Covered, Dropped, Event, ReadLimits, Span, Unreadable
from winnow.pipelines.ingest.tables.columns import ColumnMapping, row_event
from winnow.schemas.errors import SourceError
from winnow.schemas.identity import Json
from winnow.schemas.records import FilePart


class ForeignFileError(SourceError):
    """A file of another format than its source's."""

    def __init__(self, message: str, holds: str = "") -> None:
        """`holds`: what the file is, and what was expected. Engines recreate the error from its message alone."""
        super().__init__(message)
        self.holds = holds


def foreign_file(path: str, holds: str, remedy: str) -> ForeignFileError:
    """The error of a file that holds something else than expected."""
    return ForeignFileError(f"{path}: {holds}; {remedy}", holds)


@dataclass(frozen=True, slots=True)
class ParsedRow:
    """A row whose columns have no meaning yet."""

    values: dict[str, Json]
    span: Span
    container: str


Parse: TypeAlias = Callable[[BinaryIO, FilePart, ReadLimits], Iterator[ParsedRow | Dropped | Unreadable | Covered]]


@dataclass(frozen=True, slots=True)
class RowsReader:
    """Yields one event per line or row of the part."""

    parse: Parse
    foreign: str  # the reason for which a file of another format is refused
    has_nulls: bool  # else an empty text is null in every column but the text
    mapping: ColumnMapping = field(default_factory=ColumnMapping)
    checked: bool = True  # whether such a file is an error; else it is quarantined

    def __call__(self, stream: BinaryIO, part: FilePart, limits: ReadLimits) -> Iterator[Event | Covered]:
        """Events in file order whose ranges tile what begins in the part."""
        try:
            for found in self.parse(stream, part, limits):
                if not isinstance(found, ParsedRow):
                    yield found
                    continue
                row = found.values
                if not self.has_nulls:
                    row = {name: value if value or name == self.mapping.text else None for name, value in row.items()}
                yield row_event(row, found.span, found.container, self.mapping, limits, part.path)
        except ForeignFileError as error:
            if self.checked:
                raise
            if holds_start(part):
                yield Unreadable(Span(0, part.size), self.foreign, error.holds)
