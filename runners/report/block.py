"""The interface of a report section."""

from dataclasses import dataclass
from typing import Protocol

from winnow.runners.report.examples import Examples
from winnow.runners.report.markup import Html
from winnow.schemas.summary import StoreSummary


@dataclass(frozen=True, slots=True)
class Block:
    """A section of the page."""

    anchor: str  # letters and hyphens; the page's list of contents points at it
    title: str
    body: Html
    brief: str | None = None  # of a section that is folded: what its title says beside; None for one that is open


class Section(Protocol):
    """Makes a block from a summary and examples, or None if there is nothing to show."""

    def __call__(self, summary: StoreSummary, examples: Examples, /) -> Block | None:
        """The block."""
        ...
