"""The grid of a probe: what its file says, which runs follow, and what is refused on which line."""

import math
from pathlib import Path

import pytest

from tests.messages import assert_refused, assert_told
from winnow.schemas.errors import RecipeError, SourceError
from winnow.scoring.probe.grid import Grid, Schedule, Shape, default_grid, designed, grid_from_yaml

SHIPPED = Path(__file__).resolve().parents[3] / "recipes" / "law-probe.yaml"

SMALL = """\
version: 1
models:
  - {layers: 1, width: 16, heads: 2}
  - {layers: 2, width: 32, heads: 4, learning_rate: 0.001}
tokens: [10_000, 20_000]
mixtures:
  - {red: 0.25, blue: 0.75}
  - {red: 1}
seeds: [3, 5]
schedule: {context: 16, batch: 4}
"""


def grid(text: str = SMALL) -> Grid:
    return grid_from_yaml(text, "grid.yaml")


def refusal(old: str, new: str) -> str:
    assert old in SMALL
    with pytest.raises(RecipeError) as caught:
        grid(SMALL.replace(old, new))
    return str(caught.value)


def test_runs_are_all_pairs_with_those_of_a_seed_together() -> None:
    runs = grid().runs(("blue", "red"))
    assert len(runs) == 2 * 2 * 2 * 2
    assert [run.seed for run in runs] == [3] * 8 + [5] * 8
    assert runs[0].shares == (("blue", 0.75), ("red", 0.25))
    assert runs[1].shares == (("red", 1.0),)


def test_d_is_what_whole_steps_see() -> None:
    run = grid().runs(("blue", "red"))[0]
    assert run.schedule.step_tokens == 64
    assert (run.steps, run.d) == (156, 9984)


def test_n_counts_what_is_no_embedding() -> None:
    assert Shape(2, 64, 2).parameters == 2 * (12 * 64 * 64 + 2 * 64) + 64


def test_equal_runs_have_equal_names_and_other_texts_another() -> None:
    first, second = grid().runs(("blue", "red"))[:2]
    assert first.name("a") == grid().runs(("blue", "red"))[0].name("a")
    assert len({first.name("a"), first.name("b"), second.name("a")}) == 3
    assert first.name("a").startswith("1x16-d9984-s3-")


def test_families_are_those_of_the_mixtures_where_none_are_named() -> None:
    assert grid().families == ("blue", "red")
    assert grid().among({"red": 1, "blue": 1, "green": 1}) == ("blue", "red")


def test_a_family_that_no_text_has_is_refused_with_the_nearest() -> None:
    with assert_refused(SourceError, "'red'", "'reds'"):
        grid().among({"reds": 1, "blue": 1})


def test_one_family_makes_no_mixture() -> None:
    with assert_refused(SourceError, "needs two families"):
        default_grid().among({"red": 1})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "{red: 0.25, blue: 0.75}",
            "{red: 0.25, blue: 0.7}",
            "grid.yaml:7 … mixtures[0] … 0.95",
        ),
        (
            "{red: 1}",
            "{red: 1, blue: 0}",
            "grid.yaml:8 … mixtures[1].blue … above 0",
        ),
        ("{red: 1}", "{red: -0.5, blue: 1.5}", "grid.yaml:8 … mixtures[1].red … above 0"),
        ("{red: 1}", "{red: .nan}", "grid.yaml:8 … mixtures[1].red … above 0"),
        ("{red: 1}", "{blue: 0.75, red: 0.25}", "grid.yaml:8 … mixtures[1] … line 7"),
        ("version: 1", "version: 1\nfamilies: [red, blues]", "'blue' … 'blues'"),
        ("heads: 2}", "heads: 3}", "grid.yaml:3 … models[0] … width 16"),
        ("[3, 5]", "[3, 3]", "seeds: … trained once"),
        ("tokens:", "token:", "'token' … 'tokens'"),
        ("[10_000, 20_000]", "[-1]", "tokens[0] … -1 … 1"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(old: str, new: str, said: str) -> None:
    assert_told(refusal(old, new), said)


def test_designed_mixtures_give_every_family_six_shares() -> None:
    families = ("a", "b", "c", "d")
    mixtures = designed(families)
    assert len(mixtures) == 13
    for shares in mixtures:
        assert math.isclose(sum(share for _, share in shares), 1)
    for family in families:
        assert {dict(shares)[family] for shares in mixtures if family in dict(shares)} == {
            0.1,
            0.15,
            0.25,
            0.3,
            0.55,
            1,
        }


@pytest.mark.parametrize("count", [2, 3, 7])
def test_designed_mixtures_are_sound_for_any_number_of_families(count: int) -> None:
    mixtures = designed(tuple(f"f{number}" for number in range(count)))
    assert len(set(mixtures)) == len(mixtures)
    assert all(0 < share <= 1 for shares in mixtures for _, share in shares)
    assert all(math.isclose(sum(share for _, share in shares), 1, abs_tol=1e-6) for shares in mixtures)


def test_the_shipped_grid_is_what_is_trained_where_none_is_given() -> None:
    shipped, default = grid_from_yaml(SHIPPED.read_text(), "law-probe.yaml"), default_grid()
    families = shipped.families
    assert set(shipped.runs(families)) == set(default.runs(families))
    assert len(shipped.runs(families)) == 39
    assert shipped.schedule == Schedule()
