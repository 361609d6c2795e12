"""Parts of videos as samples: a source whose files are the shards of another store, the one of the whole videos.

A row of that store becomes a row for each of its clips, or is dropped; so the rows of its Parquet files are tiled like
those of any table. No bytes are moved: a clip's medium is the video's, with the ticks between which it is shown. Its id
depends on the source, the shard, the id of the whole video's sample, and the ticks.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, Self

import orjson

from winnow.pipelines.ingest.records import Caption, Dropped, Event, ReadLimits, Record, Span
from winnow.pipelines.ingest.sidecars import CUE_TIMES
from winnow.pipelines.ingest.subtitles import lines_between
from winnow.pipelines.reading.columns import Column, read_aligned
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectInfo, ObjectStore
from winnow.pipelines.store.hiding.scans import load_hiding
from winnow.pipelines.store.location import open_store_at
from winnow.pipelines.store.tables import read_schema
from winnow.schemas.errors import SourceError, WinnowError
from winnow.schemas.identity import Json, fingerprint_of
from winnow.schemas.recipe.model import ClipsConfig
from winnow.schemas.records import FilePart

__all__ = ["ALL_LISTED", "FilmStore", "cut", "film_store"]

ALL_LISTED = ("**",)
"""The pattern of the files of such a source: all that are listed."""

_SAMPLES = ("id", "url", "media", "captions", "metadata")
_SHOTS = ("begins", "ends", "begin_seconds", "numerator", "denominator")
_PAUSES = ("pause_begins", "pause_ends")  # which not every operator that finds parts of videos has
_BATCH_ROWS = 1024


@dataclass(frozen=True)
class ListedObjects:
    """The samples of some shards of a store, each listed as `SHARD.parquet` whatever its object is called."""

    objects: ObjectStore
    infos: tuple[ObjectInfo, ...]
    named: Mapping[str, str]  # of each listed path, the object

    @property
    def root(self) -> str:
        """That of the store."""
        return self.objects.root

    @property
    def owner(self) -> str:
        """That of the store."""
        return self.objects.owner

    def owned_by(self, _owner: str) -> Self:
        """Its objects belong to their own store."""
        return self

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """The listed objects."""
        return (info for info in self.infos if info.path.startswith(prefix))

    def open(self, path: str) -> BinaryIO:
        """Open an object."""
        return self.objects.open(self.named[path])

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """Read a range of an object."""
        return self.objects.read(self.named[path], offset, length)

    def exists(self, path: str) -> bool:
        """Whether there is such an object."""
        return path in self.named and self.objects.exists(self.named[path])

    def size(self, path: str) -> int:
        """Its size in bytes."""
        return self.objects.size(self.named[path])

    def _refuse(self, path: str, _content: bytes | Path = b"") -> NoReturn:
        raise SourceError(f"{self.root}/{path}: the store of the whole videos is only read")

    put = put_if_absent = delete = _refuse

    def scratch(self) -> Path:
        """That of the store."""
        return self.objects.scratch()

    def clear_unfinished(self, *, elsewhere: bool = True) -> int:
        """Nothing is cleared here."""
        del elsewhere
        return 0


@dataclass(frozen=True)
class FilmStore:
    """The shards of whole videos, with their shots. Picklable."""

    listed: ListedObjects  # the samples of each shard
    shots: Mapping[str, str]  # of each listed path, the object with its shots
    has_pauses: bool  # whether these say which frames are shown for long
    config: ClipsConfig
    key: str  # of everything that clips depend on, but for the rows of the shards

    def read(self, stream: BinaryIO, part: FilePart, limits: ReadLimits) -> Iterator[Event]:
        """Yields the clips of a shard in order of its rows; a `Reader`, which finds the objects by the part's path."""
        del stream, limits  # rows of winnow's own store, read with its checks
        objects = self.listed.objects
        layer = self.config.shots
        of_shots = (*_SHOTS, *_PAUSES) if self.has_pauses else _SHOTS
        columns = [Column(layout.SAMPLES, name) for name in _SAMPLES] + [Column(layer, name) for name in of_shots]
        samples = self.listed.named[part.path]
        hidden = load_hiding(objects).of(objects, samples).rows
        row = 0
        there = {layout.SAMPLES: samples, layer: self.shots[part.path]}
        for batch in read_aligned(objects, there, columns, _BATCH_ROWS, hidden):
            for values in zip(*(batch[column.name].to_pylist() for column in columns), strict=True):
                sample = dict(zip((column.name for column in columns), values, strict=True))
                yield from self._clips(sample, row)
                row += 1

    def _clips(self, sample: Mapping[str, Any], row: int) -> Iterator[Event]:
        """The clips of all videos of a row."""
        number = 0
        shots = [sample[f"{self.config.shots}.{name}"] for name in _SHOTS]
        media = sample["samples.media"]
        pauses_of = [sample.get(f"{self.config.shots}.{name}") or [None] * len(media or ()) for name in _PAUSES]
        lists = zip(media, *shots, *pauses_of, strict=True) if all(shot is not None for shot in shots) else ()
        said_when = _spoken(sample["samples.captions"], sample["samples.metadata"])
        for item, (medium, begins, ends, begin_seconds, numerator, denominator, stills, moves) in enumerate(lists):
            if begins is None or ends is None or not numerator or not denominator:
                continue
            tick = Fraction(numerator, denominator)
            pauses = tuple(zip(stills or (), moves or (), strict=True))
            for begin, end, seconds in zip(begins, ends, begin_seconds, strict=True):
                for start, stop in cut(begin, end, tick, self.config, pauses):
                    part = {"of": sample["samples.id"].hex(), "start": start, "end": stop}
                    part |= {"numerator": numerator, "denominator": denominator}
                    first = seconds + float((start - begin) * tick)  # since the video's first frame
                    captions = said_when(first, first + float((stop - start) * tick))
                    span = Span(row, 1, "rows", number)
                    yield self._record(sample, medium, part, span, item, stop - start, tick, captions)
                    number += 1
        if not number:
            yield Dropped(Span(row, 1, "rows"), "no_clips")

    def _record(
        self,
        sample: Mapping[str, Any],
        medium: Mapping[str, Any],
        part: dict[str, Json],
        span: Span,
        item: int,
        ticks: int,
        tick: Fraction,
        captions: tuple[Caption, ...],
    ) -> Record:
        clip = {**medium, "frames": None, "seconds": float(ticks * tick), "clip": part}
        return Record(
            span,
            f"{part['of']}.{item}.{part['start']}-{part['end']}",
            "clips",
            url=sample["samples.url"],
            declared_mime=medium["mime"],
            captions=captions,
            clip=clip,
        )


def _spoken(
    captions: Sequence[Mapping[str, Any]], metadata: str | None
) -> Callable[[float, float], tuple[Caption, ...]]:
    """The captions of a video from one second to another: of subtitles the lines that are shown there."""
    times = orjson.loads(metadata or "{}").get(CUE_TIMES)
    times = times if isinstance(times, dict) else {}

    def between(start: float, end: float) -> tuple[Caption, ...]:
        found = []
        for caption in captions:
            of_lines = times.get(caption["origin"])
            text = None
            if isinstance(of_lines, list) and all(isinstance(time, int) for time in of_lines):
                text = lines_between(caption["text"], of_lines, start, end)
            if text != "":  # nothing is said
                found.append(Caption(caption["text"] if text is None else text, caption["origin"], caption["language"]))
        return tuple(found)

    return between


def cut(
    begin: int, end: int, tick: Fraction, config: ClipsConfig, pauses: Sequence[tuple[int, int]] = ()
) -> Iterator[tuple[int, int]]:
    """Yields the clips of a shot, in ticks: all of it, or pieces of `max_seconds`; the last may be shorter.

    Pieces in which no frame begins are left out: they only repeat the frame before. `begin`: when its first frame is
    shown; `end`: when its last one ends; `tick`: in seconds. `pauses`: in order, when a frame is shown that stays long,
    and when the next one is.
    """
    longest = max(1, int(config.max_seconds / tick))
    start = begin
    at = bisect_left(pauses, (begin, begin))
    while start < end:
        stop = min(start + longest, end)
        while at < len(pauses) and pauses[at][1] < stop:
            at += 1
        if at < len(pauses) and pauses[at][0] < start:
            start += max(1, (pauses[at][1] - start) // longest) * longest
            continue
        if (stop - start) * tick >= Fraction(str(config.min_seconds)):
            yield start, stop
        start = stop


def film_store(address: str, source: str, config: ClipsConfig) -> FilmStore:
    """The whole videos of one source of a store, as its latest generation has them.

    SourceError if there is no such store, or it lacks the source or the shots.
    """
    try:
        store = open_store_at(address)
        generation = store.require_latest()
    except WinnowError as error:
        raise SourceError(f"clips: the store of the whole videos: {error}") from None
    if config.shots not in generation.layers:
        raise SourceError(f"clips: {address} has no layer {config.shots}; measure it there first: winnow annotate")
    samples = {row.shard: row for row in store.manifest(generation, layout.SAMPLES) if row.source == source}
    shots = {row.shard: row for row in store.manifest(generation, config.shots) if row.source == source}
    if not samples:
        raise SourceError(f"clips: {address} has no samples of the source {source!r}")
    if lacking := sorted(samples.keys() - shots.keys()):
        raise SourceError(f"clips: {address}: {config.shots} lacks the shard {lacking[0]}; run winnow annotate there")
    named = {f"{shard}.parquet": row.object for shard, row in sorted(samples.items())}
    infos = tuple(ObjectInfo(path, store.objects.size(one), one) for path, one in named.items())
    keys = sorted({row.key for row in shots.values()})
    found: dict[str, Json] = {"config": asdict(config), "shots": list(keys)}
    shots_of = {f"{shard}.parquet": shots[shard].object for shard in samples}
    columns = read_schema(store.objects, next(iter(shots_of.values()))).names
    if absent := [name for name in _SHOTS if name not in columns]:
        raise SourceError(
            f"clips: {address}: {config.shots} has no column {absent[0]}; parts of videos need {_needs()}"
        )
    has_pauses = all(name in columns for name in _PAUSES)
    return FilmStore(ListedObjects(store.objects, infos, named), shots_of, has_pauses, config, fingerprint_of(found))


def _needs() -> str:
    return f"{', '.join(_SHOTS[:-1])} and {_SHOTS[-1]}"
