"""An exporter that is suspended for longer than others wait: it ends with an error, and harms nothing of its successor.

Both are processes, which believe that they are on different machines: on one, a suspended process is known to live.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.faults.winnow import ended, run_here
from tests.pipelines.store.conftest import point_to
from tests.pipelines.store.servers import BUCKET, Server, started
from winnow.pipelines.store.location import open_location

RECIPE = """
version: 1
store: {{path: store}}
sources: {{lines: {{root: lines, files: ["*.jsonl"], class: web, key: id}}}}
mix: {{unit: tokens, tokenizer: bytes, budget: {budget}}}
export: [{{jsonl: {{path: "{path}", shard_bytes: 4 KiB}}}}]
"""
EXPORTER = """
import os, platform, signal, sys
host, place, recipe = sys.argv[1:]
platform.node = lambda: host
from winnow.pipelines.export.places import bucket, folder
from winnow.pipelines.store.leases import lease
from winnow.runners.commands.main import main
lease.BEAT_SECONDS = 0.2

def suspended_once(kind, name):
    real = getattr(kind, name)
    def call(*arguments):
        setattr(kind, name, real)
        os.kill(os.getpid(), signal.SIGSTOP)
        return real(*arguments)
    setattr(kind, name, call)

if place:
    module, kind, name = place.split(".")
    suspended_once(getattr({"bucket": bucket, "folder": folder}[module], kind), name)
status = main(["export", recipe, "--workers", "1", "--replace"])
sys.stderr.flush()
os._exit(status)
"""


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with started("moto", tmp_path_factory.mktemp("moto")) as server:
        yield server


def write(folder: Path, name: str, path: str, budget: int) -> str:
    (folder / name).write_text(RECIPE.format(path=path, budget=budget))
    return name


def start(folder: Path, host: str, recipe: str, place: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "-c", EXPORTER, host, place, recipe]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def await_stopped(process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 300
    while psutil.Process(process.pid).status() != psutil.STATUS_STOPPED:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.05)


def outcome(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, said = process.communicate(timeout=300)
    return process.returncode, said


@pytest.mark.processes
@pytest.mark.parametrize(
    ("place", "theirs"),
    [
        ("bucket.BucketWork.put", 2_000),  # before its first file, and the next one writes another mixture
        ("bucket.ExportBucket.finish", 3_000),  # when all is written, and the next one goes on with the same
        ("folder.ExportFolder.join", 3_000),  # on a disk, where the lock of the folder is still held
    ],
)
def test_who_lost_the_lease_while_suspended_ends_with_an_error_and_the_next_holder_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moto: Server, place: str, theirs: int
) -> None:
    point_to(monkeypatch, moto.environment)
    (tmp_path / "lines").mkdir()
    rows = [{"id": str(number), "text": f"The text of line {number} is as long as the others."} for number in range(90)]
    (tmp_path / "lines" / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    on_disk = place.startswith("folder")
    address = "out" if on_disk else f"s3://{BUCKET}/{place}"
    mine = write(tmp_path, "mine.yaml", address, 3_000)
    other = write(tmp_path, "other.yaml", "elsewhere" if on_disk else address, theirs)
    for recipe in (mine, other):
        ended(run_here(tmp_path, "ingest", recipe, "--workers", "1"))

    suspended = start(tmp_path, "first", mine, place)
    try:
        await_stopped(suspended)
        assert outcome(start(tmp_path, "second", other)) == (0, "")
        os.kill(suspended.pid, 18)  # SIGCONT
        status, said = outcome(suspended)
    finally:
        suspended.kill()
    assert status == 1
    assert "on second took over while this process was suspended" in said or "another process took over" in said
    assert said.startswith("winnow: ")
    assert said.count("\n") == 1
    ended(run_here(tmp_path, "export", other, "--check"))
    if on_disk:
        assert not (tmp_path / "out").exists()
        ended(run_here(tmp_path, "export", mine, "--workers", "1"))
        ended(run_here(tmp_path, "export", mine, "--check"))
        return
    objects = open_location(address)
    manifest = json.loads(objects.read("winnow.json"))
    assert {info.path for info in objects.list()} == {"winnow.json", *(file["path"] for file in manifest["files"])}
    assert [info.path for info in open_location(f"s3://{BUCKET}").list() if "winnow-unfinished" in info.path] == []
