"""The job that adds up rows of a store by key: the same sums however rows are divided into shards and partitions."""

from collections import Counter
from collections.abc import Sequence
from itertools import count
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.operators import STATUS
from winnow.pipelines.annotate.row_totals import RowTotalsJob
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.operators import BoundOperator
from winnow.pipelines.running.exchange import routes
from winnow.pipelines.running.job_steps import JobSteps
from winnow.pipelines.running.shard_list import ListedShard, ShardList, put_shard_list
from winnow.pipelines.store import layout
from winnow.pipelines.store.memory import MemoryStore
from winnow.pipelines.store.tables import put_table
from winnow.pipelines.transforms.batches import recipe_of
from winnow.schemas.rows.samples import SAMPLES

DOMAIN, LANGUAGE = "samples.domain", "text.language.code"

_NUMBERS = count()  # of stores, which are found by name

Row = tuple[str | None, str | None]  # the domain, and the code of the language


def bound_operator(where: str | None = None) -> BoundOperator:
    """`url.site` over languages."""
    source = {"lines": {"root": ".", "files": ["*"], "class": "public"}}
    options = {"values": [LANGUAGE]} | ({} if where is None else {"where": where})
    recipe = bind(recipe_of("test", {"sources": source, "annotate": ["text.language", {"url.site": options}]}))
    return next(one for one in recipe.operators if one.layer == "url.site")


def measured(
    bound: BoundOperator, shards: Sequence[Sequence[Row]], partitions: int = 1, groups: int = 4096
) -> list[Any]:
    """Of each row: pages, main language, its share, own share; None for rows that are not measured."""
    objects = MemoryStore(f"totals-{next(_NUMBERS)}")
    listed = []
    for number, rows in enumerate(shards):
        ids = pa.array([bytes(16)] * len(rows), pa.binary(16))
        domains = pa.array([domain for domain, _ in rows], SAMPLES.field("domain").type)
        codes = pa.array([code for _, code in rows], pa.string())
        samples = put_table(objects, pa.table({"id": ids, "domain": domains}), (f"s{number}." + "{}.parquet").format)
        statuses = pa.array(["ok"] * len(rows), STATUS.type)
        layer = put_table(objects, pa.table({"status": statuses, "code": codes}), (f"l{number}." + "{}.parquet").format)
        paths = {layout.SAMPLES: samples.path, "text.language": layer.path}
        listed.append(ListedShard(f"s{number}", "lines", len(rows), paths))
    path = put_shard_list(objects, "test", listed)
    job = RowTotalsJob(
        bound, JobSteps(objects, "scratch"), ShardList(objects, path, "scratch", ListedShard, groups), partitions
    )
    job.job.run_in_process()
    found = []
    for one, rows in zip(listed, shards, strict=True):
        there = [row for row in rows if row[0] is not None]
        columns = [pa.array([row[at] for row in there], pa.string()) for at in (0, 1)]
        layer = job.kernel(one.shard)(pa.RecordBatch.from_arrays(columns, names=[DOMAIN, LANGUAGE])).to_pylist()
        values = iter([tuple(row.values())[1:] for row in layer])
        found.append([None if row[0] is None else next(values) for row in rows])
    return found


def plain(shards: Sequence[Sequence[Row]]) -> list[Any]:
    every = [row for rows in shards for row in rows]

    def of(row: Row) -> Any:
        if row[0] is None:
            return None
        codes = Counter(code for domain, code in every if domain == row[0] and code is not None)
        total, main = sum(codes.values()), min(codes, key=lambda code: (-codes[code], code), default=None)
        own = None if row[1] is None else codes[row[1]] / total
        return sum(domain == row[0] for domain, _ in every), main, None if main is None else codes[main] / total, own

    return [[of(row) for row in rows] for rows in shards]


_ROWS = st.tuples(st.sampled_from([None, "a.com", "b.com", "c.org"]), st.sampled_from([None, "deu", "eng", "fra"]))


@given(st.lists(st.lists(_ROWS, max_size=6), min_size=1, max_size=5), st.integers(1, 3), st.integers(1, 3))
def test_every_row_gets_the_sums_of_all_shards(shards: list[list[Row]], partitions: int, groups: int) -> None:
    assert measured(bound_operator(), shards, partitions, groups) == plain(shards)


def test_lines_that_go_through_relays_add_up_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    shards: list[list[Row]] = [[(f"{number % 5}.com", "deu"), (f"{number % 3}.org", "eng")] for number in range(9)]
    monkeypatch.setattr(routes, "MOST_STRAIGHT", 1)
    assert measured(bound_operator(), shards, 7, 6) == plain(shards)


def test_rows_that_the_condition_leaves_out_are_not_counted() -> None:
    shards: list[list[Row]] = [[("a.com", "deu"), ("a.com", "eng")], [("a.com", "eng")]]
    bound = bound_operator("text.language.code = 'eng'")
    assert bound.covers == ("text.language",)
    assert [row[0] for rows in measured(bound, shards) for row in rows] == [2, 2, 2]
