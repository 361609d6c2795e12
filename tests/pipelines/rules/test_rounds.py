"""Representatives that tasks choose through the exchange are those that one process chooses."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inline_engine import InlineRunner
from tests.pipelines.rules.test_representatives import CONFIG, pinned_on, recipe_text, stays
from tests.pipelines.rules.test_representatives import Row as StoredRow
from tests.property_sizes import scaled
from winnow.pipelines.binding.preferences import BoundPreference, Choice
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.rules.decision_tasks import pinned_tasks
from winnow.pipelines.rules.representatives.candidates import (
    ITEMS,
    ROW_BITS,
    WORD_BYTES,
    Candidates,
    candidate_columns,
    part_of_items,
    preference_names,
)
from winnow.pipelines.rules.representatives.choosing import RepresentativeChooser
from winnow.pipelines.rules.representatives.replaced import Duplicates, UnequalTexts
from winnow.pipelines.rules.representatives.rounds import Rounds
from winnow.pipelines.running import shard_groups
from winnow.pipelines.running.exchange import GROUP_BYTES, routes
from winnow.pipelines.running.job_steps import JobSteps
from winnow.pipelines.running.job_tasks import HERE, ROWS_HERE_VARIABLE, LocalJobs
from winnow.pipelines.running.linear_jobs import Job
from winnow.pipelines.running.scratch_parts import put_part, read_numbers
from winnow.pipelines.store.memory import MemoryStore

LONGEST = BoundPreference("longest", Column("samples", "length"))
DIGEST = Column("text.digest", "digest")


@dataclass(frozen=True)
class Row:
    """A candidate: the values that decide between rows, and its cluster of each kind; items have several."""

    shard: int
    preference: int
    clusters: Sequence[int | None]  # of each kind of rows, and of digests
    items: Sequence[Sequence[int]]  # of each kind of items
    whole: Sequence[bool]  # whether all its items have duplicates


def tables_of(choice: Choice, rows: Sequence[Row], shards: int) -> dict[int, Candidates]:
    """The candidates of each shard."""
    found = {}
    for shard in range(shards):
        mine = [(number, row) for number, row in enumerate(rows) if row.shard % shards == shard]
        lines: list[dict[str, int | None]] = []
        items = {kind: list[dict[str, int]]() for kind in choice.of_items}
        for number, row in mine:
            place = shard << ROW_BITS | number
            line: dict[str, int | None] = {"place": place, "id_high": number * 7919 % 31, "id_low": number}
            line |= dict.fromkeys(preference_names(choice), row.preference)
            names = [name for name in candidate_columns(choice).names if name.endswith("_high") and name != "id_high"]
            for word, cluster in zip(names, row.clusters, strict=False):
                low = f"{word.removesuffix('_high')}_low"
                line |= {word: None, low: None} if cluster is None else {word: cluster % 3, low: cluster}
            lines.append(line)
            for kind, clusters, whole in zip(choice.of_items, row.items, row.whole, strict=False):
                for item, cluster in enumerate(clusters):
                    values = (place, item * 2, cluster % 3, cluster, int(whole))
                    items[kind].append(dict(zip(ITEMS.names, values, strict=True)))
        of_items = {kind: pa.Table.from_pylist(some, schema=ITEMS) for kind, some in items.items()}
        found[shard] = Candidates(pa.Table.from_pylist(lines, schema=candidate_columns(choice)), of_items)
    return found


def chosen_here(choice: Choice, tables: dict[int, Candidates]) -> Duplicates:
    with RepresentativeChooser(choice) as chooser:
        for one in tables.values():
            chooser.add(one)
        return chooser.chosen([str(shard) for shard in tables])


def chosen_in_tasks(
    choice: Choice, tables: dict[int, Candidates], groups: int, bytes_of: int = 0, *, again: bool = False
) -> Duplicates:
    steps = JobSteps(MemoryStore("rounds"), "rounds")
    rounds = Rounds(choice, groups, bytes_of // WORD_BYTES, steps, "candidates", "replaced")
    for group in range(groups):
        some = [one for shard, one in tables.items() if shard * groups // len(tables) == group]
        merged = Candidates.merged(some)
        parts = {part_of_items("candidates", kind): table for kind, table in merged.items.items()}
        for name, table in (parts | {"candidates": merged.table}).items():
            columns = [column.chunk(0) for column in table.columns]
            batch = pa.RecordBatch.from_arrays(columns, schema=table.schema)
            put_part(steps.objects, steps.scratch, name, group, batch)
    job = rounds.job()
    job.run_in_process()
    if again:  # every task and every consumer
        job.run_in_process()
    found = [read_numbers(steps.objects, steps.scratch, "replaced", group) for group in range(groups)]

    def joined(name: str) -> np.ndarray:
        return np.concatenate([part[name] for part in found])

    lost = {kind: joined(kind) for kind in choice.kinds}
    ids = {kind: (joined(f"{kind}.high"), joined(f"{kind}.low")) for kind in choice.kinds}
    items = {kind: (joined(f"{kind}.places"), joined(f"{kind}.items")) for kind in choice.by_item}
    return Duplicates(lost, ids, addresses=rounds.addresses(), lost_items=items)


def plain(found: Duplicates) -> dict[str, object]:
    ids = {kind: [half.tolist() for half in halves] for kind, halves in found.replacements.items()}
    items = {kind: [half.tolist() for half in halves] for kind, halves in found.lost_items.items()}
    lost = {kind: places.tolist() for kind, places in found.lost.items()}
    return {"lost": lost, "ids": ids, "items": items, "addresses": found.addresses}


CHOICES = {
    "rows": Choice(("url", "exact", "near"), (LONGEST,), ("a",), CONFIG, {}),
    "addresses by digest": Choice(("url",), (), ("a",), CONFIG, {}, digest=DIGEST),
    "items": Choice(("near", "image_bytes", "pdq"), (LONGEST, LONGEST), ("a",), CONFIG, {}),
    "items that rules read": Choice(
        ("exact", "image_bytes", "pdq"), (LONGEST,), ("a",), CONFIG, {}, by_item=("image_bytes", "pdq")
    ),
}
CLUSTERS = st.one_of(st.none(), st.integers(0, 4))
ROWS = st.builds(
    Row,
    st.integers(0, 5),
    st.integers(0, 2),
    st.tuples(CLUSTERS, CLUSTERS, CLUSTERS),
    st.tuples(*[st.lists(st.integers(0, 3), max_size=3)] * 2),
    st.tuples(st.booleans(), st.booleans()),
)


@pytest.mark.parametrize("which", CHOICES)
@given(rows=st.lists(ROWS, max_size=30), shards=st.integers(1, 6), groups=st.integers(1, 6))
@settings(max_examples=scaled(15), deadline=None)
def test_tasks_choose_what_one_process_does(which: str, rows: list[Row], shards: int, groups: int) -> None:
    choice, groups = CHOICES[which], min(shards, groups)
    tables = tables_of(choice, rows, shards)
    expected = plain(chosen_here(choice, tables))
    assert plain(chosen_in_tasks(choice, tables, groups)) == expected
    assert plain(chosen_in_tasks(choice, tables, groups, GROUP_BYTES, again=True)) == expected


def test_partitions_of_clusters_follow_bytes_and_have_relays(monkeypatch: pytest.MonkeyPatch) -> None:
    choice, steps = CHOICES["items that rules read"], JobSteps(MemoryStore("parts"), "parts")

    def parts(rows: int, groups: int) -> dict[str, int]:
        return dict(Rounds(choice, groups, rows, steps, "candidates", "replaced").job().parts)

    few, many = parts(1_000_000, 1_024), parts(1_000_000_000, 16)
    assert {count for step, count in few.items() if step.startswith("Best.")} == {3}
    assert few["Settled.exact"] == 1_024
    assert {count for step, count in many.items() if step.startswith("Best.")} == {2_385}
    assert [step for step in many if step.startswith("Relays.")] == [f"Relays.Best.{kind}" for kind in choice.kinds]
    monkeypatch.setattr(routes, "MOST_STRAIGHT", 2)
    rows = [
        Row(number % 6, number % 4, (number % 7, 1, None), ([number % 5], [number % 3]), (True, True))
        for number in range(40)
    ]
    tables = tables_of(choice, rows, 6)
    assert plain(chosen_in_tasks(choice, tables, 6, 20 * GROUP_BYTES)) == plain(chosen_here(choice, tables))


def test_a_cluster_with_a_tenth_of_all_rows_is_a_line_for_each_group() -> None:
    choice = CHOICES["rows"]
    rows = [Row(number % 8, number % 3, (None, 1 if number % 10 else 2, number), (), ()) for number in range(4_000)]
    tables = tables_of(choice, rows, 8)
    steps = JobSteps(MemoryStore("cluster"), "cluster")
    rounds = Rounds(choice, 8, len(rows), steps, "candidates", "replaced")
    for group, one in tables.items():
        put_part(steps.objects, steps.scratch, "candidates", group, one.table.combine_chunks().to_batches()[0])
        rounds.settle(0, group, iter(()))
        sent = list(rounds.ask(0, group))
        assert sum(block.batch.num_rows for block in sent) == 1  # no row has an address; the line is to come back
    for group in tables:
        blocks = list(rounds.settle(0, group, iter(())))
        assert sum(block.batch.num_rows for block in blocks) <= 3  # of 500 rows in two clusters
    assert plain(chosen_in_tasks(choice, tables, 8)) == plain(chosen_here(choice, tables))


def test_texts_of_one_address_are_compared() -> None:
    rows = [Row(number, 0, (1, cluster, None), (), ()) for number, cluster in enumerate([7, 7, 8, None])]
    tables = tables_of(CHOICES["rows"], rows, 4)
    assert chosen_in_tasks(CHOICES["rows"], tables, 4).addresses == UnequalTexts(2, 1)


SOME = {
    "books-0": ("books", [StoredRow(near=1, url=2), StoredRow(near=2, exact=1), StoredRow(url=1, length=3)]),
    "books-1": ("books", [StoredRow(exact=1, length=7), StoredRow(near=1), StoredRow(good=False, near=1, length=9)]),
    "crawl-0": ("crawl", [StoredRow(near=number % 3, url=number % 2, length=number) for number in range(9)]),
}


class OnBeam(LocalJobs):
    """Runs each job as a pipeline."""

    def run(self, job: Job, size: int) -> None:
        with beam.Pipeline(runner=InlineRunner()) as pipeline:
            job.build(pipeline)


@pytest.mark.parametrize("shuffle", ["files", "engine"])
def test_rules_decide_the_same_whatever_chooses_and_however_candidates_travel(
    monkeypatch: pytest.MonkeyPatch, shuffle: str
) -> None:
    monkeypatch.setattr(shard_groups, "TASK_BYTES", 1)
    recipe = recipe_text("[source, longest]", f"shuffle: {shuffle}", near="{max_cluster: 2}")
    pinned = pinned_on(MemoryStore(uuid4().hex), recipe, SOME)
    sent: list[bool] = []

    def decided(jobs: LocalJobs) -> list[object]:
        with jobs.folder("rules") as steps:
            tasks = pinned_tasks(pinned, pinned.layers, steps)
            chosen, why = tasks.prepare(jobs)
            assert why is None
            sent.append(any(steps.objects.list(f"{steps.scratch}/exchange/Best.exact/")))
            assert tasks.shards.groups == len(SOME)
            rows = [
                one
                for group in range(tasks.shards.groups)
                for one in tasks.map_decided(group, lambda _, shard, found, __: (shard.shard, found.fired.tolist()))
            ]
            ids = tasks.replaced_in(["crawl-0"]).replacement_ids("crawl-0", 9).to_pylist()
            return [rows, ids, chosen.large, chosen.large_count, chosen.addresses]

    here = decided(HERE)
    gone = {
        (shard, row): pinned.program.reasons[fired.bit_length() - 1]
        for shard, rows in here[0]  # type: ignore[attr-defined]
        for row, (fired,) in enumerate(rows)
        if fired > 1
    }
    assert {at: f"duplicate_{kind}" for at, kind in stays(SOME, ["source", "longest"]).items()} == gone
    monkeypatch.setenv(ROWS_HERE_VARIABLE, "0")
    assert decided(HERE) == decided(OnBeam()) == here
    assert sent == [False, False, shuffle == "files"]
