"""The command line on an engine: what it needs, what it leaves running, and the same mixture as `local` makes."""

import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.faults.winnow import run, tree_hash
from tests.runners.engines.recipes import exported, write_lines, write_recipe
from winnow.runners.commands.main import main
from winnow.runners.engines.java import SERVERS, EngineName, JobServerError, find_jar, find_java

ENGINES: tuple[EngineName, ...] = ("spark", "flink")
SMALL = "--job_server_jvm_properties=-Dspark.default.parallelism=4"
SMALL_EXECUTORS = "--job_server_jvm_properties=-Dspark.executor.memory=500m"


def require_job_server(engine: EngineName) -> Path:
    """The jar; without one, or without a Java, the test is skipped."""
    try:
        find_java()
        found = find_jar(SERVERS[engine])
    except JobServerError as error:
        pytest.skip(str(error))
    if found is None:
        pytest.skip(f"no job server for {engine} on this machine yet: winnow engines build {engine}")
    return found.path


def small(engine: str) -> tuple[str, ...]:
    """Flags by which tiny stages are cut into few pieces."""
    return (SMALL,) if engine == "spark" else ()


@contextmanager
def taken_port() -> Iterator[int]:
    """A port at which a program of no engine's listens."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def free_port() -> int:
    """Free a moment ago."""
    with taken_port() as port:
        return port


def boot_beside(folder: Path, version: str | None = None) -> str:
    """The flag that makes a cluster start this Python's workers, or those of another version."""
    return f"--environment_options=process_command={boot_script(folder, version)}"


def boot_script(folder: Path, version: str | None = None) -> Path:
    """The console entry, as an installation makes it."""
    boot = folder / "winnow-boot"
    other = "" if version is None else f"version_handshake.version = lambda _: '{version}'\n"
    boot.write_text(
        f"#!{sys.executable}\nfrom winnow.pipelines.running import version_handshake\n"
        "from winnow.runners.engines.workers.boot import entry\n\n"
        f"{other}entry()\n"
    )
    boot.chmod(0o755)
    return boot


@contextmanager
def boot_pool(
    folder: Path, command: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> Iterator[tuple[int, psutil.Popen]]:
    """`winnow-boot --pool` as an administrator keeps it on a machine of a cluster: its port, and the process.

    `command`: what it is started by, such as a program that shows it another file system.
    """
    port = free_port()
    started = [*command, str(boot_script(folder)), "--pool", "--port", str(port)]
    with open(folder / "pool.log", "wb") as log:
        pool = psutil.Popen(started, stdout=log, stderr=log, env={**os.environ, **(environment or {})})
    try:
        end = time.monotonic() + 120
        while b"ready to start workers" not in (folder / "pool.log").read_bytes():
            assert pool.poll() is None, (folder / "pool.log").read_text()
            assert time.monotonic() < end
            time.sleep(0.05)
        yield port, pool
    finally:
        pool.terminate()
        assert pool.wait(60) == 0


def scratch(folder: Path) -> dict[str, str]:
    """A temporary folder of a command's own, by which its processes are known."""
    (folder / "scratch").mkdir(exist_ok=True)
    return {"TMPDIR": str(folder / "scratch")}


def of_command(folder: Path) -> list[psutil.Process]:
    """What runs of a command whose temporary folder is in this one: the command, and what it started."""
    mine = folder / "scratch"
    places = ((one, (one.info["environ"] or {}).get("TMPDIR")) for one in psutil.process_iter(["environ"]))
    return [one for one, place in places if place is not None and Path(place).is_relative_to(mine)]


def left_over(folder: Path, seconds: float = 30) -> list[psutil.Process]:
    """What still runs of it, after a while to end in."""
    end = time.monotonic() + seconds
    while (found := of_command(folder)) and time.monotonic() < end:
        time.sleep(0.1)
    return found


def assert_no_files(folder: Path) -> None:
    """The temporary folder of a command has what it has while nothing runs."""
    left = (path.name for root in (folder / "scratch").iterdir() for path in root.iterdir())
    assert {*left} <= {"guard", "kernels"}


def kill_a_worker(folder: Path, killed: list[int]) -> None:
    """Kill the first worker of the command that has begun to work: the fork server itself has few threads."""
    end = time.monotonic() + 300
    while not killed and time.monotonic() < end:
        for process in of_command(folder):
            try:
                if "winnow.pipelines.running.fork_server" in process.cmdline() and process.num_threads() > 6:
                    process.kill()
                    killed.append(process.pid)
                    return
            except psutil.NoSuchProcess:
                continue
        time.sleep(0.02)


def prepared(folder: Path, engine: str) -> None:
    """The same recipe twice, of which one has been run by `local`."""
    write_lines(folder)
    write_recipe(folder, "local")
    write_recipe(folder, engine)
    expected = run(folder, "run", "local.yaml", "--workers", "1")
    assert expected.status == 0, expected.err


def assert_same(folder: Path, engine: str) -> None:
    """What the engine made is what `local` did."""
    assert tree_hash(folder, f"{engine}/store") == tree_hash(folder, "local/store")
    assert exported(folder, engine) == exported(folder, "local") != {}


def refused(folder: Path, capsys: pytest.CaptureFixture[str], engine: str, flags: Sequence[str] = ()) -> str:
    """What a person is told; it is one line, and nothing was begun."""
    write_lines(folder, rows=20)
    recipe = write_recipe(folder, engine)
    assert main(["run", str(recipe), "--runner", engine, "--", *flags]) == 1
    said = capsys.readouterr().err.strip()
    assert said.startswith("winnow: ")
    assert "\n" not in said
    assert not (folder / engine).exists()
    return said
