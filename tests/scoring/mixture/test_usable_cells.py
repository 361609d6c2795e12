"""Shares for what there is not, budgets that do not fit: one line each; and what is left out is said."""

import pytest

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
            "recipe.yaml:1: mix.classes: there is no sample of class 'wob' (did you mean 'web'?)",
        ),
        (
            "sources:\n  crawl: 0.5\n  shelv: 0.5",
            "recipe.yaml:3: mix.sources: there is no sample of source 'shelv' (did you mean 'shelf'?)",
        ),
        (
            "{families: {weights: {Indic: 1.0}}}",
            "recipe.yaml:1: mix.families.weights: there is no sample of family 'Indic' (known: Germanic, Slavic)",
        ),
        (
            "{languages: {weights: {due: 1.0}}}",
            "recipe.yaml:1: mix.languages.weights: there is no sample of language 'due' (did you mean 'deu'?)",
        ),
        (
            "{classes: {web: 0.5, books: 0.5}, sources: {crawl: 1.0}}",
            "recipe.yaml:1: mix.classes: class 'books' has a share of 0.5, but the levels below it leave out all of "
            "its 30 samples: change them, or set the share to 0",
        ),
        (
            "{sources: {crawl: 0.5, forum: 0.5}, families: {weights: {Germanic: 1.0}}}",
            "recipe.yaml:1: mix.sources: source 'forum' has a share of 0.5, but the levels below it leave out all of "
            "its 100 samples: change them, or set the share to 0",
        ),
    ],
)
def test_a_share_that_nothing_can_be_given_for_is_one_line(text: str, said: str) -> None:
    with pytest.raises(RecipeError) as refused:
        notes(CELLS, text)
    assert str(refused.value) == said


def test_several_wrong_names_are_told_together() -> None:
    with pytest.raises(RecipeError) as refused:
        notes(CELLS, "sources:\n  a: 0.5\n  b: 0.5\nlanguages:\n  weights: {c: 1.0}")
    assert [line.split(":")[1] for line in str(refused.value).splitlines()] == ["2", "3", "5"]


def test_a_source_whose_samples_all_lack_a_value_is_not_silently_left_out() -> None:
    cells = [cell("/crawl///b01", 50), cell("/math///null", 50)]
    with pytest.raises(RecipeError, match=r"source 'math' has a share of 0\.5, but the levels below it leave out all"):
        notes(cells, "{sources: {crawl: 0.5, math: 0.5}, bands: {by: text.score, top: 0.1}}")


def test_a_share_of_zero_may_name_what_there_is_not() -> None:
    assert notes(CELLS, "{sources: {crawl: 1.0, forum: 0, shelf: 0, other: 0}}") == ()


def test_what_no_share_names_is_noted_with_how_much_it_is() -> None:
    assert notes(CELLS, "{sources: {crawl: 1.0}}") == (
        "mix.sources: forum, shelf have no share and get nothing: 130 samples, 260 tokens left out",
    )
    assert notes(CELLS, "{classes: {web: 1.0}}") == (
        "mix.classes: books has no share and gets nothing: 30 samples, 60 tokens left out",
    )


def test_texts_without_a_value_are_noted() -> None:
    cells = [cell("////b01", 50), cell("////null", 10)]
    assert notes(cells, "{bands: {by: text.score, top: 0.1}}") == (
        "mix.bands: without a value of text.score: 5 samples, 10 tokens left out",
    )
    assert notes(cells, "{bands: {by: text.score, top: 0.1, nulls: keep}}") == ()


def test_no_sample_at_all_is_one_line() -> None:
    with pytest.raises(RecipeError, match=r"recipe\.yaml:1: mix: no sample may be taken: the rules, 'where' and"):
        notes([], "{}")
    with pytest.raises(RecipeError, match="no sample may be taken: nothing of 5 samples, 10 tokens has a share"):
        notes([cell("////null", 10)], "{bands: {by: text.score, top: 0.1}}")


def test_a_softmax_of_what_is_no_number_is_one_line() -> None:
    with pytest.raises(
        RecipeError, match=r"mix\.bands\.softmax: the mean of text\.score in .* is inf; a softmax needs"
    ):
        notes([cell("////b01", 50, score=float("inf"))], "{bands: {by: text.score, softmax: 1}}")


@pytest.mark.parametrize(
    ("cells", "text", "budget", "said"),
    [
        (
            sources({"crawl": 1000}),
            "{}",
            4001,
            "recipe.yaml:1: mix.budget: 4,001 tokens are more than available: 1,000 tokens may be used, for at most 4 "
            "epochs, which leaves 4,000; lower the budget to 4,000, or raise max_epochs to 4.001",
        ),
        (
            [cell("", 1000, exposed=3500)],
            "{}",
            1000,
            "recipe.yaml:1: mix.budget: 1,000 tokens are more than available: 1,000 tokens may be used, of which "
            "earlier stages gave 3,500, for at most 4 epochs, which leaves 500; lower the budget to 500, or "
            "raise max_epochs to 4.5",
        ),
        (
            languages({"deu": 1000, "isl": 10}),
            "{languages: {unimax: 2}}",
            3000,
            "recipe.yaml:1: mix.budget: 3,000 tokens are more than available: 1,010 tokens may be used, for at most 4 "
            "epochs, which leaves 2,020; lower the budget to 2,020, or raise unimax 2",
        ),
        (
            sources({"crawl": 10}),
            "{}",
            10**6,
            "recipe.yaml:1: mix.budget: 1,000,000 tokens are more than available: 10 tokens may be used, for at most 4 "
            "epochs, which leaves 40; lower the budget to 40",
        ),
    ],
)
def test_a_budget_that_does_not_fit_is_said_with_what_would(
    cells: list[Cell], text: str, budget: int, said: str
) -> None:
    with pytest.raises(RecipeError) as refused:
        notes(cells, text, budget)
    assert str(refused.value) == said


def test_a_budget_above_what_there_is_gives_what_there_is_unless_it_is_strict() -> None:
    found = allocate(sources({"crawl": 1000}), stage(), 4001, 4.0, None, "tokens", strict=False)
    assert sum(found.target) == 4000
    assert found.notes == (
        "the budget of 4,001 tokens is more than there is: 4,000 are given, of 1,000 that may be used, "
        "by max_epochs 4; mix.strict: true makes this an error",
    )
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
    with pytest.raises(RecipeError, match=r"mix\.sources: stage late: there is no sample of source 'crowl'"):
        allocate(CELLS, config, 10, 4.0, None, "tokens")
