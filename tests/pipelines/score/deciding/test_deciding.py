"""What tasks decide is what the row-by-row definition says, however rows, shards, places and partitions are divided."""

import math
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused
from tests.pipelines.score.deciding.oracle import Expected, decided
from tests.pipelines.score.deciding.traces import ONE, SEED, bound_score, decide_on, traced
from tests.property_sizes import scaled
from tests.scoring.selection.rows import SCORES, ids_of
from winnow.pipelines.score.deciding import measuring
from winnow.pipelines.score.deciding.decision import Sizes
from winnow.pipelines.score.deciding.records import DecisionRecord
from winnow.pipelines.store import layout
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.memory import MemoryStore
from winnow.runners.engines.engine import Engine
from winnow.schemas.errors import ScoreError
from winnow.schemas.recipe import FilterConfig
from winnow.scoring.selection import ranked
from winnow.scoring.selection.clusters import two_gaussians
from winnow.scoring.selection.ranks import Floats, Ids

BY = "samples.domain"
FILTERS = [
    FilterConfig(),
    FilterConfig(aggregate="label_model"),
    FilterConfig(aggregate="label_model", constrained=False),
    FilterConfig(binarise="kmeans", by=BY),
    FilterConfig(binarise="top", top=0.4),
    FilterConfig(binarise="top", top=0.3, by=BY, aggregate="label_model"),
    FilterConfig(binarise="threshold", batch=3),
    FilterConfig(binarise="threshold", batch=2, by=BY, temperature=0.3),
]
DIVIDED = Sizes(place_rows=3, group_bytes=200, room=40)
SIZES = (Sizes(), DIVIDED)
_stores = count()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recipes")


def require_as_expected(table: pa.Table, record: DecisionRecord, expected: Expected) -> None:
    """Equal to the last bit."""
    unscored, undecided = ~np.isfinite(expected.score), ~np.isfinite(expected.keep)
    for name, values, absent in (
        ("score", expected.score, unscored),
        ("keep", expected.keep, undecided),
        ("votes", expected.votes, undecided),
        ("checkpoints", expected.checkpoints, unscored),
        ("rank", expected.rank, unscored),
        ("random", expected.random, unscored),
    ):
        found = table[name].to_pylist()
        assert found == [None if none else value for value, none in zip(values.tolist(), absent, strict=True)], name
    assert {one.name: one.steps for one in record.groups} == expected.steps
    for group in record.groups:
        quality = expected.quality[group.name]
        assert group.quality == (None if math.isnan(quality.share) else quality)


@st.composite
def stores(draw: st.DrawFn) -> tuple[Floats, Ids, list[str | None], list[int]]:
    """Rows with scores that tie and lack, in groups and in shards, some of them empty."""
    rows, checkpoints = draw(st.integers(1, 40)), draw(st.sampled_from([1, 3, 4]))
    values = draw(st.lists(SCORES, min_size=rows * checkpoints, max_size=rows * checkpoints))
    groups = draw(st.lists(st.sampled_from(["a", "b", "(null)", None]), min_size=rows, max_size=rows))
    ends = [*sorted(draw(st.lists(st.integers(0, rows), max_size=5))), rows]
    return np.array(values).reshape(rows, checkpoints), ids_of(rows, draw(st.integers(0, 5))), groups, ends


@pytest.mark.parametrize("config", FILTERS, ids=lambda one: f"{one.binarise}-{one.aggregate}-{one.by}")
@settings(deadline=None, derandomize=True, max_examples=scaled(30))
@given(rows=stores(), sizes=st.sampled_from(SIZES))
def test_each_row_and_each_fit_is_as_defined(
    folder: Path,
    config: FilterConfig,
    rows: tuple[Floats, Ids, list[str | None], list[int]],
    sizes: Sizes,
) -> None:
    scores, ids, groups, ends = rows
    _decide(folder, config, scores, ids, groups if config.by else None, ends, sizes)


def _decide(
    folder: Path,
    config: FilterConfig,
    scores: Floats,
    ids: Ids,
    groups: Sequence[str | None] | None,
    ends: Sequence[int],
    sizes: Sizes,
    engine: Engine = ONE,
) -> DecisionRecord:
    bound = bound_score(folder, config, scores.shape[1])
    one = traced(MemoryStore(f"traces {next(_stores)}"), bound, scores, ids, groups, ends)
    table, record = decide_on(one, sizes, engine)
    require_as_expected(table, record, decided(scores, ids, groups, config, SEED))
    return record


def _many(rows: int, checkpoints: int) -> tuple[Floats, Ids, list[str], list[int]]:
    """Rows with two heaps of scores, a third of them rounded so that many tie; a heap of one value; three shards."""
    random = np.random.default_rng(1)
    scores = random.normal(0, 1, (rows, checkpoints)) + 4 * (random.random((rows, 1)) < 0.4)
    scores[::3] = scores[::3].round(1)
    scores[1::5] = 0.25
    scores[random.random(rows) < 0.05] = np.nan
    groups = random.choice(["deu", "eng", "fra"], rows, p=[0.1, 0.89, 0.01]).tolist()
    return scores, ids_of(rows), groups, [rows // 5, rows // 2, rows]


@pytest.mark.parametrize("config", FILTERS, ids=lambda one: f"{one.binarise}-{one.aggregate}-{one.by}")
def test_jobs_of_many_places_and_partitions_give_what_one_process_gives(folder: Path, config: FilterConfig) -> None:
    """Through pipelines: ranges of equal scores are divided by hashes, cuts are found in several passes."""
    scores, ids, groups, ends = _many(3000, 3)
    sizes = Sizes(place_rows=700, group_bytes=20_000, here_rows=0, room=200)
    divided = _decide(folder, config, scores, ids, groups if config.by else None, ends, sizes)
    assert divided == _decide(folder, config, scores, ids, groups if config.by else None, ends, Sizes())


@pytest.mark.beam
@pytest.mark.processes
def test_two_workers_give_the_same_values(folder: Path, tmp_path: Path) -> None:
    scores, ids, groups, ends = _many(2000, 2)
    config = FilterConfig(binarise="top", top=0.3, by=BY)
    traces = traced(LocalStore(tmp_path / "store"), bound_score(folder, config, 2), scores, ids, groups, ends)
    table, record = decide_on(traces, Sizes(place_rows=700, group_bytes=20_000, here_rows=0), Engine("local", 2))
    require_as_expected(table, record, decided(scores, ids, groups, config, SEED))


def test_more_scores_than_bins_are_decided_close_to_row_by_row(folder: Path) -> None:
    """Approximate are the cut of two Gaussians and of two means, and what reports show; ranks and counts are exact."""
    scores, ids, _, ends = _many(60_000, 1)
    one = traced(MemoryStore("many"), bound_score(folder, FilterConfig(), 1), scores, ids, None, ends)
    table, record = decide_on(one, Sizes(place_rows=20_000, here_rows=0))
    expected = decided(scores, ids, None, FilterConfig(), SEED)
    require_as_expected(table, record, expected)  # the histogram of all rows is the same one
    (group,) = record.groups
    finite = scores[np.isfinite(scores)]
    mixture = two_gaussians(*np.unique(finite, return_counts=True))
    assert mixture is not None
    by_rows = mixture.posterior(finite, monotone=True) > 0.5
    assert group.cuts[0].lowest is not None
    assert np.count_nonzero((finite >= group.cuts[0].lowest) != by_rows) <= 3
    for fraction, value in record.score.summary.quantiles:
        assert value == pytest.approx(np.quantile(finite, fraction, method="inverted_cdf"), rel=0.004)
    assert sum(record.score.bars.counts) + record.score.bars.below + record.score.bars.above == len(finite)


def test_a_column_with_too_many_values_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "MAX_GROUPS", 1)
    scores, ids, groups, ends = _many(30, 1)
    for sizes in (Sizes(), Sizes(place_rows=1)):
        with assert_refused(ScoreError, "score.mimic", "filter.by", "samples.domain", "1 values"):
            _decide(folder, FilterConfig(by=BY), scores, ids, groups, ends, sizes)


def test_the_extreme_rows_are_named_by_their_places(folder: Path) -> None:
    scores, ids, _, ends = _many(3000, 1)
    one = traced(MemoryStore("ends"), bound_score(folder, FilterConfig(), 1), scores, ids, None, ends)
    _, record = decide_on(one, Sizes(place_rows=700))
    order = ranked(scores[:, 0], ids, SEED)
    firsts = dict(zip([f"s{number:05d}" for number in range(3)], [0, *ends], strict=False))
    for places, rows in ((record.highest, order[:100]), (record.lowest, order[::-1][:100])):
        assert [firsts[place.shard] + place.row for place in places] == rows.tolist()


def test_an_interrupted_decision_is_finished_by_the_next(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores, ids, _, ends = _many(300, 2)
    config = FilterConfig(binarise="top")
    one = traced(MemoryStore("again"), bound_score(folder, config, 2), scores, ids, None, ends)
    objects, expected = one.store.objects, decided(scores, ids, None, config, SEED)
    record = decide_on(one, Sizes())[1]
    (key,) = {row.key for row in one.state.layers["score.mimic"]}
    commit = layout.layer_commit(layout.set_name({"score.mimic": key}), "s00001")
    for lost in (layout.decision("score.mimic", key), commit):
        objects.delete(lost)
        again = decide_on(one, Sizes(place_rows=100))
        require_as_expected(*again, expected)
        assert again[1] == record
    assert not list(objects.list(layout.SCRATCH))
