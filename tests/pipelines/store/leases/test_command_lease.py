"""One lease a command: who holds it how long, and who waits."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.messages import assert_refused
from winnow.pipelines.processes.identity import Process
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.leases import command_lease
from winnow.pipelines.store.leases.command_lease import Wait, one_command, parse_wait, slice_lease, writing_lease
from winnow.pipelines.store.leases.lease import HeldError, Lease, Share
from winnow.pipelines.store.local import UNFINISHED, LocalStore
from winnow.schemas.errors import WinnowError


def is_held(objects: ObjectStore) -> bool:
    try:
        with Lease(objects):
            return False
    except HeldError:
        return True


def test_a_command_holds_the_lease_between_its_stages_and_no_longer(objects: ObjectStore) -> None:
    with one_command():
        assert not is_held(objects), "no stage needs it yet"
        with writing_lease(objects):
            pass
        assert is_held(objects)
        with one_command(), writing_lease(objects):  # a stage that is called by another
            pass
        assert is_held(objects)
    assert not is_held(objects)
    with writing_lease(objects):  # a stage that is called alone
        assert is_held(objects)
    assert not is_held(objects)


def test_a_failed_stage_frees_the_store(objects: ObjectStore) -> None:
    with pytest.raises(ZeroDivisionError), one_command(), writing_lease(objects):
        raise ZeroDivisionError
    assert not is_held(objects)


def test_a_command_waits_until_the_store_is_free_and_says_for_whom(
    objects: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other process is a thread here: a lease does not know the difference."""
    monkeypatch.setattr(command_lease, "FIRST_PAUSE_SECONDS", 0.01)
    said: list[str] = []
    for held, wanted in (
        (Lease(objects), writing_lease(objects)),
        (Lease(objects), slice_lease(lambda: Share(objects, "annotate.1-of-2"))),
        (Share(objects, "annotate.1-of-2"), writing_lease(objects)),
    ):
        told = threading.Event()
        said.clear()

        def say(line: str, told: threading.Event = told) -> None:
            said.append(line)
            told.set()

        held.__enter__()
        release = threading.Thread(target=lambda told=told, held=held: (told.wait(60), held.__exit__(None, None, None)))
        release.start()
        with one_command(Wait(say)), wanted:
            pass
        release.join()
        assert len(said) == 1
        assert said[0].startswith("waiting for process ")
        assert f", which holds {objects.root} since 2" in said[0]


def test_a_command_waits_no_longer_than_it_was_told(objects: ObjectStore) -> None:
    said: list[str] = []
    refused = assert_refused(HeldError, "wait until", "--wait")
    with Lease(objects), refused, one_command(Wait(said.append, 0.05)), writing_lease(objects):
        pass
    assert len(said) == 1
    with Lease(objects), pytest.raises(HeldError), one_command(), writing_lease(objects):
        pass


@pytest.mark.parametrize(
    ("text", "seconds"), [("", float("inf")), ("90s", 90), ("30m", 1800), ("2h", 7200), ("1d", 86400)]
)
def test_times_have_units(text: str, seconds: float) -> None:
    assert parse_wait(text) == seconds


@pytest.mark.parametrize("text", ["30", "m", "-1s", "1.5h", "١s", "9999999s"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(WinnowError, match="such as 90s, 30m, 2h or 1d"):
        parse_wait(text)


def test_the_next_holder_removes_what_killed_writers_of_this_machine_left(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    killed = (
        "import os, sys; from pathlib import Path; from winnow.pipelines.store.local import LocalStore\n"
        "class Killed(LocalStore):\n"
        "    def _sync(self, stream): os.kill(os.getpid(), 9)\n"
        "Killed(Path(sys.argv[1])).put('x', b'half')"
    )
    assert subprocess.run([sys.executable, "-c", killed, str(tmp_path)], check=False).returncode == -9
    left = [path.name for path in (tmp_path / UNFINISHED).iterdir()]
    assert len(left) == 1
    mine, elsewhere = f"{Process.this().prefix}7", f"00000000{Process.this().prefix[8:]}7"
    for name in (mine, elsewhere):
        (tmp_path / UNFINISHED / name).write_bytes(b"half")
    with writing_lease(store):
        assert {path.name for path in (tmp_path / UNFINISHED).iterdir()} == {mine, elsewhere}
        store.clear_unfinished()
        assert {path.name for path in (tmp_path / UNFINISHED).iterdir()} == {mine}
