import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.messages import assert_refused
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.leases.lease import BEAT_SECONDS, BEATS_TO_WAIT, HeldError, Lease, Share, this_process
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.errors import StageError, StoreError
from winnow.schemas.records import to_json


def test_a_second_writer_is_refused_with_the_first_ones_process(objects: ObjectStore) -> None:
    with Lease(objects), pytest.raises(HeldError, match=f"process {os.getpid()} on .* is writing"), Lease(objects):
        pass


def test_a_released_lease_is_free(objects: ObjectStore) -> None:
    with Lease(objects) as first:
        pass
    with Lease(objects) as second:
        assert second.number == first.number + 1
        second.hold.require(objects, "here")


def test_the_lease_of_a_dead_process_is_taken_over_at_once(tmp_path: Path) -> None:
    held = subprocess.run(
        [
            sys.executable,
            "-c",
            "import os, sys; from pathlib import Path; from winnow.pipelines.store.leases.lease import Lease;"
            "from winnow.pipelines.store.local import LocalStore;"
            "Lease(LocalStore(Path(sys.argv[1]))).__enter__(); os._exit(9)",
            str(tmp_path),
        ],
        check=False,
    )
    assert held.returncode == 9
    with Lease(LocalStore(tmp_path)) as lease:
        assert lease.number == 2


def test_a_reused_process_id_is_not_the_holder(objects: ObjectStore) -> None:
    stranger = replace(this_process(), started="1")
    Lease(objects, stranger).__enter__()._stop.set()
    with Lease(objects) as lease:
        assert lease.number == 2


def test_a_writer_that_lost_its_lease_is_told(objects: ObjectStore) -> None:
    stranger = replace(this_process(), started="1")
    lost = Lease(objects, stranger)
    lost.__enter__()
    lost.hold.require(objects, "here")
    with Lease(objects) as taken, pytest.raises(StageError, match=r"^here: process \d+ on .* took over"):
        lost.hold.require(objects, "here")
    taken.hold.require(objects, "here")
    for info in list(objects.list()):  # as an export does that has ended
        objects.delete(info.path)
    with pytest.raises(StageError, match="another process took over"):
        lost.hold.require(objects, "here")
    with Lease(objects) as anew, pytest.raises(StageError):
        lost.hold.require(objects, "here")
    assert anew.number == lost.number
    lost._stop.set()


@pytest.mark.parametrize("earlier", [0, 3])
def test_a_slice_that_wakes_late_takes_nothing_from_who_does_it_now(objects: ObjectStore, earlier: int) -> None:
    for _ in range(earlier):
        with Share(objects, "annotate.1-of-2"):
            pass
    asleep = Share(objects, "annotate.1-of-2", replace(this_process(), started="1"))
    assert asleep.__enter__().number == earlier + 1
    asleep._stop.set()
    with Lease(objects):
        pass
    with Share(objects, "annotate.1-of-2") as living:
        assert living.number == 1
        objects.put(f"{layout.SHARES}annotate.1-of-2/{earlier + 1:08d}.beat", b"7")  # its last word
        asleep.__exit__(None, None, None)
        with pytest.raises(HeldError), Lease(objects):
            pass
    assert {info.path.rpartition(".")[2] for info in objects.list(layout.SHARES)} == {"json", "released"}


def test_files_of_others_are_no_terms(objects: ObjectStore) -> None:
    for name in (".nfs0000001", "notes.json", "²³.released"):
        objects.put(f"{layout.LEASES}{name}", b"{}")
    with Lease(objects) as lease:
        assert lease.number == 1


def test_slices_share_a_store_and_none_is_done_twice_at_once(objects: ObjectStore) -> None:
    with (
        Share(objects, "annotate.1-of-2"),
        Share(objects, "annotate.2-of-2"),
        Share(objects, "ingest.1-of-2"),
        assert_refused(StoreError, "same work", "annotate.2-of-2"),
        Share(objects, "annotate.2-of-2"),
    ):
        pass
    with Share(objects, "annotate.2-of-2") as again:
        assert again.number == 2


def test_a_writer_and_slices_keep_each_other_out(objects: ObjectStore) -> None:
    with Share(objects, "annotate.1-of-2"):
        with assert_refused(StoreError, "running part", "annotate.1-of-2"), Lease(objects):
            pass
        with Share(objects, "annotate.2-of-2"), pytest.raises(StoreError, match="and 1 more"), Lease(objects):
            pass
    with Lease(objects) as lease:
        assert not list(objects.list(layout.SHARES))
        with (
            assert_refused(StoreError, "whole store"),
            Share(objects, "annotate.1-of-2"),
        ):
            pass
    assert lease.number == 1
    with Share(objects, "annotate.1-of-2") as share:
        assert share.number == 1


def test_a_writer_that_finds_a_slice_after_it_took_the_lease_lets_go(tmp_path: Path) -> None:
    class Late(LocalStore):
        """A slice begins between a writer's look at slices and its record."""

        def put_if_absent(self, path: str, content: bytes) -> bool:
            if path.startswith(layout.LEASES):
                LocalStore(tmp_path).put(f"{layout.SHARES}annotate.1-of-2/00000001.json", to_json(this_process()))
            return super().put_if_absent(path, content)

    with pytest.raises(StoreError, match=r"annotate\.1-of-2"), Lease(Late(tmp_path)):
        pass
    assert LocalStore(tmp_path).exists(f"{layout.LEASES}00000001.released")


def test_the_share_of_a_dead_process_is_nobodys(objects: ObjectStore) -> None:
    stranger = replace(this_process(), started="1")
    Share(objects, "annotate.1-of-2", stranger).__enter__()._stop.set()
    with Share(objects, "annotate.1-of-2") as share:
        assert share.number == 2
    Share(objects, "annotate.2-of-2", stranger).__enter__()._stop.set()
    with Lease(objects):
        assert not list(objects.list(layout.SHARES))


def test_silent_slices_elsewhere_are_waited_for_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("winnow.pipelines.store.leases.lease.time.sleep", waited.append)
    objects = LocalStore(tmp_path)
    for number in range(1, 17):
        holder = replace(this_process(), host=f"node{number}")
        objects.put(f"{layout.SHARES}annotate.{number}-of-16/00000001.json", to_json(holder))
    with Lease(objects):
        assert sum(waited) == BEAT_SECONDS * BEATS_TO_WAIT
        assert not list(objects.list(layout.SHARES))
