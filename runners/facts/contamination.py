"""Evaluation sets in the samples: of each set how many items are found, and the items."""

from collections.abc import Sequence

from winnow.filters.text.contamination import OPERATOR
from winnow.pipelines.query.evaluation_items import FoundItem, ItemsFound, SetOverview, SourceOverview
from winnow.pipelines.rules.guards import GUARDED_LOSS
from winnow.runners.tables.escaping import shortened, visible
from winnow.runners.tables.table import Column, Share, Table, table
from winnow.runners.tables.units import COUNT, EXCERPT, ID, NAME, PERCENT, SHARE, WORDS

QUESTION_CHARACTERS = 60
ID_DIGITS = 12

SETS: tuple[Column[SetOverview], ...] = (
    Column("set", NAME, lambda one: one.set),
    Column("items", COUNT, lambda one: one.items),
    Column("too short", COUNT, lambda one: one.short),
    Column("found", COUNT, lambda one: one.found),
    Column("share", SHARE, lambda one: Share(one.found, one.items)),
    Column("whole", COUNT, lambda one: one.whole),
    Column("with answer", COUNT, lambda one: one.answered),
)

SOURCES: tuple[Column[SourceOverview], ...] = (
    Column("source", NAME, lambda one: one.source),
    Column("measured", COUNT, lambda one: one.measured),
    Column("with items", COUNT, lambda one: one.samples),
    Column("share", SHARE, lambda one: Share(one.samples, one.measured)),
)

ITEMS: tuple[Column[FoundItem], ...] = (
    Column("item", ID, lambda one: f"{one.set}:{one.item}"),
    Column("samples", COUNT, lambda one: one.samples),
    Column("found", PERCENT, lambda one: one.found),
    Column("covered", PERCENT, lambda one: one.covered),
    Column("answer", WORDS, lambda one: {True: "yes", False: "no", None: ""}[one.answered]),
    Column("sample", ID, lambda one: one.id[:ID_DIGITS]),
    Column("question", EXCERPT, lambda one: shortened(visible(one.question), QUESTION_CHARACTERS)),
)


def sets(found: ItemsFound) -> Table:
    """How much of each set is in the samples."""
    title = "Evaluation sets" if found.layer == OPERATOR.name else f"Evaluation sets by {found.layer}"
    return table(title, SETS, found.sets)


def sources(found: ItemsFound) -> Table:
    """How many samples of each source have items."""
    return table("Samples by source", SOURCES, found.sources)


def items(found: ItemsFound, name: str, limit: int) -> Table:
    """The items of a set that are found in most samples."""
    own = [one for one in found.items if one.set == name]
    title = f"Items of {name}" if len(own) <= limit else f"Items of {name}: {limit:,} of {len(own):,}"
    return table(title, ITEMS, own[:limit])


def alarms(found: ItemsFound) -> Sequence[str]:
    """A line for each source that is mostly evaluation sets: perhaps they are the same files."""
    return [
        f"{one.samples:,} of {one.measured:,} samples of the source {one.source} have items; are the evaluation sets "
        "made of it?"
        for one in found.sources
        if one.samples > GUARDED_LOSS * one.measured
    ]
