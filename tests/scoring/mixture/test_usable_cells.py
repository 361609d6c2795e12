"""Shares for what there is not, budgets that do not fit: one line each; and what is left out is said."""

import pytest

from tests.messages import assert_refused, assert_told, assert_told_each
from tests.scoring.mixture.stages import cell, languages, sources, stage
from winnow.schemas.errors import RecipeError
from winnow.scoring.mixture.allocation import Cell, allocate

CELLS = [
    cell("web/crawl/Germanic/deu", 800),
    cell("web/forum/Slavic/rus", 200),
    cell("books/shelf/Germanic/deu", 60),
]


def notes(cells: list[Cell], text: str, budget: int | None = None) -> tuple[str, ...]:
    return allocate(cells, stage(text), budget, 4.0, None, "tokens").notes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "{classes: {wob: 1.0}}",
            "recipe.yaml:1 … mix.classes … 'wob'",
        ),
        (
            "sources:\n  crawl: 0.5\n  shelv: 0.5",
            "recipe.yaml:3 … mix.sources … 'shelv'",
        ),
        (
            "{families: {weights: {Indic: 1.0}}}",
            "recipe.yaml:1 … mix.families.weights … 'Indic'",
        ),
        (
            "{languages: {weights: {due: 1.0}}}",
            "recipe.yaml:1 … mix.languages.weights … 'due'",
        ),
        (
            "{classes: {web: 0.5, books: 0.5}, sources: {crawl: 1.0}}",
            "recipe.yaml:1 … mix.classes … 'books'",
        ),
        (
            "{sources: {crawl: 0.5, forum: 0.5}, families: {weights: {Germanic: 1.0}}}",
            "recipe.yaml:1 … mix.sources … 'forum'",
        ),
    ],
)
def test_a_share_that_nothing_can_be_given_for_is_one_line(text: str, said: str) -> None:
    with pytest.raises(RecipeError) as refused:
        notes(CELLS, text)
    assert_told(str(refused.value), said, whole=True)


def test_several_wrong_names_are_told_together() -> None:
    with pytest.raises(RecipeError) as refused:
        notes(CELLS, "sources:\n  a: 0.5\n  b: 0.5\nlanguages:\n  weights: {c: 1.0}")
    assert [line.split(":")[1] for line in str(refused.value).splitlines()] == ["2", "3", "5"]


def test_a_source_whose_samples_all_lack_a_value_is_not_silently_left_out() -> None:
    cells = [cell("/crawl///b01", 50), cell("/math///null", 50)]
    with assert_refused(RecipeError, "'math'", "0.5"):
        notes(cells, "{sources: {crawl: 0.5, math: 0.5}, bands: {by: text.score, top: 0.1}}")


def test_a_share_of_zero_may_name_what_there_is_not() -> None:
    assert notes(CELLS, "{sources: {crawl: 1.0, forum: 0, shelf: 0, other: 0}}") == ()


def test_what_no_share_names_is_noted_with_how_much_it_is() -> None:
    assert_told_each(notes(CELLS, "{sources: {crawl: 1.0}}"), ("mix.sources", "130 samples", "260 tokens"))
    assert_told_each(notes(CELLS, "{classes: {web: 1.0}}"), ("mix.classes", "30 samples", "60 tokens"))


def test_texts_without_a_value_are_noted() -> None:
    cells = [cell("////b01", 50), cell("////null", 10)]
    assert_told_each(
        notes(cells, "{bands: {by: text.score, top: 0.1}}"), ("mix.bands", "text.score", "5 samples", "10 tokens")
    )
    assert notes(cells, "{bands: {by: text.score, top: 0.1, nulls: keep}}") == ()


def test_no_sample_at_all_is_one_line() -> None:
    with assert_refused(RecipeError, "recipe.yaml:1", "'where'"):
        notes([], "{}")
    with assert_refused(RecipeError, "5 samples", "10 tokens"):
        notes([cell("////null", 10)], "{bands: {by: text.score, top: 0.1}}")


def test_a_softmax_of_what_is_no_number_is_one_line() -> None:
    with assert_refused(RecipeError, "mix.bands.softmax", "text.score"):
        notes([cell("////b01", 50, score=float("inf"))], "{bands: {by: text.score, softmax: 1}}")


@pytest.mark.parametrize(
    ("cells", "text", "budget", "said"),
    [
        (
            sources({"crawl": 1000}),
            "{}",
            4001,
            "recipe.yaml:1 … mix.budget … 4,001 tokens",
        ),
        (
            [cell("", 1000, exposed=3500)],
            "{}",
            1000,
            "recipe.yaml:1 … mix.budget … 1,000 tokens",
        ),
        (
            languages({"deu": 1000, "isl": 10}),
            "{languages: {unimax: 2}}",
            3000,
            "recipe.yaml:1 … mix.budget … 3,000 tokens",
        ),
        (
            sources({"crawl": 10}),
            "{}",
            10**6,
            "recipe.yaml:1 … mix.budget … 1,000,000 tokens",
        ),
    ],
)
def test_a_budget_that_does_not_fit_is_said_with_what_would(
    cells: list[Cell], text: str, budget: int, said: str
) -> None:
    with pytest.raises(RecipeError) as refused:
        notes(cells, text, budget)
    assert_told(str(refused.value), said, whole=True)


def test_a_budget_above_what_there_is_gives_what_there_is_unless_it_is_strict() -> None:
    found = allocate(sources({"crawl": 1000}), stage(), 4001, 4.0, None, "tokens", strict=False)
    assert sum(found.target) == 4000
    assert_told_each(found.notes, ("4,001 tokens", "4,000", "1,000", "max_epochs"))
    with pytest.raises(RecipeError, match="leave the stage out"):  # nothing is left to give
        allocate([cell("", 1000, exposed=4000)], stage(), 10, 4.0, None, "tokens", strict=False)


def test_the_epochs_that_would_do_do() -> None:
    cells = [cell(f"///{name}", 1) for name in ("a", "b", "c")]
    with pytest.raises(RecipeError, match=r"raise max_epochs to (\d+\.?\d*)") as refused:
        allocate(cells, stage(), 7, 1.5, None, "samples")
    enough = float(str(refused.value).rpartition(" ")[2])
    assert sum(allocate(cells, stage(), 7, enough, None, "samples").target) == 7
    assert enough < 6


def test_a_stage_is_named() -> None:
    config = stage("{stages: {core: {budget: 10}, late: {budget: 10, sources: {crowl: 1.0}}}}", 1)
    with assert_refused(RecipeError, "mix.sources", "'crowl'"):
        allocate(CELLS, config, 10, 4.0, None, "tokens")
