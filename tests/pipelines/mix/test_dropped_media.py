"""The media that rules drop, by rows of a shard: compared with lists in plain Python."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from winnow.pipelines.mix.dropped_media import DroppedMedia

Rows = st.lists(st.lists(st.booleans(), max_size=4), max_size=8)


def dropped_of(rows: Sequence[Sequence[bool]]) -> DroppedMedia:
    numbers = np.array([len(row) for row in rows], np.int64)
    return DroppedMedia.marked(numbers, np.array([one for row in rows for one in row], np.bool_))


@given(Rows, st.data())
def test_lists_lose_the_values_of_dropped_media(rows: Sequence[Sequence[bool]], data: st.DataObject) -> None:
    dropped = dropped_of(rows)
    some = np.array([number for number in range(len(rows)) if data.draw(st.booleans())], np.int64)
    whole = [list(range(len(rows[number]))) if data.draw(st.booleans()) else None for number in some]
    left = dropped.left(pa.array(whole, pa.list_(pa.int64())), some)
    expected = [
        None if values is None else [one for one in values if not rows[number][one]]
        for number, values in zip(some, whole, strict=True)
    ]
    assert left.to_pylist() == expected


@given(Rows, st.data())
def test_a_draw_names_them_whatever_the_order_of_its_rows(rows: Sequence[Sequence[bool]], data: st.DataObject) -> None:
    candidates = [number for number in range(len(rows)) if data.draw(st.booleans())]
    numbered = dropped_of(rows).numbered(np.array(candidates, np.int64))
    chosen = data.draw(st.lists(st.sampled_from(range(len(candidates))))) if candidates else []
    lists = numbered.lists(np.array(chosen, np.int64))
    drawn = [candidates[one] for one in chosen]
    assert lists.to_pylist() == [[item for item, out in enumerate(rows[row]) if out] for row in drawn]
    table = pa.table({"row": pa.array(drawn, pa.uint32()), "dropped": lists})
    read = DroppedMedia.drawn(table)
    pairs = {(row, item) for row in drawn for item, out in enumerate(rows[row]) if out}
    assert list(zip(read.rows.tolist(), read.items.tolist(), strict=True)) == sorted(pairs)


def test_draws_from_before_there_were_rules_of_items_name_none() -> None:
    assert not len(DroppedMedia.drawn(pa.table({"row": pa.array([1], pa.uint32())})).rows)
