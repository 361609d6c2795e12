"""The passes of the validation split: candidates in groups, by language, as held out or not."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.mix.passes import Arrays, Pass, RowsPass, sums_by
from winnow.pipelines.mix.scratch import Scratch
from winnow.schemas.uint128 import Words

HELD_OUT = "held"
ALL, HELD, BLOCKED = range(3)  # what a language's sums are of

_Marks = NDArray[np.bool_]
_NO_WORDS: Words = np.zeros(0, np.uint64)


@dataclass(frozen=True)
class UpTo:
    """In each group the keys up to its last one; none in groups without one."""

    last: Words
    some: _Marks

    @classmethod
    def of(cls, last: Mapping[int, int], groups: int) -> Self:
        """`last`: by group; -1 for none."""
        keys, some = np.zeros(groups, np.uint64), np.zeros(groups, np.bool_)
        there = [group for group, key in last.items() if key >= 0]
        keys[there], some[there] = np.array([last[group] for group in there], np.uint64), True
        return cls(keys, some)

    def holds(self, group: NDArray[np.uint32], key: Words) -> _Marks:
        """Which keys are at most the last one of their group."""
        inside: _Marks = self.some[group] & (key <= self.last[group])
        return inside


@dataclass(frozen=True)
class HeldOut:
    """What is held out: in each group the keys up to the last one, but not the blocked ones."""

    capped: UpTo
    fewest: UpTo  # the same for `min_samples`, which goes above the cap
    blocked: Words  # in order: samples and clusters that would exceed the cap

    def holds(self, group: NDArray[np.uint32], key: Words) -> _Marks:
        """Which of these candidates are held out."""
        capped = self.capped.holds(group, key) & ~among(key, self.blocked)
        found: _Marks = capped | self.fewest.holds(group, key)
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The same as arrays."""
        of = {"capped": self.capped, "fewest": self.fewest}
        ends = {f"{name}.{part}": getattr(one, part) for name, one in of.items() for part in ("last", "some")}
        return {**ends, "blocked": self.blocked}

    @classmethod
    def of(cls, arrays: Arrays) -> "HeldOut | None":
        """The inverse of `arrays`; None if nothing is held out."""
        if "blocked" not in arrays:
            return None
        capped, fewest = (UpTo(arrays[f"{name}.last"], arrays[f"{name}.some"]) for name in ("capped", "fewest"))
        return cls(capped, fewest, arrays["blocked"])


@dataclass(frozen=True)
class _Rows:
    """The candidates of a shard, in groups: those of each language, and as the last group all that share a cluster."""

    language: NDArray[np.uint32]
    shared: _Marks
    key: Words
    units: NDArray[np.int64]
    languages: int

    @property
    def group(self) -> NDArray[np.uint32]:
        """The group of each candidate."""
        return np.where(self.shared, np.uint32(self.languages), self.language)

    @property
    def doubled(self) -> dict[str, NDArray[Any]]:
        """Every candidate twice: language `n` has group `2n` for samples and `2n + 1` for units."""
        groups = np.concatenate([2 * self.language, 2 * self.language + 1]).astype(np.uint32)
        weight = np.concatenate([np.ones(len(self.units), np.int64), self.units])
        return {"group": groups, "key": np.tile(self.key, 2), "weight": weight}


@dataclass(frozen=True, kw_only=True)
class _SplitPass(Pass):
    """given: `language`, the number of each cell's language."""

    side: str  # the column of positions
    languages: int

    def rows(self, columns: Scratch, shard: int) -> _Rows:
        """The candidates of a shard."""
        cell, shared, key, units = columns.columns(shard, ("cell", "shared", self.side, "units"))
        return _Rows(self.given["language"][cell], shared, key, units, self.languages)


@dataclass(frozen=True, kw_only=True)
class SplitTotals(_SplitPass):
    """The number and the units of the candidates of each language: `2n` for those that share no cluster."""

    name = "Totals"

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """Sums of `rows` and `units`."""
        rows = self.rows(columns, shard)
        return sums_by(2 * rows.language + rows.shared, units=rows.units)


@dataclass(frozen=True, kw_only=True)
class ByGroup(_SplitPass, RowsPass):
    """Candidates by group, without `blocked` ones; they weigh their units or 1."""

    weighed: bool

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """The rows."""
        rows = self.rows(columns, shard)
        stay = ~among(rows.key, self.given["blocked"])
        weight = rows.units if self.weighed else np.ones(len(rows.units), np.int64)
        return {"group": rows.group[stay], "key": rows.key[stay], "weight": weight[stay]}


@dataclass(frozen=True, kw_only=True)
class ByLanguage(_SplitPass, RowsPass):
    """Candidates by language, twice: their number and their units. If something is `HeldOut`, only that."""

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """The rows."""
        rows, chosen = self.rows(columns, shard), HeldOut.of(self.given)
        if chosen is not None:
            held = chosen.holds(rows.group, rows.key)
            rows = _Rows(rows.language[held], rows.shared[held], rows.key[held], rows.units[held], rows.languages)
        return rows.doubled


@dataclass(frozen=True, kw_only=True)
class KeyWeights(_SplitPass):
    """What some `keys` weigh in each language, in samples and units: by the number of a key times the groups."""

    name = "Weights"

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """Sums of `weight`."""
        part, keys = self.rows(columns, shard).doubled, self.given["keys"]
        some = among(part["key"], keys)
        code = np.searchsorted(keys, part["key"][some]) * 2 * self.languages + part["group"][some]
        return sums_by(code, weight=part["weight"][some])


@dataclass(frozen=True, kw_only=True)
class KeysAbove(_SplitPass):
    """The keys, in order, that are held out though they are at or above their language's `limit`."""

    name = "Above"

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """Each key once."""
        rows, chosen = self.rows(columns, shard), HeldOut.of(self.given)
        assert chosen is not None
        out = chosen.holds(rows.group, rows.key) & (rows.key >= self.given["limit"][rows.language])
        return {"key": np.unique(rows.key[out])}


@dataclass(frozen=True, kw_only=True)
class MarkHeldOut(_SplitPass):
    """Saves the column `held`; counts all, held-out and blocked candidates by language."""

    name = "HeldOut"

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """Sums of `rows` and `units`, by language three times."""
        rows, chosen = self.rows(columns, shard), HeldOut.of(self.given)
        held = blocked = np.zeros(len(rows.key), np.bool_)
        if chosen is not None:
            blocked = among(rows.key, chosen.blocked)
            held = chosen.holds(rows.group, rows.key)
        columns.save(shard, HELD_OUT, held)
        every = np.ones(len(rows.key), np.bool_)
        counted = [(of, some) for of, some in ((ALL, every), (HELD, held), (BLOCKED, blocked)) if some.any()]
        code = [rows.language[some].astype(np.int64) + of * self.languages for of, some in counted]
        none = np.zeros(0, np.int64)
        units = [rows.units[some] for _, some in counted]
        return sums_by(np.concatenate([none, *code]), units=np.concatenate([none, *units]))


@dataclass(frozen=True, kw_only=True)
class LargeClusters(Pass):
    """The clusters among some positions, `keys`: how many samples each has, and its first sample."""

    name = "Clusters"
    side: str

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """Positions with `rows`, and the words of the smallest id."""
        shared, key, high, low = columns.columns(shard, ("shared", self.side, "high", "low"))
        inside = np.flatnonzero(shared & among(key, self.given["keys"]))
        return self.merged(iter([_clusters(key[inside], np.ones(len(inside), np.int64), high[inside], low[inside])]))

    def merged(self, parts: Iterator[Arrays]) -> Arrays:
        """The same of several shards."""
        held = list(parts) or [_clusters(_NO_WORDS, np.zeros(0, np.int64), _NO_WORDS, _NO_WORDS)]
        names = ("key", "rows", "high", "low")
        key, rows, high, low = (np.concatenate([part[name] for part in held]) for name in names)
        order = np.lexsort((low, high, key))
        first = np.flatnonzero(np.append(True, np.diff(key[order]) != 0)) if len(order) else order
        sums = np.add.reduceat(rows[order], first) if len(order) else rows
        at = order[first]
        return _clusters(key[at], sums, high[at], low[at])


def _clusters(key: Words, rows: NDArray[np.int64], high: Words, low: Words) -> Arrays:
    return {"key": key, "rows": rows, "high": high, "low": low}


def among(key: Words, some: Words) -> _Marks:
    """Which keys are among some, which are in order."""
    if not len(some):
        return np.zeros(len(key), np.bool_)
    found: _Marks = some[np.minimum(np.searchsorted(some, key), len(some) - 1)] == key
    return found
