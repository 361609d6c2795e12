"""What is drawn, found again by hand: stages and their ledger, laws, bands.

A stratum's copies have one order, (copy, hash of the id); given are the first of them, up to where they are nearest to
the target.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from tests.messages import assert_told
from tests.runners.mixtures.tiny import Drawn, Tiny, winnow
from tests.runners.stages.law.conftest import EXAMPLE
from winnow.pipelines.mix.plans import PlanRecord
from winnow.schemas.languages import grouping
from winnow.schemas.mixture import PlannedOutput, PlannedStratum
from winnow.scoring.mixture.orders import draw_order, key_of

Copies = list[tuple[str, int]]
Member = Callable[[str, PlannedStratum, PlannedOutput], bool]


def place(identity: str, seed: int) -> int:
    """The place of an id in the order of the draw."""
    words = np.array([int(identity[:16], 16)], np.uint64), np.array([int(identity[16:], 16)], np.uint64)
    return int(draw_order(words, key_of(seed, "draw"))[0])


def given(
    tiny: Tiny, members: list[str], target: int, before: Mapping[str, int] | None = None, *, samples: bool = False
) -> Copies:
    """The copies that come nearest to a target, one by one, and at least one."""
    first = before or {}
    places = {one: place(one, 7) for one in members}
    order = sorted((first.get(one, 0) + more, places[one], one) for one in members for more in range(20))
    found: Copies = []
    left = target
    for copy, _, one in order:
        size = 1 if samples else tiny.rows[one].size
        if left <= 0 or (found and 2 * left < size):
            break
        found.append((one, copy))
        left -= size
    return found


def check(tiny: Tiny, record: PlanRecord, drawn: Drawn, member: Member) -> None:
    """Every stratum of every stage gives the first copies of its order, from where earlier stages stopped."""
    before: Counter[str] = Counter()
    samples = record.plan.unit == "samples"
    for output in record.plan.outputs:
        expected: Counter[tuple[str, int]] = Counter()
        for one in output.strata:
            members = [identity for identity in tiny.rows if member(identity, one, output)]
            units = {identity: 1 if samples else tiny.rows[identity].size for identity in members}
            assert one.available.samples == len(members)
            assert one.available.units == sum(units.values())
            assert one.exposed == sum(before[identity] * units[identity] for identity in members)
            expected.update(given(tiny, members, one.target, before, samples=samples))
        assert drawn[output.name] == expected
        before.update(identity for identity, _ in drawn[output.name].elements())


def of_language(tiny: Tiny, identity: str, one: PlannedStratum) -> bool:
    row = tiny.rows[identity]
    return (row.source, row.language) == (one.stratum.source, one.stratum.language)


def test_stages_go_on_where_those_before_them_stopped(tiny: Tiny) -> None:
    tiny.write(
        "{unit: tokens, tokenizer: bytes, max_epochs: 3, stages: {"
        "core: {budget: 100_000, languages: {temperature: 3}}, "
        "more: {budget: 90_000, sources: {web: 0.6, books: 0.4}}, "
        "long: {budget: 30_000, where: text.length.bytes >= 900}}}"
    )
    record, drawn = tiny.mix()
    sizes = tiny.values("text.length", "bytes")

    def member(identity: str, one: PlannedStratum, output: PlannedOutput) -> bool:
        return of_language(tiny, identity, one) and (output.name != "long" or sizes[identity] >= 900)

    check(tiny, record, drawn, member)
    every = drawn["core"] + drawn["more"] + drawn["long"]
    assert set(every.values()) == {1}  # no copy twice
    assert max(copy for _, copy in every) <= 2
    assert {sizes[identity] >= 900 for identity, _ in drawn["long"]} == {True}
    for output, budget in zip(record.plan.outputs, (100_000, 90_000, 30_000), strict=True):
        assert sum(one.target for one in output.strata) == output.budget == budget


def test_what_is_held_out_is_whole_clusters_and_in_no_stage(tiny: Tiny) -> None:
    tiny.write(
        "{unit: tokens, tokenizer: bytes, split: {validation: 0.15, min_samples: 3}, "
        "stages: {core: {budget: 60_000}, more: {budget: 50_000, bands: {by: text.length.bytes, top: 0.5}}}}"
    )
    _, drawn = tiny.mix()
    clusters = tiny.values("dedupe.near", "cluster")
    held = {identity for identity, _ in drawn["validation"]}
    rest = {identity for identity, _ in drawn["core"] + drawn["more"]}
    assert held
    assert len(held) == drawn["validation"].total()
    assert not {clusters[identity] for identity in held} & {clusters[identity] for identity in rest}


def draw_bands(tiny: Tiny, mix: str, band_of: Callable[[str], str]) -> tuple[PlanRecord, Drawn]:
    """Draw a mixture of bands; `band_of` says which one an id is in."""
    tiny.write(mix)
    record, drawn = tiny.mix()

    def member(identity: str, one: PlannedStratum, _: PlannedOutput) -> bool:
        return of_language(tiny, identity, one) and band_of(identity) == one.stratum.band

    check(tiny, record, drawn, member)
    return record, drawn


def test_the_top_share_by_a_score(tiny: Tiny) -> None:
    """The fewest samples with the highest values that hold the share of the language's units."""
    scores = tiny.values("text.language", "score")

    def top(identity: str) -> bool:
        row = tiny.rows[identity]
        kin = [i for i, one in tiny.rows.items() if (one.source, one.language) == (row.source, row.language)]
        whole = sum(tiny.rows[one].size for one in kin)
        return sum(tiny.rows[one].size for one in kin if scores[one] > scores[identity]) < whole * 0.25

    _, drawn = draw_bands(
        tiny,
        "{unit: tokens, tokenizer: bytes, bands: {by: text.language.score, top: 0.25}}",
        lambda identity: "b01" if top(identity) else "b00",
    )
    assert {identity for identity, _ in drawn["train"]} == {identity for identity in tiny.rows if top(identity)}


def test_a_softmax_over_bands(tiny: Tiny) -> None:
    """Bands of one size, as far as whole samples go, get shares of exp(mean / temperature)."""
    values = tiny.values("text.length", "characters")
    tiny.write(
        "{unit: tokens, tokenizer: bytes, budget: 20_000, sources: {books: 1}, languages: {weights: {fra_Latn: 1}}, "
        "max_epochs: 9, bands: {by: text.length.characters, softmax: 500, count: 3}}"
    )
    record, drawn = tiny.mix()
    strata = [one for one in record.plan.output("train").strata if one.stratum.language == "fra_Latn"]
    bands: dict[str, list[str]] = {one.stratum.band: [] for one in strata}
    french = sorted((i for i, row in tiny.rows.items() if row.language == "fra_Latn"), key=lambda i: values[i])
    total, held, number = sum(tiny.rows[i].size for i in french), 0, 0
    for identity in french:  # a band ends with the sample that reaches its third
        bands[f"b{number:02d}"].append(identity)
        held += tiny.rows[identity].size
        while number < 2 and held >= total * (number + 1) // 3:
            number += 1
    assert [one.available.samples for one in strata] == [len(bands[one.stratum.band]) for one in strata]
    weights = [
        one.available.units * math.exp(float(np.mean([values[i] for i in bands[one.stratum.band]])) / 500)
        for one in strata
    ]
    for one, weight in zip(strata, weights, strict=True):
        assert one.asked == pytest.approx(20_000 * weight / sum(weights), abs=2)
    assert drawn["train"] == Counter(
        copy for one in strata for copy in given(tiny, bands[one.stratum.band], one.target)
    )


def test_shares_of_cuts(tiny: Tiny) -> None:
    values = tiny.values("text.length", "bytes")
    record, _ = draw_bands(
        tiny,
        "{unit: samples, tokenizer: bytes, budget: 60, sources: {web: 1}, languages: {weights: {deu_Latn: 1}}, "
        "bands: {by: text.length.bytes, cuts: [600, 1000], weights: [0.5, 0.3, 0.2]}}",
        lambda identity: f"b{sum(values[identity] >= cut for cut in (600, 1000)):02d}",
    )
    asked = {one.stratum.band: one.asked for one in record.plan.outputs[0].strata if one.asked}
    assert asked == {"b00": 30, "b01": 18, "b02": 12}


@pytest.mark.parametrize(
    ("bands", "repeats"),
    [
        ("rehydrate: fineweb2", {1: 1, 2: 2, 6: 5}),
        ("repeats: [{at: 1, repeats: 0}, {at: 2, repeats: 4}, {at: 3, repeats: 2}]", {1: 0, 2: 4, 6: 2}),
    ],
)
def test_repeats_by_the_size_of_a_cluster(tiny: Tiny, bands: str, repeats: dict[int, int]) -> None:
    sizes = tiny.values("dedupe.near", "size")
    tiny.write(f"{{unit: samples, tokenizer: bytes, max_epochs: 9, bands: {{by: dedupe.near.size, {bands}}}}}")
    _, drawn = tiny.mix()
    assert set(sizes.values()) == {1, 2, 6}
    times = Counter(identity for identity, _ in drawn["train"])
    assert times == Counter({identity: repeats[size] for identity, size in sizes.items() if repeats[size]})


def law_of(tiny: Tiny, names: Mapping[str, str]) -> None:
    """`law.json`: fitted a moment ago to a synthetic table, whose families are called so."""
    lines = EXAMPLE.read_text().splitlines()
    rows = [line.split(",") for line in lines if ",4e7,2e9," in line]
    header = [line for line in lines if line.startswith(("#", "family"))]
    table = [*header, *(",".join([names[family], *rest]) for family, *rest in rows)]
    (tiny.folder / "runs.csv").write_text("\n".join(table) + "\n")
    law = tiny.folder / "law.json"
    winnow("law", "fit", tiny.folder / "runs.csv", "--mode", "gamma", "--resamples", "20", "--output", law)


NAMES = {"Germanic": "Germanic", "Indic": "Indic", "Slavic": "Slavic"}
BY_LAW = "{unit: tokens, tokenizer: bytes, budget: 60_000, families: {by: group, law: law.json}}"


def test_families_by_a_law_that_was_just_fitted(tiny: Tiny) -> None:
    """What the law's own command says is what families are asked for."""
    law_of(tiny, NAMES)
    tiny.write(BY_LAW.replace("families", "sources: {web: 1}, families"))
    record, drawn = tiny.mix()
    asked: Counter[str] = Counter()
    for one in record.plan.output("train").strata:
        assert grouping("group").of(one.stratum.language[:3]) == one.stratum.family
        asked[one.stratum.family] += one.asked
    said = json.loads(winnow("law", "ratios", tiny.folder / "law.json", "--json"))["ratios"]
    for family, share in zip(said["families"], said["shares"], strict=True):
        assert asked[family] / 60_000 == pytest.approx(share, abs=1e-4)
    check(tiny, record, drawn, lambda identity, one, _: of_language(tiny, identity, one))


def test_a_law_of_groups_is_refused_where_families_are_no_groups(tiny: Tiny) -> None:
    law_of(tiny, NAMES)
    tiny.write(BY_LAW.replace("by: group, ", ""))
    said = (
        "mix.families.law: 'law.json' covers Germanic, Indic, Slavic, none of which is a family with by: family; "
        "write by: group or "
        "by: paper5 under families\n"
    )
    for command in ("mix", "run"):  # before anything is measured
        assert tiny.complaint(command).endswith(said)


def test_a_law_of_whole_families_is_refused_where_the_mixture_is_of_their_groups(tiny: Tiny) -> None:
    law_of(tiny, {"Germanic": "Indo-European", "Indic": "Uralic", "Slavic": "Turkic"})
    tiny.write(BY_LAW)
    assert_told(tiny.complaint("mix"), "family under families")


def test_families_that_the_law_does_not_know_are_named(tiny: Tiny) -> None:
    law_of(tiny, NAMES)
    tiny.write(BY_LAW)
    (note,) = [line for line in tiny.run("mix").splitlines() if "no fitted exponent" in line]
    assert_told(note, "unimax instead")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        # Else the law would know nothing of them, and they would be given what others are.
        ({**NAMES, "Slavic": "slavic"}, "mix.families.law … 'law.json' … 'slavic'"),
        (
            {"Germanic": "Turkic", "Indic": "Bantu", "Slavic": "Semitic"},
            "'law.json' … these families",
        ),
    ],
)
def test_laws_that_call_families_otherwise(tiny: Tiny, names: Mapping[str, str], said: str) -> None:
    law_of(tiny, names)
    tiny.write(BY_LAW)
    assert_told(tiny.complaint("mix"), said)
