"""Files that are known to be of another format before their first row: an error, or quarantined as one range."""

from collections.abc import Iterator
from typing import TypeVar

from winnow.pipelines.ingest.files import holds_start
from winnow.pipelines.ingest.records import Span, Unreadable
from winnow.schemas.errors import SourceError
from winnow.schemas.records import FilePart

Found = TypeVar("Found")


class ForeignFileError(SourceError):
    """A file of another format than its source's."""

    def __init__(self, message: str, holds: str = "") -> None:
        """`holds`: what the file is, and what was expected; an engine makes the error anew of its message alone."""
        super().__init__(message)
        self.holds = holds


def foreign_file(path: str, holds: str, remedy: str) -> ForeignFileError:
    """The error of a file that holds something else than expected."""
    return ForeignFileError(f"{path}: {holds}; {remedy}", holds)


def unless_foreign(
    events: Iterator[Found], part: FilePart, reason: str, *, checked: bool
) -> Iterator[Found | Unreadable]:
    """Yield the events of a part; a file of another format is an error if it is checked, else one refused range."""
    try:
        yield from events
    except ForeignFileError as error:
        if checked:
            raise
        if holds_start(part):
            yield Unreadable(Span(0, part.size), reason, error.holds)
