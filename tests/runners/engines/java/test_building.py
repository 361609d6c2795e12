"""Job servers built by Maven for real, and pipelines run on what was built."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.runners.engines.java import word_count
from winnow.runners.engines.java import EngineName, job_server

pytestmark = [
    pytest.mark.engines,
    pytest.mark.skipif(
        shutil.which("java") is None or shutil.which("mvn") is None,
        reason="no java or no mvn on PATH: apt-get install openjdk-17-jre-headless maven",
    ),
]

# What a pipeline is given beside the jar and the Java: all of it on this machine, in a heap that a laptop has.
EMBEDDED: dict[EngineName, tuple[str, ...]] = {
    "spark": (
        "--runner=SparkRunner",
        "--spark_master_url=local[2]",
        "--environment_cache_millis=60000",
        "--job_server_jvm_properties=-Dspark.default.parallelism=4",
    ),
    "flink": ("--runner=FlinkRunner", "--flink_master=[local]", "--parallelism=2"),
}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("WINNOW_ENGINES", str(folder))
    return folder


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "winnow", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "400"},
    )


def test_two_builders_at_once_make_one_jar_and_a_damaged_one_is_made_again_with_the_same_bytes(cache: Path) -> None:
    builders = [start("engines", "build", "flink") for _ in range(2)]
    said = [builder.communicate() for builder in builders]
    assert [builder.returncode for builder in builders] == [0, 0], said
    assert sum("another process is building" in out for out, _ in said) == 1
    (jar,) = cache.glob("*.jar")
    sha256 = hashlib.sha256(jar.read_bytes()).hexdigest()
    for out, _ in said:
        assert f"sha256 {sha256}" in out
        assert str(jar) in out
    jar.write_bytes(jar.read_bytes()[:-1])
    again = start("engines", "build", "flink")
    out, err = again.communicate()
    assert again.returncode == 0, err
    assert f"{jar} is damaged" in out
    assert f"sha256 {sha256}" in out
    assert {path.name for path in cache.iterdir()} == {
        jar.name,
        f"{jar.name}.sha256",
        f".{jar.name}.lock",
        "flink-build.log",
    }


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_build_that_is_killed_leaves_nothing_running_and_no_jar(how: signal.Signals, cache: Path) -> None:
    builder = start("engines", "build", "flink")
    log = cache / "flink-build.log"
    while not (log.is_file() and b"Building" in log.read_bytes()):
        assert builder.poll() is None, builder.communicate()
        time.sleep(0.02)
    family = psutil.Process(builder.pid).children(recursive=True)
    assert any("java" in process.name() for process in family)
    builder.send_signal(how)
    builder.communicate()
    assert psutil.wait_procs(family, timeout=20)[1] == []
    assert list(cache.glob("*.jar")) == []


def test_maven_without_its_repository_is_one_line(cache: Path, tmp_path: Path) -> None:
    # Maven reads this for whatever is built below its folder.
    (tmp_path / ".mvn").mkdir()
    (tmp_path / ".mvn" / "maven.config").write_text(f"--offline\n-Dmaven.repo.local={tmp_path}/empty\n")
    builder = start("engines", "build", "spark")
    out, err = builder.communicate()
    assert builder.returncode == 1, out
    (line,) = err.splitlines()
    assert line.startswith("winnow: Maven failed while building Spark 3.5.0's job server: ")
    assert "offline mode" in line
    assert "WINNOW_SPARK_JOB_SERVER_JAR=FILE.jar" in line
    assert line.endswith(f"(log: {cache}/spark-build.log)")
    assert list(cache.glob("*.jar")) == []


@pytest.mark.parametrize("engine", ["spark", "flink"])
def test_words_are_counted_on_it(engine: EngineName, tmp_path: Path) -> None:
    jar, java = job_server(engine)  # of the user's own cache: built there if it is not yet
    flags = (*EMBEDDED[engine], *jar.flags(java), "--job_server_jvm_properties=-Xmx1g")
    done = subprocess.run(
        [sys.executable, word_count.__file__, str(tmp_path / "counts"), *flags],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (written,) = tmp_path.glob("counts*")
    assert sorted(written.read_text().splitlines()) == ["cat 100", "end 100", "mat 100", "on 100", "sat 100", "the 300"]
