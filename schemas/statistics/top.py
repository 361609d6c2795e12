"""The most frequent values: counted exactly within a shard, which keeps the first ones.

A merge adds the counts that the shards kept. Its result does not depend on order or grouping, but it grows with the
number of values; so `merge_in_order`, which merges a whole store, does so in shard order and caps the result. Each cap
records the largest count that it dropped: the true count of a value is at least `counts[value]` and at most
`uncounted` more.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from winnow.schemas.identity import Json
from winnow.schemas.typed_json import Count

MAX_VALUE_BYTES = 256  # longer than any domain; a longer value counts as `other` from the start


class WrittenTop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The values in JSON."""

    values: list[tuple[str, Count]]
    other: Count
    uncounted: Count


@dataclass(slots=True)
class TopValues:
    """Counts of values, and the total of all dropped values."""

    counts: dict[str, int] = field(default_factory=dict)
    other: int = 0
    uncounted: int = 0

    def add(self, values: Iterable[str], counts: Iterable[int]) -> None:
        """Add values with their counts."""
        for value, count in zip(values, counts, strict=True):
            if len(value) * 4 > MAX_VALUE_BYTES and len(value.encode("utf-8", "surrogatepass")) > MAX_VALUE_BYTES:
                self.other += count
            else:
                self.counts[value] = self.counts.get(value, 0) + count

    def absorb(self, other: "TopValues") -> None:
        """Add the other's counts to these."""
        for value, count in other.counts.items():
            self.counts[value] = self.counts.get(value, 0) + count
        self.other += other.other
        self.uncounted += other.uncounted

    def ranked(self) -> list[tuple[str, int]]:
        """The values by descending count; equal counts by value."""
        return sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))

    def capped(self, limit: int) -> "TopValues":
        """The first `limit` values; the rest is added to `other`."""
        if len(self.counts) <= limit:
            return TopValues(dict(self.counts), self.other, self.uncounted)
        ranked = self.ranked()
        gone = [count for _, count in ranked[limit:]]
        return TopValues(dict(ranked[:limit]), self.other + sum(gone), self.uncounted + max(gone))

    def to_json(self) -> Json:
        """Plain values for JSON, the most frequent first."""
        return {
            "values": [[value, count] for value, count in self.ranked()],
            "other": self.other,
            "uncounted": self.uncounted,
        }

    @classmethod
    def from_json(cls, written: "WrittenTop") -> "TopValues":
        """The inverse of `to_json`."""
        return cls(dict(written.values), written.other, written.uncounted)
