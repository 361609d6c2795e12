"""An export on an object store: files first, the manifest last, and nobody else's objects are touched."""

import itertools
from collections.abc import Iterator

import pytest

from tests.messages import assert_refused, assert_told_each
from tests.pipelines.export.made_exports import ONE, TWO, StoppedError, make, without_marks
from tests.pipelines.store.conftest import point_to
from tests.pipelines.store.servers import BUCKET, Server, started
from winnow.pipelines.export.places.bucket import ExportBucket, bucket_manifest, is_unfinished, unfinished_address
from winnow.pipelines.export.places.existing import damages
from winnow.pipelines.store.location import open_location
from winnow.schemas.errors import ExportError

_places = itertools.count()


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with started("moto", tmp_path_factory.mktemp("moto")) as server:
        yield server


@pytest.fixture(autouse=True)
def address(moto: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    point_to(monkeypatch, moto.environment)
    return f"s3://{BUCKET}/{next(_places)}/out"


def contents(address: str) -> dict[str, bytes]:
    """The files of an export, without its own marks."""
    objects = open_location(address)
    return without_marks({one.path: objects.read(one.path) for one in objects.list()})


def left(address: str) -> list[str]:
    """What is left of the work on it."""
    return [one.path for one in open_location(unfinished_address(address)).list()]


def test_a_finished_export_stands_and_is_not_written_again(address: str) -> None:
    assert make(address, "one", ONE)
    assert contents(address) == ONE
    assert left(address) == []
    found = bucket_manifest(address)
    assert found is not None
    assert list(damages(open_location(address), found, hashes=True)) == []
    assert not make(address, "one", ONE)
    assert left(address) == []


def test_a_run_that_was_stopped_goes_on_and_shows_nothing_until_it_is_whole(address: str) -> None:
    with pytest.raises(StoppedError):
        make(address, "one", ONE, stop_after=1)
    assert bucket_manifest(address) is None
    assert is_unfinished(address)
    assert contents(address) == {"data/a.txt": b"alpha"}
    with ExportBucket(address, "one") as place:
        assert place.finished_manifest() is None
        place.begin([])
        assert [number for _, number in place.committed()] == [0]
    notes: list[str] = []
    assert make(address, "one", ONE, notes=notes)
    assert (contents(address), notes, left(address)) == (ONE, [], [])


def test_another_export_is_refused_and_makes_room_when_told_to(address: str) -> None:
    make(address, "one", ONE)
    with assert_refused(ExportError, "plan plan", "--replace"):
        make(address, "two", TWO)
    assert contents(address) == ONE
    assert make(address, "two", TWO, replace=True)
    assert contents(address) == TWO
    assert left(address) == []


def test_what_stopped_runs_of_other_plans_put_there_goes_too(address: str) -> None:
    make(address, "one", ONE)
    with pytest.raises(StoppedError):
        make(address, "two", {"late.txt": b"x", **TWO}, replace=True, stop_after=2)
    assert bucket_manifest(address) is None, "an export that is half replaced is none"
    notes: list[str] = []
    assert make(address, "one", ONE, notes=notes)
    assert contents(address) == ONE
    assert_told_each(notes, (address, "removed unfinished"))


def test_what_somebody_else_put_there_is_never_touched(address: str) -> None:
    open_location(address).put("data/mine.txt", b"mine")
    with assert_refused(ExportError, "contains files", "data/mine.txt"):
        make(address, "one", ONE)
    assert contents(address) == {"data/mine.txt": b"mine"}
    assert left(address) == []


def test_a_strangers_file_beside_an_export_stays_when_it_is_replaced(address: str) -> None:
    make(address, "one", ONE)
    open_location(address).put("mine.txt", b"mine")
    assert make(address, "two", TWO, replace=True)
    assert contents(address) == {**TWO, "mine.txt": b"mine"}


def test_a_shard_whose_files_are_gone_is_made_again(address: str) -> None:
    with pytest.raises(StoppedError):
        make(address, "one", ONE, stop_after=1)
    open_location(address).delete("data/a.txt")
    assert make(address, "one", ONE)
    assert contents(address) == ONE


def test_damage_is_named_and_mended(address: str) -> None:
    make(address, "one", ONE)
    open_location(address).put("data/a.txt", b"alphA")
    assert not make(address, "one", ONE), "by sizes alone it is as it was"
    notes: list[str] = []
    assert make(address, "one", ONE, replace=True, notes=notes)
    assert_told_each(notes, (address, "data/a.txt"))
    assert contents(address) == ONE


def test_one_writer_at_a_time(address: str) -> None:
    with ExportBucket(address, "one") as place:
        place.begin([])
        with assert_refused(ExportError, "being written"), ExportBucket(address, "one"):
            pass
    assert make(address, "one", ONE)


def test_a_whole_bucket_is_no_place() -> None:
    with assert_refused(ExportError, "s3://crawl", "s3://crawl/mix"):
        ExportBucket("s3://crawl", "one")
