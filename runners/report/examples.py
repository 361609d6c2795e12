"""Pieces of the crawl that a report shows beside its numbers."""

from collections.abc import Mapping
from dataclasses import dataclass

from winnow.pipelines.query.cluster_counts import Overview
from winnow.pipelines.rules.borders import Border
from winnow.pipelines.rules.coverage import SafetyCoverage
from winnow.pipelines.rules.summary import RulesSummary
from winnow.pipelines.score.overview import ScoreOverview

EXCERPT_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class ExampleRow:
    """A sample and the beginning of its text."""

    id: str
    source: str
    url: str | None
    mime: str | None
    text: str


@dataclass(frozen=True, slots=True)
class ExampleRange:
    """A range of a source's file that could not be read."""

    reason: str
    source: str
    path: str
    offset: int
    length: int
    unit: str
    detail: str


@dataclass(frozen=True, slots=True)
class DuplicatesFound:
    """One kind of duplicates, and how texts of its largest clusters begin."""

    overview: Overview
    examples: Mapping[str, tuple[tuple[str, str | None], ...]]  # ids and beginnings, by cluster; None: not to be shown


@dataclass(frozen=True, slots=True)
class Examples:
    """What to show, in the order in which it is shown."""

    rows: tuple[ExampleRow, ...] = ()
    ranges: tuple[ExampleRange, ...] = ()
    borders: tuple[Border, ...] = ()
    rules: RulesSummary | None = None  # what the recipe's rules decide
    coverage: SafetyCoverage | None = None  # who looked for harm in what they keep
    duplicates: tuple[DuplicatesFound, ...] = ()  # a kind each
    scores: tuple[ScoreOverview, ...] = ()
