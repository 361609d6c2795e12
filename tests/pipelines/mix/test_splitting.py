"""The validation split holds out whole clusters, and a part of every language."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_told, assert_told_each
from tests.pipelines.mix.mixtures import Text, identity, mixing
from tests.property_sizes import scaled

LANGUAGES = ["deu_Latn", "fra_Latn"]


def test_validation_and_train_share_no_sample() -> None:
    texts = [Text("web", LANGUAGES[number % 2], 10) for number in range(400)]
    plan, drawn = mixing(texts, "{split: {validation: 0.1}}").draw()
    held, given_ = {i for i, _ in drawn["validation"]}, {i for i, _ in drawn["train"]}
    assert not held & given_
    assert len(held) + len(given_) == 400
    assert [one.given.samples for one in plan.output("validation").strata] == [20, 20]


@settings(max_examples=scaled(30), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 25), st.integers(0, 1)), min_size=4, max_size=120), st.integers(1, 9))
def test_no_cluster_is_on_both_sides(rows: list[tuple[int, int]], tenths: int) -> None:
    texts = [Text("web", LANGUAGES[language], 10, cluster=cluster) for cluster, language in rows]
    mixed = mixing(texts, f"{{split: {{validation: {min(tenths, 5) / 10}}}}}", name=f"clusters-{tenths}")
    _, drawn = mixed.draw()
    cluster_of = {
        identity(f"web-{number // 50:04d}", "web", number % 50): text.cluster for number, text in enumerate(texts)
    }
    sides = {name: {cluster_of[i] for i, _ in copies} for name, copies in drawn.items()}
    assert not sides["train"] & sides.get("validation", set())


def test_every_language_holds_out_the_requested_samples_up_to_half() -> None:
    texts = [Text("web", "deu_Latn", 10) for _ in range(1000)] + [Text("web", "fra_Latn", 10) for _ in range(12)]
    plan, _ = mixing(texts, "{split: {validation: 0.001, min_samples: 10}}").draw()
    held = {one.stratum.language: one.given.samples for one in plan.output("validation").strata}
    assert held == {"deu_Latn": 10, "fra_Latn": 6}
    assert any("hold out half at most" in note for note in plan.output("validation").notes)


def test_a_language_that_is_one_cluster_is_not_held_out() -> None:
    texts = [Text("web", "deu_Latn", 10, cluster=1) for _ in range(10)]
    plan, drawn = mixing(texts, "{split: {validation: 0.2}}").draw()
    assert drawn["validation"] == Counter()
    assert any("one cluster" in note for note in plan.output("validation").notes)


def test_the_split_does_not_depend_on_budget_or_stages() -> None:
    texts = [Text("web", LANGUAGES[number % 2], 10) for number in range(200)]
    small = mixing(texts, "{budget: 10, split: {validation: 0.1}}").draw()[1]["validation"]
    stages = mixing(texts, "{split: {validation: 0.1}, stages: {a: {budget: 50}, b: {budget: 60}}}").draw()[1]
    assert small == stages["validation"]


def test_no_language_holds_out_more_than_half() -> None:
    sizes = {"deu_Latn": 1, "fra_Latn": 2, "ita_Latn": 3, "spa_Latn": 5, "tur_Latn": 100}
    texts = [Text("web", language, 10) for language, rows in sizes.items() for _ in range(rows)]
    plan, _ = mixing(texts, "{split: {validation: 0.5}}").draw()
    held = {one.stratum.language: one.given.samples for one in plan.output("validation").strata}
    assert held == {"fra_Latn": 1, "ita_Latn": 1, "spa_Latn": 2, "tur_Latn": 50}
    (note,) = plan.output("validation").notes
    assert_told(note, "held out", "deu_Latn")


def test_a_store_of_one_row_holds_out_nothing() -> None:
    _, drawn = mixing([Text("web", "deu_Latn", 10)], "{split: {validation: 0.01}}").draw()
    assert (drawn["train"].total(), drawn["validation"].total()) == (1, 0)


@settings(max_examples=scaled(30), deadline=None)
@given(st.integers(1, 40), st.lists(st.integers(1, 5), max_size=12), st.integers(1, 5))
def test_a_language_with_shared_clusters_holds_out_at_most_half_of_its_samples(
    large: int, small: list[int], tenths: int
) -> None:
    sizes = [large, *small]
    texts = [Text("web", "deu_Latn", 10, cluster=number) for number, size in enumerate(sizes) for _ in range(size)]
    name = "-".join(map(str, sizes))
    _, drawn = mixing(texts, f"{{split: {{validation: {tenths / 10}}}}}", name=f"large-{name}").draw()
    assert drawn["validation"].total() <= sum(sizes) // 2
    assert drawn["validation"].total() + drawn["train"].total() == sum(sizes)


def test_a_language_that_holds_out_too_few_samples_is_named() -> None:
    german = [Text("web", "deu_Latn", 10, cluster=number // 2) for number in range(200)]
    french = [Text("web", "fra_Latn", 10, cluster=500) for _ in range(8)]
    plan, _ = mixing([*german, *french], "{split: {validation: 0.01, min_samples: 3}}").draw()
    held = {one.stratum.language: one.given.samples for one in plan.output("validation").strata}
    assert held == {"deu_Latn": 4}
    assert_told(" ".join(plan.output("validation").notes), "3 samples", "fra_Latn")


def test_a_small_share_of_few_samples_is_capped_in_every_language() -> None:
    german = [Text("web", "deu_Latn", 10 + number) for number in range(200)]
    korean = [Text("web", "kor_Hang", 10, cluster=1) for _ in range(16)] + [Text("web", "kor_Hang", 20)]
    plan, _ = mixing([*german, *korean], "{split: {validation: 0.001}}").draw()
    held = {one.stratum.language: one.given.samples for one in plan.output("validation").strata}
    assert held == {"deu_Latn": 1}
    notes = " ".join(plan.output("validation").notes)
    assert_told(notes, "kor_Hang", "5 %")


def test_clusters_above_the_cap_are_named_whatever_the_share_the_largest_first() -> None:
    korean = [Text("web", "kor_Hang", 10, cluster=1) for _ in range(30)]
    french = [Text("web", "fra_Latn", 10, cluster=2) for _ in range(3)]
    more = [Text("web", "fra_Latn", 10) for _ in range(17)]
    german = [Text("web", "deu_Latn", 10, cluster=10 + number // 2) for number in range(200)]
    texts = [*german, *french, *more, *korean]
    for share in (0.001, 0.01, 0.45):
        mix = f"{{unit: samples, split: {{validation: {share}, max_share: 0.011}}}}"
        plan, drawn = mixing(texts, mix).draw()
        ids = {i.hex() for i, _ in drawn["train"]}
        (note,) = [one for one in plan.output("validation").notes if "that of sample" in one]
        first, *others = note.partition("that of sample ")[2].split(", that of sample ")
        assert first[:32] in ids
        assert first[32:] == " (30 samples, 100 % of kor_Hang)"
        expected = [] if share == 0.45 else [" (3 samples, 15 % of fra_Latn)"]
        assert [one[32:] for one in others] == expected


def test_more_than_the_cap_for_the_sake_of_min_samples_is_named() -> None:
    texts = [Text("web", "deu_Latn", 10) for _ in range(1000)] + [Text("web", "fra_Latn", 10) for _ in range(12)]
    plan, _ = mixing(texts, "{split: {validation: 0.001, min_samples: 2}}").draw()
    held = {one.stratum.language: one.given.samples for one in plan.output("validation").strata}
    assert held == {"deu_Latn": 2, "fra_Latn": 2}
    assert_told_each(plan.output("validation").notes, ("min_samples", "5 %", "fra_Latn", "16.7 %"))


@settings(max_examples=scaled(30), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2), st.integers(1, 60)), min_size=1, max_size=90),
    st.sampled_from(["0.001", "0.02", "0.05", "0.3"]),
    st.sampled_from([0.001, 0.05, 0.2]),
)
def test_no_language_holds_out_more_than_the_cap_and_no_cluster_is_cut(
    rows: list[tuple[int, int, int]], share: str, cap: float
) -> None:
    names = [*LANGUAGES, "kor_Hang"]
    texts = [
        Text("web", names[language], size, cluster=cluster if cluster < 12 else None)
        for cluster, language, size in rows
    ]
    mix = f"{{unit: tokens, tokenizer: bytes, split: {{validation: {share}, max_share: {cap}}}}}"
    _, drawn = mixing(texts, mix, name="capped").draw()
    held = {i for i, _ in drawn["validation"]}
    of = {identity(f"web-{number // 50:04d}", "web", number % 50): text for number, text in enumerate(texts)}
    most = max(float(share), cap)
    for name in names:
        mine = [(one, text) for one, text in of.items() if text.language == name]
        out = [text for one, text in mine if one in held]
        assert len(out) <= most * len(mine) + 1e-9
        assert sum(text.tokens or 0 for text in out) <= most * sum(text.tokens or 0 for _, text in mine) + 1e-6
    sides = [{of[one].cluster for one, _ in drawn[name]} - {None} for name in ("train", "validation")]
    assert not sides[0] & sides[1]
