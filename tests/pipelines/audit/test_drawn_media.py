"""Media that a draw drops, against the media of its rows: honest draws are left alone, any other number is named."""

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages import assert_told_each
from winnow.pipelines.audit.drawn_media import Drawn, needs_media, wrong_media
from winnow.schemas.rows.draws import DRAW
from winnow.schemas.rows.samples import SAMPLES

SIZES = [[(4, 5), (3, 3), (10, 1)], [], [(7, 7)], [(2, 2), (1, 9)]]  # of the media of four rows


def pixels(row: int, dropped: Sequence[int]) -> int:
    return sum(width * height for item, (width, height) in enumerate(SIZES[row]) if item not in dropped)


def draw(*lines: tuple[int, int, list[int] | None, int | None]) -> Drawn:
    """A draw of lines: output, row, dropped media, and pixels, if not those that are left."""
    rows = [
        {
            "output": output, "row": row, "id": bytes(16), "stratum": 0, "first": 0, "copies": 1, "bytes": 0,
            "units": pixels(row, dropped or ()) if units is None else units, "dropped": dropped,
        }
        for output, row, dropped, units in lines
    ]  # fmt: skip
    media = [[{"mime": "image/png", "width": w, "height": h, "ref": {"path": "a", "offset": 0, "length": 1,
              "container": "file"}} for w, h in sizes] for sizes in SIZES]  # fmt: skip
    ids = pa.array([bytes(16)] * len(SIZES), pa.binary(16))
    table = pa.Table.from_pylist(rows, schema=DRAW)
    return Drawn("a", ids, table, pa.array(media, SAMPLES.field("media").type))


def test_an_honest_draw_is_left_alone() -> None:
    one = draw((0, 0, [0, 2], None), (0, 1, None, None), (0, 2, [], None), (1, 0, [0, 2], None), (1, 3, [1], None))
    assert list(wrong_media("pixels", one)) == []
    assert needs_media("tokens", one.table)
    assert not needs_media("tokens", draw((0, 0, [], None), (0, 1, None, None)).table)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([(0, 0, [3], 0)], "0 drops … medium 3 … 3"),
        ([(0, 1, [0], 0)], "1 drops … medium 0 … 0"),
        ([(0, 2, [-1], 0)], "2 drops … -1 … 1"),
        ([(0, 0, [1, 1], 0)], "0 drops … medium twice"),
        ([(0, 0, [2, 1], 0)], "0 drops … medium twice"),
        ([(0, 0, [1], None), (1, 0, [2], None)], "0 drops … output"),
        ([(0, 3, [1], None), (1, 3, None, None)], "3 drops … output"),
        ([(0, 0, [1], 39)], "0 counts … 39 pixels … 30"),
    ],
)
def test_a_wrong_number_is_named(lines: list[tuple[int, int, list[int] | None, int | None]], said: str) -> None:
    assert_told_each(list(wrong_media("pixels", draw(*lines))), said)


@given(st.data())
def test_any_other_number_than_the_planned_one_is_caught_where_pixels_count(data: st.DataObject) -> None:
    row = data.draw(st.sampled_from([0, 2, 3]))
    items = st.lists(st.integers(-1, 4), unique=True).map(sorted)
    planned = data.draw(st.lists(st.integers(0, len(SIZES[row]) - 1), unique=True).map(sorted))
    other = data.draw(items.filter(lambda some: some != planned))
    said = list(wrong_media("pixels", draw((0, row, other, pixels(row, planned)))))
    # sizes are chosen so that no two sets of a row's media have equally many pixels
    assert said
