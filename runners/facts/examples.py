"""Examples from the crawl that a report shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from winnow.pipelines.export.places.manifest import Manifest
from winnow.pipelines.fetch.facts import FetchedSource
from winnow.pipelines.media.thumbnails import Thumbnail
from winnow.pipelines.query.cluster_counts import Overview
from winnow.pipelines.rules.coverage import SafetyCoverage
from winnow.pipelines.rules.near_thresholds import NearThreshold
from winnow.pipelines.rules.summary import RulesSummary
from winnow.pipelines.score.overview import ScoreOverview
from winnow.runners.facts.figures import Figures
from winnow.schemas.mixture import MixturePlan

if TYPE_CHECKING:
    from winnow.runners.facts.shards import ShardLines
    from winnow.runners.facts.sites import SiteLine

EXCERPT_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class ExampleRow:
    """A sample and the start of its text, or of a caption where it has none."""

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
class ExamplePicture:
    """An item of a cluster."""

    id: str
    thumbnail: Thumbnail


@dataclass(frozen=True, slots=True)
class DuplicatesFound:
    """One kind of duplicates, with excerpts of its largest clusters."""

    overview: Overview
    examples: Mapping[str, tuple[tuple[str, str | None], ...]]  # ids and excerpts, by cluster; None: not to be shown
    pictures: Mapping[str, tuple[ExamplePicture, ...]] = field(default_factory=dict)  # by cluster of items


@dataclass(frozen=True, slots=True)
class SheetPicture:
    """A picture of a contact sheet."""

    id: str  # of its row
    thumbnail: Thumbnail
    captions: tuple[str, ...]
    value: str | None = None  # what is compared with the threshold


@dataclass(frozen=True, slots=True)
class ContactSheet:
    """Pictures chosen in one way, in named groups."""

    title: str
    groups: tuple[tuple[str, tuple[SheetPicture, ...]], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExportState:
    """An export, by its folder."""

    format: str
    place: str
    manifest: Manifest | None = None  # None if there is none yet
    problem: str | None = None  # why it cannot be read
    new: bool = False  # written by the command that tells it


@dataclass(frozen=True, slots=True)
class UnfinishedRun:
    """A run that failed or was interrupted."""

    stage: str | None  # None before the first
    why: str
    done: tuple[str, ...] = ()  # the stages before it
    tasks: int = 0  # that are committed, of a first ingest
    unread: str | None = None  # why the page lacks what is not in records


@dataclass(frozen=True, slots=True)
class Examples:
    """What a report shows beside the summary, mostly examples, in the order of the page."""

    unfinished: UnfinishedRun | None = None
    plan: MixturePlan | None = None
    exports: tuple[ExportState, ...] = ()
    now: Figures | None = None  # of this report: computed when the page is made, unless they are there
    before: Figures | None = None  # of the last report that had other figures

    fetched: tuple[FetchedSource, ...] = ()
    rows: tuple[ExampleRow, ...] = ()
    ranges: tuple[ExampleRange, ...] = ()
    thresholds: tuple[NearThreshold, ...] = ()
    rules: RulesSummary | None = None  # the recipe's rules and their effect
    undecided: str | None = None  # why there is none of them, if a rule cannot be decided for a row
    coverage: SafetyCoverage | None = None  # detector coverage of the kept samples
    duplicates: tuple[DuplicatesFound, ...] = ()  # a kind each
    scores: tuple[ScoreOverview, ...] = ()
    sites: "tuple[SiteLine, ...]" = ()  # large ones, as rules decide on them
    shards: "ShardLines | None" = None
    unrecorded: tuple[str, ...] = ()  # layers of scores that cannot be shown, as the record of their decision is lost
    sheets: tuple[ContactSheet, ...] = ()
