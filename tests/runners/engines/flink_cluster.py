"""A Flink session cluster of real processes on the loopback: a JobManager and a TaskManager, from a Flink on disk.

Any Flink 1.19 will do, unpacked. What the Python package `apache-flink-libraries` brings is enough:

    pip download --no-deps --no-binary :all: apache-flink-libraries==1.19.0
    tar xzf apache-flink-libraries-1.19.0.tar.gz
    export WINNOW_FLINK_HOME=$PWD/apache-flink-libraries-1.19.0/deps
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

HOME_VARIABLE = "WINNOW_FLINK_HOME"
START_SECONDS = 120.0
_PACKAGES = (
    *("java.lang", "java.lang.reflect", "java.net", "java.io", "java.nio", "java.text", "java.time", "java.util"),
    *("java.util.concurrent", "java.util.concurrent.atomic", "java.util.concurrent.locks", "sun.nio.ch"),
)
_OPENED = tuple(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _PACKAGES)


@dataclass(frozen=True)
class SessionCluster:
    """Where it is, and its processes."""

    master: str
    job_manager: subprocess.Popen[bytes]
    task_manager: subprocess.Popen[bytes]
    logs: Path
    others: tuple[subprocess.Popen[bytes], ...] = ()  # more TaskManagers

    def jobs(self) -> dict[str, str]:
        """The state of each job that was ever submitted."""
        return {job["jid"]: job["state"] for job in _asked(self.master, "/jobs/overview")["jobs"]}


def require_flink() -> Path:
    """The Flink on disk; without one the test is skipped, and says how to get it."""
    named = os.environ.get(HOME_VARIABLE, "")
    if not named or not list(Path(named).glob("lib/flink-dist-1.19.*.jar")):
        pytest.skip(
            f"{HOME_VARIABLE} names no folder with lib/flink-dist-1.19.*.jar: unpack Flink 1.19, or the sdist of "
            "apache-flink-libraries==1.19.0 and name its folder deps (tests/runners/engines/flink_cluster.py)"
        )
    if shutil.which("java") is None:
        pytest.skip("no Java on PATH: apt-get install openjdk-17-jre-headless")
    return Path(named)


@contextmanager
def session_cluster(folder: Path, slots: int = 2, task_managers: int = 1, **more: str) -> Iterator[SessionCluster]:
    """Started, ready, and gone afterwards; `more` settings of Flink have _ in the place of points."""
    home = require_flink()
    rest, rpc = _free_ports(2)
    conf = folder / "conf"
    conf.mkdir(parents=True)
    settings = {
        "jobmanager.rpc.address": "127.0.0.1",
        "jobmanager.bind-host": "127.0.0.1",
        "jobmanager.rpc.port": rpc,
        "jobmanager.memory.process.size": "1g",
        "rest.address": "127.0.0.1",
        "rest.bind-address": "127.0.0.1",
        "rest.port": rest,
        "taskmanager.host": "127.0.0.1",
        "taskmanager.bind-host": "127.0.0.1",
        "taskmanager.memory.process.size": "1600m",
        "taskmanager.memory.task.off-heap.size": "256m",  # Beam's connections: Flink does not count them itself
        "taskmanager.memory.managed.fraction": "0.1",
        "taskmanager.memory.network.min": "160m",  # each blocking exchange takes buffers in every subtask
        "taskmanager.network.sort-shuffle.min-buffers": 64,
        "taskmanager.numberOfTaskSlots": slots,
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": 3,
        "restart-strategy.fixed-delay.delay": "1 s",
        "cluster.uncaught-exception-handling": "FAIL",
        "io.tmp.dirs": folder / "scratch",
        **{name.replace("_", "."): value for name, value in more.items()},
    }
    (folder / "scratch").mkdir()
    (conf / "config.yaml").write_text("".join(f"{name}: {value}\n" for name, value in settings.items()))
    (conf / "log4j.properties").write_text(
        "rootLogger.level = INFO\nrootLogger.appenderRef.out.ref = Out\nappender.out.name = Out\n"
        "appender.out.type = CONSOLE\nappender.out.layout.type = PatternLayout\n"
        "appender.out.layout.pattern = %d %-5p %c{1} %m%n\n"
    )
    common = [
        *_OPENED,
        f"-Dlog4j.configurationFile={conf / 'log4j.properties'}",
        f"-Djava.io.tmpdir={folder / 'scratch'}",
    ]
    classes = ["-cp", f"{home / 'lib'}/*"]
    runtime = "org.apache.flink.runtime"
    job_manager = [
        *("java", "-Xmx384m", *common, *classes, f"{runtime}.entrypoint.StandaloneSessionClusterEntrypoint"),
        *("--configDir", str(conf)),
    ]
    jvm, dynamic = _task_manager_memory(home, conf)
    task_manager = [
        *("java", *jvm, "-XX:+ExitOnOutOfMemoryError", *common, *classes, f"{runtime}.taskexecutor.TaskManagerRunner"),
        *("--configDir", str(conf), *dynamic),
    ]
    started: list[subprocess.Popen[bytes]] = []
    try:
        workers = [
            ("taskmanager", task_manager),
            *((f"taskmanager-{n}", task_manager) for n in range(2, task_managers + 1)),
        ]
        for name, command in (("jobmanager", job_manager), *workers):
            with open(folder / f"{name}.log", "wb") as log:
                started.append(subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True))
        master = f"127.0.0.1:{rest}"
        _wait_for(master, slots * task_managers, started, folder)
        yield SessionCluster(master, started[0], started[1], folder, tuple(started[2:]))
    finally:
        for process in reversed(started):
            _end(process)


def _task_manager_memory(home: Path, conf: Path) -> tuple[list[str], list[str]]:
    """What Flink's own start script asks for: options of the JVM, and the settings that go with them."""
    said = subprocess.run(
        [
            *("java", "-cp", f"{home / 'bin' / 'bash-java-utils.jar'}:{home / 'lib'}/*"),
            *("org.apache.flink.runtime.util.bash.BashJavaUtils", "GET_TM_RESOURCE_PARAMS", "--configDir", str(conf)),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    prefix = "BASH_JAVA_UTILS_EXEC_RESULT:"
    jvm, dynamic = [line.removeprefix(prefix).split() for line in said.splitlines() if line.startswith(prefix)]
    return jvm, dynamic


def _wait_for(master: str, slots: int, started: list[subprocess.Popen[bytes]], folder: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        assert all(process.poll() is None for process in started), _logs(folder)
        try:
            if _asked(master, "/overview")["slots-total"] == slots:
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError(f"no cluster after {START_SECONDS} s\n{_logs(folder)}")


def _logs(folder: Path) -> str:
    return "\n".join(log.read_text("utf-8", "replace")[-4000:] for log in sorted(folder.glob("*.log")))


def _asked(master: str, path: str):  # type: ignore[no-untyped-def]  # JSON of Flink's
    with urllib.request.urlopen(f"http://{master}{path}", timeout=10) as answer:
        return json.load(answer)


def _free_ports(count: int) -> list[int]:
    """Free a moment ago: Flink cannot say which it has chosen."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _end(process: subprocess.Popen[bytes]) -> None:
    """With what it has started: TaskManagers start workers."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
