"""Which texts train and which measure: each once, on one side, whatever order they came in."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused
from tests.property_sizes import scaled
from winnow.filters.models.training.examples import Counts, Examples, TextSplit
from winnow.schemas.errors import SourceError

Row = tuple[str, bool, str]


def chosen(
    folder: Path, rows: list[Row], *, seed: int = 0, held_out: float = 0.3, equal: bool = False
) -> tuple[TextSplit, list[str], list[str], list[str]]:
    """The choice, and the texts of its two parts in order, and the languages of those that train."""
    with Examples(folder, "words", 100) as examples:
        for text, positive, language in rows:
            examples.add(text, positive=positive, language=language)
        found = examples.choose(seed, held_out, equal=equal)
        training = [line for group in examples.lines(found.training) for line in group]
        measured = [line for group in examples.lines(found.held_out) for line in group]
        return found, training, measured, examples.languages(found.training)


def many(count: int, positive: bool) -> list[Row]:
    return [(f"{positive} text {number}", positive, "eng") for number in range(count)]


def test_counts_of_each_side_add_up(tmp_path: Path) -> None:
    rows = [*many(40, True), *many(60, False), ("both", True, "a"), ("both", False, "b"), (" \n", True, "c")]
    rows += [("True text 1", True, "eng"), ("False  text\n1", False, "eng")]
    found, training, held_out, _ = chosen(tmp_path, rows, equal=True)
    assert found.positive == Counts(43, 1, 1, 1, 0, found.positive.training, found.positive.held_out)
    assert found.positive.training + found.positive.held_out == 40
    assert found.negative.given == 62
    assert found.negative.training + found.negative.held_out == 40
    assert len(training) + len(held_out) == 80
    assert not set(training) & set(held_out)
    assert "both\n" not in {*training, *held_out}


def test_sides_stay_as_they_are_given_unless_they_should_be_equal(tmp_path: Path) -> None:
    found, *_ = chosen(tmp_path, [*many(40, True), *many(60, False)])
    assert (found.positive.unbalanced, found.negative.unbalanced) == (0, 0)
    assert found.negative.training + found.negative.held_out == 60


@settings(max_examples=scaled(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.randoms(use_true_random=False))
def test_the_order_of_the_texts_does_not_matter(tmp_path: Path, shuffler: Random) -> None:
    rows = [*many(30, True), *many(30, False), ("again", True, "b"), ("again", True, "a"), ("x y", True, "c")]
    before = chosen(tmp_path, rows, equal=True)[1:]
    shuffler.shuffle(rows)
    assert chosen(tmp_path, rows, equal=True)[1:] == before


def test_another_seed_chooses_others(tmp_path: Path) -> None:
    rows = [*many(30, True), *many(30, False)]
    assert chosen(tmp_path, rows, seed=1)[2] != chosen(tmp_path, rows, seed=2)[2]


def test_what_has_more_texts_later_keeps_its_split(tmp_path: Path) -> None:
    _, _, before, _ = chosen(tmp_path, [*many(30, True), *many(30, False)])
    _, training, after, _ = chosen(tmp_path, [*many(50, True), *many(50, False)])
    assert set(before) <= set(after)
    assert not set(before) & set(training)


@pytest.mark.parametrize("rows", [[], many(20, True), [("same", True, "a"), ("same", False, "a")]])
def test_a_side_without_texts_is_an_error_that_counts(tmp_path: Path, rows: list[Row]) -> None:
    with assert_refused(SourceError, "0", "0"):
        chosen(tmp_path, rows)
