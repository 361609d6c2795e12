"""Manifests and task commits as columns: the same rows as objects would be, in far less memory."""

from dataclasses import replace

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from winnow.pipelines.store import layout
from winnow.pipelines.store.hash_set import HashSet
from winnow.pipelines.store.manifests.rows import ManifestRow, ManifestRows
from winnow.pipelines.store.manifests.tasks import TaskCommits
from winnow.schemas.records import ObjectRecord, ShardRecord, TaskCommit, to_json, values_hash

SHARDS = st.sampled_from(["a", "a.b", "a-0001", "é", "b", "0123456789abcdef", "samples"])
CONTENTS = st.sampled_from([f"{number:016x}" for number in (0, 1, 255, 1 << 63)] + ["short", "0123456789ABCDEF"])


@st.composite
def manifest_rows(draw: st.DrawFn) -> ManifestRow:
    """A row as stages make it, or one whose paths have another form."""
    shard, key = draw(SHARDS), draw(st.sampled_from(["k1", "k2"]))
    places = ("samples/{}", "layers/a.b/k1/{}", "stats/shards/{}", "layers/{0}.x/{0}", "elsewhere")

    def path(kind: str) -> str:
        return f"{draw(st.sampled_from(places)).format(shard)}.{draw(CONTENTS)}.{kind}"

    return ManifestRow(
        source=draw(st.sampled_from(["crawl", "books"])),
        key=key,
        shard=shard,
        task=draw(st.none() | st.just("task")),
        object=path("parquet"),
        rows=draw(st.integers(0, 65_536)),
        bytes=draw(st.integers(0, 1 << 40)),
        values=draw(st.text(max_size=4)),
        samples=path("parquet"),
        statistics=path("json"),
        fingerprint=draw(st.sampled_from(["one", "two"])),
    )


ROWS = st.lists(manifest_rows(), max_size=12)


def place_of(row: ManifestRow) -> tuple[str, str]:
    return row.shard, row.key


@given(ROWS, ROWS)
def test_rows_come_out_as_they_went_in_by_shard_and_key(some: list[ManifestRow], more: list[ManifestRow]) -> None:
    rows = ManifestRows.joined([ManifestRows.of(some), ManifestRows.of(more)])
    assert list(rows) == sorted([*some, *more], key=place_of)
    assert ManifestRows.of_batches(rows.stored()) == rows
    assert [rows[number] for number in reversed(range(len(rows)))] == list(rows)[::-1]
    assert list(rows[1::2]) == list(rows)[1::2]
    assert list(rows.last_of_each_shard()) == list({row.shard: row for row in rows}.values())
    assert (rows.rows, rows.bytes) == (sum(row.rows for row in rows), sum(row.bytes for row in rows))
    for key, mine in rows.by_key().items():
        assert list(mine) == [row for row in rows if row.key == key]
        assert mine.hash == values_hash((row.shard, row.values) for row in mine)
    assert list(rows.read_by({"crawl": "k1"})) == [row for row in rows if (row.source, row.key) == ("crawl", "k1")]


@given(ROWS)
def test_rows_are_found_by_shard_in_any_order(some: list[ManifestRow]) -> None:
    wanted = {row.shard: row for row in some}
    rows = ManifestRows.of(wanted.values())
    asked = [row.shard for row in some] + ["a", "zz", ""]
    assert [rows.by_shard.get(shard) for shard in asked] == [wanted.get(shard) for shard in asked]
    assert [shard in rows.by_shard for shard in asked] == [shard in wanted for shard in asked]
    assert dict(rows.objects) == {shard: row.object for shard, row in wanted.items()}
    assert list(rows.objects) == sorted(wanted)


@given(ROWS, ROWS)
def test_rows_are_equal_if_every_row_is(some: list[ManifestRow], more: list[ManifestRow]) -> None:
    left, right = ManifestRows.of(some), ManifestRows.of(more)
    assert (left == right) == (list(left) == list(right))
    same = [(row.shard, row.statistics) for row in left] == [(row.shard, row.statistics) for row in right]
    assert left.alike(right, ("shard", "statistics")) == same


def commit(number: int, key: str = "key", records: int = 1) -> TaskCommit:
    made = ObjectRecord(layout.samples_object(f"task-{number}-0000", "0" * 16), records, 9, "values")
    shards = (ShardRecord(f"task-{number}-0000", made, "stats/none.json"),)
    return TaskCommit(
        f"task-{number}", key, f"of-{key}", (), shards, None, None, records, records, {}, {"why": 1}, 9, "env"
    )


def test_commits_come_out_as_they_went_in_by_name_and_key() -> None:
    some = [commit(number, key) for number in (3, 1, 2) for key in ("b", "a")]
    commits = TaskCommits.joined([TaskCommits.of(some[:2]), TaskCommits.of(some[2:])])
    assert list(commits) == sorted(some, key=lambda one: (one.task, one.key))
    assert TaskCommits.of_batches(commits.stored()) == commits
    assert commits.key_of_source == {"of-a": "a", "of-b": "b"}
    assert list(commits.under({"a"})) == list(commits.read_by({"of-a": "a", "of-b": "c"})) == list(commits)[::2]
    assert commits.called({"task-2"}).names == ["task-2", "task-2"]
    assert commits[-1] == commit(3, "b")


def test_commits_that_differ_are_told() -> None:
    before, after = TaskCommits.of(map(commit, range(4))), TaskCommits.of([commit(1), commit(2, records=2), commit(9)])
    assert list(after.unlike(before)) == [commit(2, records=2), commit(9)]
    assert list(before.unlike(after)) == [commit(0), commit(2), commit(3)]
    assert list(before.unlike(before)) == []


def test_a_shard_of_a_manifest_is_kept_in_few_bytes() -> None:
    shards = [f"crawl-{number:06d}-warc-gz-384f4b9307ee6e0f-00000-0000" for number in range(500)]
    rows = [
        ManifestRow(
            "crawl",
            "e7b1b27fd412f7b2",
            shard,
            None,
            layout.layer_object("text.gopher", "8d6e87678907a053", shard, f"{number:016x}"),
            4,
            8823,
            f"{number:032x}",
            layout.samples_object(shard, f"{number:016x}"),
            layout.statistics_object(shard, f"{number:016x}"),
            "80c828141c98c911",
        )
        for number, shard in enumerate(shards)
    ]
    before = pa.total_allocated_bytes()
    held = ManifestRows.of(rows)
    assert (pa.total_allocated_bytes() - before) / len(held) < 200
    before = pa.total_allocated_bytes()
    tasks = TaskCommits.of(map(commit, range(500)))
    assert (pa.total_allocated_bytes() - before) / len(tasks) < len(to_json(commit(0))) + 100


@given(st.lists(st.text()), st.text())
def test_a_set_of_hashes_has_what_was_put_in(texts: list[str], other: str) -> None:
    known = HashSet(texts)
    assert all(text in known for text in texts)
    assert (other in known) == (other in texts)
    assert len(known) == len(set(texts))


@given(ROWS)
def test_a_layer_is_aligned_with_the_samples_that_it_is_over(some: list[ManifestRow]) -> None:
    distinct = list({row.shard: replace(row, samples=row.object) for row in some}.values())
    samples = ManifestRows.of(distinct)
    over = ManifestRows.of(replace(row, object=f"layers/x/{row.shard}", values="", bytes=1) for row in distinct)
    assert over.aligned(samples)
    assert samples.aligned(samples)
    for number in range(len(distinct)):
        for change in ({"rows": -1}, {"samples": "elsewhere"}, {"shard": "zz"}):
            other = [replace(row, **change) if at == number else row for at, row in enumerate(distinct)]
            assert not ManifestRows.of(other).aligned(samples)
        assert not ManifestRows.of(distinct[:number] + distinct[number + 1 :]).aligned(samples)
