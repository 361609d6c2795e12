"""Tables: columns and rows, taken in parts, written in units and as JSON."""

import pytest

from winnow.runners.tables.quantities import grouped, share
from winnow.runners.tables.table import Column, Share, Table, each, heads, largest, table
from winnow.runners.tables.units import BYTES, CHANGE, COUNT, DIGITS, NAME, PERCENT, PRECISE, RATIO, SHARE, Unit

FRUIT = Table(
    "Fruit",
    heads("name", ("in all", COUNT), ("share", SHARE)),
    [("pear", 1_200, Share(3, 4)), ("plum", 0, Share(0, 0)), ("fig", None, Share(1, 4))],
    ("all", 1_200, None),
)


def titles(of: Table) -> list[str]:
    return [head.title for head in of.heads]


def test_columns_are_left_out_and_put_first_with_their_values_and_the_footer() -> None:
    without = FRUIT.without("in all", "nowhere")
    assert (titles(without), without.rows[0], without.footer) == (
        ["name", "share"],
        ("pear", Share(3, 4)),
        ("all", None),
    )
    first = FRUIT.first("share", "in all")
    assert titles(first) == ["in all", "share", "name"]
    assert (first.rows[2], first.footer) == ((None, Share(1, 4), "fig"), (1_200, None, "all"))
    more = FRUIT.beside("days", COUNT, [1, 2, 3])
    assert (titles(more)[-1], [row[-1] for row in more.rows], more.footer) == ("days", [1, 2, 3], None)
    with pytest.raises(ValueError, match="shorter"):
        FRUIT.beside("days", COUNT, [1, 2])
    assert [row[0] for row in FRUIT.cut("name", 3).rows] == ["pea", "plu", "fig"]
    assert FRUIT.cut("name", 3).footer == FRUIT.footer


def test_columns_without_a_value_are_left_out_where_there_are_rows() -> None:
    bare = Table("", heads("a", "b", "c"), [("x", "", None), ("", "", None)])
    assert titles(bare.filled()) == ["a"]
    assert titles(bare.filled("b")) == ["a", "c"]
    assert titles(Table("", heads("a", "b"), []).filled()) == ["a", "b"]


def test_some_rows_keep_the_footer_if_the_first_is_among_them() -> None:
    assert (FRUIT.between(0, 2).rows, FRUIT.between(0, 2).footer) == (FRUIT.rows[:2], FRUIT.footer)
    rest = FRUIT.between(1, title="Others")
    assert (rest.title, rest.rows, rest.footer, FRUIT.between(1).title) == ("Others", FRUIT.rows[1:], None, "Fruit")
    assert largest([5, 4, 3, 2], 2, sum) == [5, 4, 5]
    assert largest([5, 4], 2, sum) == [5, 4]
    assert each(COUNT, "a", "b") == (("a", COUNT), ("b", COUNT))


def test_rows_are_written_in_their_units_and_json_has_their_values() -> None:
    assert [FRUIT.written(row) for row in FRUIT.rows] == [
        ("pear", "1,200", "75.0 %"),
        ("plum", "0", "-"),
        ("fig", "", "25.0 %"),
    ]
    assert FRUIT.to_json() == [
        {"name": "pear", "in_all": 1_200, "share": 0.75},
        {"name": "plum", "in_all": 0, "share": None},
        {"name": "fig", "in_all": None, "share": 0.25},
    ]
    columns: tuple[Column[int], ...] = (
        Column("n", COUNT, lambda one: one, "number"),
        Column("half", DIGITS, lambda one: one / 2),
    )
    made = table("Halves", columns, [3, 5], 8)
    assert (made.rows, made.footer) == ([(3, 1.5), (5, 2.5)], (8, 4))
    assert made.to_json() == [{"number": 3, "half": 1.5}, {"number": 5, "half": 2.5}]


@pytest.mark.parametrize(
    ("unit", "value", "written"),
    [
        (CHANGE, 1_234, "+1,234"),
        (CHANGE, -5, "-5"),
        (CHANGE, 0, "0"),
        (RATIO, 1.005, "1.00"),
        (PERCENT, 0.1234, "12.3%"),
        (DIGITS, 123456.0, "1.235e+05"),
        (PRECISE, 1.23456789, "1.23457"),
        (BYTES, 1_023, "1.0 KiB"),
        (COUNT, "words", "words"),
        (NAME, None, ""),
        (Unit(absent="none"), None, "none"),
    ],
)
def test_a_value_is_written_in_its_unit(unit: Unit, value: object, written: str) -> None:
    assert unit.written(value) == written


def test_the_limits_of_how_numbers_are_written() -> None:
    numbers = (9_999.4, 10_000.5, 1e15, 1e15 + 0.5, -0.5, 999_999_999_999_999.0)
    assert [grouped(one) for one in numbers] == [
        "9,999",
        "10,000",
        "1.000e+15",
        "1.000e+15",
        "-0.5",
        "999,999,999,999,999",
    ]
    assert [share(part, 2_000) for part in (0, 1, 2, 1_999, 2_000)] == ["0.0 %", "0.1 %", "0.1 %", "100.0 %", "100.0 %"]
