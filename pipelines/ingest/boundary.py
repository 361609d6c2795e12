"""The boundary at a file's content: whatever a reader, a prober or a library raises costs the range that it was
reading.

Every file is hostile, and libraries were not written for that. Such an error is winnow's fault, so its range is
quarantined as `reader_failed`, and a line asks the user to report it. Errors that say nothing about the content pass:
memory, the system's errors, and those that a user can act on.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, ParamSpec, TypeVar

from winnow.pipelines.ingest.records import Covered, Event, Reader, ReadLimits, Record, Span, Unreadable
from winnow.schemas.errors import SourceError, WinnowError
from winnow.schemas.problems import one_line
from winnow.schemas.records import FilePart

__all__ = ["READER_FAILED", "GuardedReader", "failure", "is_for_its_task", "is_of_content", "unless_it_fails"]

READER_FAILED: Final = "reader_failed"
_ADDRESS: Final = re.compile("0x[0-9a-fA-F]+")  # differs from run to run

Given = ParamSpec("Given")
Made = TypeVar("Made")


def is_of_content(error: Exception) -> bool:
    """Whether an error was caused by the content, rather than by reading it.

    The system numbers its errors; a library that raises OSError for content gives no number.
    """
    if isinstance(error, MemoryError | WinnowError):
        return False
    return not isinstance(error, OSError) or error.errno is None


def is_for_its_task(error: Exception) -> bool:
    """Whether a first look at a file may ignore this error: the task that reads the file will report it."""
    return isinstance(error, FileNotFoundError | SourceError) or is_of_content(error)


def failure(error: Exception) -> str:
    """Describes an error of content, the same in every run."""
    return f"{type(error).__name__}: {one_line(_ADDRESS.sub('0x…', str(error)), 160)}"[:200]


def unless_it_fails(
    record: Record, make: Callable[Given, Made], *arguments: Given.args, **named: Given.kwargs
) -> Made | Unreadable:
    """Makes something of a record; its range is quarantined if that fails."""
    try:
        return make(*arguments, **named)
    except Exception as error:
        if not is_of_content(error):
            raise
        return Unreadable(record.span, READER_FAILED, failure(error), record.key)


@dataclass(frozen=True, slots=True)
class GuardedReader:
    """Reads a file; where its reader fails, the rest of the part is quarantined.

    For lines of a compressed file and for rows, whose places are not bytes, the rest is the whole part.
    """

    read: Reader

    def __call__(self, stream: BinaryIO, part: FilePart, limits: ReadLimits) -> Iterator[Event | Covered]:
        """The reader's events in the same order."""
        reached = part.start
        try:
            for event in self.read(stream, part, limits):
                yield event
                if not isinstance(event, Covered) and event.span.unit == "bytes":
                    reached = max(reached, event.span.offset + event.span.length)
        except Exception as error:
            if not is_of_content(error):
                raise
            if reached < part.end or not part.size:
                yield Unreadable(Span(reached, part.end - reached), READER_FAILED, failure(error))
