"""Pictures of a store for a page: written anew as JPEG by the decoder that contact sheets use, in processes of its own.

Of a video there is a strip of frames, one of each shot. What a layer calls unsafe, or could not measure, is reduced to
a few blocks of colour unless it is asked for as it is. Nothing of a file reaches the page but pixels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from winnow.filters.image.decode.stills import require_decoders
from winnow.pipelines.forgetting.known_harm import ingested_tasks
from winnow.pipelines.media.thumbnails import (
    NSFW_LAYER,
    NSFW_OF_VIDEOS,
    NSFW_SCORES,
    ItemPlace,
    Thumbnail,
    ThumbnailLimits,
    Thumbnails,
    picture_source,
)
from winnow.pipelines.query.find_sample import Place
from winnow.pipelines.store.store_index import StoreIndex
from winnow.pipelines.store.tables import read_rows
from winnow.runners.inspect.finding import place_of
from winnow.runners.inspect.frame import frame_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import AskedError, UnavailableError
from winnow.schemas.problems import shown

SIZES: Final = (96, 160, 320, 640, 1024)
"""The longer side of a picture, or of each frame of a strip, in pixels; others are rounded up to one of these."""

USUAL: Final = 320


def picture(opened: Opened, sample_id: str, item: str, size: str | None = None, *, unblurred: bool = False) -> bytes:
    """A picture as JPEG, as an address names it; UnavailableError, with the reason, if it cannot be shown."""
    number, wide = _number("item", item, 1 << 20), _number("size", size or str(USUAL), SIZES[-1])
    side = next(one for one in SIZES if wide <= one)
    drawn = opened.kept.get(("pictures", side, unblurred), partial(_Drawn.of, opened, side, unblurred=unblurred))
    place = place_of(opened, frame_of(opened), sample_id)
    wanted = ItemPlace(place.shard.shard, place.row, number)
    found: Thumbnail = drawn.thumbnails.of([wanted])[wanted]
    if not found.shown:
        raise UnavailableError(f"{place.id}, item {number}: {found.status}")
    return found.jpeg


def _number(name: str, written: str, most: int) -> int:
    if not (written.isascii() and written.isdigit() and len(written) < 9 and int(written) <= most):
        raise AskedError(f"{name}: expected a number up to {most:,}, found {shown(written)}")
    return int(written)


@dataclass(frozen=True)
class _Drawn:
    """Draws pictures of one size."""

    thumbnails: Thumbnails
    nbytes: int = 1 << 20  # manifests, which the store shares

    @classmethod
    def of(cls, opened: Opened, side: int, *, unblurred: bool) -> "_Drawn":
        recipe = opened.recipe
        if recipe is None:
            raise UnavailableError("pictures are read where the recipe says; run: winnow inspect RECIPE")
        require_decoders()
        if recipe.config.known_harm:  # what was not yet compared with the recipe's lists must not be seen
            ingested_tasks(recipe, recipe.ingest(opened.store), StoreIndex.of(opened.store))
        limits = replace(ThumbnailLimits(), side=side)
        source = picture_source(recipe.config)
        return cls(Thumbnails(opened.store, opened.generation, source, limits, unblurred=unblurred))


def nsfw_scores(opened: Opened, place: Place) -> list[float | None]:
    """How unsafe each item of a row is, by the worst of its scores; None where that was not measured."""
    found: dict[int, float] = {}
    items = 0
    for layer in (NSFW_LAYER, NSFW_OF_VIDEOS):
        if layer not in opened.generation.layers:
            continue
        row = opened.store.manifest(opened.generation, layer).by_shard.get(place.shard.shard)
        if row is None:
            continue
        (values,) = read_rows(opened.store.objects, row.object, [place.row]).to_pylist()
        for lists in _scores(values):
            items = max(items, len(lists))
            for number, score in enumerate(lists):
                if score is not None:
                    found[number] = max(found.get(number, 0.0), score)
    return [found.get(number) for number in range(items)]


def _scores(values: Mapping[str, Any]) -> Sequence[Sequence[float | None]]:
    names = [name for one in NSFW_SCORES for name in (one, f"{one}_worst") if name in values]
    return [values[name] for name in names if isinstance(values[name], list)]
