"""Duplicates: the counts of each kind, clusters by size, and the largest clusters with examples."""

from collections.abc import Sequence

from winnow.filters.duplicates.kind import find_kind
from winnow.pipelines.query.cluster_counts import BIN_NAMES, Cluster, Overview
from winnow.runners.facts.examples import DuplicatesFound, ExamplePicture, Examples
from winnow.runners.report.block import Block
from winnow.runners.report.markup import Html, crawled, element, folded, join, plain
from winnow.runners.report.pictures import captioned, gallery, measured
from winnow.runners.report.plots.histograms import small_columns
from winnow.runners.report.tables import drawn, note
from winnow.runners.tables.escaping import shortened, visible
from winnow.runners.tables.quantities import grouped
from winnow.runners.tables.table import Column, Share, Table, table
from winnow.runners.tables.units import COUNT, COUNTS, ID, SHARE, WORDS
from winnow.schemas.rows.duplicates import Kind, layer_of_kind
from winnow.schemas.summary import StoreSummary

ID_DIGITS = 12
EXAMPLE_CELLS = 160
NAMED = 3
"""How many sources and languages of a cluster are listed, the most frequent first."""

KINDS: tuple[Column[Overview], ...] = (
    Column("kind", WORDS, lambda one: one.kind),
    Column("means", WORDS, lambda one: find_kind(one.kind).summary),
    Column("of", WORDS, lambda one: find_kind(one.kind).unit.name),
    Column("all", COUNT, lambda one: one.rows, "rows"),
    Column("compared", COUNT, lambda one: one.compared),
    Column("forgotten", COUNT, lambda one: one.forgotten),
    Column("stale", WORDS, lambda one: one.stale),
    Column("clusters", COUNT, lambda one: one.clusters),
    Column("in clusters", COUNT, lambda one: one.clustered, "rows_in_clusters"),
    Column("surplus", COUNT, lambda one: one.surplus),
    Column("share", SHARE, lambda one: Share(one.surplus, one.compared)),
    Column("largest", COUNT, lambda one: one.most_rows, "most_rows"),
)


def kinds(found: Sequence[Overview]) -> Table:
    """The counts of every kind."""
    return table("Duplicates by kind", KINDS, found).without("forgotten", "stale")  # which remarks say


def largest(overview: Overview) -> Table:
    """The largest clusters of a kind."""
    columns: tuple[Column[Cluster], ...] = (
        Column("cluster", ID, lambda cluster: cluster.id),
        Column("rows", COUNT, lambda cluster: cluster.rows),
        Column(find_kind(overview.kind).counted, COUNT, lambda cluster: cluster.texts),
        Column("lowest", COUNT, lambda cluster: similar(cluster.similarity, exact=cluster.exact)),
        Column("sources", COUNTS, lambda cluster: counted(cluster.sources)),
        Column("languages", COUNTS, lambda cluster: counted(cluster.languages)),
    )
    return table(f"{overview.kind}: largest clusters", columns, overview.largest).filled()


def remarks(found: Sequence[Overview]) -> list[str]:
    """Notes on all kinds: rows that were forgotten later, and layers that are outdated."""
    forgotten = max((one.forgotten for one in found), default=0)
    remark = f"{grouped(forgotten)} of the rows were forgotten later; run winnow dedupe to remove them"
    stale = [one.kind for one in found if one.stale]
    return [*([remark] if forgotten else []), *([outdated(stale)] if stale else [])]


def duplicates(_: StoreSummary, examples: Examples) -> Block | None:
    """The section of the page: the counts of every kind, and its clusters."""
    if not examples.duplicates:
        return None
    found = [duplicate.overview for duplicate in examples.duplicates]
    parts = [drawn(kinds(found)), *(note(f"{remark}.") for remark in remarks(found))]
    figures = [_sizes(one) for one in found if one.clusters]
    if figures:
        parts.append(element("div", *figures, class_="multiples"))
    parts += [_largest(duplicate) for duplicate in examples.duplicates if duplicate.overview.largest]
    brief = "surplus rows: " + ", ".join(f"{one.kind} {grouped(one.surplus)}" for one in found)
    return Block("duplicates", "Duplicates", join(parts), brief)


def _sizes(overview: Overview) -> Html:
    title = f"Clusters by size ({overview.kind})"
    sizes = list(zip(BIN_NAMES, overview.sizes, strict=True))
    caption = element(
        "figcaption", element("strong", plain(title)), element("span", plain(find_kind(overview.kind).summary))
    )
    return element("figure", caption, small_columns(title, "clusters", sizes))


def _largest(found: DuplicatesFound) -> Html:
    shown = largest(found.overview)
    return folded(shown.title, drawn(shown, ("examples", [_examples(one, found) for one in found.overview.largest])))


def _examples(cluster: Cluster, found: DuplicatesFound) -> Html:
    if pictures := [_picture(example) for example in found.pictures.get(cluster.id, ())]:
        return gallery(pictures)
    texts = (text and crawled(shortened(visible(text), EXAMPLE_CELLS)) for _, text in found.examples[cluster.id])
    return join(element("p", text or element("em", plain("not shown"))) for text in texts)


def _picture(example: ExamplePicture) -> Html:
    one = example.thumbnail
    reference = one.facts.get("ref") or {}
    lines = [element("code", plain(example.id[:ID_DIGITS])), plain(measured(one)), crawled(reference.get("path") or "")]
    return captioned(one, f"item {example.id[:ID_DIGITS]}", lines)


def similar(value: float | None, *, exact: bool) -> str:
    """`.914`; only an exact 1 reads as 1."""
    return "" if value is None else "1" if exact and value == 1 else f"{min(value, 0.999):.3f}"[1:]


def outdated(kinds: Sequence[Kind]) -> str:
    """A note on layers that the recipe would now compute differently."""
    was, them = ("was", "it") if len(kinds) == 1 else ("were", "them")
    layers = ", ".join(map(layer_of_kind, kinds))
    return f"{layers} {was} made with other settings or rows; run winnow dedupe RECIPE to update {them}"


def counted(counts: Sequence[tuple[str, int]]) -> str:
    """`pages 41, books 2 (and 3 more)`."""
    shown = ", ".join(f"{name} {grouped(count)}" for name, count in counts[:NAMED])
    rest = len(counts) - NAMED
    return f"{shown} (and {rest} more)" if rest > 0 else shown
