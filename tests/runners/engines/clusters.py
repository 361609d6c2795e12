"""A real Spark standalone cluster on the loopback: a master and workers of their own, started and stopped by tests."""

import importlib.util
import itertools
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

HOME_VARIABLE = "WINNOW_SPARK_HOME"
START_SECONDS = 180.0  # a busy machine; about 3 on a quiet one
STOP_SECONDS = 30.0
_POLL_SECONDS = 0.1
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"


@dataclass(frozen=True)
class SparkCluster:
    """One that runs."""

    url: str
    folder: Path
    start_worker: Callable[[int, str, str, Sequence[str], Mapping[str, str]], object]

    def add_worker(
        self,
        cores: int = 1,
        memory: str = "1g",
        address: str = "127.0.0.1",
        command: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """One more machine, as it were; returns when the master has it.

        `command`: what it is started by, such as a program that shows it another network and file system.
        """
        self.start_worker(cores, memory, address, command, environment or {})

    def executors(self) -> list[psutil.Process]:
        """The Java processes that run tasks."""
        return [one for one in processes_under(self.folder) if "CoarseGrainedExecutorBackend" in " ".join(cmdline(one))]

    def python_workers(self) -> list[psutil.Process]:
        """The processes that executors started to run our functions."""
        return [one for one in processes_under(self.folder) if "--provision_endpoint" in " ".join(cmdline(one))]


def spark_home() -> Path:
    """Where Spark is; skips the test when it is nowhere."""
    if named := os.environ.get(HOME_VARIABLE):
        return Path(named)
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        pytest.skip(f"no Spark: make engines, or pip install pyspark==3.5.0 and let {HOME_VARIABLE} name its folder")
    return Path(found.origin).parent


@contextmanager
def spark_cluster(
    folder: Path, workers: int = 2, cores: int = 1, memory: str = "1g", address: str = "127.0.0.1"
) -> Iterator[SparkCluster]:
    """A master and its workers on free ports; none of them, nor anything that they started, is left."""
    home = spark_home()
    if shutil.which("java") is None:
        pytest.skip("no java: apt-get install openjdk-17-jre-headless")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("WINNOW_", "SPARK_"))},
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": address,
        "SPARK_DAEMON_MEMORY": "256m",
    }
    folder.mkdir()
    spark_class = str(home / "bin" / "spark-class")
    with ExitStack() as stack:
        stack.callback(_end, folder)

        def started(
            name: str,
            *arguments: str,
            ready: str,
            command: Sequence[str] = (),
            more: Mapping[str, str] | None = None,
        ) -> re.Match[str]:
            log = folder / f"{name}.log"
            with open(log, "wb") as stream:
                process = subprocess.Popen(
                    [*command, spark_class, *arguments],
                    env={**environment, **(more or {})},
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=stream,
                    start_new_session=True,
                )
            end = time.monotonic() + START_SECONDS
            while time.monotonic() < end and process.poll() is None:
                if found := re.search(ready, log.read_text("utf-8", "replace")):
                    return found
                time.sleep(_POLL_SECONDS)
            raise RuntimeError(f"{name} did not start:\n{log.read_text('utf-8', 'replace')[-3000:]}")

        here = ("--host", address, "--webui-port", "0")
        found = started("master", _MASTER, *here, "--port", "0", ready=r"Starting Spark master at (spark://\S+)")
        url = found[1]
        numbers = itertools.count()

        def start_worker(
            cores: int, memory: str, at: str, command: Sequence[str], environment: Mapping[str, str]
        ) -> None:
            number = next(numbers)
            started(
                f"worker-{number}",
                *(_WORKER, "--host", at, "--webui-port", "0", "--cores", str(cores), "--memory", memory),
                *("--work-dir", str(folder / f"work-{number}"), url),
                ready="Successfully registered with master",
                command=command,
                more=environment,
            )

        for _ in range(workers):
            start_worker(cores, memory, address, (), {})
        yield SparkCluster(url, folder, start_worker)


def cmdline(process: psutil.Process) -> list[str]:
    """What it was started as; nothing for one that has ended."""
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return []


def processes_under(folder: Path) -> list[psutil.Process]:
    """The processes that work in a folder or below."""
    found = []
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()).is_relative_to(folder):
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def _end(folder: Path) -> None:
    """Daemons first: they start executors again."""
    processes = processes_under(folder)
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(processes, STOP_SECONDS)
    assert processes_under(folder) == []
