"""What the page's answers are made of, each part by itself and in memory: fields, pages, codes, bins and cells."""

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.pipelines.binding.rule_presets import ProgramRule
from winnow.pipelines.binding.rules import RuleProgram
from winnow.pipelines.query.site_duplicates import counted_sites
from winnow.pipelines.rules.pinning import PinnedProgram
from winnow.runners.inspect.asking import choice_of, number_of, switch_of, text_of
from winnow.runners.inspect.choosing import _among, _listed, _rules, bounds_of, checked_filter
from winnow.runners.inspect.dimensions import OTHERS, Dimension, Texts, _days, _edges, _most_frequent, bin_numbers
from winnow.runners.inspect.frame import Frame, narrowed
from winnow.runners.inspect.linking import chosen_codes, linked
from winnow.runners.inspect.listing import PAGE, _nearest, spread_page
from winnow.runners.inspect.measures import CHUNK_ROWS, Measure, _numbered, chunks_of
from winnow.runners.inspect.pages import PAGE_ROWS, paged
from winnow.runners.inspect.parts import parts_of
from winnow.runners.inspect.queries import MAX_CHARACTERS, SAFE_INTEGER, shown
from winnow.runners.inspect.trials.effects import effect_of, side_of
from winnow.runners.inspect.trials.sliding import _STEP, Sums
from winnow.runners.inspect.view import AskedError, UnavailableError
from winnow.runners.inspect.views.sample import _finite, _has_spans, _Places
from winnow.schemas.problems import Place
from winnow.schemas.recipe.model import Rule

NAN = float("nan")


def frame_of(first: list[int], starts: list[int] | None = None, **changes: Any) -> Frame:
    """Rows decided by three rules, of which two have one reason; a first rule of 3: forgotten."""
    reasons = ["short", "long", "short"]
    rules = tuple(ProgramRule(Rule("x > 1", one, Place("r.yaml", 1), None), "keep", "keep[0]") for one in reasons)
    store = cast(Any, None)
    rows = len(first)
    held: dict[str, Any] = {
        "fired": np.array([[0 if one < 0 else 1 << one] for one in first], np.uint8),
        "source": np.zeros(rows, np.uint8),
        "sources": ("a",),
        "language": np.zeros(rows, np.uint8),
        "languages": ("deu",),
        "size": np.arange(rows, dtype=np.int64),
    }
    pinned = PinnedProgram(store, RuleProgram(rules, (), ()), (), (), None)
    return Frame(pinned, np.array(starts or [0, rows]), first=np.array(first, np.int16), **(held | changes))


@pytest.mark.parametrize(
    ("read", "asked", "found"),
    [
        (lambda asked: text_of(asked, "a"), {"a": ""}, ""),
        (lambda asked: text_of(asked, "a", "b"), {}, "b"),
        (lambda asked: choice_of(asked, "a", ("x", "y"), "x"), {"a": "y"}, "y"),
        (lambda asked: choice_of(asked, "a", ("x", "y"), "x"), {}, "x"),
        (lambda asked: number_of(asked, "a", 7, 3, 9), {}, 7),
        (lambda asked: number_of(asked, "a", 7, 3, 9), {"a": 3}, 3),
        (lambda asked: number_of(asked, "a", 7, 3, 9), {"a": 9}, 9),
        (lambda asked: number_of(asked, "a", 7), {"a": 0}, 0),
        (lambda asked: number_of(asked, "a", 7), {"a": 1 << 31}, 1 << 31),
        (lambda asked: switch_of(asked, "a", otherwise=True), {"a": False}, False),
        (lambda asked: switch_of(asked, "a", otherwise=True), {}, True),
    ],
)
def test_a_field_has_one_type_and_a_value_where_it_is_missing(
    read: Callable[[Any], object], asked: dict[str, Any], found: object
) -> None:
    assert read(asked) == found


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (lambda asked: text_of(asked, "a"), None),
        (lambda asked: text_of(asked, "a", "b"), 3),
        (lambda asked: choice_of(asked, "a", ("x", "y"), "x"), "z"),
        *((lambda asked: number_of(asked, "a", 7, 3, 9), value) for value in (2, 10, 4.0, "4", True, None)),
        (lambda asked: number_of(asked, "a", 7), -1),
        (lambda asked: number_of(asked, "a", 7), (1 << 31) + 1),
        *((lambda asked: switch_of(asked, "a", otherwise=True), value) for value in (1, "true", None)),
    ],
)
def test_a_field_of_another_type_is_refused_by_its_name(read: Callable[[Any], object], value: object) -> None:
    with pytest.raises(AskedError, match=r"^a: "):
        read({"a": value})


@pytest.mark.parametrize(
    ("bounds", "found"),
    [
        ([1, 2.5], (1.0, 2.5)),
        ([None, 0], (None, 0.0)),
        ([10**400, -(10**400)], (math.inf, -math.inf)),
        *((bounds, None) for bounds in ([1], [1, 2, 3], (1, 2), "12", [True, 2], [1, "2"], [NAN, 1], None)),
    ],
)
def test_bounds_are_two_numbers_or_none(bounds: object, found: object) -> None:
    if found is not None:
        assert bounds_of("x", bounds) == found
        return
    with pytest.raises(AskedError, match=r"^x: "):
        bounds_of("x", bounds)


def test_a_filter_is_of_known_parts() -> None:
    assert checked_filter(None) == {}
    for known in ({"source": "a", "kept": False}, {"ranges": {"x": [1, 2]}}, {"ranges": None}):
        assert checked_filter(known) is known
    several: tuple[Any, ...] = ([], "a", {"sources": ["a"]}, {"ranges": [1]})
    for unknown in several:
        with pytest.raises(AskedError, match=r"^filter"):
            checked_filter(unknown)
    for value, names in ((None, None), ("", None), ([], None), ("a", ["a"]), (["a", "b"], ["a", "b"])):
        assert _listed({"day": value}, "day") == names
    several = ([1], 1, {"a": 1}, ["a", None])
    for strange in several:
        with pytest.raises(AskedError, match=r"^filter\.day"):
            _listed({"day": strange}, "day")
    assert _among(["c", "a"], ("a", "b", "c"), "source").tolist() == [True, False, True]
    with pytest.raises(AskedError, match="'d'"):
        _among(["a", "d"], ("a", "b"), "source")


def test_a_reason_means_all_rules_that_have_it() -> None:
    frame = frame_of([0, 1, 2, -1])
    assert (_rules(frame, ["short"]), _rules(frame, ["long", "short"])) == ([0, 2], [1, 0, 2])
    assert frame.fires([0, 2]).tolist() == [True, False, True, False]
    assert (frame.firing(2), frame.reasons(1), frame.firing(3)) == ((2,), ("long",), ())
    with pytest.raises(AskedError, match="'large'"):
        _rules(frame, ["short", "large"])
    with pytest.raises(UnavailableError, match="no recipe"):
        _rules(frame_of([0], why_no_rules="no recipe"), ["short"])
    many = frame_of([0, 0], fired=np.array([[0b101], [0b010]], np.uint8))
    assert (many.firing(0), many.reasons(0)) == ((0, 2), ("short",))


def test_rows_have_a_state_and_a_place() -> None:
    frame = frame_of([0, -1, 3, 2], [0, 1, 4])
    assert (frame.seen.tolist(), frame.kept.tolist()) == ([True, True, False, True], [False, True, False, False])
    assert narrowed(np.array([255], np.uint16), 256).dtype == np.uint8
    assert narrowed(np.array([256], np.uint16), 257).dtype == np.uint16


def test_chunks_are_of_whole_shards() -> None:
    most = CHUNK_ROWS
    for sizes, spans in (
        ([], []),
        ([0, 0], []),
        ([3, 2], [(0, 5)]),
        ([most, 1], [(0, most), (most, most + 1)]),
        ([most - 1, 1, 5], [(0, most), (most, most + 5)]),
        ([most - 1, 2, 0], [(0, most + 1)]),
    ):
        starts = np.cumsum([0, *sizes])
        frame = replace(frame_of([]), starts=starts, first=np.empty(starts[-1], np.int16))
        sources = [f"source {number}" for number in range(len(sizes))]
        vars(frame)["parts"] = parts_of(starts, sources)  # which it reads from a store
        assert [*chunks_of(frame)] == spans


@pytest.mark.parametrize(
    ("page", "count", "found"),
    [
        (0, 0, (0, 1, 0)),
        (0, PAGE_ROWS, (0, 1, 0)),
        (1, PAGE_ROWS, (0, 1, 0)),
        (1, PAGE_ROWS + 1, (1, 2, PAGE_ROWS)),
        (9, 3 * PAGE_ROWS, (2, 3, 2 * PAGE_ROWS)),
    ],
)
def test_the_last_page_is_the_last_that_is_asked_for(page: int, count: int, found: tuple[int, int, int]) -> None:
    number, pages, rows = paged({"page": page}, count)
    assert (number, pages, rows) == (*found[:2], slice(found[2], found[2] + PAGE_ROWS))


def test_a_page_of_all_rows_goes_over_the_whole_store_five_neighbours_at_a_time() -> None:
    marks = np.ones(27, np.bool_)
    blocks = [[0, 1, 2, 3, 4], [15, 16, 17, 18, 19], [5, 6, 7, 8, 9], [20, 21, 22, 23, 24]]
    assert spread_page(marks, 0).tolist() == [*chain(*blocks)]
    assert spread_page(marks, 1).tolist() == [10, 11, 12, 13, 14, 25, 26]
    assert spread_page(np.array([False, True, True]), 0).tolist() == [1, 2]
    assert spread_page(np.ones(52, np.bool_), 0, 15).tolist() == [*range(5), *range(35, 40), *range(20, 25)]


@given(st.lists(st.booleans(), max_size=130))
def test_each_row_is_on_one_page(marked: list[bool]) -> None:
    marks = np.array(marked, np.bool_)
    pages = [spread_page(marks, page).tolist() for page in range(-(-sum(marked) // PAGE) + 1)]
    assert sorted(chain(*pages)) == np.flatnonzero(marks).tolist()
    assert all(len(page) == PAGE for page in pages[:-2])
    assert pages[-1] == []


def test_of_values_of_several_media_the_nearest_counts() -> None:
    values = pa.array([[1, 5, None], [], [None], [-7, 3], None, [2]], pa.list_(pa.float64()))
    found = _nearest(values, np.array([4.0, 0.0, 0.0, -3.0, 0.0, 2.0]))
    assert np.array_equal(found, [5, NAN, NAN, -7, NAN, 2], equal_nan=True)
    assert np.array_equal(_nearest(pa.array([3, None]), np.zeros(2)), [3, NAN], equal_nan=True)


def test_few_texts_are_held_as_numbers_of_them() -> None:
    for count, kind in ((3, pa.int8()), (127, pa.int8()), (128, pa.int16()), (32_767, pa.int16()), (32_768, None)):
        values = pa.array([str(one) for one in range(count)])
        held = _numbered(values)
        assert held.type == (values.type if kind is None else pa.dictionary(kind, pa.string()))
        assert Measure((held,)).type == pa.string()
        assert Measure((held,)).some(0, np.array([count - 1, 0])).to_pylist() == [str(count - 1), "0"]
    assert _numbered(pa.array([1, 2])).type == pa.int64()
    assert Measure(()).type == pa.null()


def test_a_number_beyond_the_bins_is_in_the_outer_ones_and_none_in_the_one_after_the_last() -> None:
    edges = np.array([0.0, 1.0, 2.0, 3.0])
    values = np.array([-5, 0, 0.5, 1, 2.9, 3, 99, NAN, -math.inf, math.inf])
    assert bin_numbers(values, edges).tolist() == [0, 0, 0, 1, 2, 2, 2, 3, 0, 2]


@pytest.mark.parametrize(
    ("values", "bins", "edges", "ends"),
    [
        ([1, 2, 2, None, 3, 3], 40, [1, 2, 3, 4], (1, 3)),
        ([*range(400), 5], 4, [1.995, 101.0, 200.005, 299.01, 398.015], None),
        ([0.0, 10.0, NAN, math.inf], 2, [0.05, 5.0, 9.95], (0, math.inf)),
        ([-4, -4], 3, [-4, -3], (-4, -4)),
        ([0.5], 2, [0.5, 0.5 + 2.5e-7, 0.5 + 5e-7], (0.5, 0.5)),
        ([0.0], 1, [0.0, 1e-6], (0, 0)),
        ([None, None], 2, [0, 0.5, 1], (0, 0)),
    ],
)
def test_bins_are_of_one_width_and_whole_numbers_have_their_own_where_they_are_few(
    values: list[float | None], bins: int, edges: list[float], ends: tuple[float, float] | None
) -> None:
    whole = all(one is None or isinstance(one, int) for one in values)
    kind = pa.int64() if whole and any(values) else pa.float64()
    chunks = tuple(pa.array(part, kind) for part in (values[:2], values[2:]) if part)
    low, high, found = _edges(Measure(chunks), bins)
    if ends is not None:
        assert (low, high) == ends
        assert found == pytest.approx(edges, rel=1e-12)
    assert len(found) == len(edges)
    assert (np.diff(found) > 0).all()


def test_days_are_those_of_utc_and_sorted() -> None:
    zone = pa.timestamp("ms", "UTC")
    times = [datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC), None, datetime(1970, 1, 1, tzinfo=UTC)]
    later = [datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 2, 29, tzinfo=UTC)]
    found = _days("day", Measure((pa.array(times, zone), pa.array(later, zone))))
    assert found.labels == (None, "1970-01-01", "2024-02-29", "2024-03-01")
    assert found.codes.tolist() == [2, 0, 1, 3, 2]


def test_the_most_frequent_texts_have_codes_of_their_own_and_so_have_those_that_are_named() -> None:
    values = pa.array([f"t{one:03}" for one in range(203)], pa.large_string())
    codes = np.array([*range(201), 7, 7, 5, -1, 202, 0, 0], np.int32)  # the last rows of t000 are forgotten
    first = [-1] * (len(codes) - 2) + [3, 3]
    found = _most_frequent("x", Texts(codes, values), frame_of(first), ["t202", "nowhere", "t201", "t005"])
    assert found.labels[:4] == ("t007", "t005", "t000", "t001")
    assert found.labels[-4:] == ("t199", "t202", OTHERS, None)
    assert len(found.labels) == 203
    assert found.is_cut
    of = [found.labels[code] for code in found.codes.tolist()]
    assert of[199:] == ["t199", OTHERS, "t007", "t007", "t005", None, "t202", "t000", "t000"]
    assert Texts(codes, values).numbers(["t002", "nowhere", "t000"]).tolist() == [2, 0]


def test_linked_charts_show_what_the_choices_in_the_others_leave() -> None:
    first = [-1, 0, -1, -1, 3, -1]  # kept, dropped, kept, kept, forgotten, kept
    frame = frame_of(first)
    colour = Dimension("colour", np.array([0, 0, 1, 1, 0, 1], np.uint8), ("red", "blue"))
    size = Dimension("size", np.array([0, 1, 0, 1, 0, 2], np.uint8), ("s", "m", None))
    choices = {"colour": np.array([True, False]), "size": np.array([True, True, False])}
    (by_colour, by_size), whole = linked(frame, [colour, size], choices)
    assert (by_colour.rows.tolist(), by_colour.kept.tolist()) == ([2, 2], [1, 2])
    assert (by_size.rows.tolist(), by_size.kept.tolist()) == ([1, 1, 0], [1, 0, 0])
    assert whole.tolist() == [1, 1]
    (plain,), everything = linked(frame, [colour], {})
    assert (plain.rows.tolist(), plain.kept.tolist(), plain.chosen) == ([2, 3], [1, 3], None)
    assert everything.tolist() == [1, 4]
    (some,), _ = linked(frame, [colour], {}, np.array([True, False, False, True, False, False]))
    assert some.rows.tolist() == [1, 1]


def test_a_choice_takes_labels_or_whole_bins() -> None:
    binned = Dimension("x", np.zeros(0, np.uint8), ("0", "1", "2", None), (0.0, 1.0, 2.0, 3.0))
    for choice, codes in (
        ([0, 1], [0]),  # ends with the bin before the edge 1
        ([0.5, 1.5], [0, 1]),
        ([1, 1], [1]),
        ([None, 2], [0, 1]),
        ([2, None], [2]),
        ([None, None], [0, 1, 2]),
        ([-9, 99], [0, 1, 2]),
    ):
        assert np.flatnonzero(chosen_codes(binned, choice)).tolist() == codes
    named = Dimension("y", np.zeros(0, np.uint8), ("a", "b", None))
    assert chosen_codes(named, ["b", None]).tolist() == [False, True, True]
    several: tuple[object, ...] = ([], "a", ["c"], [1])
    for strange in several:
        with pytest.raises(AskedError, match=r"^filters\.y"):
            chosen_codes(named, strange)
    cut = Dimension("z", np.zeros(0, np.uint8), ("a", OTHERS, None), is_cut=True)
    assert chosen_codes(cut, ["a", "rare"]).tolist() == [True, False, False]
    with pytest.raises(AskedError, match="z"):
        chosen_codes(cut, [1])


def test_a_change_is_counted_by_language_and_source_before_and_after() -> None:
    frame = frame_of(
        [-1, 0, -1, 1, -1],
        language=np.array([0, 0, 1, 1, 1], np.uint8),
        languages=("deu", "eng"),
        source=np.array([0, 1, 0, 1, 1], np.uint8),
        sources=("a", "b"),
    )
    weights = np.array([1, 10, 100, 1_000, 10_000])
    after = np.array([True, True, False, False, True])
    found = effect_of(frame, after, None, weights)
    assert found.before.by_language.tolist() == [[1, 1], [2, 10_100]]
    assert found.before.by_source.tolist() == [[2, 101], [1, 10_000]]
    assert found.after.by_language.tolist() == [[2, 11], [1, 10_000]]
    assert (found.after.rows, found.after.amount, found.dropped_now, found.kept_now) == (3, 10_011, 1, 1)
    some = effect_of(frame, after, np.array([True, False, True, True, False]), weights)
    assert (some.before.rows, some.after.rows, some.dropped_now, some.kept_now) == (2, 1, 1, 0)
    assert side_of(frame, after, weights).by_source.tolist() == [[1, 1], [2, 10_010]]


def test_sums_of_sorted_rows_are_those_of_any_stretch() -> None:
    count = 2 * _STEP + 3
    random = np.random.default_rng(1)
    codes, weights = random.integers(0, 3, count).astype(np.uint8), random.integers(0, 99, count)
    rows = random.permutation(count).astype(np.uint32)
    sums = Sums.of(codes, 3, rows, weights)
    for end in (0, 1, _STEP - 1, _STEP, _STEP + 1, 2 * _STEP, count):
        some = rows[:end]
        wanted = [
            [int((codes[some] == code).sum()), int(weights[some][codes[some] == code].sum())] for code in range(3)
        ]
        assert sums.before(end, rows, weights).tolist() == wanted


def test_rows_of_sites_whose_cluster_has_rows_of_the_site_or_of_another() -> None:
    clusters = np.array([9, 1, 1, 9, 5, 5, 5, 7], np.uint64)
    sites = np.array([1, 2, 2, 3, 1, 1, 0, 2], np.int32)
    found = counted_sites([(clusters, sites)], 5)
    assert (found.within.tolist(), found.across.tolist()) == ([0, 2, 2, 0, 0], [1, 3, 0, 1, 0])
    none = counted_sites([], 2)
    assert (none.within.tolist(), none.across.tolist()) == ([0, 0], [0, 0])


def test_a_cell_is_what_a_browser_can_hold() -> None:
    long = "x" * (MAX_CHARACTERS + 1)
    for value, cell in (
        (None, None),
        (True, True),
        (SAFE_INTEGER, SAFE_INTEGER),
        (-SAFE_INTEGER - 1, str(-SAFE_INTEGER - 1)),
        (1.5, 1.5),
        (math.inf, "inf"),
        (long[1:], long[1:]),
        (long, f"{long[1:]}…"),
        (b"\x0f\xff", "0fff"),
        (Decimal("1.50"), "1.50"),
        (timedelta(seconds=61), "0:01:01"),
        (date(2024, 2, 29), "2024-02-29"),
        (time(1, 2), "01:02:00"),
        ([1, b"\x01", date(2024, 2, 29)], '[1, "01", "2024-02-29"]'),
        ({"ä": None}, '{"ä": null}'),
    ):
        assert shown(value) == cell


def test_places_in_a_text_are_units_of_pages() -> None:
    places = _Places("aé€😀b".encode())  # 1, 2, 3, 4 and 1 bytes; the smile is two units
    assert [places.at(byte) for byte in (-1, 0, 1, 3, 6, 10, 11, 99)] == [0, 0, 1, 2, 3, 5, 6, 6]


def test_json_of_a_sample_has_no_infinite_numbers_and_no_endless_lists() -> None:
    assert _finite({"a": [1.5, math.inf, NAN], "b": {"c": -math.inf}}) == {"a": [1.5, "inf", "nan"], "b": {"c": "-inf"}}
    cut = _finite([*range(100_000)])
    assert isinstance(cut, list)
    assert cut[:-1] == [*range(len(cut) - 1)]
    assert "100,000" in str(cut[-1])
    assert _finite([*range(len(cut) - 1)]) == [*range(len(cut) - 1)]
    span = pa.struct([("start", pa.int64()), ("end", pa.int64())])
    kinds = (pa.list_(span), span, pa.list_(pa.int64()), pa.list_(pa.struct([("start", pa.int64())])))
    assert [_has_spans(kind) for kind in kinds] == [True, False, False, False]
