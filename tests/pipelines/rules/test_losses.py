"""Losses to one rule, presets made for another language, and samples in no known language: from counts alone."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest

from tests.messages import assert_refused, assert_told, assert_told_each
from winnow.filters.language.words.packages import Package
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.rule_presets import ProgramRule, expand_rules
from winnow.pipelines.rules.decisions import DecisionCounts, count_block
from winnow.pipelines.rules.losses import (
    count_estimated,
    count_textless,
    count_undetermined,
    estimated_message,
    find_losses,
    find_outside_languages,
    find_uneven,
    textless_message,
)
from winnow.pipelines.rules.sites import MIN_ROWS, MOST_SITES, NO_SITES, SiteCounts
from winnow.schemas.errors import RecipeError
from winnow.schemas.languages import language_name
from winnow.schemas.recipe import LossAlarms, recipe_from_text

RECIPE = """\
version: 1
store: {path: store}
sources: {a: {root: a, files: ["*"], class: web}}
eligible: [{drop: samples.text = '', reason: first}]
dedupe: {exact: {}}
keep:
  - {drop: samples.text = 'b', reason: second}
  - {drop: samples.text = 'c', reason: third}
"""
FIRST, DUPLICATE, SECOND, THIRD, FORGOTTEN = (1 << number for number in range(5))
Cells = Mapping[tuple[str, str, int], int]


def rules_of(text: str = RECIPE) -> tuple[ProgramRule, ...]:
    return expand_rules(recipe_from_text(text))


def counted(cells: Cells) -> DecisionCounts:
    """Counts by source, language and the rules that fired."""
    parts = []
    for (source, language, fired), rows in cells.items():
        codes = pa.array([language] * rows).dictionary_encode()
        masks = np.full((rows, 1), fired, np.uint64)
        parts.append(count_block(source, codes, np.ones(rows, np.int64), masks, None))
    return DecisionCounts.merged(parts)


def lines(cells: Cells, **bounds: object) -> list[str]:
    return [loss.message for loss in find_losses(rules_of(), counted(cells), LossAlarms(**bounds))]  # type: ignore[arg-type]


def test_a_language_that_one_rule_empties_is_named_with_the_rule() -> None:
    found = find_losses(rules_of(), counted({("a", "jpn_Jpan", SECOND): 49, ("a", "eng_Latn", 0): 900}), LossAlarms())
    assert [loss.message for loss in found] == ["second drops 100 % of Japanese (49)"]
    (loss,) = found
    assert (loss.list, loss.of, loss.name, loss.rows, loss.lost) == ("keep", "language", "jpn_Jpan", 49, 49)


def test_a_source_is_named_as_such() -> None:
    assert_told_each(
        lines({("a", "eng_Latn", 0): 100, ("b", "eng_Latn", FIRST): 95, ("b", "eng_Latn", 0): 5}), ("95 %", "95 of 100")
    )


def test_the_loudest_comes_first() -> None:
    cells = {
        ("a", "jpn_Jpan", SECOND): 49,
        ("a", "deu_Latn", THIRD): 380,
        ("a", "deu_Latn", 0): 20,
        ("a", "kor_Hang", SECOND): 60,
        ("a", "eng_Latn", 0): 5000,
    }
    assert lines(cells) == [
        "third drops 95 % of German (380 of 400)",
        "second drops 100 % of Korean (60)",
        "second drops 100 % of Japanese (49)",
    ]


@pytest.mark.parametrize(
    ("lost", "rows", "alarm"), [(20, 20, True), (19, 19, False), (90, 100, False), (91, 100, True)]
)
def test_the_bounds_are_more_than_nine_tenths_of_at_least_twenty(lost: int, rows: int, alarm: bool) -> None:
    cells = {("a", "fin_Latn", SECOND): lost, ("a", "fin_Latn", 0): rows - lost, ("a", "eng_Latn", 0): 1000}
    assert bool(lines(cells)) == alarm


def test_the_bounds_are_the_recipes() -> None:
    cells = {("a", "fin_Latn", SECOND): 6, ("a", "fin_Latn", 0): 4, ("a", "eng_Latn", 0): 1000}
    assert lines(cells, max_loss=0.5, min_rows=10) == ["second drops 60 % of Finnish (6 of 10)"]
    assert lines(cells, max_loss=0.5, min_rows=10, expected=("second",)) == []


def test_a_rule_counts_also_where_another_comes_before_it() -> None:
    cells = {("a", "tha_Thai", FIRST | THIRD): 30, ("a", "eng_Latn", 0): 500}
    assert lines(cells) == ["first drops 100 % of Thai (30)", "third drops 100 % of Thai (30)"]


def test_losses_to_several_rules_together_are_none_to_one() -> None:
    cells = {("a", "tha_Thai", FIRST): 20, ("a", "tha_Thai", THIRD): 20, ("a", "eng_Latn", 0): 500}
    assert lines(cells) == []


def test_duplicates_and_forgotten_samples_are_no_losses_to_a_rule() -> None:
    cells = {
        ("a", "jpn_Jpan", DUPLICATE): 40,
        ("a", "fin_Latn", FORGOTTEN): 500,
        ("a", "fin_Latn", SECOND): 40,
        ("a", "eng_Latn", 0): 900,
    }
    assert lines(cells) == ["second drops 100 % of Finnish (40)"]


def test_samples_in_no_known_language_are_counted_apart() -> None:
    cells = {
        ("a", "und_Latn", FIRST): 40,
        ("b", "und_Latn", 0): 2,
        ("a", "und_Cyrl", FIRST): 3,
        ("a", "zxx_Latn", FIRST): 50,
        ("a", "unknown", FIRST): 70,
        ("a", "eng_Latn", 0): 900,
    }
    assert lines(cells) == []
    assert count_undetermined(counted(cells)) == {"und_Latn": 42, "und_Cyrl": 3}


def test_a_preset_made_for_english_says_what_else_it_judges() -> None:
    text = RECIPE.replace("keep:", "keep:\n  - {preset: refinedweb, rules: {stop_words: off}}")
    rules = rules_of(text)
    number = next(at for at, one in enumerate(rules) if one.preset == "refinedweb")
    fired = 1 << number
    cells = {
        ("a", "eng_Latn", fired): 10,
        ("a", "jpn_Jpan", fired): 40,
        ("a", "deu_Latn", 0): 50,
        ("a", "und_Latn", fired): 7,
        ("a", "deu_Latn", 1 << len(rules)): 1000,  # forgotten
    }
    (found,) = find_outside_languages(rules, counted(cells))
    assert found.languages == {"deu_Latn": 50, "jpn_Jpan": 40}
    assert_told(found.message, "90 of 107", "50", "Japanese 40", whole=True)
    assert find_outside_languages(rules, counted({("a", "eng_Latn", fired): 10, ("a", "unknown", fired): 9})) == ()


def test_an_expected_loss_names_a_rule() -> None:
    recipe = recipe_from_text(RECIPE + "loss_alarms: {expected: [secund]}\n")
    with assert_refused(RecipeError, "loss_alarms.expected", "'secund'", "'sec"):
        _ = bind(recipe).rules


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("jpn_Jpan", "Japanese"),
        ("cmn_Hani", "Mandarin Chinese"),
        ("kor_Hang", "Korean"),
        ("srp_Latn", "Serbian in Latn"),
        ("de", "German"),
        ("eng", "English"),
        ("unknown", "unknown"),
        ("q", "q"),
    ],
)
def test_languages_are_named_in_english(code: str, name: str) -> None:
    assert language_name(code) == name


def sites_of(source: str, cells: Mapping[tuple[str | None, int], int]) -> SiteCounts:
    """The sites of one shard, by domain and the rules that fired."""
    rows = [(domain, fired) for (domain, fired), count in cells.items() for _ in range(count)]
    domains = pa.chunked_array([pa.array([domain for domain, _ in rows], pa.string())])
    return SiteCounts.of(source, domains, np.array([fired for _, fired in rows], np.uint64).reshape(-1, 1), 4)


def uneven(cells: Cells, sites: SiteCounts = NO_SITES, **bounds: object) -> list[str]:
    return [one.message for one in find_uneven(rules_of(), counted(cells), sites, LossAlarms(**bounds))]  # type: ignore[arg-type]


def test_a_source_that_a_rule_drops_ten_times_as_often_as_the_others_is_named() -> None:
    cells = {("docs", "eng_Latn", SECOND): 989, ("docs", "eng_Latn", 0): 1391, ("b", "eng_Latn", SECOND): 3}
    cells |= {("b", "eng_Latn", 0): 400, ("c", "fra_Latn", 0): 467}
    assert_told_each(uneven(cells), ("41 %", "989 of 2,380", "3 of 870"))
    assert uneven(cells, expected=("second",)) == []
    assert uneven(cells, min_rows=1000) == []
    assert uneven({one: rows for one, rows in cells.items() if one[0] == "docs"}) == []


@pytest.mark.parametrize(
    ("here", "elsewhere", "named"),
    [
        ((100, 1000), (10, 1000), True),  # ten times
        ((100, 1000), (11, 1000), False),
        ((49, 1000), (0, 1000), False),  # of a rule that drops less than a twentieth nothing is said
        ((19, 50), (0, 1000), False),  # too few to say
        ((20, 300), (0, 1000), True),
        ((20, 300), (0, 60), False),  # none of 60 is no sign that few are dropped
        ((5, 1000), (0, 10), False),
    ],
)
def test_chance_gives_no_line(here: tuple[int, int], elsewhere: tuple[int, int], named: bool) -> None:
    cells: dict[tuple[str, str, int], int] = {}
    for source, (lost, rows) in (("b", elsewhere), ("a", here)):
        cells |= {(source, "eng_Latn", THIRD): lost, (source, "eng_Latn", 0): rows - lost}
    assert bool(uneven(cells)) == named


def test_equal_sources_of_any_size_give_no_line_by_chance() -> None:
    random = np.random.default_rng(4)
    for share in (0.001, 0.01, 0.1, 0.5):
        for _ in range(50):
            sizes = {source: int(random.integers(20, 2000)) for source in "edcba"}
            cells: dict[tuple[str, str, int], int] = {}
            for source, rows in sizes.items():
                lost = int(random.binomial(rows, share))
                cells |= {(source, "eng_Latn", SECOND): lost, (source, "eng_Latn", 0): rows - lost}
            assert uneven(cells) == []


def test_a_site_is_compared_with_all_others_and_not_named_beside_its_source() -> None:
    cells = {("a", "eng_Latn", SECOND): 60, ("a", "eng_Latn", 0): 2000, ("b", "eng_Latn", THIRD | FIRST): 100}
    cells |= {("b", "eng_Latn", 0): 100}
    of_a = sites_of(
        "a", {("z.example", SECOND): 50, ("z.example", 0): 10, ("y.example", SECOND): 10, ("y.example", 0): 900}
    )
    of_b = sites_of("b", {("x.example", THIRD | FIRST): 100, ("x.example", 0): 10})
    assert_told_each(
        uneven(cells, SiteCounts.merged([of_b, of_a])),
        ("50 %", "100 of 200", "0 of 2,060"),
        ("50 %", "100 of 200", "0 of 2,060"),
        ("83 %", "z.example", "50 of 60", "10 of 2,200"),
    )


def test_duplicates_and_forgotten_samples_make_no_source_uneven() -> None:
    cells = {("a", "eng_Latn", DUPLICATE): 500, ("a", "eng_Latn", FORGOTTEN | SECOND): 500, ("a", "eng_Latn", 0): 9}
    assert uneven(cells | {("b", "eng_Latn", 0): 900}) == []


def test_sites_are_the_largest_of_a_shard_in_any_order_of_shards() -> None:
    many: dict[tuple[str | None, int], int] = {
        (f"{number:03}.example", SECOND * (number % 2)): MIN_ROWS + number for number in range(MOST_SITES + 9)
    }
    many |= {(None, SECOND): 500, ("few.example", SECOND): MIN_ROWS - 1, ("gone.example", FORGOTTEN): 900}
    one, other = sites_of("a", dict(reversed(many.items()))), sites_of("a", {("072.example", SECOND | THIRD): 20})
    assert set(one.site) == {f"{number:03}.example" for number in range(9, MOST_SITES + 9)}
    merged = SiteCounts.merged([one, other])
    assert merged == SiteCounts.merged([other, one])
    counts = dict(zip(zip(merged.site, merged.rule, strict=True), merged.rows, strict=True))
    assert [counts.get(("072.example", rule)) for rule in (-1, 0, 1, 2, 3)] == [112, None, None, 20, 20]
    assert counts["071.example", 2] == counts["071.example", -1] == 91
    assert SiteCounts.merged([]) == sites_of("a", {}) == SiteCounts()


def test_kept_samples_without_a_text_are_counted_by_source() -> None:
    parts = []
    for source, fired, textless, rows in (
        ("b", 0, True, 3),
        ("a", 0, False, 90),
        ("a", 0, True, 45),
        ("a", 1, True, 7),
    ):
        codes = pa.array(["unknown"] * rows).dictionary_encode()
        masks = np.full((rows, 1), fired, np.uint64)
        parts.append(count_block(source, codes, np.ones(rows, np.int64), masks, None, np.full(rows, textless)))
    found = count_textless(DecisionCounts.merged(parts))
    assert list(found.items()) == [("a", 45), ("b", 3)]
    assert_told(
        textless_message(found, ["text.length.status"]),
        "48",
        "45",
        "b 3",
        "text.length.status",
        "'no_text'",
        "0",
        whole=True,
    )


def test_samples_whose_words_are_estimated_are_counted_by_language(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = {("a", "jpn_Jpan", 0): 2, ("a", "cmn_Hani", FIRST): 40, ("b", "jpn_Jpan", SECOND): 3}
    cells |= {("a", "deu_Latn", 0): 9}
    read = ["samples.text", "text.fineweb2.words"]
    assert count_estimated(read, counted(cells)) == {}
    monkeypatch.setattr(Package, "found", lambda _self: None)
    assert count_estimated(["samples.text"], counted(cells)) == {}
    found = count_estimated(read, counted(cells))
    assert list(found.items()) == [("cmn_Hani", 40), ("jpn_Jpan", 5)]
    assert_told(
        estimated_message(found),
        "45 samples",
        "Chinese 40",
        "Japanese 5",
        "FineWeb-2's",
        "jieba==0.42.1",
        "sudachipy==0.7.0",
        whole=True,
    )
