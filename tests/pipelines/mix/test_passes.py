"""Plans made in tasks are those of one process: for every feature, whatever the groups, their order and repeats."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused
from tests.pipelines.mix.mixtures import Mixing, Text, mixing
from tests.property_sizes import scaled
from winnow.pipelines.mix import inventory, stage_plans
from winnow.pipelines.mix.banding import exact_parts, summed_values
from winnow.pipelines.mix.passes import largest, summed, sums_by
from winnow.pipelines.running import shard_groups
from winnow.pipelines.running.job_tasks import HERE, ROWS_HERE, ROWS_HERE_VARIABLE, Jobs, LocalJobs, rows_here
from winnow.pipelines.running.linear_jobs import Job, StoringJob
from winnow.schemas.errors import RecipeError, WinnowError
from winnow.schemas.mixture import MixturePlan
from winnow.scoring.mixture.cuts import ordered_key

LANGUAGES = ["deu_Latn", "fra_Latn", "rus_Cyrl", "hin_Deva"]
Drawn = tuple[MixturePlan, dict[str, Counter[tuple[bytes, int]]]]


@dataclass(frozen=True)
class BackwardsTwice(LocalJobs):
    """Runs the last task first, and every task twice."""

    def run(self, job: Job, size: int) -> None:
        """Run a job."""
        assert isinstance(job, StoringJob)
        for _ in range(2):
            for task in reversed(range(job.tasks)):
                for _ in job.store(task):
                    pass


@pytest.fixture
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every shard is a task."""
    monkeypatch.setattr(shard_groups, "TASK_BYTES", 1)


def in_tasks(mixed: Mixing, sample: Fraction = Fraction(1), jobs: Jobs = HERE) -> Drawn:
    """Plan and draw in tasks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ROWS_HERE_VARIABLE, "0")
        return replace(mixed, jobs=jobs).draw(sample)


def texts(rows: int = 150) -> list[Text]:
    """Rows of two sources and classes, some very long, some in clusters."""
    return [
        Text(
            ("web", "books_old", "books_new")[number % 7 % 3],
            LANGUAGES[min(3, number % 10 // 3)],
            5_000 if number == 77 else 40 + number * 37 % 160,
            score=None if number % 11 == 0 else number * 31 % 97,
            cluster=number // 9 if number % 5 == 0 else None,
        )
        for number in range(rows)
    ]


SHARES = "sources: {web: 0.5, books_old: 0.3, books_new: 0.2}"
BY = "by: text.length.characters"
FEATURES = {
    "everything once": "{}",
    "a budget in tokens": "{unit: tokens, tokenizer: bytes, budget: 9_000}",
    "shares of sources": f"{{unit: tokens, tokenizer: bytes, budget: 9_000, {SHARES}}}",
    "shares of classes": "{budget: 100, classes: {web: 0.6, books: 0.4}}",
    "temperature": "{unit: tokens, tokenizer: bytes, budget: 9_000, languages: {temperature: 3.3}}",
    "epochs and copies": f"{{unit: tokens, tokenizer: bytes, budget: 60_000, max_epochs: 5, {SHARES}}}",
    "unimax": "{budget: 400, max_epochs: 4, languages: {unimax: 3}}",
    "the largest share of a sample": "{unit: tokens, tokenizer: bytes, budget: 9_000, max_share_of_sample: 0.02}",
    "a validation split": "{split: {validation: 0.1}}",
    "a split by number": "{split: {validation: 0.02, min_samples: 9, max_share: 0.05}}",
    "top band": f"{{bands: {{{BY}, top: 0.4}}}}",
    "bands by cuts": f"{{bands: {{{BY}, cuts: [20, 60], weights: [0.25, 0, 0.75], nulls: keep}}}}",
    "softmax": f"{{budget: 90, bands: {{{BY}, count: 3, softmax: 20}}}}",
    "repeated bands": f"{{max_epochs: 9, bands: {{{BY}, repeats: [{{at: 30, repeats: 2}}, {{at: 70, repeats: 5}}]}}}}",
    "rehydrated bands": f"{{max_epochs: 20, bands: {{{BY}, rehydrate: fineweb2}}}}",
    "stages": (
        f"{{unit: tokens, tokenizer: bytes, max_epochs: 3, split: {{validation: 0.05}}, max_share_of_sample: 0.1, "
        f"stages: {{core: {{budget: 12_000, languages: {{temperature: 2}}}}, late: {{budget: 9_000, where: "
        f"text.length.characters > 20, bands: {{{BY}, count: 3, softmax: 9}}}}}}}}"
    ),
}


ALWAYS = ("a budget in tokens", "a split by number", "softmax")  # the others take seconds each


@pytest.mark.parametrize(
    "feature", [pytest.param(one, marks=() if one in ALWAYS else pytest.mark.processes) for one in FEATURES]
)
def test_tasks_plan_and_draw_what_one_process_does(feature: str, small_tasks: None) -> None:
    mixed = mixing(texts(), FEATURES[feature], shard_rows=27, name=feature.replace(" ", "-"))
    for sample in (Fraction(1), Fraction(1, 7)) if feature == "stages" else (Fraction(1),):
        here = mixed.draw(sample)
        objects = removed_plans(mixed)
        for jobs in (HERE, BackwardsTwice()):
            assert in_tasks(mixed, sample, jobs) == here
            assert removed_plans(mixed) == objects


def removed_plans(mixed: Mixing) -> list[str]:
    """The objects of plans, whose names have the hashes of their content; they are removed."""
    paths = [info.path for info in mixed.store.objects.list("plans/")]
    for path in paths:
        mixed.store.objects.delete(path)
    return paths


def test_tasks_keep_clusters_of_several_kinds_on_one_side(small_tasks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [replace(one, cluster=number % 40, other=number % 41) for number, one in enumerate(texts(90))]
    mixed = mixing(rows, "{split: {validation: 0.2, max_share: 0.5}}", shard_rows=19, name="joined")
    assert in_tasks(mixed, jobs=BackwardsTwice()) == mixed.draw()
    monkeypatch.setattr(inventory, "MOST_JOINED", 3)
    with assert_refused(RecipeError, "mix.split", "more than 3 clusters", "dedupe"):
        in_tasks(mixed)


def test_more_strata_than_the_driver_holds_are_refused_where_tasks_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_plans, "MOST_STRATA", 3)
    mixed = mixing(texts(), "{}", name="many-strata")
    mixed.plan()
    with assert_refused(RecipeError, "mix: 12 strata", "at most 3", "fewer bands"):
        in_tasks(mixed)


@pytest.mark.parametrize("written", ["-1", "1e6", "ten", "٣"])
def test_a_number_of_rows_that_is_none_is_refused(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rows_here() == ROWS_HERE
    monkeypatch.setenv(ROWS_HERE_VARIABLE, written)
    with assert_refused(WinnowError, ROWS_HERE_VARIABLE, "expected a number of rows"):
        rows_here()


ROWS = st.builds(
    Text,
    st.sampled_from(["web", "books_old", "books_new"]),
    st.sampled_from([*LANGUAGES, None]),
    st.integers(0, 60),
    st.one_of(st.none(), st.integers(0, 9).map(float)),
    st.one_of(st.none(), st.integers(0, 5)),
)
MIXES = st.sampled_from(sorted({*FEATURES} - {"bands by cuts"}))  # which refuses texts without such values


@given(st.lists(ROWS, min_size=1, max_size=40), MIXES, st.integers(3, 15))
@settings(max_examples=scaled(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tasks_plan_any_rows_as_one_process_does(
    small_tasks: None, rows: list[Text], feature: str, shard_rows: int
) -> None:
    rows = [*texts(3), *rows]  # of every source, as plans refuse names of none
    mixed = mixing(rows, FEATURES[feature], shard_rows=shard_rows, name=f"any-{hash((tuple(rows), feature))}")

    def outcome(tasks: bool) -> Drawn | str:
        try:
            return in_tasks(mixed) if tasks else mixed.draw()
        except RecipeError as error:
            return str(error)

    assert outcome(True) == outcome(False)


FLOATS = st.floats(allow_nan=False, width=64)


@given(st.lists(st.tuples(st.integers(0, 3), FLOATS), max_size=40), st.randoms())
def test_sums_of_values_are_exact_in_any_order(rows: list[tuple[int, float]], order: object) -> None:
    parts: list[tuple[int, float]] = list(rows)
    order.shuffle(parts)  # type: ignore[attr-defined]

    def tables() -> Iterator[dict[str, np.ndarray]]:
        for start in range(0, len(parts), 7):
            some = parts[start : start + 7]
            marks = np.array([mark for mark, _ in some], np.int64)
            code, high, low = exact_parts(marks, ordered_key(np.array([value for _, value in some])))
            yield sums_by(code, high=high, low=low)

    table = summed(tables())
    if not rows:
        assert not len(table["key"])
        return
    found = summed_values(table["key"], table["high"], table["low"])
    for mark in {mark for mark, _ in rows}:
        values = [value for one, value in rows if one == mark]
        infinite = [value for value in values if np.isinf(value)]
        whole = sum(map(Fraction, (value for value in values if np.isfinite(value))), Fraction(0))
        if infinite:
            assert found[mark] == sum(infinite) or (np.isnan(found[mark]) and np.isnan(sum(infinite)))
        elif abs(whole) < Fraction(2) ** 1024 - Fraction(2) ** 970:  # from there on, floats are infinite
            assert found[mark] == float(whole)


@given(st.lists(st.lists(st.tuples(st.integers(0, 1 << 40), st.integers(0, 1 << 40)), max_size=9), max_size=9))
def test_tables_add_up_in_any_grouping(shards: list[list[tuple[int, int]]]) -> None:
    def tables() -> Iterator[dict[str, np.ndarray]]:
        for rows in shards:
            keys, units = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
            yield sums_by(keys, units=units)

    every = [row for rows in shards for row in rows]
    sums: Counter[int] = Counter()
    for key, units in every:
        sums[key] += units
    found = summed(tables())
    assert found["key"].tolist() == sorted(sums)
    if every:
        assert dict(zip(found["key"].tolist(), found["units"].tolist(), strict=True)) == sums
        most = largest(tables())
        assert most["rows"].max() <= len(every)
