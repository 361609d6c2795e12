"""The level of families by the law: `sampling.by_law` in whole units."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused, assert_told
from tests.property_sizes import scaled
from tests.scoring.laws import law
from tests.scoring.mixture.stages import cell, families, stage
from winnow.schemas.errors import RecipeError
from winnow.schemas.law import ScalingLaw
from winnow.schemas.recipe import StageConfig
from winnow.scoring.mixture.allocation import Cell, allocate
from winnow.scoring.sampling import Inventory, Mixture, by_law
from winnow.scoring.scaling_law.mixing import RatioObjective, family_ratios

LAW = law()
KNOWN = {"germanic": 6_000_000, "indic": 1_000_000, "slavic": 3_000_000}


def lawful(more: str = "") -> StageConfig:
    return stage(f"{{unit: tokens, tokenizer: bytes, families: {{law: law.json{more}}}}}")


def inventory(units: dict[str, int], budget: int, max_epochs: float) -> Inventory:
    return Inventory({name: float(count) for name, count in units.items()}, float(budget), max_epochs)


def map_in_order(found: Mixture, units: dict[str, int]) -> list[float]:
    return [found.tokens[found.families.index(name)] for name in units]


unfitted = st.sampled_from(["proportional", "temperature", "unimax"])


@settings(deadline=None, max_examples=scaled(20))
@given(
    st.dictionaries(st.sampled_from(["turkic", "uralic", "unclassified"]), st.integers(10**4, 10**8)),
    st.lists(st.integers(10**4, 10**8), min_size=3, max_size=3),
    unfitted,
    st.booleans(),
    st.floats(0.05, 1),
    st.sampled_from([1.0, 4.0, 10.0]),
)
def test_it_is_the_laws_mixture(
    others: dict[str, int], known: list[int], fallback: str, repeats: bool, part: float, max_epochs: float
) -> None:
    units = {**dict(zip(KNOWN, known, strict=True)), **others}
    budget = int(part * max_epochs * sum(units.values()))
    config = lawful(f", unfitted: {fallback}, repeats: {str(repeats).lower()}")
    found = allocate(families(units), config, budget, max_epochs, LAW, "tokens")
    wanted = by_law(inventory(units, budget, max_epochs), LAW, repeats=repeats, unfitted=fallback)  # type: ignore[arg-type]
    assert found.target == pytest.approx(map_in_order(wanted, units), rel=1e-6, abs=2)
    assert sum(found.target) == sum(found.asked) == budget


def test_of_losses_that_weigh_alike_the_size_of_the_model_and_the_whole_budget_say_the_shares() -> None:
    config = lawful(", objective: uniform, n: 5e8")
    found = allocate(families(KNOWN), config, 2_000_000, 4.0, LAW, "tokens")
    wanted = by_law(inventory(KNOWN, 2_000_000, 4.0), LAW, "uniform", 5e8)
    assert found.target == pytest.approx(map_in_order(wanted, KNOWN), rel=1e-7, abs=1)
    # The law's D is what is trained on in all, so a source of half of it shares as the whole does.
    cells = [*families(KNOWN), *(cell(f"/books/{name}/{name}", count) for name, count in KNOWN.items())]
    halves = allocate(cells, config, 2_000_000, 4.0, LAW, "tokens").target
    assert [2 * units for units in halves[:3]] == pytest.approx(list(found.target), abs=2)
    assert halves[:3] == halves[3:]


def test_within_caps_the_rest_goes_where_the_law_wants_it() -> None:
    units = {"germanic": 6_000_000, "indic": 10_000, "slavic": 3_000_000}
    found = allocate(families(units), lawful(), 3_000_000, 4.0, LAW, "tokens")
    assert found.target[1] == 40_000
    assert found.target == pytest.approx(map_in_order(by_law(inventory(units, 3_000_000, 4.0), LAW), units), abs=2)
    assert found.asked[1] > 1_000_000


def test_what_earlier_stages_gave_bounds_the_law() -> None:
    cells = [cell(f"//{name}/{name}", count, exposed=2 * count) for name, count in KNOWN.items()]
    cells[1] = replace(cells[1], exposed=4_000_000)
    found = allocate(cells, lawful(), 5_000_000, 4.0, LAW, "tokens")
    assert found.target[1] == 0
    two = {name: count for name, count in KNOWN.items() if name != "indic"}
    assert [found.target[0], found.target[2]] == pytest.approx(
        map_in_order(by_law(inventory(two, 5_000_000, 4.0), LAW), two), abs=2
    )


def test_what_the_law_does_not_know_is_noted_with_what_it_got() -> None:
    units = {**KNOWN, "turkic": 200_000, "unclassified": 100_000}
    found = allocate(families(units), lawful(", unfitted: proportional"), 1_030_000, 4.0, LAW, "tokens")
    assert found.target[3:] == (20_000, 10_000)
    assert_told(found.notes[0], "law:", "turkic 20,000", "unclassified 10,000", whole=True)
    assert_told(found.notes[1], "law:", "1.03e+06", "971 times", "1e+09", whole=True)


def test_a_source_of_families_that_the_law_lacks_gets_the_fallback_alone() -> None:
    cells = [*families(KNOWN), cell("/code/unclassified/zxx", 500), cell("/code/uralic/fin", 1500)]
    text = "{families: {law: law.json, unfitted: proportional}, sources: {crawl: 0.9, code: 0.1}}"
    assert allocate(cells, stage(text), 10_000, 4.0, LAW, "samples").target[3:] == (250, 750)


GAMMAS = {"Germanic": 0.08, "Indic": 0.15, "Slavic": 0.10}
TWO_SOURCES = [
    *(cell(f"/crawl/{name}/{name}", 10**9) for name in GAMMAS),
    cell("/books/Germanic/deu", 10**9),
]


def of_three() -> ScalingLaw:
    """A law of exponents alone."""
    plain = law("gamma")
    return replace(plain, families=tuple(replace(one, family=one.family.capitalize()) for one in plain.families))


def total_of(shares: dict[str, float]) -> float:
    return float(sum(share ** -GAMMAS[name] for name, share in shares.items()))


def shares_of(cells: Sequence[Cell], target: Sequence[int]) -> dict[str, float]:
    found = dict.fromkeys(GAMMAS, 0.0)
    for one, units in zip(cells, target, strict=True):
        found[one.stratum.family] += units / sum(target)
    return found


def test_the_share_of_a_law_is_of_the_whole_mixture_and_not_of_one_source() -> None:
    text = "{families: {law: law.json}, sources: {crawl: 0.6, books: 0.4}}"
    found = allocate(TWO_SOURCES, stage(text), 10**8, 4.0, of_three(), "samples")
    shares = shares_of(TWO_SOURCES, found.target)
    assert [shares[name] for name in GAMMAS] == pytest.approx([0.40, 0.36, 0.24], abs=0.005)
    assert total_of(shares) <= 3.3952
    assert sum(found.target[:3]) == 6 * 10**7
    assert found.target == found.asked


def test_where_every_source_has_everything_the_shares_are_those_of_winnow_law_ratios() -> None:
    cells = [cell(f"/{source}/{name}/{name}", 10**12) for source in ("crawl", "books", "wiki") for name in GAMMAS]
    text = "{families: {law: law.json}, sources: {crawl: 0.6, books: 0.3, wiki: 0.1}}"
    shares = shares_of(cells, allocate(cells, stage(text), 10**9, 4.0, of_three(), "tokens").target)
    wanted = family_ratios(of_three(), RatioObjective())
    assert [shares[name] for name in wanted.families] == pytest.approx(list(wanted.shares), abs=1e-6)


def test_without_shares_of_sources_families_are_taken_from_wherever_they_are() -> None:
    cells = [cell("/crawl/Germanic/deu", 10**9), cell("/indic/Indic/hin", 10**6), cell("/slavic/Slavic/rus", 10**6)]
    found = allocate(cells, stage("{families: {law: law.json}}"), 10**6, 4.0, of_three(), "samples")
    wanted = dict(
        zip(*(lambda one: (one.families, one.shares))(family_ratios(of_three(), RatioObjective())), strict=True)
    )
    assert shares_of(cells, found.target) == pytest.approx(wanted, abs=1e-5)


def test_warnings_are_about_shares_of_the_whole_mixture() -> None:
    """In books Germanic has everything and in the crawl nothing; of the whole it has what the law wants."""
    text = "{families: {law: law.json}, sources: {crawl: 0.6, books: 0.4}}"
    notes = allocate(TWO_SOURCES, stage(text), 10**8, 4.0, of_three(), "tokens").notes
    assert not any("law: " in note and " p " in note for note in notes)
    little = "{families: {law: law.json}, sources: {crawl: 0.05, books: 0.95}}"
    notes = allocate(TWO_SOURCES, stage(little), 10**8, 4.0, of_three(), "tokens").notes
    assert [note.split(" p ")[0] for note in notes if " p " in note] == ["law: Indic:", "law: Slavic:"]
    assert all(note.endswith("times below the smallest fitted value (0.1)") for note in notes if " p " in note)


def test_families_without_an_exponent_are_told_the_runs_that_give_one() -> None:
    cells = [cell("//Germanic/deu_Latn", 1000), cell("//Turkic/tur_Latn", 1000), cell("//unclassified/zxx", 10)]
    config = lawful(", by: group")
    elsewhere = replace(config, place=replace(config.place, file="/data/elsewhere/recipe.yaml"))
    note, same = (allocate(cells, one, 1000, 4.0, of_three(), "tokens").notes[0] for one in (config, elsewhere))
    assert note == same  # a plan has no path
    assert_told(note, "winnow law", "recipe.yaml", "--grid", "grid.yaml")


def of_groups() -> ScalingLaw:
    """The law, of groups as they are written."""
    return replace(LAW, families=tuple(replace(one, family=one.family.capitalize()) for one in LAW.families))


def test_a_law_of_another_grouping_is_refused_with_what_to_write() -> None:
    cells = [cell("//Indo-European/deu_Latn", 10), cell("//Uralic/fin_Latn", 10)]
    with pytest.raises(RecipeError) as refused:
        allocate(cells, lawful(), 10, 4.0, of_groups(), "tokens")
    assert_told(str(refused.value), "recipe.yaml:1", "mix.families.law", "'law.json'", "paper5", whole=True)


def test_where_only_some_families_miss_the_note_says_of_what_grouping_the_others_are() -> None:
    of = of_groups()
    turkic = replace(of, families=(*of.families[1:], replace(of.families[0], family="Turkic")))
    cells = [cell("//Indo-European/deu_Latn", 1000), cell("//Turkic/tur_Latn", 1000)]
    note = allocate(cells, lawful(), 1000, 4.0, turkic, "tokens").notes[0]
    assert_told(note, "law:", "fitted exponent")
    assert_told(note, "Slavic are families")


def test_other_units_than_tokens_are_said_to_count_as_d() -> None:
    notes = allocate(families(KNOWN), lawful(), 1_000_000, 4.0, LAW, "bytes").notes
    assert_told(notes, "law:", "1,000,000")


def test_a_law_that_cannot_answer_is_one_clear_line() -> None:
    with assert_refused(
        RecipeError,
        "recipe.yaml:1",
        "mix.families.law",
        "'law.json'",
    ):
        allocate(families({"germanc": 10}), lawful(), 10, 4.0, LAW, "tokens")
    with pytest.raises(RecipeError, match=r"recipe\.yaml:1: mix\.families\.law: N and D are required"):
        allocate(families(KNOWN), lawful(", objective: uniform"), 1_000, 4.0, LAW, "tokens")
    with assert_refused(RecipeError, "mix.families.law"):
        allocate(families(KNOWN), lawful(", objective: uniform, n: 5e8"), 1_000, 4.0, law("gamma"), "tokens")
    with assert_refused(ValueError, "law law.json"):
        allocate(families(KNOWN), lawful(), 1_000, 4.0, None, "tokens")


mixed = st.lists(
    st.tuples(
        st.sampled_from(["web/crawl", "web/forum", "books/shelf"]),
        st.sampled_from([*KNOWN, "turkic"]),
        st.integers(1, 10**6),
        st.integers(0, 10**6),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda row: row[:2],
).map(lambda rows: [cell(f"{a}/{b}/{b}", units, min(seen, 4 * units)) for a, b, units, seen in rows])
"""Earlier stages gave no more than four epochs of a stratum."""


@settings(deadline=None, max_examples=scaled(25))
@given(mixed, st.sampled_from(["", "sources", "classes"]), st.booleans(), st.floats(0.001, 1))
def test_any_mixture_by_a_law_sums_keeps_its_caps_and_knows_no_order(
    cells: list[Cell], level: str, repeats: bool, part: float
) -> None:
    if not {one.stratum.family for one in cells} & set(KNOWN):
        return
    names = sorted({one.stratum.source if level == "sources" else one.stratum.source_class for one in cells})
    shares = ", ".join(f"{name}: {share}" for name, share in zip(names, SHARES[len(names)], strict=True))
    text = (
        f"{{families: {{law: law.json, repeats: {str(repeats).lower()}}}{f', {level}: {{{shares}}}' if level else ''}}}"
    )
    room = sum(max(4 * one.available.units - one.exposed, 0) for one in cells)
    if (budget := int(part * room)) == 0:
        return
    found = allocate(cells, stage(text), budget, 4.0, LAW, "tokens")
    assert sum(found.target) == sum(found.asked) == budget
    for one, units in zip(cells, found.target, strict=True):
        assert 0 <= units <= max(4 * one.available.units - one.exposed, 0)
    turned = allocate(cells[::-1], stage(text), budget, 4.0, LAW, "tokens")
    assert (turned.target[::-1], turned.asked[::-1], turned.notes) == (found.target, found.asked, found.notes)


SHARES = {1: ["1.0"], 2: ["0.7", "0.3"], 3: ["0.5", "0.3", "0.2"]}
