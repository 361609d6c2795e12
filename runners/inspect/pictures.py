"""Pictures of a store for a page: written anew as JPEG by the decoder that contact sheets use, in processes of its own.

Of a video there is a strip of frames, one of each shot. What a layer calls unsafe, or could not measure, is reduced to
a few blocks of colour unless it is asked for as it is. Nothing of a file reaches the page but pixels.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import pyarrow as pa

from winnow.filters.image.decode.stills import require_decoders
from winnow.pipelines.forgetting.known_harm import ingested_tasks
from winnow.pipelines.media.thumbnails import (
    NSFW_LAYER,
    NSFW_OF_VIDEOS,
    ItemPlace,
    Thumbnail,
    ThumbnailLimits,
    Thumbnails,
    picture_source,
    unsafe_items,
)
from winnow.pipelines.processes.cancelling import check_cancelled
from winnow.pipelines.store import layout
from winnow.pipelines.store.store_index import StoreIndex
from winnow.runners.inspect.finding import place_of
from winnow.runners.inspect.frame import frame_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import AskedError, UnavailableError
from winnow.schemas.problems import shown

SIZES: Final = (96, 160, 320, 640, 1024)
"""The longer side of a picture, or of each frame of a strip, in pixels; others are rounded up to one of these."""

USUAL: Final = 320


def picture(
    opened: Opened,
    sample_id: str,
    item: str,
    size: str | None = None,
    row: str | None = None,
    *,
    unblurred: bool = False,
) -> bytes:
    """A picture as JPEG, as an address names it; UnavailableError, with the reason, if it cannot be shown.

    `row`: the sample's number in the frame, if the page knows it, so that no id is searched for.
    """
    number, wide = _number("item", item, 1 << 20), _number("size", size or str(USUAL), SIZES[-1])
    side = next(one for one in SIZES if wide <= one)
    drawn = opened.kept.get(("pictures", side, unblurred), partial(_Drawn.of, opened, side, unblurred=unblurred))
    at = None if row is None else _number("row", row, (1 << 31) - 1, digits=10)
    place = place_of(opened, frame_of(opened), sample_id, at)
    wanted = ItemPlace(place.shard.shard, place.row, number)
    check_cancelled()  # as decoding cannot be ended once it has begun
    found: Thumbnail = drawn.thumbnails.of([wanted])[wanted]
    if not found.shown:
        raise UnavailableError(f"{place.id}, item {number}: {found.status}")
    return found.jpeg


def _number(name: str, written: str, most: int, digits: int = 8) -> int:
    if not (written.isascii() and written.isdigit() and len(written) <= digits and int(written) <= most):
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


def blurred_items(layers: Mapping[str, pa.RecordBatch]) -> set[int]:
    """The items of a sample that are blurred, unless they are asked for as they are; `layers`: its row of each."""
    media = layers[layout.SAMPLES].column("media")[0].as_py()
    of_videos = NSFW_OF_VIDEOS if NSFW_OF_VIDEOS in layers else NSFW_LAYER
    unsafe = {
        layer: unsafe_items(pa.Table.from_batches([layers[layer]]), [len(media)], ThumbnailLimits().max_nsfw)[0]
        for layer in {NSFW_LAYER, of_videos} & layers.keys()
    }
    of_items = (of_videos if str(one["mime"]).startswith("video/") else NSFW_LAYER for one in media)
    return {item for item, layer in enumerate(of_items) if item in unsafe.get(layer, ())}
