"""The job that brings the rows of a store together: which rows take part, which keys are answered, what is read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from tests.messages import assert_refused
from winnow.filters import operators
from winnow.filters.operators import KEYS, TEXT, Assets, Kernel, RowLookup, TextOperator, register_operator
from winnow.pipelines.annotate import meeting
from winnow.pipelines.annotate.cross_rows import CrossRowJob
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.operators import BoundOperator, passes_of
from winnow.pipelines.running.job_steps import JobSteps
from winnow.pipelines.running.shard_list import ListedShard, ShardList, put_shard_list
from winnow.pipelines.store import layout
from winnow.pipelines.store.memory import MemoryStore
from winnow.pipelines.store.tables import put_table
from winnow.pipelines.transforms.batches import recipe_of
from winnow.schemas.errors import RecipeError
from winnow.schemas.rows.samples import SAMPLES


@dataclass(frozen=True)
class NoConfig:
    pass


asked: list[list[str]] = []  # the texts of each batch that was asked for its keys
prepared: list[Assets] = []  # what each preparation of the lookup was given


def prepare(config: NoConfig, assets: Assets) -> NoConfig:
    prepared.append(assets)
    return config


def wanted_keys(_config: NoConfig, batch: pa.RecordBatch) -> pa.Array:
    asked.append(batch[TEXT].to_pylist())
    return pa.array([text.ljust(16).encode() for text in batch[TEXT].to_pylist()], KEYS)


def offered_keys(config: NoConfig, batch: pa.RecordBatch) -> tuple[NDArray[np.int64], pa.Array]:
    keys = wanted_keys(config, batch)
    del asked[-1]
    return np.arange(batch.num_rows), keys


def load_shard(_config: NoConfig, answers: pa.RecordBatch) -> Kernel:
    return lambda _: answers


OPERATOR = TextOperator(
    name="text.met",
    version=1,
    summary="other rows of the same text",
    config=NoConfig,
    reads=lambda _: (TEXT,),
    writes=lambda _: pa.schema([]),
    load=lambda _config, _assets: lambda batch: batch,
    lookup=RowLookup(
        max_answers=lambda _: 1,
        wanted_keys=wanted_keys,
        offered_keys=offered_keys,
        load=load_shard,
        least_total=lambda _: 2,
        prepare=prepare,
    ),
)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register_operator(OPERATOR)
    asked.clear()
    prepared.clear()
    meeting._prepare.cache_clear()
    yield
    del operators._REGISTERED[OPERATOR.name]


def bound_operator(where: str | None = None) -> BoundOperator:
    entries = ["text.language", {OPERATOR.name: {} if where is None else {"where": where}}]
    source = {"lines": {"root": ".", "files": ["*"], "class": "public"}}
    recipe = bind(recipe_of("test", {"sources": source, "annotate": entries}))
    return next(one for one in recipe.operators if one.layer == OPERATOR.name)


def answers(bound: BoundOperator, *shards: Sequence[tuple[int, str | None, str]]) -> list[list[tuple[str, int, int]]]:
    """Of each shard: the texts that got an answer, the number of the answering row, and the total.

    A row is its number, its text and its licence.
    """
    objects = MemoryStore("test")
    listed = []
    for number, rows in enumerate(shards):
        table = pa.table(
            {
                "id": pa.array([row[0].to_bytes(16, "big") for row in rows], pa.binary(16)),
                "text": pa.array([row[1] for row in rows], SAMPLES.field("text").type),
                "licence": pa.array([row[2] for row in rows], SAMPLES.field("licence").type),
            }
        )
        put = put_table(objects, table, (f"s{number}." + "{}.parquet").format)
        listed.append(ListedShard(f"s{number}", "lines", len(rows), {layout.SAMPLES: put.path}))
    shard_list = ShardList(objects, put_shard_list(objects, "test", listed), "scratch", ListedShard)
    job = CrossRowJob(bound, JobSteps(objects, "scratch"), shard_list, 2)
    job.job.run_in_process()
    found = [job.kernel(one.shard)(pa.RecordBatch.from_pylist([], schema=pa.schema([]))) for one in listed]
    return [
        [(row["key"].decode().strip(), int.from_bytes(row["id"], "big"), row["total"]) for row in batch.to_pylist()]
        for batch in found
    ]


def test_keys_of_one_row_get_no_answer_and_others_that_of_the_smallest_id() -> None:
    first = [(5, "twice", "a"), (7, "once", "a"), (1, None, "a")]
    assert answers(bound_operator(), first, [(3, "twice", "a")], [(2, "alone", "a")]) == [
        [("twice", 3, 2)],
        [("twice", 3, 2)],
        [],
    ]


def test_what_a_lookup_opens_is_opened_once_a_process() -> None:
    bound = bound_operator()
    answers(bound, [(5, "twice", "a")], [(3, "twice", "a")])
    answers(bound_operator(), [(5, "twice", "a")])
    assert prepared == [bound.assets]


def test_rows_that_the_operator_does_not_measure_neither_ask_nor_offer() -> None:
    bound = bound_operator("samples.licence = 'a'")
    shards = [(1, "both", "b"), (5, "both", "a"), (6, "other", "b")], [(3, "both", "a"), (4, "other", "a")]
    assert answers(bound, *shards) == [[("both", 3, 2)], [("both", 3, 2)]]
    assert asked == [["both"], ["both", "other"]]


def test_a_shard_is_asked_for_its_keys_once() -> None:
    answers(bound_operator(), [(1, "a", "a"), (2, "b", "a")], [(3, "a", "a")])
    assert asked == [["a", "b"], ["a"]]


def test_an_operator_that_reads_a_measured_layer_waits_until_every_shard_has_it() -> None:
    bound = bound_operator("text.language.label = 'deu_Latn'")
    assert bound.covers == ("text.language",)
    source = {"lines": {"root": ".", "files": ["*"], "class": "public"}}
    entries = ["text.length", {OPERATOR.name: {"where": "text.language.code = 'deu'"}}, "text.language"]
    recipe = bind(recipe_of("test", {"sources": source, "annotate": entries}))
    passes = [[one.layer for one in one_pass.operators] for one_pass in passes_of(recipe.operators)]
    assert passes == [["text.length", "text.language"], ["text.met"]]


def test_what_is_computed_after_all_measurements_cannot_be_read() -> None:
    source = {"lines": {"root": ".", "files": ["*"], "class": "public"}}
    entries = [{"url.site": {"means": ["dedupe.exact.size"]}}]
    recipe = bind(recipe_of("test", {"sources": source, "annotate": entries, "dedupe": {"exact": {}}}))
    with assert_refused(RecipeError, "url.site", "dedupe.exact.size", "after all operators"):
        _ = recipe.operators
