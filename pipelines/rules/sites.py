"""How often each rule fires for each large site (registered domain), so that one that a rule empties is seen.

A site is counted in the shards of which it is a large part: what a store's driver merges grows with shards, not with
rows or sites. The counts of shards are sums, so their order does not matter.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.rules.decisions import Masks, has_rule

MIN_ROWS: Final = 20  # of a site in a shard
MOST_SITES: Final = 64  # of a shard, the largest

ALL: Final = -1
"""In place of a rule: all samples of a site."""

_NAMES = ("source", "site", "rule")
_COUNTS = pa.schema(
    [
        pa.field("source", pa.string()),
        pa.field("site", pa.string()),
        pa.field("rule", pa.int32()),  # -1: all samples of the site, whatever fires for them
        pa.field("rows", pa.int64()),
        pa.field("first", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class SiteCounts:
    """The number of samples of each site for which each rule fires, as columns; without rules that fire for none."""

    source: tuple[str, ...] = ()
    site: tuple[str, ...] = ()
    rule: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()
    first: tuple[int, ...] = ()  # of them, those that the rule is the first to drop; of all samples, those kept

    @classmethod
    def merged(cls, parts: Iterable["SiteCounts"]) -> Self:
        """The sum of the parts, sorted."""
        tables = [
            pa.table([part.source, part.site, part.rule, part.rows, part.first], schema=_COUNTS) for part in parts
        ]
        if not tables:
            return cls()
        summed = (
            pa.concat_tables(tables).group_by(_NAMES, use_threads=False).aggregate([("rows", "sum"), ("first", "sum")])
        )
        ordered = summed.sort_by([(name, "ascending") for name in _NAMES])
        return cls(*(tuple(ordered[name].to_pylist()) for name in (*_NAMES, "rows_sum", "first_sum")))

    @classmethod
    def of(cls, source: str, domains: pa.ChunkedArray, fired: Masks, rules: int) -> Self:
        """The counts of one shard.

        `domains`: the registered domain of each row; `fired`: the rules that fired for each row, where the bit after
        the last marks forgotten ones, which are left out; `rules`: their number.
        """
        seen = pa.array(~has_rule(fired, rules))
        coded = pc.if_else(seen, domains.combine_chunks(), pa.scalar(None, pa.string())).dictionary_encode()
        codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
        rows = np.bincount(codes[codes >= 0], minlength=len(coded.dictionary))
        names = coded.dictionary.to_pylist()
        large = sorted(np.flatnonzero(rows >= MIN_ROWS).tolist(), key=lambda code: (-rows[code], names[code]))
        large = large[:MOST_SITES]
        if not large:
            return cls()

        def of_sites(marks: NDArray[np.bool_]) -> NDArray[np.int64]:
            return np.bincount(codes[marks & (codes >= 0)], minlength=len(names))

        kept = np.bitwise_or.reduce(fired, axis=1) == 0
        left = of_sites(kept)
        found = [(names[code], ALL, int(rows[code]), int(left[code])) for code in large]
        earlier = np.zeros(len(codes), np.bool_)
        for rule in range(rules):
            marks = has_rule(fired, rule)
            lost, first = of_sites(marks), of_sites(marks & ~earlier)
            found += [(names[code], rule, int(lost[code]), int(first[code])) for code in large if lost[code]]
            earlier |= marks
        return cls((source,) * len(found), *zip(*found, strict=True))


NO_SITES: Final = SiteCounts()
