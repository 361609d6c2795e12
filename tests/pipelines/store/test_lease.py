import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.lease import Lease, this_process
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.errors import StoreError


def test_a_second_writer_is_refused_with_the_first_ones_process(objects: ObjectStore) -> None:
    with Lease(objects), pytest.raises(StoreError, match=f"process {os.getpid()} on .* is writing"), Lease(objects):
        pass


def test_a_released_lease_is_free(objects: ObjectStore) -> None:
    with Lease(objects) as first:
        pass
    with Lease(objects) as second:
        assert second.number == first.number + 1
        assert not second.lost


def test_the_lease_of_a_dead_process_is_taken_over_at_once(tmp_path: Path) -> None:
    held = subprocess.run(
        [
            sys.executable,
            "-c",
            "import os, sys; from pathlib import Path; from winnow.pipelines.store.lease import Lease;"
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
    with Lease(objects):
        assert lost.lost
    lost._stop.set()
