"""Checks, before anything is moved, that every sample of a draw has the media that an export requires."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.export.formats.wanted_media import WantedMedia
from winnow.pipelines.export.planning.sizing import DRAW, list_draw
from winnow.pipelines.export.stage import BoundExport
from winnow.pipelines.mix.draws import Draw
from winnow.pipelines.mix.dropped_media import DroppedMedia, read_draw
from winnow.pipelines.running.job_tasks import HERE, Jobs
from winnow.pipelines.running.shard_groups import over_groups
from winnow.pipelines.running.shard_list import ListedShard, ShardList
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.tables import read_batches
from winnow.schemas.counts import count_of
from winnow.schemas.problems import Problem, recipe_error

_TYPES = "media.list.element.mime"
_SHOWN = 5


@dataclass
class MediaFound:
    """How the media of some samples meet the requirement of one export."""

    samples: int = 0  # that do not meet it
    first: str = ""
    numbers: dict[str, int] = field(default_factory=dict)  # of samples, by how many media they have

    def add(self, other: "MediaFound") -> None:
        """Adds what was found of samples that come later."""
        self.samples += other.samples
        self.first = self.first or other.first
        self.count(other.numbers)

    def count(self, numbers: Mapping[str, int]) -> None:
        """Adds numbers of samples."""
        for number, count in numbers.items():
            self.numbers[number] = self.numbers.get(number, 0) + count

    def problem(self, export: BoundExport, wanted: WantedMedia) -> Problem | None:
        """The error message."""
        if not self.samples and wanted.same_number and len(self.numbers) > 1:
            ascending = sorted(self.numbers.items(), key=lambda found: int(found[0]))
            shown = ", ".join(f"{count:,} with {number}" for number, count in ascending[:_SHOWN])
            return Problem(
                export.place,
                export.where,
                f"samples have different numbers of pictures ({shown}), but readers of this format expect the same "
                "members in all; choose one number with the mixture's `where`, or write parquet, which has lists",
            )
        if not self.samples:
            return None
        message = (
            f"{count_of(self.samples, 'sample')} of the plan cannot be exported, such as {self.first}; "
            f"{wanted.expected}: {wanted.remedy}"
        )
        return Problem(export.place, export.where, message)


@dataclass(frozen=True)
class GroupFound:
    """What a task found, for each export."""

    exports: list[MediaFound]


def require_media(objects: ObjectStore, draw: Draw, exports: Sequence[BoundExport], jobs: Jobs = HERE) -> None:
    """Checks that every sample of a draw has the media that each export requires; tasks read them.

    RecipeError with, for each export, the number of samples that do not, and the first of them.
    """
    asked = [(one, wanted) for one in exports if (wanted := one.format.wanted_media(one.config)) is not None]
    if not asked:
        return
    found = [MediaFound() for _ in asked]
    with jobs.folder("media") as steps:
        shards = list_draw(steps, draw)
        look = partial(_look, objects, shards, tuple(wanted for _, wanted in asked))
        for part in over_groups(steps, jobs, "Media", shards, look, GroupFound):
            for one, more in zip(found, part.exports, strict=True):
                one.add(more)
    problems = [one.problem(*which) for one, which in zip(found, asked, strict=True)]
    if wrong := [problem for problem in problems if problem is not None]:
        raise recipe_error(wrong)


def _look(objects: ObjectStore, shards: ShardList[ListedShard], asked: Sequence[WantedMedia], group: int) -> GroupFound:
    found = [MediaFound() for _ in asked]
    for number in shards.in_group(group):
        shard = shards.all[number]
        drawn = read_draw(objects, shard.objects[DRAW], ("row", "id", "dropped")).combine_chunks()
        dropped = DroppedMedia.drawn(drawn)
        rows, places = np.unique(drawn["row"].to_numpy(), return_index=True)
        before = 0
        for batch in read_batches(objects, shard.objects[layout.SAMPLES], [_TYPES]):
            first, last = (int(place) for place in np.searchsorted(rows, (before, before + len(batch))))
            some = rows[first:last].astype(np.int64)
            media = dropped.left(batch["media"].take(pa.array(some - before)), some)
            before += len(batch)
            for one, wanted in zip(found, asked, strict=True):
                wrong = wanted.misfits(media)
                if wanted.same_number:
                    numbers, counts = np.unique(pc.list_value_length(media).to_numpy(), return_counts=True)
                    one.count(dict(zip(map(str, numbers.tolist()), counts.tolist(), strict=True)))
                one.samples += len(wrong)
                if len(wrong) and not one.first:
                    row = int(wrong[0])
                    name = drawn["id"][int(places[first + row])].as_py().hex()
                    one.first = f"sample {name} of {shard.source}, which has {wanted.has(media[row])}"
    return GroupFound(found)
