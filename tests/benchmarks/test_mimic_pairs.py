"""The parts of `benchmarks.mimic.pairs` that need neither networks nor pictures of packages."""

import numpy as np
import pytest

from benchmarks.inputs.named_pictures import Named
from benchmarks.mimic import pairs
from benchmarks.mimic.pairs import GENERIC, SPOILT, Pair, arms_of, difference, parted, ranks, recall, spoilt, tokens_of

PICTURE = np.zeros((2, 2, 3), np.uint8)


def named(concepts: int, foreign: tuple[str, ...] = ("koira", "kissa")) -> list[Named]:
    return [
        Named(f"thing {number}", language, PICTURE, f"{language} {number}", foreign)
        for number in range(concepts)
        for language in ("en", "fr")
    ]


def test_what_is_shown_is_in_one_part_alone() -> None:
    parts = parted(named(400))
    shown = [{one.concept for one in part} for part in parts]
    assert sum(map(len, shown)) == 400 == len(set.union(*shown))
    assert [round(len(one) / 400, 1) for one in shown] == [0.1, 0.7, 0.2] or min(map(len, shown)) > 30


@pytest.mark.parametrize("seed", range(3))
def test_half_of_the_captions_are_spoilt_in_three_ways(seed: int) -> None:
    rest = named(600)
    crawl = spoilt(rest, seed)
    assert [one.of for one in crawl] == rest
    for how in ("", *SPOILT):
        share = sum(one.spoilt == how for one in crawl) / len(crawl)
        assert abs(share - (0.5 if not how else 1 / 6)) < 0.06
    own = {one.concept: {two.name for two in rest if two.concept == one.concept} for one in rest}
    for one in crawl:
        if one.spoilt == "":
            assert one.caption in own[one.of.concept]
        elif one.spoilt == "shuffled":
            assert one.caption not in own[one.of.concept]
        elif one.spoilt == "generic":
            assert one.caption in GENERIC
        else:
            assert one.caption in one.of.foreign


def test_an_arm_keeps_the_better_half_and_what_has_no_value_last() -> None:
    crawl = [Pair(one, one.name, "" if at % 2 else "generic") for at, one in enumerate(named(4))]
    values = np.array([np.nan, 5.0, 1.0, 4.0, np.nan, 3.0, 2.0, 6.0])
    measures = {f"{name}, {kind}": values for name in pairs.MEASURES for kind in pairs.REFERENCES}
    arms = arms_of(measures, crawl, 0)
    assert sorted(arms["rho, separate"]) == sorted(arms["rho + alignment, separate"]) == [1, 3, 5, 7]
    assert len(arms["everything"]) == 8
    assert len(set(arms["random half"])) == 4
    assert list(arms["the true pairs"]) == [1, 3, 5, 7]
    assert ranks(np.array([2.0, np.nan, 9.0])).tolist() == [1, 0, 2]


def test_a_gain_is_of_the_same_names_and_its_interval_holds_it() -> None:
    draw = np.random.default_rng(0)
    base, things = [draw.integers(0, 20, 300) for _ in range(3)], np.arange(300) // 3
    better = [np.maximum(one - 3, 0) for one in base]
    gain, low, high = difference(better, base, things, 5)
    assert gain == pytest.approx(
        np.mean([recall(one, 5) for one in better]) - np.mean([recall(one, 5) for one in base])
    )
    assert 0 < low <= gain <= high
    assert difference(base, base, things, 5) == (0, 0, 0)
    one_thing = difference([np.arange(6)], [np.full(6, 9)], np.zeros(6, np.int64), 3)
    assert one_thing == (50, 50, 50)  # names of one thing are no more than one


def test_captions_are_bytes_and_no_byte_is_what_fills_them_up() -> None:
    tokens = tokens_of(["a\0é", "x" * 90], most=6)
    assert tokens.tolist() == [[98, 1, 196, 170, 0, 0], [121] * 6]
