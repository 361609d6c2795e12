"""What a command costs a shard, the server that it is measured behind, and the counting of requests."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from benchmarks.growth_shards import CASES, SIZES, Run, Slope, growth, slopes_of
from benchmarks.inputs.loopback_s3 import BUCKET, LoopbackS3, serving
from benchmarks.measuring.counted import TOGETHER, Counted
from benchmarks.measuring.reporting import measure
from winnow.pipelines.store.buckets.s3 import S3Store
from winnow.pipelines.store.facade import ObjectStore


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackS3]:
    with serving(tmp_path / "bucket") as found:
        for name, value in found.environment.items():
            monkeypatch.setenv(name, value)
        yield found


def test_the_server_is_an_object_store(server: LoopbackS3, tmp_path: Path) -> None:
    objects: ObjectStore = S3Store.of(f"s3://{BUCKET}/store")
    assert objects.put_if_absent("a/1", b"first")
    assert not objects.put_if_absent("a/1", b"second")
    objects.put("a/2", b"0123456789")
    objects.put("b", b"other")
    assert [info.path for info in objects.list("a/")] == ["a/1", "a/2"]
    assert (objects.read("a/1"), objects.read("a/2", 2, 3), objects.size("a/2")) == (b"first", b"234", 10)
    with objects.open("a/2") as stream:
        assert stream.read() == b"0123456789"
    objects.delete("a/1")
    assert (objects.exists("a/1"), objects.exists("a/2")) == (False, True)
    assert (tmp_path / "bucket/store/a/2").read_bytes() == b"0123456789"
    assert server.requests() == 12


def test_a_listing_of_the_server_has_pages(server: LoopbackS3, tmp_path: Path) -> None:
    folder = tmp_path / "bucket/many"
    folder.mkdir(parents=True)
    for number in range(2_001):
        (folder / f"{number:04d}").touch()
    found = [info.path for info in S3Store.of(f"s3://{BUCKET}").list("many/")]
    assert found == [f"many/{number:04d}" for number in range(2_001)]
    assert server.requests() == 3


def test_the_server_deletes_many_objects_in_one_request(server: LoopbackS3, tmp_path: Path) -> None:
    objects = S3Store.of(f"s3://{BUCKET}/store")
    names = [f"a/{number} & <'{number}'>" for number in range(3)]
    for name in names:
        objects.put(name, b"x")
    before = server.requests()
    objects.delete_batch([*names, "a/never there"])
    assert server.requests() == before + 1
    assert list(objects.list("a/")) == []


def test_a_commands_requests_are_counted(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store/store.json").write_bytes(b"{}")
    written = tmp_path / "counted"
    command = [
        sys.executable,
        "-m",
        "benchmarks.measuring.counted",
        "disk",
        str(written),
        "stats",
        str(tmp_path / "store"),
    ]
    with pytest.raises(SystemExit, match="ended with status 1"):
        measure(command)
    counted = Counted(**orjson.loads(written.read_bytes()))
    assert (counted.requests, counted.asked) == ({"read": 1}, 1)
    assert [caller.split()[:2] for caller in counted.callers] == [["read", "generations.open_store"]]


def test_files_that_are_deleted_together_count_as_on_s3() -> None:
    assert Counted(0.0, 0, {"read": 2, "delete": 1, TOGETHER: 1_001}, {}).asked == 5


def test_a_slope_is_between_the_smallest_and_the_largest_store() -> None:
    def run(shards: int, requests: int, seconds: float, peak: int) -> Run:
        return Run(CASES[0], "disk", shards, Counted(seconds, peak, {"read": requests}, {}), 1.0, 0.0, None)

    runs = [run(100, 50, 1.0, 1 << 20), run(200, 999, 9.0, 9 << 20), run(4196, 4146, 9.192, 5 << 20)]
    (slope,) = slopes_of(runs)
    assert slope == Slope(CASES[0], "disk", 4096, 4146, 1.0, 0.002, 1024.0)
    assert [limit.kept for limit in slope.limits] == [False, True, True]
    assert [limit.kept for limit in replace(slope, cpu_seconds=0.0021).limits] == [False, False, True]
    assert len(replace(slope, shards=750).limits) == 1, "so few shards say nothing about memory or CPU time"
    assert {case.name: case.cpu for case in CASES if case.name.startswith(("audit", "dedupe", "gc --keep"))} == {
        "audit --store-only": 2,
        "dedupe, two stages": 24,
        "gc --keep 1": 12,
    }
    search = replace(slope, case=next(case for case in CASES if case.bounded))
    assert not search.limits[0].kept
    assert replace(search, asked=1_038).limits[0].kept


@pytest.mark.large
def test_a_shard_costs_a_driver_little() -> None:
    slopes = slopes_of(list(growth(SIZES, CASES, CASES)))
    assert [limit for slope in slopes for limit in slope.limits if not limit.kept] == []
