"""Java: known by what it prints, found by JAVA_HOME before PATH, and refused in a line that says how to get another."""

import os
import shutil
from pathlib import Path

import pytest

from tests.messages import assert_refused, assert_told
from winnow.runners.engines.java.installed_java import (
    Java,
    find_java,
    major_version,
    require_java,
    require_supported,
    version_in,
)
from winnow.runners.engines.java.server_kinds import FLINK, SPARK, JobServerError

# What `java -version` of these builds prints.
PRINTED = {
    "Debian 17": (
        'openjdk version "17.0.15" 2025-04-15\n'
        "OpenJDK Runtime Environment (build 17.0.15+6-Debian-1deb12u1)\n"
        "OpenJDK 64-Bit Server VM (build 17.0.15+6-Debian-1deb12u1, mixed mode, sharing)\n",
        "17.0.15",
        17,
    ),
    "Temurin 11": (
        'openjdk version "11.0.21" 2023-10-17\n'
        "OpenJDK Runtime Environment Temurin-11.0.21+9 (build 11.0.21+9)\n"
        "OpenJDK 64-Bit Server VM Temurin-11.0.21+9 (build 11.0.21+9, mixed mode)\n",
        "11.0.21",
        11,
    ),
    "Oracle 8": (
        'java version "1.8.0_391"\n'
        "Java(TM) SE Runtime Environment (build 1.8.0_391-b13)\n"
        "Java HotSpot(TM) 64-Bit Server VM (build 25.391-b13, mixed mode)\n",
        "1.8.0_391",
        8,
    ),
    "Corretto 8": (
        'openjdk version "1.8.0_392"\n'
        "OpenJDK Runtime Environment Corretto-8.392.08.1 (build 1.8.0_392-b08)\n"
        "OpenJDK 64-Bit Server VM Corretto-8.392.08.1 (build 25.392-b08, mixed mode)\n",
        "1.8.0_392",
        8,
    ),
    "Oracle 21": (
        'java version "21.0.2" 2024-01-16 LTS\n'
        "Java(TM) SE Runtime Environment (build 21.0.2+13-LTS-58)\n"
        "Java HotSpot(TM) 64-Bit Server VM (build 21.0.2+13-LTS-58, mixed mode, sharing)\n",
        "21.0.2",
        21,
    ),
    "Semeru 17, which is OpenJ9": (
        'openjdk version "17.0.9" 2023-10-17\n'
        "IBM Semeru Runtime Open Edition 17.0.9.0 (build 17.0.9+9)\n"
        "Eclipse OpenJ9 VM 17.0.9.0 (build openj9-0.41.0, JRE 17 Linux amd64-64-Bit Compressed References)\n",
        "17.0.9",
        17,
    ),
    "Zulu 17, patched in the fourth place": (
        'openjdk version "17.0.8.1" 2023-08-24 LTS\n'
        "OpenJDK Runtime Environment Zulu17.44+53-CA (build 17.0.8.1+1-LTS)\n"
        "OpenJDK 64-Bit Server VM Zulu17.44+53-CA (build 17.0.8.1+1-LTS, mixed mode, sharing)\n",
        "17.0.8.1",
        17,
    ),
    "GraalVM 17, the first of its series": (
        'openjdk version "17" 2021-09-14\n'
        "OpenJDK Runtime Environment GraalVM CE 21.3.0 (build 17+35-jvmci-21.3-b05)\n"
        "OpenJDK 64-Bit Server VM GraalVM CE 21.3.0 (build 17+35-jvmci-21.3-b05, mixed mode, sharing)\n",
        "17",
        17,
    ),
    "early access": (
        'openjdk version "22-ea" 2024-03-19\n'
        "OpenJDK Runtime Environment (build 22-ea+16-Debian-1)\n"
        "OpenJDK 64-Bit Server VM (build 22-ea+16-Debian-1, mixed mode, sharing)\n",
        "22-ea",
        22,
    ),
    "after a word on the environment": (
        "Picked up JAVA_TOOL_OPTIONS: -Dfile.encoding=UTF-8\n"
        'openjdk version "11.0.22" 2024-01-16\n'
        "OpenJDK Runtime Environment (build 11.0.22+7-post-Ubuntu-0ubuntu222.04.1)\n",
        "11.0.22",
        11,
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_a_version_is_read_whoever_made_the_java(name: str) -> None:
    printed, version, major = PRINTED[name]
    assert version_in(printed) == version
    assert major_version(version) == major


@pytest.mark.parametrize("printed", ["", "bash: java: command not found\n", "The operation couldn’t be completed.\n"])
def test_what_is_no_java_has_no_version(printed: str) -> None:
    assert version_in(printed) is None


@pytest.mark.parametrize("version", ["11.0.21", "17", "17.0.15"])
def test_11_and_17_fit(version: str) -> None:
    java = Java(Path("/usr/bin/java"), version, "Debian", None, "PATH")
    assert require_supported(java, SPARK) is java


@pytest.mark.parametrize("version", ["1.8.0_391", "21.0.2", "25"])
def test_others_are_refused_with_what_was_found_what_is_needed_and_what_to_do(
    version: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("winnow.runners.engines.java.installed_java.INSTALLED", tmp_path)  # where none is installed
    with pytest.raises(JobServerError) as raised:
        require_supported(Java(Path("/usr/bin/java"), version, "Oracle Corporation", None, "PATH"), FLINK)
    assert_told(str(raised.value), version, "/usr/bin/java", "PATH", "1.19 needs", "Java 11", "17", whole=True)


def test_a_fitting_one_that_is_installed_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, version in (("java-11", "11.0.21"), ("java-17", "17.0.15"), ("java-25", "25.0.1")):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "release").write_text(f'IMPLEMENTOR="Debian"\nJAVA_VERSION="{version}"\n')
        (tmp_path / name / "bin" / "java").touch(mode=0o755)
    monkeypatch.setattr("winnow.runners.engines.java.installed_java.INSTALLED", tmp_path)
    with assert_refused(JobServerError, "Java 11", "17", f"JAVA_HOME={tmp_path}/java-17"):
        require_supported(Java(Path("/usr/bin/java"), "25.0.1", "", None, "PATH"), SPARK)


def test_a_path_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("winnow.runners.engines.java.installed_java.INSTALLED", tmp_path)
    with assert_refused(JobServerError, "Java", "11 or 17"):
        require_java(SPARK)


def test_a_java_home_without_java_is_not_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JobServerError, match=f"^JAVA_HOME={tmp_path} does not contain bin/java; "):
        find_java()


def test_a_launcher_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(JobServerError, match=r"^--job_server_java_launcher=/none/java: no such program; "):
        find_java("/none/java")


def test_a_program_that_is_no_java() -> None:
    true = shutil.which("true")
    assert true is not None
    with pytest.raises(JobServerError, match=r"/true \(--job_server_java_launcher\) .* status 0; "):
        find_java(true)


def test_a_file_that_cannot_be_run(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_bytes(b"\x7fELF")
    java.chmod(0o755)
    with pytest.raises(JobServerError, match=r"java \(--job_server_java_launcher\) cannot be run: Exec format error; "):
        find_java(str(java))


@pytest.mark.engines
def test_the_one_here_is_asked_and_java_home_comes_before_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if shutil.which("java") is None:
        pytest.skip("no java on PATH: apt-get install openjdk-17-jre-headless")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    by_path = find_java()
    assert by_path.found_by == "PATH"
    assert by_path.major >= 8
    assert by_path.home is not None
    monkeypatch.setenv("JAVA_HOME", str(by_path.home))
    monkeypatch.setenv("PATH", os.devnull)
    by_home = find_java()
    assert by_home.found_by == "JAVA_HOME"
    assert by_home.version == by_path.version
    assert by_home.path == by_path.home / "bin" / "java"


def test_a_launcher_is_asked_once_until_it_is_another_file(tmp_path: Path) -> None:
    java, asked = tmp_path / "java", tmp_path / "asked"
    for version in ("17.0.1", "17.0.2"):
        java.unlink(missing_ok=True)
        java.write_text(f"#!/bin/sh\necho asked >> {asked}\necho 'openjdk version \"{version}\"'\n")
        java.chmod(0o755)
        assert [find_java(str(java)).version for _ in range(3)] == [version] * 3
    assert asked.read_text() == "asked\n" * 2
