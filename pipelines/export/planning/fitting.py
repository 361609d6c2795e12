"""Checks, before anything is moved, that every sample of a draw has the media that an export requires."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.export.formats.wanted_media import WantedMedia
from winnow.pipelines.export.stage import BoundExport
from winnow.pipelines.mix.draws import Draw, DrawnShard
from winnow.pipelines.mix.dropped_media import DroppedMedia, read_draw
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.tables import read_batches
from winnow.schemas.counts import count_of
from winnow.schemas.problems import Problem, recipe_error

_TYPES = "media.list.element.mime"
_SHOWN = 5


@dataclass
class _Asked:
    """An export's requirement on each sample, and the count of samples that do not meet it."""

    export: BoundExport
    wanted: WantedMedia
    samples: int = 0
    first: str = ""
    numbers: Counter[int] = field(default_factory=Counter)  # of samples, by how many media they have

    def problem(self) -> Problem | None:
        """The error message."""
        if not self.samples and self.wanted.same_number and len(self.numbers) > 1:
            shown = ", ".join(f"{count:,} with {number}" for number, count in sorted(self.numbers.items())[:_SHOWN])
            return Problem(
                self.export.place,
                self.export.where,
                f"samples have different numbers of pictures ({shown}), but readers of this format expect the same "
                "members in all; choose one number with the mixture's `where`, or write parquet, which has lists",
            )
        if not self.samples:
            return None
        message = (
            f"{count_of(self.samples, 'sample')} of the plan cannot be exported, such as {self.first}; "
            f"{self.wanted.expected}: {self.wanted.remedy}"
        )
        return Problem(self.export.place, self.export.where, message)


def require_media(objects: ObjectStore, draw: Draw, exports: Sequence[BoundExport]) -> None:
    """Checks that every sample of a draw has the media that each export requires.

    RecipeError with, for each export, the number of samples that do not, and the first of them.
    """
    asked = [_Asked(one, wanted) for one in exports if (wanted := one.format.wanted_media(one.config)) is not None]
    if not asked:
        return
    for shard in draw.shards:
        _look(objects, shard, asked)
    if problems := [problem for one in asked if (problem := one.problem()) is not None]:
        raise recipe_error(problems)


def _look(objects: ObjectStore, shard: DrawnShard, asked: Sequence[_Asked]) -> None:
    drawn = read_draw(objects, shard.draw, ("row", "id", "dropped")).combine_chunks()
    dropped = DroppedMedia.drawn(drawn)
    rows, places = np.unique(drawn["row"].to_numpy(), return_index=True)
    before = 0
    for batch in read_batches(objects, shard.objects[layout.SAMPLES], [_TYPES]):
        first, last = (int(place) for place in np.searchsorted(rows, (before, before + len(batch))))
        some = rows[first:last].astype(np.int64)
        media = dropped.left(batch["media"].take(pa.array(some - before)), some)
        before += len(batch)
        for one in asked:
            wrong = one.wanted.misfits(media)
            if one.wanted.same_number:
                numbers, counts = np.unique(pc.list_value_length(media).to_numpy(), return_counts=True)
                one.numbers.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
            one.samples += len(wrong)
            if len(wrong) and not one.first:
                row = int(wrong[0])
                name = drawn["id"][int(places[first + row])].as_py().hex()
                one.first = f"sample {name} of {shard.source}, which has {one.wanted.has(media[row])}"
