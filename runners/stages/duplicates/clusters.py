"""`winnow duplicates`: the number of duplicate clusters, and the largest of them with an example each."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich.console import Console

from winnow.filters.duplicates.kind import PICTURES, find_kind
from winnow.filters.image.decode.stills import require_decoders
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.media.thumbnails import ItemPlace, Thumbnails, picture_source
from winnow.pipelines.query.cluster_counts import BIN_NAMES, Cluster, Overview
from winnow.pipelines.query.cluster_tasks import (
    KEPT,
    KeptClusters,
    cluster_tasks,
    clusters_inputs,
    clusters_path,
    kept_clusters,
)
from winnow.pipelines.query.duplicates import Browser
from winnow.pipelines.query.find_sample import Place
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.reading.items import item_of_id
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.kept_facts import find_facts, put_facts
from winnow.pipelines.store.tables import read_rows
from winnow.runners.facts.duplicates import KINDS, kinds, largest, remarks
from winnow.runners.facts.examples import DuplicatesFound, ExamplePicture
from winnow.runners.stages.duplicates.excerpts import Excerpts
from winnow.runners.stages.duplicates.members import run_duplicates_show
from winnow.runners.stages.running.command_jobs import command_jobs
from winnow.runners.tables.quantities import grouped
from winnow.runners.tables.table import Table, Value, each, heads, table
from winnow.runners.tables.units import COUNT, NAME
from winnow.runners.terminal.tables import is_plain, print_json, print_line, print_tables
from winnow.schemas.errors import RecipeError, WinnowError
from winnow.schemas.identity import Json
from winnow.schemas.records import Generation
from winnow.schemas.rows.duplicates import Kind

if TYPE_CHECKING:
    from winnow.runners.engines.engine import Engine

SHOW = "show"
EXCERPT_CHARACTERS = 200
ID_DIGITS = 12  # of a cluster: enough to find it by
BAR = 40
MOST = 10_000  # clusters that may be listed
REPORTED = 10
"""Clusters of each kind in a report."""

Pictures = Mapping[str, tuple[ExamplePicture, ...]]


@dataclass(frozen=True)
class Request:
    """What the command line asks for."""

    place: str
    id: str | None  # of the row to show; None to list clusters


def parse_request(words: Sequence[str]) -> Request:
    """`PLACE`, or `show PLACE ID`."""
    if words[0] == SHOW:
        if len(words) != 3:
            raise WinnowError(
                "duplicates show: expected RECIPE|STORE and ID before the options; write ./show for a store folder "
                "named show"
            )
        return Request(words[1], words[2])
    if len(words) == 2:
        raise WinnowError(f"duplicates: to see one row, write: winnow duplicates show {words[0]} {words[1]}")
    if len(words) > 2:
        raise WinnowError(
            f"duplicates: unexpected argument {words[1]}; write: winnow duplicates RECIPE|STORE [options]"
        )
    return Request(words[0], None)


def run_duplicates(
    options: argparse.Namespace, request: Request, recipe: BoundRecipe | None, store: Store, out: Console
) -> int:
    """`winnow duplicates`."""
    if not 1 <= options.limit <= MOST:
        raise WinnowError(f"--limit {options.limit}: expected 1 to {grouped(MOST)}")
    if options.lines < 0:
        raise WinnowError(f"--lines {options.lines}: expected a number of lines, or 0 for all")
    excerpts = Excerpts.of(store, require_latest_for(recipe, store), recipe, raw=options.raw)
    if request.id is not None:
        return run_duplicates_show(options, request.id, excerpts, out)
    if options.other is not None:
        raise WinnowError("--with ID compares two rows; write: winnow duplicates show RECIPE|STORE ID --with ID")
    kinds = excerpts.browser.require(options.kind)
    found = overviews(excerpts, kinds, options.limit)
    if options.json:
        print_json(_json(found, excerpts))
    else:
        _print(found, excerpts, out)
    return 0


def overviews(
    excerpts: Excerpts, kinds: Sequence[Kind], most: int, engine: "Engine | None" = None, console: Console | None = None
) -> list[Overview]:
    """The clusters of each kind."""
    browser = excerpts.browser
    stale = browser.stale(excerpts.recipe)
    return [replace(overview(browser, kind, most, engine, console), stale=stale[kind]) for kind in kinds]


def overview(
    browser: Browser, kind: Kind, most: int, engine: "Engine | None" = None, console: Console | None = None
) -> Overview:
    """All clusters of a kind, with the largest of them: as kept in the store, else counted and kept."""
    objects = browser.store.objects
    basis = clusters_inputs(browser, kind)
    path = clusters_path(basis, kind)
    kept = find_facts(objects, KeptClusters, path) if most <= KEPT else None
    if kept is None:
        jobs = command_jobs(browser.store, "clusters", engine, console)
        with jobs.folder("clusters") as steps:
            kept = kept_clusters(basis, cluster_tasks(browser, kind, max(most, KEPT), steps), jobs)
        if most <= KEPT:
            put_facts(objects, path, kept)
    return kept.overview(browser, kind, most)


def duplicates_found(
    store: Store,
    generation: Generation,
    recipe: BoundRecipe | None,
    engine: "Engine | None" = None,
    console: Console | None = None,
    *,
    unblurred: bool = False,
) -> tuple[DuplicatesFound, ...]:
    """The duplicates of every kind for the report, with texts as exported, or as read if there is no recipe."""
    excerpts = Excerpts.of(store, generation, recipe, raw=recipe is None)

    def text(place: Place) -> str | None:
        try:
            return beginning(excerpts.shown(place))
        except RecipeError:  # a key of its edits is missing: the page omits the text
            return None

    found = overviews(excerpts, excerpts.browser.kinds, REPORTED, engine, console)
    pictures = pictures_of_clusters(store, generation, recipe, found, unblurred=unblurred)

    def of(one: Overview) -> DuplicatesFound:
        texts = {cluster.id: tuple((place.id, text(place)) for place in cluster.examples) for cluster in one.largest}
        return DuplicatesFound(one, texts, pictures if find_kind(one.kind).unit == PICTURES else {})

    return tuple(map(of, found))


def beginning(text: str | None) -> str | None:
    """The first words of a text on one line."""
    return None if text is None else " ".join(text[: 4 * EXCERPT_CHARACTERS].split())[:EXCERPT_CHARACTERS].rstrip()


def _json(found: Sequence[Overview], excerpts: Excerpts) -> dict[str, Json]:
    return {
        "generation": excerpts.browser.generation.number,
        "kinds": {one.kind: _overview_json(one, excerpts) for one in found},
    }


def _overview_json(one: Overview, excerpts: Excerpts) -> dict[str, Json]:
    return {
        **table("", KINDS, [one]).without("kind", "means", "of", "share").to_json()[0],
        "sizes": dict(zip(BIN_NAMES, one.sizes, strict=True)),
        "largest": [cluster_json(cluster, one.kind, excerpts) for cluster in one.largest],
    }


def cluster_json(cluster: Cluster, kind: Kind, excerpts: Excerpts) -> dict[str, Json]:
    """A cluster, with the beginnings of the texts of its examples."""
    return {
        "cluster": cluster.id,
        "rows": cluster.rows,
        find_kind(kind).counted: cluster.texts,
        "forgotten": cluster.rows - cluster.found,
        "sources": dict(cluster.sources),
        "languages": dict(cluster.languages),
        "lowest_similarity": cluster.similarity,
        "examples": [{"id": place.id, "text": beginning(excerpts.shown(place))} for place in cluster.examples],
    }


def _print(found: Sequence[Overview], excerpts: Excerpts, console: Console) -> None:
    listed = [_largest(one, excerpts) for one in found]  # first, so that an error in the edits prints nothing else
    print_tables(console, kinds(found).without("means"), _sizes(found, plain=is_plain(console)), *listed)
    for remark in remarks(found):
        print_line(console, f"note  {remark}")
    if any(one.largest for one in found):
        if excerpts.texts_hidden:
            print_line(console, "note  texts are not shown: give the recipe, which says how to edit them, or --raw")
        print_line(console, "next  winnow duplicates show RECIPE|STORE CLUSTER")


def _sizes(found: Sequence[Overview], *, plain: bool) -> Table:
    """Clusters by size; with bars if there is only one kind."""
    columns = heads("rows", *each(COUNT, *(one.kind for one in found)))
    rows: list[tuple[Value, ...]] = list(zip(BIN_NAMES, *(one.sizes for one in found), strict=True))
    if len(found) == 1:
        longest, mark = max(found[0].sizes) or 1, "#" if plain else "█"
        bars = (mark * max(bool(count), round(BAR * count / longest)) for count in found[0].sizes)
        columns, rows = (*columns, *heads("")), [(*row, bar) for row, bar in zip(rows, bars, strict=True)]
    return Table("Clusters by size", columns, rows)


def _largest(one: Overview, excerpts: Excerpts) -> Table:
    of_pictures, shown = find_kind(one.kind).unit == PICTURES, largest(one).cut("cluster", ID_DIGITS)
    if excerpts.texts_hidden and not of_pictures:
        return shown
    see = excerpts.picture if of_pictures else excerpts.shown

    def example(cluster: Cluster) -> str:
        text = beginning(see(cluster.examples[0])) if cluster.examples else "(forgotten)"
        return "(not shown)" if text is None else text

    return shown.beside("picture" if of_pictures else "excerpt", NAME, map(example, one.largest))


def pictures_of_clusters(
    store: Store,
    generation: Generation,
    recipe: BoundRecipe | None,
    found: Sequence[Overview],
    *,
    unblurred: bool = False,
) -> Pictures:
    """The pictures of all clusters of items, by cluster; none without a recipe, which says where pictures are."""
    clusters = [cluster for one in found if find_kind(one.kind).unit == PICTURES for cluster in one.largest]
    if recipe is None or not clusters or not _decodable():
        return {}
    places = {place.id: _item_place(store, place) for cluster in clusters for place in cluster.examples}
    made = Thumbnails(store, generation, picture_source(recipe.config), unblurred=unblurred).of(list(places.values()))

    def pictures(cluster: Cluster) -> tuple[ExamplePicture, ...]:
        return tuple(ExamplePicture(place.id, made[places[place.id]]) for place in cluster.examples)

    return {cluster.id: pictures(cluster) for cluster in clusters}


def _decodable() -> bool:
    """Whether the packages that decode pictures are there: a report is made without them, too."""
    try:
        require_decoders()
    except RecipeError:
        return False
    return True


def _item_place(store: Store, place: Place) -> ItemPlace:
    """Where the item is that has this id; the row is that of the place."""
    (row,) = read_rows(store.objects, place.shard.object, [place.row], ["id"])["id"].to_pylist()
    return ItemPlace(place.shard.shard, place.row, item_of_id(bytes.fromhex(place.id), row))
