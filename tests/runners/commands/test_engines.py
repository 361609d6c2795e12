"""`winnow engines`, as the command line runs it."""

import json
from pathlib import Path

import pytest

from tests.messages import assert_told, assert_told_each
from tests.runners.engines.java.jars import write_jar
from winnow.runners.commands.main import main


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINNOW_ENGINES", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr("winnow.runners.engines.java.installed_java.INSTALLED", tmp_path / "jvm")
    for variable in ("JAVA_HOME", "GOBIN", "GOPATH", "WINNOW_SPARK_JOB_SERVER_JAR", "WINNOW_FLINK_JOB_SERVER_JAR"):
        monkeypatch.delenv(variable, raising=False)


def test_a_machine_without_java_and_maven(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engines"]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("spark     not ready")
    assert_told_each(
        lines[at : at + 3],
        "spark     not ready",
        ("Java 11", "17", "Spark 3.5"),
        ("JAVA_HOME", "PATH", "Java 11", "17"),
    )
    assert_told(lines[at + 3], "job server", "PATH")
    assert lines[-1] == f"folder    {tmp_path}/cache"


def test_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("WINNOW_SPARK_JOB_SERVER_JAR", str(write_jar(tmp_path / "mine.jar")))
    assert main(["engines", "--json"]) == 0
    found = {engine["name"]: engine for engine in json.loads(capsys.readouterr().out)["engines"]}
    assert {name: engine["state"] for name, engine in found.items() if name != "dataflow"} == {
        "local": "ready",
        "portable": "ready",
        "spark": "not ready",
        "flink": "not ready",
        "prism": "not ready",
    }
    (remedy,) = found["prism"]["to_do"]
    assert "go install github.com/apache/beam/sdks/v2/go/cmd/prism@v" in remedy
    assert found["spark"]["found"][0].endswith(f"given: {tmp_path}/mine.jar")
    assert len(found["spark"]["to_do"]) == 1


def test_a_prism_that_is_here_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "prism"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("GOBIN", str(tmp_path))
    assert main(["engines"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"  found   {program}" in lines[lines.index("prism     ready") :]


def test_building_without_java_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engines", "build", "spark"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith("winnow: Java was not found: ")


def test_nothing_of_beam_may_follow(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engines", "--", "--parallelism=2"]) == 1
    assert "runs no pipeline" in capsys.readouterr().err
