"""Axes, ticks and files: what every plot shares."""

from xml.etree import ElementTree

import pytest

from winnow.runners.report.plots.drawing import SHAPES, Axis, Tick, horizontal_axis, mark, round_ticks, svg_file, words


@pytest.mark.parametrize("kind", ["linear", "log", "log1p"])
def test_an_axis_finds_its_way_back(kind: str) -> None:
    axis = Axis(1, 1000, 50, 250, kind)  # type: ignore[arg-type]
    assert (axis.place(1), axis.place(1000)) == (50, 250)
    assert axis.place(axis.value(0.3)) == pytest.approx(50 + 0.3 * 200)


def test_large_values_on_a_linear_axis_have_no_exponential() -> None:
    assert Axis(0.0, 10_950.0, 58, 740).value(0.5) == 5475.0


def test_decades_are_equally_far_apart_on_a_logarithmic_axis() -> None:
    axis = Axis(1, 100, 0, 200, "log")
    assert axis.place(10) == pytest.approx(100)


def test_what_lies_beyond_an_axis_is_drawn_at_its_end() -> None:
    axis = Axis(0, 1, 300, 100)
    assert (axis.place(-5), axis.place(5)) == (300, 100)


@pytest.mark.parametrize(
    ("high", "labels"),
    [
        (0.318, ["0", "0.1", "0.2", "0.3"]),
        (1, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (0.0007, ["0", "0.0002", "0.0004", "0.0006"]),
    ],
)
def test_ticks_are_round_numbers(high: float, labels: list[str]) -> None:
    assert [tick.label for tick in round_ticks(Axis(0, high, 0, 100), 6)] == labels


def test_labels_at_the_ends_stay_inside() -> None:
    drawn = "".join(horizontal_axis(Axis(0, 1, 0, 100), 0, [Tick(0, "a"), Tick(0.5, "b"), Tick(1, "c")]))
    assert 'class="axis">a<' in drawn
    assert 'class="axis middle">b<' in drawn
    assert 'class="axis end">c<' in drawn


def test_no_two_shapes_look_the_same() -> None:
    assert len({mark(shape, 0, 0, "tone-1") for shape in SHAPES}) == len(SHAPES)


def test_a_file_stands_alone_and_is_no_markup_of_what_it_names() -> None:
    drawn = svg_file("a & b", "</svg><script>", 10, 10, [words("<script>", 0, 0, "label")])
    tree = ElementTree.fromstring(drawn)
    assert [element.tag.rpartition("}")[2] for element in tree] == ["title", "style", "rect", "text"]
    assert b"var(" not in drawn
