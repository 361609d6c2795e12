"""Thumbnails of items for people: decoded under the recipe's limits, and written anew as JPEG.

A video is shown by a frame of each shot, side by side. Only pixels are kept: no metadata, no other frames, nothing that
a viewer might parse. Pictures that a layer calls unsafe, or could not measure, are reduced to a few blocks of colour; a
forgotten picture is not read. The number of pictures and their bytes are limited.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.extras import required_package
from winnow.filters.image.decode.batches import pixels_of
from winnow.filters.image.decode.containers import Bytes
from winnow.filters.image.decode.shrink import fitted, shrink
from winnow.filters.video.decode.opening import UnwatchableError
from winnow.filters.video.decode.signal_requests import Clip
from winnow.filters.video.stills.frames_operator import NO_FRAMES
from winnow.pipelines.binding.sources import decode_limits, video_limits
from winnow.pipelines.media.pictures import OK, Pictures, PictureSource
from winnow.pipelines.media.references import UNREADABLE, MediaFinder, Unavailable, media_sources
from winnow.pipelines.media.videos.strips import Part, shot_frames, side_by_side
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.hidden_rows import hidden_rows
from winnow.pipelines.store.hiding.scans import HiddenRows
from winnow.pipelines.store.manifests.rows import ManifestRow
from winnow.pipelines.store.tables import read_rows
from winnow.schemas.errors import StoreError
from winnow.schemas.recipe import Recipe
from winnow.schemas.records import Generation

__all__ = ["BLURRED", "ItemPlace", "Thumbnail", "ThumbnailLimits", "Thumbnails", "picture_source", "unsafe_items"]

NO_SUCH_ITEM: Final = "no_such_item"
FORGOTTEN: Final = "forgotten"
TOO_MANY: Final = "too_many"
"""The status of a picture beyond the limits."""

NO_DECODER: Final = "needs winnow[video]"
"""The status of a video where nothing can decode it."""

NSFW_LAYER: Final = "image.nsfw"
NSFW_OF_VIDEOS: Final = "video.nsfw"
NSFW_SCORES: Final = ("score", "porn", "hentai", "sexy")
"""The columns of the first layer that say how unsafe a picture is, from 0 to 1; those of the other end in `_worst`."""

SHOTS: Final = "video.shots"

BLURRED: Final = 6
"""Blocks along the longer side of a picture that is not to be seen: its colours, and nothing else."""


@dataclass(frozen=True, slots=True)
class ThumbnailLimits:
    """How many pictures there are at most, and how large."""

    side: int = 160  # pixels of the longer side
    max_pictures: int = 400
    max_bytes: int = 4 << 20  # of all together
    max_nsfw: float = 0.2  # pictures with a higher score are blurred
    quality: int = 75


@dataclass(frozen=True, slots=True, order=True)
class ItemPlace:
    """Where an item is: its number is the position among its row's media."""

    shard: str
    row: int
    item: int


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """A thumbnail, or why there is none; and the row's facts about the item."""

    status: str  # ok, or why there is no picture
    jpeg: bytes = b""
    height: int = 0  # of the JPEG
    width: int = 0
    blurred: bool = False
    moments: tuple[float, ...] = ()  # seconds of a video at which its frames are shown
    facts: Mapping[str, Any] = field(default_factory=dict)  # `winnow.schemas.rows.samples.MEDIA`; empty if forgotten

    @property
    def shown(self) -> bool:
        """Whether there is a picture."""
        return self.status == OK


def picture_source(recipe: Recipe) -> PictureSource:
    """Where a recipe's pictures are read, under its limits."""
    return PictureSource(media_sources(recipe), decode_limits(recipe), videos=video_limits(recipe))


class _ShownMedia(MediaFinder):
    """Finds pictures to show: one that is unavailable now is not shown, and no failure."""

    def find(self, medium: Mapping[str, Any]) -> dict[str, Any] | Unavailable:
        """A picture, or why there is none."""
        try:
            return super().find(medium)
        except StoreError:  # of a bucket that cannot be reached
            return Unavailable(medium["ref"]["path"], UNREADABLE)

    def open(self, medium: Mapping[str, Any]) -> Bytes | Unavailable:
        """A video, or why there is none."""
        try:
            return super().open(medium)
        except StoreError:
            return Unavailable(medium["ref"]["path"], UNREADABLE)


@dataclass(frozen=True)
class Thumbnails:
    """Makes the thumbnails of one generation. `unblurred`: show unsafe pictures as they are."""

    store: Store
    generation: Generation
    source: PictureSource
    limits: ThumbnailLimits = ThumbnailLimits()
    unblurred: bool = False

    def of(self, wanted: Sequence[ItemPlace]) -> dict[ItemPlace, Thumbnail]:
        """Every wanted item; those beyond the limits, in this order, without a picture."""
        places = list(dict.fromkeys(wanted))
        decoded = set(places[: self.limits.max_pictures])
        found: dict[ItemPlace, Thumbnail] = {}
        for shard in sorted({place.shard for place in places}):
            found |= self._of_shard(shard, sorted(place for place in places if place.shard == shard), decoded)
        held = 0
        for place in places:
            one = found[place]
            if not one.shown:
                continue
            held += len(one.jpeg)
            if held > self.limits.max_bytes:
                found[place] = Thumbnail(TOO_MANY, facts=one.facts)
        return {place: found[place] for place in places}

    def _of_shard(self, shard: str, places: Sequence[ItemPlace], decoded: set[ItemPlace]) -> dict[ItemPlace, Thumbnail]:
        found = {}
        gone = set(self._hidden[shard].rows.tolist()) if shard in self._hidden else set()
        rows = sorted({place.row for place in places})
        samples = self._samples[shard]
        media = read_rows(self.store.objects, samples.object, rows, ["media"])["media"].combine_chunks()
        pictures = Pictures(self.source, samples.source, media, finder=_ShownMedia)
        unsafe = self._unsafe(shard, rows, NSFW_LAYER)
        items: dict[int, ItemPlace] = {}
        for place in places:
            at = rows.index(place.row)
            first, end = pictures.offsets[at : at + 2].tolist()
            if place.row in gone:
                found[place] = Thumbnail(FORGOTTEN)
            elif not 0 <= place.item < end - first:
                found[place] = Thumbnail(NO_SUCH_ITEM)
            else:
                items[first + place.item] = place
        facts = {item: media.flatten()[item].as_py() for item in items}
        for item, place in items.items():
            found[place] = Thumbnail(TOO_MANY, facts=facts[item])
        videos = {item: place for item, place in items.items() if facts[item]["mime"].startswith("video/")}
        found |= self._of_videos(
            samples, {place: facts[item] for item, place in videos.items() if place in decoded}, rows
        )
        wanted = [item for item, place in items.items() if place in decoded and item not in videos]
        chosen = np.array(wanted, np.int64)
        for numbers, batch in pictures.batches(chosen, self.limits.side):
            for item, pixels in zip(numbers.tolist(), pixels_of(batch), strict=True):
                place = items[item]
                blurred = not self.unblurred and (place.row, place.item) in unsafe
                found[place] = self._drawn(pixels, facts[item], blurred=blurred)
        for item in chosen.tolist():
            if pictures.statuses[item] != OK:
                found[items[item]] = Thumbnail(str(pictures.statuses[item]), facts=facts[item])
        return found

    def _of_videos(
        self, samples: ManifestRow, places: Mapping[ItemPlace, Mapping[str, Any]], rows: Sequence[int]
    ) -> dict[ItemPlace, Thumbnail]:
        """The videos of a shard, each with the facts of its item."""
        if not places:
            return {}
        if find_spec("av") is None:
            return {place: Thumbnail(NO_DECODER, facts=facts) for place, facts in places.items()}
        found = {}
        layer = NSFW_OF_VIDEOS if NSFW_OF_VIDEOS in self.generation.layers else NSFW_LAYER
        unsafe = self._unsafe(samples.shard, rows, layer)
        with closing(_ShownMedia(self.source.media, samples.source)) as finder:
            for place, facts in places.items():
                content = finder.open(facts)
                if isinstance(content, Unavailable):
                    found[place] = Thumbnail(content.status, facts=facts)
                    continue
                part = facts.get("clip")
                clip = None if part is None else Clip(part["start"], part["end"])
                try:
                    frames = shot_frames(
                        *(content, facts["mime"], facts["seconds"], self.source.videos, self.limits.side),
                        *(self._shots(samples.shard, place), clip),
                    )
                except UnwatchableError as error:
                    found[place] = Thumbnail(error.reason, facts=facts)
                    continue
                except OSError:
                    found[place] = Thumbnail(UNREADABLE, facts=facts)
                    continue
                if not frames:
                    found[place] = Thumbnail(NO_FRAMES, facts=facts)
                    continue
                blurred = not self.unblurred and (place.row, place.item) in unsafe
                pixels = [hidden_behind_blocks(frame.pixels) if blurred else frame.pixels for frame in frames]
                drawn = self._drawn(side_by_side(pixels), facts, blurred=False)
                found[place] = replace(drawn, blurred=blurred, moments=tuple(frame.seconds for frame in frames))
        return found

    def _shots(self, shard: str, place: ItemPlace) -> list[Part]:
        """Where the shots of a video are, if that was measured."""
        measured = self._shot_layer.get(shard)
        if measured is None:
            return []
        columns = ["begin_seconds", "end_seconds"]
        (row,) = read_rows(self.store.objects, measured.object, [place.row], columns).to_pylist()
        begins, ends = ((row[name] or [])[place.item : place.item + 1] for name in columns)
        return list(zip(begins[0], ends[0], strict=True)) if begins and begins[0] and ends and ends[0] else []

    @cached_property
    def _shot_layer(self) -> Mapping[str, ManifestRow]:
        if SHOTS not in self.generation.layers:
            return {}
        return {row.shard: row for row in self.store.manifest(self.generation, SHOTS)}

    def _drawn(self, pixels: NDArray[np.uint8], facts: Mapping[str, Any], *, blurred: bool) -> Thumbnail:
        encoder = required_package("drawing thumbnails", "simplejpeg", "image")
        shown = hidden_behind_blocks(pixels) if blurred else pixels
        height, width = shown.shape[:2]
        jpeg = encoder.encode_jpeg(np.ascontiguousarray(shown), self.limits.quality, "RGB", "420")
        return Thumbnail(OK, jpeg, height, width, blurred, facts=facts)

    @cached_property
    def _samples(self) -> Mapping[str, ManifestRow]:
        return {row.shard: row for row in self.store.manifest(self.generation, layout.SAMPLES)}

    @cached_property
    def _hidden(self) -> Mapping[str, HiddenRows]:
        return hidden_rows(self.store, self.generation)

    @cached_property
    def _safety(self) -> Mapping[tuple[str, str], ManifestRow]:
        """The rows of each layer about safety, by shard."""
        layers = () if self.unblurred else (NSFW_LAYER, NSFW_OF_VIDEOS)
        there = [layer for layer in layers if layer in self.generation.layers]
        return {(layer, row.shard): row for layer in there for row in self.store.manifest(self.generation, layer)}

    def _unsafe(self, shard: str, rows: Sequence[int], layer: str) -> set[tuple[int, int]]:
        """The items of these rows that must not be shown: null is never safe (a row is a few items)."""
        measured = self._safety.get((layer, shard))
        if measured is None:
            return set()
        table = read_rows(self.store.objects, measured.object, rows)
        media = read_rows(self.store.objects, measured.samples, rows, ["media"])["media"].combine_chunks()
        counts: list[int] = pc.list_value_length(media).to_pylist()
        found = unsafe_items(table, counts, self.limits.max_nsfw)
        return {(row, item) for row, items in zip(rows, found, strict=True) for item in items}


def unsafe_items(measured: pa.Table, counts: Sequence[int], most: float) -> list[set[int]]:
    """The items of a few rows that must not be shown: a missing score is never safe.

    `measured`: the rows of the layer `image.nsfw` or `video.nsfw`; `counts`: the number of each row's items; `most`:
    the highest score that may be shown.
    """
    worst = [f"{name}_worst" for name in NSFW_SCORES]
    names = worst if any(name in measured.column_names for name in worst) else NSFW_SCORES
    columns = [measured[name].to_pylist() for name in names if name in measured.column_names]

    def unsafe(row: int, item: int) -> bool:
        lists = [column[row] or () for column in columns]
        scores = [one[item] if item < len(one) else None for one in lists]
        return not scores or any(score is None or score > most for score in scores)

    return [{item for item in range(count) if unsafe(row, item)} for row, count in enumerate(counts)]


def hidden_behind_blocks(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A few blocks of the picture's mean colours at about its size, from which nothing can be recovered."""
    height, width = pixels.shape[:2]
    rows, columns = fitted(height, width, BLURRED)
    small = shrink(pixels, rows, columns)
    down, across = np.arange(height) * rows // height, np.arange(width) * columns // width
    found: NDArray[np.uint8] = small[down[:, None], across[None, :]]
    return found
