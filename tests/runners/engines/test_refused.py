"""What Spark and Flink refuse in the same words: one line, before anything is read or written."""

from pathlib import Path

import pytest

from tests.faults.winnow import run
from tests.messages import assert_told
from tests.runners.engines.commands import ENGINES, left_over, refused, require_job_server, scratch, taken_port
from tests.runners.engines.recipes import write_lines, write_recipe
from winnow.runners.engines.java import EngineName

pytestmark = pytest.mark.parametrize("engine", ENGINES)


def test_a_job_server_that_is_not_there_is_named_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: EngineName
) -> None:
    said = refused(tmp_path, capsys, engine, ["--job_endpoint=127.0.0.1:1"])
    assert_told(said, "--job_endpoint", "127.0.0.1:1")


def test_a_job_server_without_a_port_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: EngineName
) -> None:
    assert "'here': expected host:port" in refused(tmp_path, capsys, engine, ["--job_endpoint=here"])


def test_a_jar_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: EngineName) -> None:
    require_job_server(engine)
    jar = tmp_path / "job-server.jar"
    jar.write_text("hello")
    said = refused(tmp_path, capsys, engine, [f"--{engine}_job_server_jar={jar}"])
    assert f"{jar}: not a complete jar" in said


def test_another_engines_jar_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: EngineName) -> None:
    other = require_job_server("flink" if engine == "spark" else "spark")
    said = refused(tmp_path, capsys, engine, [f"--{engine}_job_server_jar={other}"])
    assert f"not {engine.title()}'s job server" in said


def test_without_java_the_remedy_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, engine: EngineName
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert "does not contain bin/java" in refused(tmp_path, capsys, engine)


@pytest.mark.parametrize("flag", ["--job_prt=0", "--environment_tpe=PROCESS"])
def test_an_unknown_flag_is_refused_with_the_nearest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: EngineName, flag: str
) -> None:
    near = {"--job_prt=0": "--job_port", "--environment_tpe=PROCESS": "--environment_type"}[flag]
    assert f"did you mean {near}?" in refused(tmp_path, capsys, engine, [flag])


@pytest.mark.engines
@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("--job_port={port}", "a port is taken by another program (--job-port={port})"),
        ("--job_server_jvm_properties=-Xmx1q", "did not start: Invalid maximum heap size: -Xmx1q"),
    ],
)
def test_a_job_server_that_cannot_start_leaves_a_line_and_nothing_else(
    tmp_path: Path, engine: EngineName, flag: str, expected: str
) -> None:
    require_job_server(engine)
    write_lines(tmp_path, rows=20)
    write_recipe(tmp_path, engine)
    with taken_port() as port:
        done = run(
            *(tmp_path, "run", f"{engine}.yaml", "--runner", engine, "--", flag.format(port=port)),
            env=scratch(tmp_path),
        )
        assert expected.format(port=port) in done.err.strip().splitlines()[-1]
    assert done.status == 1
    assert left_over(tmp_path) == []
