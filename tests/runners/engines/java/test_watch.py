"""A job server that does not start says why; one that runs out of memory or dies is no pipeline that fails."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.messages import assert_refused
from tests.runners.engines.test_spark_words import resources
from winnow.runners.engines.java.job_servers import JOB_SERVERS, JobServer, Service
from winnow.runners.engines.java.watch import OutputListener, java_watched
from winnow.schemas.errors import StageError

pytestmark = pytest.mark.processes


@dataclass(frozen=True, slots=True)
class Talking(Service):
    """A process that says what a job server says when it is ready, then other things, and then waits."""

    script: str = ""
    ready: str = "import sys, time\nprint('JobService started on localhost:1', flush=True)\n"

    def command(self, _: Path) -> list[str]:
        return [sys.executable, "-I", "-S", "-c", f"{self.ready}{self.script}\ntime.sleep(60)"]


@contextmanager
def talking(script: str) -> Iterator[JobServer]:
    service = Talking(title="the job server", java=Path("java"), jvm=(), jar=Path("jar"), arguments=(), script=script)
    server = JOB_SERVERS.at(service)
    try:
        yield server
    finally:
        JOB_SERVERS.end(service)


def await_end(server: JobServer) -> None:
    """As a pipeline does whose connections close with the job server."""
    end = time.monotonic() + 20
    while server.alive:
        assert time.monotonic() < end
        time.sleep(0.02)
    raise RuntimeError("Socket closed")


def fail_later() -> None:
    time.sleep(1.5)
    raise ValueError("of a worker")


OUT_OF_MEMORY = "time.sleep(0.5)\nprint('WARN executor: java.lang.OutOfMemoryError: Direct buffer', flush=True)"


def test_a_job_that_hangs_since_java_ran_out_of_memory_is_ended_and_named() -> None:
    with (
        talking(OUT_OF_MEMORY) as server,
        assert_refused(StageError, "out of memory"),
        java_watched(server, grace_seconds=0.1),
    ):
        await_end(server)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("x\\nUnrecognized option: --nonsense", "Unrecognized option: --nonsense; see --job_server_jvm_properties"),
        ("Initial heap size set to a larger value", "Initial heap size set to a larger value; see -Xmx"),
        (
            "OpenJDK: Could not reserve enough space for 9 kB",
            "give it less memory with --job_server_jvm_properties=-Xmx1g",
        ),
        ("Caused by: Address already in use", "a port is taken by another program"),
        ("something else\\n\\tat Some.java:1", r"something else \(log: "),
    ],
)
def test_one_that_does_not_start_says_why_and_what_to_do(written: str, says: str) -> None:
    service = Talking(
        title="the job server", java=Path("java"), jvm=(), jar=Path("jar"), arguments=(),
        script="", ready=f"import sys\nprint('{written}', flush=True)\nsys.exit(1)\n",
    )  # fmt: skip
    with pytest.raises(StageError, match=f"the job server(?: did not start)?: .*{says}"):
        JOB_SERVERS.at(service)


def test_a_job_that_ends_well_all_the_same_is_left_alone() -> None:
    with talking(OUT_OF_MEMORY) as server:
        with java_watched(server):
            time.sleep(2)
        assert server.alive


def test_a_job_server_that_dies_is_named() -> None:
    with (
        talking("time.sleep(0.3)\nsys.exit(1)") as server,
        assert_refused(StageError, "server ended during"),
        java_watched(server),
    ):
        await_end(server)


def test_an_error_of_the_pipeline_stays_what_it_is() -> None:
    with talking("print('torch.OutOfMemoryError: CUDA', flush=True)") as server:
        with pytest.raises(ValueError, match="of a worker"), java_watched(server, grace_seconds=0.1):
            fail_later()
        assert server.alive


def test_memory_that_a_machine_of_the_cluster_lacks_is_not_the_job_servers() -> None:
    lost = "05:00:00 WARN TaskSetManager: Lost task 0.0 in stage 0.0 (TID 0) (10.0.0.2 executor 0): Failure"
    cause = "Caused by: io.netty.util.internal.OutOfDirectMemoryError: failed to allocate"
    with talking(f"print({lost!r}, {cause!r}, sep=chr(10), flush=True)") as server:
        with java_watched(server, resources(), grace_seconds=0.1):
            time.sleep(2)
        assert server.alive


def test_silence_is_no_reason_to_end_a_job() -> None:
    with talking("") as server:
        with java_watched(server, grace_seconds=0.1):
            time.sleep(2)
        assert server.alive


@dataclass
class Hearing(OutputListener):
    """Ends a job at a word."""

    lines: list[str] = field(default_factory=list)

    def on_line(self, line: str) -> None:
        self.lines.append(line)

    def is_remote(self, _: str) -> bool:
        return False

    def reason_to_end(self) -> str:
        return "the cluster is gone" if "the end" in self.lines else ""


def test_what_an_attendant_understands_of_whole_lines_ends_the_job_in_its_words() -> None:
    hearing = Hearing()
    parts = "time.sleep(1.5)\nprint('first\\nthe', end='', flush=True)\ntime.sleep(1.5)\nprint(' end', flush=True)"
    with (
        talking(parts) as server,
        pytest.raises(StageError, match=r"^the cluster is gone$"),
        java_watched(server, hearing),
    ):
        await_end(server)
    assert hearing.lines == ["first", "the end"]


def test_a_pipelines_own_error_is_not_taken_for_the_clusters() -> None:
    with talking("time.sleep(0.5)\nprint('first', flush=True)") as server:
        with pytest.raises(ValueError, match="of a worker"), java_watched(server, Hearing()):
            fail_later()
        assert server.alive
