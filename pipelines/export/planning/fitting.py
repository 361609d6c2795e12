"""Checks, before anything is moved, that every sample of a draw has the medium that an export requires."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from winnow.pipelines.export.formats.one_medium import OneMedium
from winnow.pipelines.export.stage import BoundExport
from winnow.pipelines.mix.draws import Draw, DrawnShard
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.tables import read_batches, read_table
from winnow.schemas.problems import Problem, recipe_error

_TYPES = "media.list.element.mime"


@dataclass
class _Asked:
    """An export's requirement on each sample, and the count of samples that do not meet it."""

    export: BoundExport
    wanted: OneMedium
    samples: int = 0
    first: str = ""

    def problem(self) -> Problem:
        """The error message."""
        said = (
            f"{self.samples:,} samples of the plan cannot be exported, such as {self.first}; {self.wanted.expected}: "
            f"{self.wanted.remedy}"
        )
        return Problem(self.export.place, self.export.where, said)


def require_one_medium(objects: ObjectStore, draw: Draw, exports: Sequence[BoundExport]) -> None:
    """Checks that every sample of a draw has the medium that each export requires.

    Raises:
        RecipeError: How many samples do not, for each export, and the first of them.
    """
    asked = [_Asked(export, wanted) for export in exports if (wanted := _wanted(export)) is not None]
    if not asked:
        return
    for shard in draw.shards:
        _look(objects, shard, asked)
    if problems := [one.problem() for one in asked if one.samples]:
        raise recipe_error(problems)


def _look(objects: ObjectStore, shard: DrawnShard, asked: Sequence[_Asked]) -> None:
    drawn = read_table(objects, shard.draw, ["row", "id"]).combine_chunks()
    rows, places = np.unique(drawn["row"].to_numpy(), return_index=True)
    before = 0
    for batch in read_batches(objects, shard.objects[layout.SAMPLES], [_TYPES]):
        first, last = (int(place) for place in np.searchsorted(rows, (before, before + len(batch))))
        media = batch["media"].take(pa.array(rows[first:last].astype(np.int64) - before))
        before += len(batch)
        for one in asked:
            wrong = one.wanted.misfits(media)
            one.samples += len(wrong)
            if len(wrong) and not one.first:
                row = int(wrong[0])
                name = drawn["id"][int(places[first + row])].as_py().hex()
                one.first = f"sample {name} of {shard.source}, which has {one.wanted.has(media[row])}"


def _wanted(export: BoundExport) -> OneMedium | None:
    one_medium: Callable[[Any], OneMedium | None] | None = getattr(export.format, "one_medium", None)
    return None if one_medium is None else one_medium(export.config)
