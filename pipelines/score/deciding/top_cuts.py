"""Finds the exact cuts of a top share: passes of integer histograms over the scores, in which places share.

The cut of each group and checkpoint is the highest score down to which enough rows lie. If more rows have that very
score than are wanted, a second search finds the hash that divides them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from winnow.pipelines.running.scratch_parts import put_numbers, read_numbers
from winnow.pipelines.score.deciding.decision import Decision, ScoredRows, place_rows
from winnow.pipelines.score.deciding.measuring import FittedGroup
from winnow.schemas.uint128 import Words
from winnow.scoring.mixture.cuts import (
    Cut,
    CutSearch,
    OpenRanges,
    Part,
    SeenRows,
    ordered_key,
    value_of_key,
)
from winnow.scoring.selection.binarise import Cut as TopCut
from winnow.scoring.selection.ranks import TIES, Integers, count_of, hashes

_LOWEST = np.uint64((1 << 64) - 1)


@dataclass(frozen=True)
class TopPass:
    """One pass over all rows. Picklable."""

    decision: Decision
    number: int

    def store_seen(self, place: int) -> Iterator[int]:
        """Store what a place has seen of the open ranges."""
        decision, objects = self.decision, self.decision.store.objects
        asked = read_numbers(objects, decision.scratch, "asked", self.number)
        openings, tied = OpenRanges.of(asked), asked["tied"]
        numbers = {name: number for number, name in enumerate(asked["groups"].tolist())}
        seen = SeenRows(replace(openings, room=max(1, openings.room // decision.places.groups)))
        for _, rows in place_rows(decision, place, ids=len(tied) > 0):
            for part in _parts(rows, numbers, decision, tied):
                seen.add(part)
        put_numbers(objects, decision.scratch, self._seen, place, seen.arrays())
        yield place

    def ask(self, openings: OpenRanges, groups: list[str], tied: Words) -> None:
        """Store what the places need to know."""
        arrays = openings.arrays() | {"groups": np.array(groups, np.object_), "tied": tied}
        put_numbers(self.decision.store.objects, self.decision.scratch, "asked", self.number, arrays)

    def merged(self, openings: OpenRanges) -> SeenRows:
        """Return what all places have seen."""
        decision, whole = self.decision, SeenRows(openings)
        for place in range(decision.places.groups):
            seen = read_numbers(decision.store.objects, decision.scratch, self._seen, place)
            whole.absorb(SeenRows.of(seen, openings))
        return whole

    @property
    def _seen(self) -> str:
        return f"seen-{self.number}"


class TopSearch:
    """The searches for all cuts of a decision."""

    def __init__(self, decision: Decision, fitted: tuple[FittedGroup, ...], run: Callable[[TopPass], None]) -> None:
        """Begin. `fitted`: the groups, with the number of scored rows at each checkpoint; `run`: runs a pass at all
        places."""
        self._decision = decision
        self._fitted = fitted
        self._run = run
        self._passes = 0

    def find(self) -> tuple[FittedGroup, ...]:
        """Return the groups with their cuts."""
        checkpoints, share = self._decision.checkpoints, self._decision.rule.share
        wanted = np.array([count_of(share, scored) for group in self._fitted for scored in group.scored], np.int64)
        # Of each group and checkpoint: the key of the lowest kept score, and how many too many rows have it.
        keys, too_many = np.full(len(wanted), _LOWEST), np.zeros(len(wanted), np.int64)
        series = np.flatnonzero(wanted)
        for number, cut in zip(series.tolist(), self._search(series, wanted[series], keys[:0]), strict=True):
            keys[number], too_many[number] = cut.key, cut.taken - wanted[number]
        divided = np.flatnonzero(too_many)
        # Of tied rows those with the largest hashes are left out, so in this search these come first.
        left_out = dict(zip(divided.tolist(), self._search(divided, too_many[divided], keys), strict=True))

        def found(number: int, cut: TopCut) -> TopCut:
            if not wanted[number]:
                return cut
            lowest = float(value_of_key(~keys[number : number + 1])[0])
            tie = int(~np.uint64(left_out[number].key)) if number in left_out else None
            return replace(cut, lowest=lowest, tie=tie)

        return tuple(
            replace(group, cuts=tuple(found(first + number, cut) for number, cut in enumerate(group.cuts)))
            for first, group in zip(range(0, len(wanted), checkpoints), self._fitted, strict=True)
        )

    def _search(self, series: Integers, wanted: Integers, tied: Words) -> list[Cut]:
        """Return the cut of each series; `tied` are the keys of scores whose rows alone are searched, by hash."""
        if not len(series):
            return []
        search = CutSearch(series, wanted, self._decision.sizes.room)
        while not search.done:
            one, openings = TopPass(self._decision, self._passes), search.openings
            one.ask(openings, [group.name for group in self._fitted], tied)
            self._run(one)
            search.narrow(one.merged(openings))
            self._passes += 1
        return search.cuts()


def _parts(rows: ScoredRows, numbers: dict[str, int], decision: Decision, tied: Words) -> Iterator[Part]:
    """Yield rows as a search reads them: by falling score, or tied rows by falling hash."""
    first = rows.numbered_groups(numbers) * decision.checkpoints
    ties = hashes(rows.ids, decision.bound.seed, TIES) if len(tied) else None
    for checkpoint in range(decision.checkpoints):
        scores = rows.scores[:, checkpoint]
        scored = np.flatnonzero(np.isfinite(scores))
        series, keys = first[scored] + checkpoint, ~ordered_key(scores[scored])
        if ties is not None:
            here = keys == tied[series]
            series, keys = series[here], ~ties[scored[here]]
        yield Part(series.astype(np.uint32), keys, np.ones(len(keys), np.int64))
