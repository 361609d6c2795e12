"""Plans give the requested shares to within one sample, and each copy once, in any order of stages and rows."""

import re
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused, assert_told, assert_told_each
from tests.pipelines.mix.mixtures import Mixing, Text, mixing
from tests.property_sizes import scaled
from winnow.schemas.errors import RecipeError
from winnow.schemas.mixture import Amount, MixturePlan, PlannedStratum

LANGUAGES = ["deu_Latn", "fra_Latn", "rus_Cyrl", "hin_Deva"]


def many(rows: int, source: str = "web", tokens: int = 100) -> list[Text]:
    """Return rows of four languages, in different numbers and lengths."""
    return [
        Text(source, LANGUAGES[min(3, number % 10 // 3)], tokens + number * 7 % 50, score=number % 97)
        for number in range(rows)
    ]


def by_source(plan: MixturePlan, output: str = "train") -> dict[str, int]:
    found: Counter[str] = Counter()
    for one in plan.output(output).strata:
        found[one.stratum.source] += one.given.units
    return dict(found)


def largest(mixed: Mixing) -> int:
    return 150


def test_by_default_every_sample_is_taken_once() -> None:
    plan, drawn = mixing(many(230), "{}").draw()
    assert plan.unit == "samples"
    assert plan.output("train").given == Amount(230, 230)
    assert set(drawn["train"].values()) == {1}
    assert {copy for _, copy in drawn["train"]} == {0}


def test_sources_give_their_shares_to_within_one_sample_per_stratum() -> None:
    mixed = mixing(
        [*many(300), *many(200, "books")],
        "{unit: tokens, tokenizer: bytes, budget: 10_000, sources: {web: 0.7, books: 0.3}}",
    )
    plan, _ = mixed.draw()
    for one in plan.output("train").strata:
        assert abs(one.given.units - one.target) <= 75
    assert sum(one.target for one in plan.output("train").strata) == 10_000
    given = by_source(plan)
    assert given["web"] == pytest.approx(7_000, abs=4 * 150)
    assert given["books"] == pytest.approx(3_000, abs=4 * 150)


def test_a_larger_budget_includes_the_draw_of_a_smaller_one() -> None:
    texts = [*many(300), *many(200, "books")]

    def drawn(budget: int) -> Counter[tuple[bytes, int]]:
        mix = f"{{unit: tokens, tokenizer: bytes, budget: {budget}, sources: {{web: 0.5, books: 0.5}}}}"
        return mixing(texts, mix).draw()[1]["train"]

    smaller, larger, repeated = drawn(5_000), drawn(30_000), drawn(150_000)
    assert smaller <= larger <= repeated
    assert max(copy for _, copy in repeated) > 0


def test_a_sample_of_a_plan_is_the_start_of_every_stratum() -> None:
    mixed = mixing(
        many(400),
        "{unit: tokens, tokenizer: bytes, budget: 60_000, languages: {temperature: 3}, "
        "stages: {core: {budget: 30_000}, late: {budget: 20_000, where: text.length.characters > 20}}}".replace(
            "budget: 60_000, ", ""
        ),
    )
    whole, all_drawn = mixed.draw()
    some, some_drawn = mixed.draw(Fraction(1, 10))
    assert some.name != whole.name
    for name in ("core", "late"):
        assert some_drawn[name] < all_drawn[name]
        for part, full in zip(some.output(name).strata, whole.output(name).strata, strict=True):
            assert abs(part.given.units - full.target / 10) <= 76


def test_stages_continue_where_earlier_ones_ended_and_share_one_epoch_cap() -> None:
    mixed = mixing(
        many(100, tokens=100),
        "{unit: samples, max_epochs: 2, stages: {core: {budget: 120}, more: {budget: 50}, last: {budget: 30}}}",
    )
    plan, drawn = mixed.draw()
    copies = drawn["core"] + drawn["more"] + drawn["last"]
    assert set(copies.values()) == {1}  # no copy is given twice
    assert copies == Counter({(identity, copy): 1 for identity in {i for i, _ in copies} for copy in (0, 1)})
    assert [output.given.samples for output in plan.outputs] == [120, 50, 30]
    with pytest.raises(RecipeError, match="max_epochs"):
        mixing(many(100), "{max_epochs: 2, strict: true, stages: {core: {budget: 150}, more: {budget: 60}}}").draw()


def test_a_later_stage_takes_unused_samples_first() -> None:
    mixed = mixing(many(100), "{stages: {core: {budget: 60}, more: {budget: 40}}}")
    _, drawn = mixed.draw()
    assert not {identity for identity, _ in drawn["core"]} & {identity for identity, _ in drawn["more"]}


def test_amounts_add_up() -> None:
    mixed = mixing(many(50), "{unit: tokens, tokenizer: bytes, budget: 12_000, languages: {unimax: 4}}")
    plan, drawn = mixed.draw()
    units = {}
    with_units = mixed.plan().plan
    assert with_units == plan
    for one in plan.output("train").strata:
        assert one.given == one.unique + one.repeated
        assert one.unique.units <= one.available.units
        assert one.given.units <= 4 * one.available.units
        units[str(one.stratum)] = one.given.units
    assert plan.output("train").given.samples == drawn["train"].total()


def test_the_same_rows_in_another_store_give_the_same_plan_and_draw() -> None:
    texts = [*many(120), *many(80, "books")]
    mix = "{unit: tokens, tokenizer: bytes, budget: 9_000, split: {validation: 0.1}}"
    one = mixing(texts, mix).draw()
    again = mixing(texts, mix, name="again").draw()
    assert one == again
    assert one[0].name == again[0].name


def test_empty_and_uncountable_rows_are_left_out_with_a_reason() -> None:
    texts = [*many(20), Text("web", "deu_Latn", 5, status="no_text"), Text("web", "deu_Latn", 0)]
    plan, drawn = mixing(texts, "{unit: tokens, tokenizer: bytes}").draw()
    assert plan.kept.samples == 22
    assert plan.left_out == {"empty": Amount(1, 0), "no_text": Amount(1, 0)}
    assert drawn["train"].total() == 20


def test_rows_that_no_stage_selects_are_left_out_with_a_reason() -> None:
    texts = [Text("web", "deu_Latn", 10, score=number) for number in range(20)]
    stages = "stages: {early: {where: text.length.characters < 5}, late: {where: text.length.characters > 16}}"
    plan, drawn = mixing(texts, f"{{unit: tokens, tokenizer: bytes, split: {{validation: 0.1}}, {stages}}}").draw()
    assert plan.left_out["where"].units == 10 * plan.left_out["where"].samples
    assert plan.kept.samples == 20 == plan.left_out["where"].samples + sum(map(Counter.total, drawn.values()))


def test_a_huge_sample_that_exceeds_the_budget_is_named() -> None:
    texts = [*many(40), Text("books", "fra_Latn", 90_000)]
    mix = "{unit: tokens, tokenizer: bytes, budget: 2_000, sources: {web: 0.9, books: 0.1}}"
    note, heaviest = mixing(texts, mix).draw()[0].outputs[0].notes
    over, _, rest = note.partition(" tokens more than requested, as samples are not split: ")
    assert 89_800 <= int(over.replace(",", "")) < 90_800
    assert_told(rest, "fra_Latn", "gives 90,000", "200", "90,000", whole=True)
    assert_told(heaviest, "98.0 %", "90,000 tokens", "'max_share_of_sample: 0.01'", whole=True)
    only = mix.replace("web: 0.9, books: 0.1", "web: 1").replace("{", "{max_share_of_sample: 0.1, ", 1)
    plan, _ = mixing(texts, only).draw()
    long = "1 sample of more than 200 tokens, 0.1 of 2,000, left out (mix.max_share_of_sample): 90,000 tokens"
    assert plan.outputs[0].notes[0] == long
    assert plan.left_out == {"max_share_of_sample": Amount(1, 90_000)}


def test_a_huge_sample_before_which_a_draw_ends_is_named_with_what_leaves_it_out() -> None:
    texts = [*[Text("web", "deu_Latn", 100) for _ in range(500)], Text("web", "deu_Latn", 90_000)]
    (note,) = mixing(texts, "{unit: tokens, tokenizer: bytes, budget: 50_000}").draw()[0].outputs[0].notes
    assert re.fullmatch(
        r"[\d,]+ tokens less than requested, as samples are not split: web / web / Indo-European / deu_Latn gives "
        r"[\d,]+ instead of 50,000, and its largest sample has 90,000; 'max_share_of_sample: 0.01' leaves out samples "
        "above a hundredth of the budget",
        note,
    )


def test_a_sample_of_a_plan_also_names_it() -> None:
    mixed = mixing([Text("web", "deu_Latn", 1_000) for _ in range(200)], "{unit: tokens, tokenizer: bytes}")
    assert mixed.draw()[0].outputs[0].notes == ()
    assert_told_each(
        mixed.draw(Fraction(1, 10_000))[0].outputs[0].notes, ("980 tokens", "deu_Latn", "gives 1,000", "20")
    )


def test_a_budget_too_small_for_its_strata_gets_a_note() -> None:
    texts = [Text(f"s_{number}", "deu_Latn", 100) for number in range(10)]
    assert_told_each(
        mixing(texts, "{unit: tokens, tokenizer: bytes, budget: 20}").draw()[0].outputs[0].notes,
        ("980 tokens", "10", "20 tokens"),
    )


NO_TEXT = [Text("img", None, 0, status="no_text") for _ in range(3)]
ODD = [Text("img", None, 0, status="unencodable")]
TOKENS = "unit: tokens, tokenizer: bytes"
DROP_ALL = "keep: [{drop: text.length.characters >= 0, reason: all, when_null: drop}]"


@pytest.mark.parametrize(
    ("texts", "mix", "rules", "said"),
    [
        (
            [*NO_TEXT, *ODD],
            f"{{{TOKENS}}}",
            "",
            "recipe.yaml:6 … 4 samples … 3",
        ),
        (
            many(20),
            "{}",
            DROP_ALL,
            "recipe.yaml:6 … 20 samples … winnow plan",
        ),
        (
            many(20),
            "{stages: {a: {}, b: {where: text.length.characters > 1_000}}}",
            "",
            "recipe.yaml:6 … mix.stages.b … 20 samples",
        ),
        (
            [*many(20), *NO_TEXT, *ODD],
            f"{{{TOKENS}, sources: {{web: 0.5, img: 0.5}}}}",
            "",
            "recipe.yaml:6 … mix.sources … 'img'",
        ),
        (
            [*many(20), *NO_TEXT],
            f"{{{TOKENS}, classes: {{web: 0.5, img: 0.5}}}}",
            "",
            "recipe.yaml:6 … mix.classes … 'img'",
        ),
        (
            [*many(20), Text("img", "deu_Latn", 10, score=-1)],
            "{where: text.length.characters >= 0, sources: {web: 0.5, img: 0.5}}",
            "",
            "recipe.yaml:6 … mix.sources … 'img'",
        ),
        (
            [*many(20), Text("img", "deu_Latn", 10, score=-1)],
            "{sources: {web: 0.5, img: 0.5}}",
            "keep: [{drop: text.length.characters < 0, reason: all, when_null: drop}]",
            "recipe.yaml:6 … mix.sources … 'img'",
        ),
    ],
)
def test_if_no_sample_may_be_taken_the_message_says_why(texts: list[Text], mix: str, rules: str, said: str) -> None:
    with pytest.raises(RecipeError) as refused:
        mixing(texts, mix, extra=rules).draw()
    assert_told(re.sub(r":\d+:", ":6:", str(refused.value), count=1), said, whole=True)


def test_a_text_in_an_unknown_language_is_unclassified() -> None:
    plan, _ = mixing([Text("web", None, 10), *many(5)], "{}").draw()
    assert ("unclassified", "unknown") in {(one.stratum.family, one.stratum.language) for one in plan.outputs[0].strata}


@pytest.mark.parametrize(
    ("mix", "said"),
    [
        ("{sources: {web: 0.5, bokks: 0.5}}", "mix.sources … 'bokks' … 'books'"),
        ("{sources: {web: 0.5, books: 0.4}}", "0.9 … 1"),
        ("{families: {weights: {Indo-Europaen: 1.0}}}", "there is no family 'Indo-Europaen'"),
        ("{bands: {by: text.length.charcters, top: 0.1}}", "unknown column 'text.length.charcters'"),
        ("{bands: {by: text.language.code, top: 0.1}}", "expected a column"),
        ("{where: text.length.characters > 'a'}", "mix.where"),
        ("{where: text.lenght.characters > 10}", r"unknown column"),
        ("{where: CAST(text.language.code AS INTEGER) > 10}", "mix.where: condition "),
        ("{stages: {a: {where: CAST(text.language.code AS INTEGER) > 10}}}", "mix.stages.a.where: condition"),
        ("{budget: 1_000, max_epochs: 2, strict: true}", r"max_epochs"),
        ("{where: text.length.characters > 100_000}", r"no sample may be taken"),
        ("{languages: {weights: {xyzzy: 1.0}}}", "language … 'xyzzy'"),
        ("{unit: tokens}", r"tokenizer"),
    ],
)
def test_a_faulty_mixture_is_refused_in_one_line(mix: str, said: str) -> None:
    with assert_refused(RecipeError, said) as refused:
        mixing([*many(20), *many(20, "books")], mix).draw()
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith("recipe.yaml:")


def given_by_band(texts: list[Text], bands: str) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return the number of samples that each band gives, and the notes."""
    plan, _ = mixing(texts, f"{{bands: {{by: text.length.characters, {bands}}}}}").draw()
    (output,) = plan.outputs
    return {one.stratum.band: one.given.samples for one in output.strata}, output.notes


def test_below_the_first_repeat_step_a_text_is_taken_once_even_if_negative() -> None:
    texts = [Text("web", "deu_Latn", 10, score=score) for score in range(-3, 3)]
    assert given_by_band(texts, "repeats: [{at: 0, repeats: 2}]")[0] == {"00x1": 3, "01x2": 6}
    assert given_by_band(texts, "repeats: [{at: -2, repeats: 0}, {at: 1, repeats: 3}]")[0] == {
        "00x1": 1,
        "01x0": 0,
        "02x3": 6,
    }


def test_equal_values_stay_in_one_band_and_a_note_gives_the_excess() -> None:
    texts = [Text("web", "deu_Latn", 10, score=number // 16) for number in range(20)]
    given, notes = given_by_band(texts, "top: 0.1")
    assert given == {"b00": 0, "b01": 4}
    assert_told_each(notes, ("mix.bands.top", "hold 4", "2", "text.length.characters"))
    assert given_by_band(texts, "top: 0.2") == ({"b00": 0, "b01": 4}, ())


texts = st.lists(
    st.builds(
        Text,
        st.sampled_from(["web", "books", "code"]),
        st.sampled_from([*LANGUAGES, None]),
        st.integers(1, 300),
        st.floats(-5, 5),
    ),
    min_size=1,
    max_size=60,
)


@settings(max_examples=scaled(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(texts, st.floats(0.01, 1), st.sampled_from(["temperature: 3.3", "unimax: 9", ""]), st.integers(1, 4))
def test_any_plan_gives_each_stratum_its_target_to_within_a_sample(
    rows: list[Text], part: float, languages: str, epochs: int
) -> None:
    budget = max(1, int(part * epochs * sum(text.tokens or 0 for text in rows)))
    mix = f"{{unit: tokens, tokenizer: bytes, budget: {budget}, max_epochs: {epochs}, languages: {{{languages}}}}}"
    plan, drawn = mixing(rows, mix, shard_rows=7, name=f"any-{part}").draw()
    strata: tuple[PlannedStratum, ...] = plan.output("train").strata
    assert sum(one.target for one in strata) == budget
    for one in strata:
        assert abs(one.given.units - one.target) <= 150 or one.given.samples == 1
        assert one.given.units <= epochs * one.available.units
    assert set(drawn["train"].values()) <= {1}
    assert max(copy for _, copy in drawn["train"]) < epochs


SIZES = st.one_of(
    st.tuples(st.integers(1, 60), st.integers(1, 40)).map(lambda pair: [pair[0]] * pair[1]),  # all alike
    st.lists(st.integers(1, 20), min_size=1, max_size=60),
    st.tuples(
        st.lists(st.integers(1, 20), min_size=1, max_size=60), st.lists(st.integers(2_000, 9_000), max_size=4)
    ).map(
        lambda pair: pair[0] + pair[1]  # a few are huge
    ),
)
"""The tokens of texts."""


def of_sizes(sizes: list[int]) -> list[Text]:
    return [Text(("web", "books")[number % 2], LANGUAGES[number % 3], size) for number, size in enumerate(sizes)]


def tokens_mix(budget: int, more: str = "") -> str:
    return f"{{unit: tokens, tokenizer: bytes, budget: {budget}{more}}}"


@settings(max_examples=scaled(12), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SIZES, st.floats(0.001, 1), st.floats(1, 3))
def test_a_stratum_ends_with_the_sample_whose_end_is_nearest_to_its_target(
    sizes: list[int], part: float, more: float
) -> None:
    budget = max(1, int(part * sum(sizes)))
    mixed = mixing(of_sizes(sizes), tokens_mix(budget), shard_rows=7)
    whole, drawn = mixed.draw()
    for one in whole.output("train").strata:
        longest = max(sizes)
        if one.target:
            assert one.given.samples  # whatever its first sample is, no stratum is lost
        assert 2 * abs(one.given.units - one.target) <= longest or one.given.samples == 1
    larger = mixing(of_sizes(sizes), tokens_mix(int(more * budget)), shard_rows=7).draw()[1]["train"]
    assert drawn["train"] <= larger
    previous: Counter[tuple[bytes, int]] = Counter()
    for share in (Fraction(1, 100), Fraction(1, 7), Fraction(2, 3)):
        some = mixed.draw(share)[1]["train"]
        assert previous <= some <= drawn["train"]
        previous = some


@settings(max_examples=scaled(12), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SIZES, st.floats(0.001, 1), st.sampled_from([0.001, 0.02, 0.5, 1.0]))
def test_no_sample_is_more_than_its_share_of_the_budget_and_all_are_accounted_for(
    sizes: list[int], part: float, cap: float
) -> None:
    budget = max(1, int(part * sum(sizes)))
    limit = int(Fraction(repr(cap)) * budget)
    mixed = mixing(of_sizes(sizes), tokens_mix(budget, f", max_share_of_sample: {cap}"), shard_rows=7)
    if min(sizes) > limit:
        with assert_refused(RecipeError, "mix.max_share_of_sample"):
            mixed.plan()
        return
    plan, _ = mixed.draw()
    long = [size for size in sizes if size > limit]
    assert plan.left_out == ({"max_share_of_sample": Amount(len(long), sum(long))} if long else {})
    assert sum(one.available.units for one in plan.output("train").strata) == sum(sizes) - sum(long)
    for share in (Fraction(1, 100), Fraction(1, 2)):  # a share of the plan has the limits of the whole
        assert mixed.draw(share)[0].left_out == plan.left_out


def test_a_limit_by_size_is_of_each_stage_and_of_everything_where_there_is_no_budget() -> None:
    texts = of_sizes([10] * 90 + [100, 900])
    plan, _ = mixing(texts, "{unit: tokens, tokenizer: bytes, max_share_of_sample: 0.1}").draw()
    assert plan.left_out == {"max_share_of_sample": Amount(1, 900)}  # the limit is a tenth of 1,900
    stages = "stages: {small: {budget: 200}, large: {budget: 1_800}}"
    plan, _ = mixing(texts, f"{{unit: tokens, tokenizer: bytes, max_share_of_sample: 0.1, {stages}}}").draw()
    assert plan.left_out == {"max_share_of_sample": Amount(1, 900)}
    assert_told_each(
        [note.partition(" tokens")[0] for output in plan.outputs for note in output.notes[:1]],
        ("2 samples", "20"),
        ("1 sample", "180"),
    )
    tiny = "{unit: tokens, tokenizer: bytes, max_share_of_sample: 0.1, budget: 1e9}"  # of which 4 epochs are 7,600
    assert mixing(texts, tiny).draw()[0].left_out == {"max_share_of_sample": Amount(1, 900)}


def test_a_source_of_long_samples_alone_is_said_to_be_that() -> None:
    texts = [*many(40), Text("books", "fra_Latn", 90_000)]
    mix = "{unit: tokens, tokenizer: bytes, budget: 2_000, sources: {web: 0.9, books: 0.1}, max_share_of_sample: 0.1}"
    with assert_refused(RecipeError, "'books'", "mix.max_share_of_sample"):
        mixing(texts, mix).draw()


def test_a_sample_is_named_for_its_share_only_if_it_is_much_longer_than_others() -> None:
    assert mixing(of_sizes([50] * 9), tokens_mix(450)).draw()[0].outputs[0].notes == ()  # each is 11 %
    (note,) = mixing(of_sizes([9] * 500 + [600]), "{unit: tokens, tokenizer: bytes}").draw()[0].outputs[0].notes
    assert " is 11.8 % of it: 600 tokens; " in note
