"""Finds the candidates of a shard for a mixture: the rows that the rules keep and that are not empty.

Of each candidate there are its cell, its units, its position in the draw and in the split, and its values in the bands'
columns, all of them numbers. No text is read.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.duplicates.components import Edges
from winnow.filters.duplicates.kind import find_kind
from winnow.pipelines.binding.mixture import BoundMix, BoundStage
from winnow.pipelines.binding.tokens import TOKENS_LAYER
from winnow.pipelines.mix.dropped_media import NO_MEDIA_DROPPED, DroppedMedia
from winnow.pipelines.mix.tokens import NO_TEXT, STATUSES, UNENCODABLE
from winnow.pipelines.reading.columns import Column, read_aligned
from winnow.pipelines.reading.conditions import selected_rows
from winnow.pipelines.reading.items import item_lines, list_sums
from winnow.pipelines.rules.deciding import NARROW_BLOCK_ROWS, languages_of
from winnow.pipelines.rules.pinning import PinnedProgram, ShardObjects
from winnow.pipelines.store import layout
from winnow.schemas.errors import RecipeError
from winnow.schemas.mixture import Amount
from winnow.schemas.recipe import Unit
from winnow.schemas.rows.draws import NO_BAND
from winnow.schemas.rows.duplicates import ID_BYTES, Kind, layer_of_kind
from winnow.schemas.uint128 import Words, words_of
from winnow.scoring.mixture.cuts import ordered_key
from winnow.scoring.mixture.orders import Key, draw_order, key_of

_Rows = NDArray[np.int64]

STATUS, TOKENS, BYTES = (Column(TOKENS_LAYER, leaf) for leaf in ("status", "tokens", "bytes"))
OF_MEDIA = ("samples", "pixels", "seconds")
"""The units in which media without text can be counted."""

_MOST_SECONDS = 1e9  # of one medium

_LEFT = "media left"  # by rules of items; a name that no column of a recipe can have
DROPPED_OF, DROPPED_ITEM = "dropped.of", "dropped.item"
"""The media that rules drop of candidates: the candidate's number, and the medium's number in its row."""

_ID, _CLASS, _MEDIA = (Column(layout.SAMPLES, leaf) for leaf in ("id", "source_class", "media"))

EMPTY = "empty"
"""Why a kept row is not a candidate: its text is empty. Other reasons are the statuses of token counts."""


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """Rows of one source and language. Families and bands are not part of it, as they differ by stage."""

    source_class: str
    source: str
    language: str


@dataclass(frozen=True)
class ShardCandidates:
    """The candidates of one shard."""

    columns: Mapping[str, NDArray[Any]]  # by name; `cell` is a number among these cells, `dropped.…` are of media
    cells: tuple[Cell, ...]
    kept: Amount
    left_out: Mapping[str, Amount] = field(default_factory=dict)  # by reason
    joined: tuple[Edges, ...] = ()  # pairs of clusters of different kinds that share a row


@dataclass(frozen=True)
class CandidateFinder:
    """Finds candidates. Picklable."""

    bound: BoundMix
    pinned: PinnedProgram
    kinds: tuple[Kind, ...]  # of duplicates whose clusters stay on one side of the split, the widest first
    has_clips: bool = False  # whether rows are parts of videos: those of one video are on one side of the split
    reasons: tuple[str, ...] = (*STATUSES, EMPTY)  # the first one means no reason

    @property
    def columns(self) -> list[Column]:
        """The columns that are read."""
        clusters = [Column(layer_of_kind(kind), leaf) for kind in self.kinds for leaf in ("cluster", "size")]
        own = [_ID, _CLASS, STATUS, TOKENS, BYTES, *clusters, *self.pinned.languages, *self.bound.columns]
        return list(dict.fromkeys([*own, *([_MEDIA] if self.has_clips or self.bound.config.unit in OF_MEDIA else [])]))

    def find(
        self, shard: ShardObjects, kept: NDArray[np.bool_], dropped: DroppedMedia = NO_MEDIA_DROPPED
    ) -> ShardCandidates:
        """Return the candidates among the rows that the rules keep, without the media that rules drop; RecipeError if a
        stage's condition cannot handle a value."""
        objects, at = self.pinned.store.objects, 0
        parts: list[dict[str, NDArray[Any]]] = []
        cells: dict[tuple[str, str], int] = {}
        left: Counter[str] = Counter()
        units_left: Counter[str] = Counter()
        joined: list[Edges] = []
        kept_units = 0
        for block in read_aligned(objects, shard.objects, self.columns, NARROW_BLOCK_ROWS, shard.hidden):
            rows = len(block[_ID.name])
            chosen = np.flatnonzero(kept[at : at + rows])
            if len(chosen):
                taken = pa.array(chosen)
                picked = {name: values.take(taken) for name, values in block.items()}
                if _MEDIA.name in picked:
                    picked[_LEFT] = dropped.left(picked[_MEDIA.name], at + chosen)
                part = self._part(picked, cells, joined)
                part["row"] = (at + chosen).astype(np.uint32)
                kept_units += int(part["units"].sum())
                parts.append(self._candidates(part, left, units_left))
            at += rows
        columns: dict[str, NDArray[Any]] = {}
        for name, dtype in self._column_types().items():
            arrays = [part[name] for part in parts]
            columns[name] = np.concatenate(arrays) if arrays else np.zeros(0, dtype)
        of_candidates = dropped.numbered(columns["row"].astype(np.int64))
        columns |= {DROPPED_OF: of_candidates.rows, DROPPED_ITEM: of_candidates.items}
        return ShardCandidates(
            columns,
            tuple(Cell(source_class, shard.source, language) for source_class, language in cells),
            Amount(int(kept.sum()), kept_units),
            {reason: Amount(left[reason], units_left[reason]) for reason in left},
            tuple(joined),
        )

    def _part(
        self, block: Mapping[str, pa.Array], cells: dict[tuple[str, str], int], joined: list[Edges]
    ) -> dict[str, NDArray[Any]]:
        rows = len(block[_ID.name])
        seed = self.pinned.store.record.seed
        words, units = words_of(block[_ID.name]), self._units(block, rows)
        part: dict[str, NDArray[Any]] = {
            "high": words[0],
            "low": words[1],
            "cell": self._cells(block, rows, cells),
            "bytes": _numbers(block[BYTES.name]),
            "units": units,
            "draw": draw_order(words, key_of(seed, "draw")),
            **self._split(block, words, seed, joined),
            "stages": self._stages(block, rows),
            "why": self._exclusion_reason(block, units),
        }
        for number, column in enumerate(self.bound.bands):
            part[f"band{number}"] = _keys(block[column.name])
        return part

    def _candidates(
        self, part: dict[str, NDArray[Any]], left: Counter[str], units_left: Counter[str]
    ) -> dict[str, NDArray[Any]]:
        """Return the candidates among kept rows; count the other rows by reason."""
        excluded = part.pop("why")
        counts = np.bincount(excluded)
        if len(counts) <= 1:
            return part
        for number in (np.flatnonzero(counts[1:]) + 1).tolist():
            out = excluded == number
            left[self.reasons[number]] += int(counts[number])
            units_left[self.reasons[number]] += int(part["units"][out].sum())
        stay = excluded == 0
        return {name: values[stay] for name, values in part.items()}

    def _column_types(self) -> dict[str, Any]:
        found: dict[str, Any] = {"row": np.uint32, "high": np.uint64, "low": np.uint64, "cell": np.uint32}
        found |= {"bytes": np.int64, "units": np.int64, "draw": np.uint64}
        found |= {"split": np.uint64, "shared": np.bool_, "stages": np.uint32}
        return found | {f"band{number}": np.uint64 for number in range(len(self.bound.bands))}

    def _cells(self, block: Mapping[str, pa.Array], rows: int, cells: dict[tuple[str, str], int]) -> NDArray[np.uint32]:
        languages = languages_of(block, self.pinned.languages, rows)
        classes = pc.dictionary_encode(block[_CLASS.name])
        width = max(1, len(languages.dictionary))
        pairs = _indices(classes).astype(np.int64) * width + _indices(languages)
        names, codes = classes.dictionary.to_pylist(), languages.dictionary.to_pylist()
        counts = np.bincount(pairs)  # few pairs, so there is no need to sort the rows
        numbers = np.zeros(len(counts), np.uint32)
        for pair in np.flatnonzero(counts).tolist():
            numbers[pair] = cells.setdefault((names[pair // width], codes[pair % width]), len(cells))
        found: NDArray[np.uint32] = numbers[pairs]
        return found

    def _units(self, block: Mapping[str, pa.Array], rows: int) -> NDArray[np.int64]:
        unit: Unit = self.bound.config.unit
        if unit == "samples":
            return np.ones(rows, np.int64)
        if unit == "pixels":
            return pixels_of(block[_LEFT], self.bound.max_image_pixels)
        if unit == "seconds":
            return seconds_of(block[_LEFT])
        return _numbers(block[(TOKENS if unit == "tokens" else BYTES).name])

    def _exclusion_reason(self, block: Mapping[str, pa.Array], units: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the number of the reason why each kept row is not a candidate; 0 for candidates."""
        status = pc.dictionary_encode(block[STATUS.name])
        numbers = np.array([self.reasons.index(name) for name in status.dictionary.to_pylist()], np.uint8)
        excluded = numbers[_indices(status)] if len(numbers) else np.zeros(len(units), np.uint8)
        if self.bound.config.unit in OF_MEDIA:
            media = pc.list_value_length(block[_LEFT]).to_numpy(zero_copy_only=False)
            excluded[(excluded == NO_TEXT) & (media > 0)] = 0
        if self.bound.config.unit != "tokens":
            excluded[excluded == UNENCODABLE] = 0
        excluded[(excluded == 0) & (units <= 0)] = self.reasons.index(EMPTY)
        return excluded

    def _split(
        self, block: Mapping[str, pa.Array], words: tuple[Words, Words], seed: int, joined: list[Edges]
    ) -> dict[str, NDArray[Any]]:
        """Return each row's position in the split, and whether other rows of its cluster share that position.

        If the recipe drops duplicates, each cluster of rows has one kept row. If it does not, a row may be in clusters
        of several kinds, which then get the same position; so may a row with several pictures in any case.
        """
        key, alone = key_of(seed, "split"), self.pinned.program.choice is not None
        place = draw_order(words, key)
        shared, by_items = np.zeros(len(place), np.bool_), np.zeros(len(place), np.bool_)
        if self.has_clips:
            rows, films = _films(block[_MEDIA.name])
            place[rows], shared[rows], by_items[rows] = draw_order(films, key), True, True
        for kind in reversed(self.kinds):
            of_items = find_kind(kind).unit.of_items
            for rows, theirs in self._clusters(block, kind, key):
                before = by_items if alone and not of_items else shared
                both = before[rows] & (place[rows] != theirs)
                if both.any():
                    joined.append((place[rows][both], theirs[both]))
                place[rows], shared[rows] = theirs, True
                if of_items:
                    by_items[rows] = True
        return {"split": place, "shared": by_items if alone else shared}

    def _clusters(self, block: Mapping[str, pa.Array], kind: Kind, key: Key) -> Iterator[tuple[_Rows, Words]]:
        """Yield distinct rows with duplicates, and the position of a cluster of each."""
        layer = layer_of_kind(kind)
        names = [f"{layer}.{leaf}" for leaf in ("cluster", "size")]
        if find_kind(kind).unit.of_items:
            lines = item_lines(block, names, _ID.name)
            rows, (clusters, sizes) = lines.rows, (lines.columns[name] for name in names)
        else:
            rows, (clusters, sizes) = np.arange(len(block[_ID.name])), (block[name] for name in names)
        many = np.flatnonzero(pc.fill_null(pc.greater(sizes, 1), False).to_numpy(zero_copy_only=False))
        rows, theirs = rows[many], draw_order(words_of(clusters.take(pa.array(many))), key)
        while len(rows):  # of each row one item a time
            first = np.unique(rows, return_index=True)[1]
            yield rows[first], theirs[first]
            rest = np.ones(len(rows), np.bool_)
            rest[first] = False
            rows, theirs = rows[rest], theirs[rest]

    def _stages(self, block: Mapping[str, pa.Array], rows: int) -> NDArray[np.uint32]:
        """Return a mask for each row, with a bit for each stage that may take it; conditions see the media left."""
        if _LEFT in block:
            block = {**block, _MEDIA.name: block[_LEFT]}
        found = np.zeros(rows, np.uint32)
        for number, stage in enumerate(self.bound.stages):
            may = _selected(stage, block, rows)
            found |= may.astype(np.uint32) << np.uint32(number)
        return found


def _films(media: pa.ListArray) -> tuple[_Rows, tuple[Words, Words]]:
    """Return the rows that are parts of videos, and the id of the whole video of each."""
    some = pc.greater(pc.list_value_length(media), 0)
    of = pc.struct_field(pc.list_element(media.filter(some), 0), ["clip", "of"])
    known = of.is_valid().to_numpy(zero_copy_only=False)
    ids = pa.array([bytes.fromhex(one) for one in of.drop_null().to_pylist()], pa.binary(ID_BYTES))
    return np.flatnonzero(some.to_numpy(zero_copy_only=False))[known], words_of(ids)


def _selected(stage: BoundStage, block: Mapping[str, pa.Array], rows: int) -> NDArray[np.bool_]:
    """Return the rows that meet a stage's condition."""
    where = stage.config.where
    if where is None:
        return np.ones(rows, np.bool_)
    try:
        return selected_rows(where, {column.name: block[column.name] for column in stage.where}, rows)
    except RecipeError as error:  # a value that the condition cannot handle, such as a text that is not a number
        raise RecipeError(f"{stage.config.place}: {stage.path}.where: {error}") from None


def pixels_of(media: pa.ListArray, most: int) -> NDArray[np.int64]:
    """The pixels of all pictures of each row; 0 for pictures of unknown size, and for those that claim too many."""
    items = media.flatten()
    width, height = (
        pc.fill_null(pc.struct_field(items, name), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        for name in ("width", "height")
    )
    pixels = width * height  # sides are below 2³¹
    return list_sums(media, np.where(pixels <= most, pixels, 0))


def seconds_of(media: pa.ListArray) -> NDArray[np.int64]:
    """The whole seconds of all videos of each row, rounded, at least one; 0 where no length is known."""
    known = pc.fill_null(pc.struct_field(media.flatten(), "seconds"), 0).to_numpy(zero_copy_only=False)
    total = list_sums(media, np.rint(np.clip(known, 0, _MOST_SECONDS) * 1000).astype(np.int64))  # exact, in any order
    return np.where(total > 0, np.maximum((total + 500) // 1000, 1), 0)


def _numbers(values: pa.Array) -> NDArray[np.int64]:
    found: NDArray[np.int64] = pc.fill_null(values.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return found


def _indices(values: pa.DictionaryArray) -> NDArray[np.int32]:
    found: NDArray[np.int32] = values.indices.to_numpy(zero_copy_only=False)
    return found


def _keys(values: pa.Array) -> NDArray[np.uint64]:
    """Return numbers as integers in the same order; null and NaN are above all of them."""
    numbers = pc.fill_null(values.cast(pa.float64(), safe=False), np.nan).to_numpy(zero_copy_only=False)
    there = ~np.isnan(numbers)
    keys: NDArray[np.uint64] = np.where(there, ordered_key(np.where(there, numbers, 0.0)), np.uint64(NO_BAND))
    return keys
