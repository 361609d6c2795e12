"""Why a row of a cluster stays, in words: for each other row, the first preference of the recipe by which it loses."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from winnow.pipelines.binding.preferences import BoundPreference, Choice, source_keys
from winnow.pipelines.query.find_sample import Place
from winnow.pipelines.reading.columns import Column, leaf_of
from winnow.pipelines.rules.pinning import PinnedProgram, PinnedShards
from winnow.pipelines.store.tables import read_rows
from winnow.runners.inspect.frame import Frame
from winnow.schemas.counts import count_of


def why_kept(frame: Frame, kept: Place | None, lost: list[Place]) -> list[str]:
    """Sentences on the row that stays, compared with those that are dropped for it."""
    if frame.why_no_rules is not None:
        return [f"Which row stays is not known: {frame.why_no_rules}"]
    choice = frame.pinned.program.choice
    if choice is None:
        return ["The recipe drops no duplicates: it searches for none, or dedupe.representative is empty."]
    if kept is None:
        return ["None of the rows shown is eligible, so none stays."]
    if not lost:
        return ["It is the only one of the rows shown that is eligible, so none is dropped for it."]
    return list(_by_preference(frame.pinned, choice, kept, lost))


def _by_preference(pinned: PinnedProgram, choice: Choice, kept: Place, lost: list[Place]) -> Iterator[str]:
    for preference in choice.preferences:
        compared = [kept, *lost]
        if preference.column is None:
            values: list[Any] = [place.shard.source for place in compared]
            keys = np.concatenate([source_keys(choice.sources, value, 1) for value in values])
        else:
            found = _values(pinned, preference.column, compared)
            values, keys = found.to_pylist(), preference.keys(found)
        worse = keys[1:] > keys[0]
        if worse.any():
            others = [value for value, loses in zip(values[1:], worse, strict=True) if loses]
            yield _sentence(preference, values[0], others)
        lost = [place for place, loses in zip(lost, worse, strict=True) if not loses]
    if lost:
        rest = count_of(len(lost), "row is", "rows are")
        yield f"id: {rest} equal to it in every preference; of equal rows the one with the smallest id stays."


def _values(pinned: PinnedProgram, column: Column, places: Sequence[Place]) -> pa.Array:
    """A column's value for each place."""
    assert isinstance(pinned.shards, PinnedShards)  # all of them
    objects = pinned.shards.layers[column.layer].objects
    parts = [
        leaf_of(
            read_rows(pinned.store.objects, objects[place.shard.shard], [place.row], [column.leaf])
            .combine_chunks()
            .to_batches()[0],
            column.leaf,
        )
        for place in places  # a few
    ]
    return pa.concat_arrays(parts)


def _sentence(preference: BoundPreference, own: Any, others: Sequence[Any]) -> str:
    rows = count_of(len(others), "row")
    if preference.column is None:
        names = ", ".join(dict.fromkeys(map(str, others)))
        return f"source: {own} comes before {names} in the recipe's sources ({rows})."
    known = [value for value in others if value is not None]
    if not known:
        return f"{preference.order}: only this row has a value of {preference.column.name} ({rows} without)."
    nearest = max(known) if preference.order in ("longest", "newest", "highest") else min(known)
    return f"{preference.order}: its {preference.column.name} is {_shown(own)}, against {_shown(nearest)} ({rows})."


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
