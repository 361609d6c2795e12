"""Gathers contact sheets: chooses pictures, draws them under the recipe's limits, and reads their captions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from winnow.filters.image.decode.stills import require_decoders
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.forgetting.known_harm import ingested_tasks
from winnow.pipelines.media.thumbnails import (
    NSFW_LAYER,
    NSFW_OF_VIDEOS,
    ItemPlace,
    ThumbnailLimits,
    Thumbnails,
    picture_source,
)
from winnow.pipelines.query.recipe_rules import pinned_rules
from winnow.pipelines.rules.chosen_items import ChosenItem, dropped_items, item_cuts, items_near, random_items
from winnow.pipelines.rules.pinning import PinnedProgram, pin_no_rules
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.store_index import StoreIndex
from winnow.pipelines.store.tables import read_rows
from winnow.runners.facts.examples import ContactSheet, SheetPicture
from winnow.schemas.errors import WinnowError
from winnow.schemas.problems import nearest
from winnow.schemas.records import Generation

OF_PAGES: Final = "caption.page"
CAPTIONS, CAPTION_CHARACTERS = 3, 160
"""How many captions of a picture are shown, and how much of each."""


@dataclass(frozen=True, slots=True)
class WantedSheet:
    """How the pictures of a sheet are chosen."""

    how: Literal["random", "near", "reason"]
    rule: str = ""

    @property
    def title(self) -> str:
        """As it was written."""
        return f"{self.how}:{self.rule}" if self.rule else self.how


@dataclass(frozen=True, slots=True)
class WantedSheets:
    """The sheets that were asked for."""

    sheets: tuple[WantedSheet, ...]
    pictures: int  # on each
    unblurred: bool = False


def wanted_sheets(written: Sequence[str], pictures: int, *, unblurred: bool = False) -> WantedSheets | None:
    """Parse `random`, `near:RULE` and `reason:NAME`; None if no sheet is wanted. WinnowError for anything else."""
    most = ThumbnailLimits().max_pictures
    if not 1 <= pictures <= most:
        raise WinnowError(f"--pictures {pictures}: expected a number from 1 to {most}")
    found = []
    for request in dict.fromkeys(written):
        how, _, rule = request.partition(":")
        if how == "random" and request == how:
            found.append(WantedSheet("random"))
        elif how == "near" and rule:
            found.append(WantedSheet("near", rule))
        elif how == "reason" and rule:
            found.append(WantedSheet("reason", rule))
        else:
            raise WinnowError(f"--contact-sheet {request}: expected random, near:RULE or reason:NAME")
    return WantedSheets(tuple(found), pictures, unblurred) if found else None


def gather_sheets(
    wanted: WantedSheets, store: Store, generation: Generation, recipe: BoundRecipe | None
) -> tuple[ContactSheet, ...]:
    """Choose and draw the pictures of all sheets.

    WinnowError if there is no recipe, a rule is unknown or cannot be decided, or media were not yet compared with the
    recipe's lists of known harm.
    """
    if recipe is None:
        raise WinnowError(
            "--contact-sheet needs the recipe, which says where pictures are; give it instead of the store"
        )
    require_decoders()
    if recipe.config.known_harm:
        ingested_tasks(recipe, recipe.ingest(store), StoreIndex.of(store))
    chosen = [(one, tuple(_groups(one, wanted.pictures, store, generation, recipe))) for one in wanted.sheets]
    places = [item.place for _, groups in chosen for _, items in groups for item in items]
    thumbnails = Thumbnails(store, generation, picture_source(recipe.config), unblurred=wanted.unblurred).of(places)
    rows = _rows(store, generation, places)

    def shown(item: ChosenItem) -> SheetPicture:
        identity, captions = rows[item.place.shard, item.place.row]
        value = None if item.value is None else f"{item.value:.4g}"
        return SheetPicture(identity, thumbnails[item.place], captions, value)

    measured = {NSFW_LAYER, NSFW_OF_VIDEOS} & set(generation.layers)
    notes = () if measured else (f"{NSFW_LAYER} was not measured, so no picture is blurred.",)
    return tuple(
        ContactSheet(one.title, tuple((name, tuple(map(shown, items))) for name, items in groups), notes)
        for one, groups in chosen
    )


def _groups(
    wanted: WantedSheet, most: int, store: Store, generation: Generation, recipe: BoundRecipe
) -> Iterator[tuple[str, tuple[ChosenItem, ...]]]:
    seed = recipe.config.store.seed
    if wanted.how == "random":
        yield "Of all pictures", random_items(pin_no_rules(store, generation), seed, most)
        return
    pinned = _with_reason(wanted, store, generation, recipe)
    if wanted.how == "reason":
        yield f"Dropped as {wanted.rule}", dropped_items(pinned, wanted.rule, seed, most)
        return
    cuts = item_cuts(pinned, wanted.rule)
    if not cuts:
        raise WinnowError(f"--contact-sheet {wanted.title}: the rule compares no measurement with a number")
    for cut in cuts:
        near = items_near(pinned, cut, -(-most // (2 * len(cuts))))
        condition = cut.condition
        yield f"{condition}, nearest first", near.met
        yield f"not {condition}, nearest first", near.unmet


def _with_reason(wanted: WantedSheet, store: Store, generation: Generation, recipe: BoundRecipe) -> PinnedProgram:
    pinned = pinned_rules(recipe, store, generation)
    reasons = () if pinned is None else tuple(dict.fromkeys(pinned.program.reasons))
    if pinned is None or wanted.rule not in reasons:
        near = nearest(wanted.rule, reasons)
        hint = f"did you mean {near!r}?" if near else f"known: {', '.join(reasons) or 'none'}"
        raise WinnowError(f"--contact-sheet {wanted.title}: no rule has this reason ({hint})")
    return pinned


def _rows(
    store: Store, generation: Generation, places: Sequence[ItemPlace]
) -> Mapping[tuple[str, int], tuple[str, tuple[str, ...]]]:
    """The id and the captions of each row: its own, else those of the pages that show it."""
    found: dict[tuple[str, int], tuple[str, tuple[str, ...]]] = {}
    pages = (
        {row.shard: row.object for row in store.manifest(generation, OF_PAGES)} if OF_PAGES in generation.layers else {}
    )
    for shard in store.manifest(generation, layout.SAMPLES):
        rows = sorted({place.row for place in places if place.shard == shard.shard})
        if not rows:
            continue
        table = read_rows(store.objects, shard.object, rows, ["id", "captions"])
        own: list[list[dict[str, Any]]] = table["captions"].to_pylist()
        theirs: list[list[dict[str, Any]] | None] = [None] * len(rows)
        if shard.shard in pages:
            theirs = read_rows(store.objects, pages[shard.shard], rows, ["captions"])["captions"].to_pylist()
        for row, identity, one, other in zip(rows, table["id"].to_pylist(), own, theirs, strict=True):
            found[shard.shard, row] = (identity.hex(), tuple(map(_written, (one or other or [])[:CAPTIONS])))
    return found


def _written(caption: Mapping[str, Any]) -> str:
    text = caption["text"]
    cut = text if len(text) <= CAPTION_CHARACTERS else text[:CAPTION_CHARACTERS] + "…"
    return f"{cut} ({caption['language']})" if caption["language"] else str(cut)
