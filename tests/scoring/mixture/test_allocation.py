"""Shares level by level within what there is, held against a pouring of one unit at a time through the same levels."""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused, assert_told, assert_told_each
from tests.property_sizes import scaled
from tests.scoring.mixture.stages import cell, families, languages, sources, stage
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe import StageConfig
from winnow.scoring.mixture.allocation import Allocation, Cell, allocate
from winnow.scoring.mixture.filling import exactly


def target(cells: Sequence[Cell], text: str, budget: int | None, max_epochs: float = 4.0) -> list[int]:
    return list(allocate(cells, stage(text), budget, max_epochs, None, "tokens").target)


def asked(cells: Sequence[Cell], text: str, budget: int | None, max_epochs: float = 4.0) -> list[int]:
    return list(allocate(cells, stage(text), budget, max_epochs, None, "tokens").asked)


def test_without_shares_and_budget_every_cell_is_given_once() -> None:
    cells = [cell("web/crawl", 70), cell("books/shelf", 30)]
    assert allocate(cells, stage(), None, 4.0, None, "tokens") == Allocation((70, 30), (70, 30), ())


def test_without_a_budget_what_earlier_stages_gave_is_not_given_beyond_the_cap() -> None:
    found = allocate([cell("/crawl", 70, exposed=100), cell("/books", 30)], stage(), None, 2.0, None, "tokens")
    assert found.target == (40, 30)
    assert_told_each(found.notes, ("max_epochs", "30 tokens", "40 of 70"))


def test_without_a_budget_a_band_of_repeats_is_given_as_often_as_it_says() -> None:
    cells = [cell("////r001", 50, repeats=1), cell("////r003", 10, repeats=3), cell("////r008", 10, repeats=8)]
    text = "{bands: {by: cluster.size, rehydrate: fineweb2}}"
    assert target(cells, text, None) == [50, 30, 40]  # 8 times is more than 4 epochs
    assert target(cells, text, 80, 8.0) == [25, 15, 40]  # so is it with a budget


def test_shares_without_a_budget_are_of_as_much_as_there_is() -> None:
    cells = sources({"crawl": 700, "books": 300})
    assert target(cells, "{sources: {crawl: 0.5, books: 0.5}}", None) == [500, 500]
    assert target(cells, "{sources: {crawl: 0.5, books: 0.5}}", None, 0.5) == [350, 150]


def test_what_shares_without_a_budget_give_again_is_said_with_what_gives_none() -> None:
    cells, shares = sources({"crawl": 700, "books": 300}), stage("{sources: {crawl: 0.5, books: 0.5}}")
    assert_told_each(
        allocate(cells, shares, None, 4.0, None, "tokens").notes, ("1,000 tokens", "200", "4 epochs", "600")
    )
    assert allocate(cells, shares, 600, 4.0, None, "tokens").target == (300, 300)
    assert allocate(cells, shares, None, 1.0, None, "tokens").target == (700, 300)
    assert allocate(cells, shares, 1_000, 4.0, None, "tokens").notes == ()  # it was asked for


@given(
    st.lists(st.integers(1, 1000), min_size=2, max_size=5),
    st.sampled_from(["temperature: 3.3", "unimax: 4", "temperature: 100"]),
)
def test_the_budget_that_gives_nothing_again_is_the_largest(units: list[int], method: str) -> None:
    cells = languages({str(number): one for number, one in enumerate(units)})
    config = stage(f"{{languages: {{{method}}}}}")
    found = allocate(cells, config, None, 4.0, None, "tokens")
    for note in found.notes:
        if said := re.search(r"a budget of ([\d,]+) or less", note):
            most = int(said[1].replace(",", ""))
            asked_of = [
                allocate(cells, config, budget, 4.0, None, "tokens").asked for budget in (most, most + 1) if budget
            ]
            again = [any(asked > one for asked, one in zip(each, units, strict=True)) for each in asked_of]
            assert again == [False, True]


def test_without_a_budget_what_caps_leave_is_shared_and_said() -> None:
    found = allocate(
        sources({"crawl": 700, "books": 300}), stage("{sources: {crawl: 0.5, books: 0.5}}"), None, 0.5, None, "tokens"
    )
    assert (found.asked, found.target) == ((250, 250), (350, 150))
    assert_told_each(found.notes, ("epochs leave", "500 of 1,000"), ("100 tokens", "150 of 250"))


def test_a_stage_that_has_nothing_left_to_give_is_refused() -> None:
    with assert_refused(RecipeError, "mix.max_epochs", "2 epochs"):
        target([cell("", 10, exposed=20)], "{}", None, 2.0)


def test_shares_of_sources_are_of_the_whole() -> None:
    cells = [cell("web/crawl", 900), cell("web/forum", 900), cell("books/shelf", 100)]
    assert target(cells, "{sources: {crawl: 0.6, forum: 0.2, shelf: 0.2}}", 500) == [300, 100, 100]


def test_with_classes_shares_of_sources_are_within_each_class() -> None:
    cells = [cell("web/crawl", 900), cell("web/forum", 900), cell("books/shelf", 900)]
    text = "{classes: {web: 0.5, books: 0.5}, sources: {crawl: 0.6, forum: 0.2, shelf: 0.2}}"
    assert target(cells, text, 800) == [300, 100, 400]


def test_shares_of_families_and_languages() -> None:
    cells = [cell(f"//{path}", 1000) for path in ("Germanic/deu", "Germanic/nld", "Slavic/rus", "Slavic/pol")]
    text = "{families: {weights: {Germanic: 0.25, Slavic: 0.75}}, languages: {weights: {deu: 0.1, nld: 0.3, rus: 0.6}}}"
    found = allocate(cells, stage(text), 1_000, 4.0, None, "tokens")
    assert found.target == (63, 187, 750, 0)  # 62.5 and 187.5: the half goes to the first
    assert_told_each(found.notes, ("mix.languages.weights", "500 samples", "1,000 tokens"))


def test_a_family_none_of_whose_languages_is_named_is_shared_in_proportion() -> None:
    cells = [
        cell("//Germanic/deu", 100),
        cell("//Germanic/nld", 100),
        cell("//Slavic/rus", 150),
        cell("//Slavic/pol", 50),
    ]
    found = allocate(cells, stage("{languages: {weights: {nld: 1.0}}}"), 200, 4.0, None, "tokens")
    assert found.target == (0, 67, 100, 33)  # Germanic counts with what may be given of it
    assert_told(found.notes, "mix.languages.weights", "Slavic")


def test_temperature_is_its_formula() -> None:
    units = {"deu": 9_000_000, "eng": 50_000_000, "isl": 40_000}
    found = target(languages(units), "{languages: {temperature: 3.3}}", 1_000_000, 100.0)
    powers = np.array(list(units.values())) ** (1 / 3.3)
    assert found == pytest.approx(1_000_000 * powers / powers.sum(), abs=1)
    assert target(languages(units), "{languages: {temperature: 1.0}}", 590_400, 1.0) == [90_000, 500_000, 400]


def published_unimax(units: Sequence[int], budget: int, epochs: float) -> list[float]:
    """Algorithm 1 of arXiv 2304.09151: from the smallest up, an equal part of what is left or all epochs."""
    left, given = float(budget), [0.0] * len(units)
    for rank, place in enumerate(sorted(range(len(units)), key=lambda place: units[place])):
        given[place] = min(left / (len(units) - rank), epochs * units[place])
        left -= given[place]
    return given


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=9), st.sampled_from([0.5, 1.0, 2.5, 4.0]), st.floats(0, 1))
def test_unimax_is_the_published_algorithm(units: list[int], epochs: float, part: float) -> None:
    budget = max(int(part * sum(int(epochs * one) for one in units)), 1)
    if budget > sum(int(epochs * one) for one in units):
        return
    cells = languages({f"l{place}": one for place, one in enumerate(units)})
    wanted = pytest.approx(published_unimax(units, budget, epochs), abs=1 + len(units))  # whole units of each cap
    assert target(cells, f"{{languages: {{unimax: {epochs}}}}}", budget, 4.0) == wanted


def test_an_epoch_count_of_unimax_above_max_epochs_is_bounded_by_it() -> None:
    cells = languages({"deu": 1000, "isl": 10})
    found = allocate(cells, stage("{languages: {unimax: 20}}"), 500, 4.0, None, "tokens")
    assert (found.asked, found.target) == ((300, 200), (460, 40))
    assert_told_each(found.notes, ("160 tokens", "40 of 200"))


def test_what_unimax_cannot_give_in_one_family_goes_to_the_others() -> None:
    cells = [cell("//Germanic/isl", 10), cell("//Slavic/rus", 1000)]
    text = "{families: {weights: {Germanic: 0.5, Slavic: 0.5}}, languages: {unimax: 2}}"
    assert target(cells, text, 100, 4.0) == [20, 80]


def test_what_earlier_stages_gave_counts_towards_every_cap() -> None:
    cells = [cell("////", 100, exposed=150), cell("///nld", 100)]
    text = "{languages: {weights: {deu: 0.5, nld: 0.5}}}"
    assert target(cells, text, 200, 2.0) == [50, 150]
    assert target(cells, "{languages: {unimax: 1.6}}", 100, 2.0) == [10, 90]


def test_what_a_source_cannot_give_goes_to_its_siblings_level_by_level() -> None:
    cells = [cell("//a/x", 10), cell("//a/y", 100), cell("//b/z", 100), cell("/books", 1000)]
    text = "{sources: {crawl: 0.5, books: 0.5}, families: {unimax: 1000}, languages: {unimax: 1000}}"
    # Of 320: 160 a source, 80 a family, 40 a language; x has 10, so that y takes 70.
    assert target(cells, text, 320, 1.0) == [10, 70, 80, 160]
    # Of 600: 300 a source; the crawl has 210 in all, and the books take the rest.
    assert target(cells, text, 600, 1.0) == [10, 100, 100, 390]


def test_the_rest_of_a_top_is_never_given_even_where_the_top_runs_out() -> None:
    cells = [cell("///deu/b00", 900), cell("///deu/b01", 100), cell("///nld/b00", 90), cell("///nld/b01", 10)]
    text = "{bands: {by: text.score, top: 0.1}, languages: {unimax: 1000}}"
    assert target(cells, text, 120, 4.0) == [0, 80, 0, 40]


def test_cells_without_units_are_given_nothing() -> None:
    assert target([cell("///deu", 10), cell("///nld", 0)], "{languages: {temperature: 3.3}}", 10) == [10, 0]


def test_tenths_of_epochs_are_tenths() -> None:
    assert target(languages({"deu": 10, "nld": 100}), "{}", 33, 0.3) == [3, 30]


def test_a_stratum_that_is_there_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="a stratum occurs twice"):
        allocate([cell("", 1), cell("", 2)], stage(), None, 4.0, None, "tokens")


Weight = Callable[[str, Sequence[Cell]], Fraction]


def poured_through(
    cells: Sequence[Cell],
    budget: int,
    max_epochs: float,
    keys: Sequence[Callable[[Cell], str]],
    weights: Sequence[Weight],
) -> list[int]:
    """One unit at a time from the top down, to the child that has the fewest for its weight and can take more."""
    given = [0] * len(cells)
    most = [max(int(exactly(max_epochs) * one.available.units) - one.exposed, 0) for one in cells]

    def pour(numbers: list[int], depth: int) -> None:
        if depth == len(keys):
            given[numbers[0]] += 1
            return
        children: dict[str, list[int]] = {}
        for number in numbers:
            children.setdefault(keys[depth](cells[number]), []).append(number)
        turns = [
            (
                Fraction(2 * sum(given[one] for one in held) + 1) / weights[depth](name, [cells[one] for one in held]),
                name,
            )
            for name, held in children.items()
            if any(given[one] < most[one] for one in held)
        ]
        pour(children[min(turns)[1]], depth + 1)

    for _ in range(budget):
        pour(list(range(len(cells))), 0)
    return given


def by_units(_: str, cells: Sequence[Cell]) -> Fraction:
    return Fraction(sum(one.available.units for one in cells))


def by_shares(**shares: str) -> Weight:
    return lambda name, _: Fraction(shares[name])


KEYS = (
    lambda one: one.stratum.source,
    lambda one: one.stratum.family,
    lambda one: one.stratum.language,
)

grids = st.lists(
    st.tuples(
        st.sampled_from("st"), st.sampled_from("fg"), st.sampled_from("xyz"), st.integers(1, 12), st.integers(0, 9)
    ),
    min_size=1,
    max_size=9,
    unique_by=lambda row: row[:3],
).map(lambda rows: [cell(f"/{s}/{f}/{f}{x}", units, exposed) for s, f, x, units, exposed in rows])


@settings(deadline=None)
@given(grids, st.floats(0, 1), st.sampled_from([0.5, 1.0, 2.5]))
def test_brute_force_agrees(cells: list[Cell], part: float, max_epochs: float) -> None:
    there = sorted({one.stratum.source for one in cells})
    shares = {"s": "0.7", "t": "0.3"} if len(there) == 2 else {there[0]: "1.0"}
    written = ", ".join(f"{name}: {share}" for name, share in shares.items())
    text = f"{{sources: {{{written}}}, languages: {{unimax: 1000}}}}"
    most = sum(max(int(max_epochs * one.available.units) - one.exposed, 0) for one in cells)
    budget = int(part * most)
    if budget == 0:
        return
    weights = [by_shares(**shares), by_units, lambda *_: Fraction(1)]
    assert target(cells, text, budget, max_epochs) == poured_through(cells, budget, max_epochs, KEYS, weights)


texts = st.sampled_from(
    [
        "{}",
        "{languages: {temperature: 3.3}}",
        "{families: {unimax: 2}, languages: {temperature: 2}}",
        "{families: {temperature: 5}, languages: {unimax: 3}}",
        "{bands: {by: text.score, softmax: 0.3}, languages: {temperature: 1.5}}",
    ]
)
banded = st.lists(
    st.tuples(
        st.sampled_from(["web/crawl", "web/forum", "books/shelf"]),
        st.sampled_from(["Germanic/deu", "Germanic/nld", "Slavic/rus"]),
        st.sampled_from(["b00", "b01", "b02"]),
        st.integers(1, 10**6),
        st.integers(0, 10**6),
        st.floats(-1, 1),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda row: row[:3],
).map(lambda rows: [cell(f"{a}/{b}/{c}", units, seen, score) for a, b, c, units, seen, score in rows])


def fits(cells: Sequence[Cell], config: StageConfig, budget: int, max_epochs: float) -> bool:
    try:
        allocate(cells, config, budget, max_epochs, None, "tokens")
    except RecipeError:
        return False
    return True


def most_of(cells: Sequence[Cell], config: StageConfig, max_epochs: float) -> int:
    """The largest budget that fits, by bisection: a level's own count of epochs may hold it down."""
    low, high = 0, sum(int(max_epochs * one.available.units) for one in cells)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(cells, config, middle, max_epochs) else (low, middle - 1)
    return low


@settings(deadline=None, max_examples=scaled(60))
@given(banded, texts, st.floats(0, 1), st.integers(1, 3))
def test_any_allocation_sums_keeps_its_caps_knows_no_order_and_grows_with_the_budget(
    cells: list[Cell], text: str, part: float, max_epochs: int
) -> None:
    config = stage(text)
    most = most_of(cells, config, max_epochs)
    budget = int(part * most)
    if budget == 0:
        return
    found = allocate(cells, config, budget, max_epochs, None, "tokens")
    assert sum(found.target) == sum(found.asked) == budget
    for one, units in zip(cells, found.target, strict=True):
        assert 0 <= units <= max(max_epochs * one.available.units - one.exposed, 0)
    turned = allocate(cells[::-1], config, budget, max_epochs, None, "tokens")
    assert (turned.target[::-1], turned.asked[::-1], turned.notes) == (found.target, found.asked, found.notes)
    more = allocate(cells, config, min(budget + 7, most), max_epochs, None, "tokens")
    assert all(now <= then for now, then in zip(found.target, more.target, strict=True))


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=9), st.integers(1, 10**9))
def test_what_nothing_bounds_is_in_proportion_to_within_a_unit_a_level(units: list[int], budget: int) -> None:
    cells = [cell(f"/s{place % 2}/f{place % 3}/l{place}", one) for place, one in enumerate(units)]
    budget = min(budget, sum(units))
    found = target(cells, "{}", budget)
    assert found == pytest.approx([budget * one / sum(units) for one in units], abs=5)
    if budget == sum(units):
        assert found == units


def test_families_are_shared_like_languages() -> None:
    assert target(families({"a": 10, "b": 1000}), "{families: {unimax: 2}}", 100) == [20, 80]
