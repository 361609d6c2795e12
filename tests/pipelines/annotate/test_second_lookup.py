"""A lookup and a comparison of one operator in a row: compared is what the lookup's answers say, shard by shard."""

import itertools
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.filters.text.test_repeated_substrings import batch_of, measured
from winnow.filters.text.repeated_substrings import ID, OPERATOR
from winnow.pipelines.annotate.cross_rows import CrossRowJob
from winnow.pipelines.annotate.row_comparisons import RowComparisonJob
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.operators import BoundOperator
from winnow.pipelines.running.job_steps import JobSteps
from winnow.pipelines.running.shard_list import ListedShard, ShardList, put_shard_list
from winnow.pipelines.store import layout
from winnow.pipelines.store.memory import MemoryStore
from winnow.pipelines.store.tables import put_table
from winnow.pipelines.transforms.batches import recipe_of

_NUMBERS = itertools.count()
SETTINGS: dict[str, Any] = {"min_tokens": 4}


def bound_operator() -> BoundOperator:
    source = {"lines": {"root": ".", "files": ["*"], "class": "public"}}
    return bind(recipe_of("test", {"sources": source, "annotate": [{OPERATOR.name: SETTINGS}]})).operators[0]


def found(shards: Sequence[Sequence[tuple[int, str]]], groups: int) -> dict[int, dict[str, Any]]:
    """The layer of each row, by its number, of shards of numbered texts."""
    objects, bound, listed = MemoryStore(f"test-{next(_NUMBERS)}"), bound_operator(), []
    for number, rows in enumerate(shards):
        batch = batch_of([text for _, text in rows], [row for row, _ in rows])
        put = put_table(
            objects, pa.table({"id": batch[ID], "text": batch["text"]}), (f"s{number}." + "{}.parquet").format
        )
        listed.append(ListedShard(f"s{number}", "lines", len(rows), {layout.SAMPLES: put.path}))
    shard_list = ShardList(objects, put_shard_list(objects, "test", listed), "scratch", ListedShard, groups)
    first = CrossRowJob(bound, JobSteps(objects, "scratch"), shard_list, 2)
    second = RowComparisonJob(bound, JobSteps(objects, "second"), shard_list, 3, first)
    for job in (first, second):
        job.job.run_in_process()
    return {
        row: values
        for number, rows in enumerate(shards)
        for (row, _), values in zip(
            rows,
            second.kernel(f"s{number}")(batch_of([text for _, text in rows], [row for row, _ in rows])).to_pylist(),
            strict=True,
        )
    }


@given(
    st.lists(st.text("abc", min_size=0, max_size=12).map(" ".join), min_size=1, max_size=7),
    st.lists(st.integers(0, 3), min_size=7, max_size=7),
    st.integers(1, 4),
    st.randoms(),
)
def test_rows_get_the_same_however_they_are_divided_into_shards(
    texts: list[str], places: list[int], groups: int, random: Any
) -> None:
    rows = list(enumerate(texts))
    random.shuffle(rows)
    shards = [[row for row, place in zip(rows, places, strict=False) if place == shard] for shard in range(4)]
    assert found([rows for rows in shards if rows], groups) == dict(enumerate(measured(texts, **SETTINGS)))
