"""Maven: missing, failing, and which line of its log is told."""

from pathlib import Path

import pytest

from tests.messages import assert_told
from winnow.runners.engines.java.maven import MavenError, error_line, require_maven
from winnow.runners.engines.java.server_kinds import SPARK

ADVICE = (
    "[ERROR] \n"
    "[ERROR] To see the full stack trace of the errors, re-run Maven with the -e switch.\n"
    "[ERROR] Re-run Maven using the -X switch to enable full debug logging.\n"
)


def test_no_maven(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MavenError) as raised:
        require_maven(SPARK)
    assert_told(str(raised.value), "PATH", "WINNOW_SPARK_JOB_SERVER_JAR=FILE.jar", whole=True)


def test_of_an_artifact_that_is_not_published() -> None:
    log = (
        "[INFO] BUILD FAILURE\n"
        "[ERROR] Failed to execute goal org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy (default-cli) on "
        "project standalone-pom: Unable to find/resolve artifact. Could not find artifact "
        "org.apache.beam:beam-runners-spark-3-job-server:jar:2.77.0 in central -> [Help 1]\n" + ADVICE
    )
    assert_told(
        str(error_line(log)), "find/resolve", "org.apache.beam:beam-runners-spark-3-job-server:jar:2.77.0", whole=True
    )


def test_of_a_pom_that_cannot_be_read() -> None:
    log = (
        "[INFO] Scanning for projects...\n"
        "[ERROR] [ERROR] Some problems were encountered while processing the POMs:\n"
        "[FATAL] Non-parseable POM pom.xml: in comment after two dashes (-) next character must be > @ line 5\n"
        "[ERROR] The build could not read 1 project -> [Help 1]\n" + ADVICE
    )
    told = error_line(log)
    assert told is not None
    assert told.startswith("Non-parseable POM pom.xml")


def test_of_a_java_that_is_not_there() -> None:
    log = "The JAVA_HOME environment variable is not defined correctly,\nthis environment variable is needed.\n"
    assert_told(str(error_line(log)), "JAVA_HOME", whole=True)


def test_a_long_line_is_cut() -> None:
    told = error_line("[ERROR] " + "far " * 200)
    assert told is not None
    assert len(told) < 310


def test_of_a_log_without_errors() -> None:
    assert error_line("[INFO] BUILD SUCCESS\n") is None
