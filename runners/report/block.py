"""A section of a page."""

from dataclasses import dataclass

from winnow.runners.report.markup import Html


@dataclass(frozen=True, slots=True)
class Block:
    """A section of the page."""

    anchor: str  # letters and hyphens; the page's list of contents points at it
    title: str
    body: Html
    brief: str | None = None  # of a section that is folded: what its title says beside; None for one that is open
