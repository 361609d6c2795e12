"""The section on duplicates: clusters by size, and the largest clusters with examples."""

from collections.abc import Sequence

from winnow.pipelines.query.cluster_counts import BIN_NAMES, Cluster, Overview
from winnow.runners.facts.examples import DuplicatesFound, ExamplePicture, Examples
from winnow.runners.report.block import Block
from winnow.runners.report.markup import Header, Html, crawled, element, folded, join, plain, table, unbroken
from winnow.runners.report.pictures import captioned, gallery, measured
from winnow.runners.report.plots.histograms import small_columns
from winnow.runners.tables.escaping import shortened, visible
from winnow.runners.tables.quantities import grouped, share
from winnow.schemas.rows.duplicates import DISTINCT, Kind, layer_of_kind
from winnow.schemas.summary import StoreSummary

ID_DIGITS = 12
EXAMPLE_CELLS = 160
NAMED = 3
"""How many sources and languages of a cluster are listed, the most frequent first."""

MEANINGS = {
    "exact": "equal texts, ignoring white space",
    "url": "the same URL after normalisation",
    "near": "texts that share most of their shingles",
    "image_bytes": "pictures with the same bytes",
    "pdq": "pictures with close PDQ hashes",
    "embedding": "pictures with close embeddings",
    "vpdq": "videos that share most of their frames",
    "video_embedding": "videos with close embeddings",
    "captions": "captions with the same text",
}


def duplicates(_: StoreSummary, examples: Examples) -> Block | None:
    """The counts of every kind, and its clusters."""
    if not examples.duplicates:
        return None
    found = [one.overview for one in examples.duplicates]
    parts = [_counts(found)]
    if forgotten := max(one.forgotten for one in found):
        note = f"{grouped(forgotten)} of the rows were forgotten later; run winnow dedupe to remove them."
        parts.append(element("p", plain(note), class_="note"))
    if stale := [one.kind for one in found if one.stale]:
        parts.append(element("p", plain(f"{outdated(stale)}."), class_="note"))
    drawn = [_sizes(one.overview) for one in examples.duplicates if one.overview.clusters]
    if drawn:
        parts.append(element("div", *drawn, class_="multiples"))
    parts += [_largest(one) for one in examples.duplicates if one.overview.largest]
    brief = "surplus rows: " + ", ".join(f"{one.kind} {grouped(one.surplus)}" for one in found)
    return Block("duplicates", "Duplicates", join(parts), brief)


def _counts(found: Sequence[Overview]) -> Html:
    headers = [Header("kind"), Header("means")]
    headers += [Header(name, True) for name in ("rows compared", "clusters", "rows in clusters", "surplus rows")]
    headers += [Header("share", True), Header("largest", True)]
    rows = [
        [
            plain(one.kind),
            plain(MEANINGS[one.kind]),
            plain(grouped(one.compared)),
            plain(grouped(one.clusters)),
            plain(grouped(one.clustered)),
            plain(grouped(one.surplus)),
            plain(share(one.surplus, one.compared)),
            plain(grouped(one.most_rows)),
        ]
        for one in found
    ]
    return table("Duplicates by kind", headers, rows)


def _sizes(one: Overview) -> Html:
    title = f"Clusters by size ({one.kind})"
    sizes = list(zip(BIN_NAMES, one.sizes, strict=True))
    caption = element("figcaption", element("strong", plain(title)), element("span", plain(MEANINGS[one.kind])))
    return element("figure", caption, small_columns(title, "clusters", sizes))


def _largest(found: DuplicatesFound) -> Html:
    one = found.overview
    headers = [
        Header("cluster"),
        Header("rows", True),
        Header(DISTINCT.get(one.kind, "texts"), True),
        Header("lowest similarity", True),
    ]
    headers += [Header("sources"), Header("languages"), Header("examples")]
    rows = [_cluster(cluster, found) for cluster in one.largest]
    title = f"Largest clusters ({one.kind})"
    return folded(title, table(title, headers, rows))


def _cluster(one: Cluster, found: DuplicatesFound) -> list[Html]:
    shown = [_picture(example) for example in found.pictures.get(one.id, ())]
    texts = [
        crawled(shortened(visible(text), EXAMPLE_CELLS)) if text else element("em", plain("not shown"))
        for _, text in found.examples[one.id]
    ]
    return [
        element("code", plain(one.id)),
        plain(grouped(one.rows)),
        plain("" if one.texts is None else grouped(one.texts)),
        plain(similar(one.similarity, exact=one.exact)),
        unbroken(crawled(counted(one.sources))),
        unbroken(crawled(counted(one.languages))),
        gallery(shown) if shown else join(element("p", text) for text in texts),
    ]


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
