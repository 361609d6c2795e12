"""Where a job server's jar is looked for, in which order, and what is done about a damaged one."""

import hashlib
import io
import shutil
import threading
from pathlib import Path

import pytest
from rich.console import Console

from tests.messages import assert_told
from tests.runners.engines.java.jars import write_jar
from winnow.runners.engines.java.installed_java import Java
from winnow.runners.engines.java.jars import CHECKSUM, _build_lock, cached_path, find_jar, job_server
from winnow.runners.engines.java.server_kinds import FLINK, SPARK, JobServerError, beam_installed


@pytest.fixture(autouse=True)
def empty_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINNOW_ENGINES", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("WINNOW_SPARK_JOB_SERVER_JAR", raising=False)


def keep(path: Path) -> Path:
    """Put a jar into winnow's cache as a build does."""
    write_jar(path)
    path.with_name(path.name + CHECKSUM).write_text(hashlib.sha256(path.read_bytes()).hexdigest())
    return path


def beams_jar(folder: Path) -> Path:
    return folder / f"beam-runners-spark-3-job-server-{beam_installed()}.jar"


def test_none() -> None:
    assert find_jar(SPARK) is None


def test_the_cache_follows_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("WINNOW_ENGINES")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert cached_path(SPARK).parent == tmp_path / "caches" / "winnow" / "engines"


def test_a_jar_of_another_version_has_another_name() -> None:
    names = {cached_path(SPARK).name, cached_path(SPARK, "3.5.0").name, cached_path(SPARK, "3.5.1").name}
    assert {name[17:] for name in names} == {
        f"beam-{beam_installed()}-spark-3.5.0-job-server.jar",
        f"beam-{beam_installed()}-spark-3.5.1-job-server.jar",
    }
    assert len(names) == 2


def test_one_that_was_built() -> None:
    path = keep(cached_path(SPARK))
    found = find_jar(SPARK)
    assert found is not None
    assert (found.path, found.origin) == (path, "in winnow's cache")
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (found.beam_version, found.engine_version) == ("2.70.0", "3.5.0")


def test_beams_own_comes_before_it(tmp_path: Path) -> None:
    keep(cached_path(SPARK))
    path = write_jar(beams_jar(tmp_path / "home/.apache_beam/cache/jars"), beam=beam_installed())
    found = find_jar(SPARK)
    assert found is not None
    assert (found.path, found.origin) == (path, "in Beam's cache")


def test_beams_cache_may_be_elsewhere(tmp_path: Path) -> None:
    path = write_jar(beams_jar(tmp_path / "jars"), beam=beam_installed())
    found = find_jar(SPARK, beam_cache=str(tmp_path / "jars"))
    assert found is not None
    assert found.path == path


def test_beams_own_with_another_spark_than_the_clusters_is_passed_over(tmp_path: Path) -> None:
    beams = write_jar(beams_jar(tmp_path / "home/.apache_beam/cache/jars"), beam=beam_installed(), spark="3.5.3")
    path = keep(cached_path(SPARK, "3.5.0"))
    printed = io.StringIO()
    found = find_jar(SPARK, engine_version="3.5.0", console=Console(markup=False, soft_wrap=True, file=printed))
    assert found is not None
    assert found.path == path
    assert_told(printed.getvalue(), str(beams), "Spark 3.5.3", "expected 3.5.0", whole=True)


def test_one_that_is_given_comes_before_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(cached_path(SPARK))
    mine, flagged = write_jar(tmp_path / "mine.jar"), write_jar(tmp_path / "flagged.jar")
    monkeypatch.setenv("WINNOW_SPARK_JOB_SERVER_JAR", str(mine))
    by_variable, by_flag = find_jar(SPARK), find_jar(SPARK, str(flagged))
    assert by_variable is not None
    assert by_flag is not None
    assert (by_variable.path, by_variable.origin) == (mine, "given")
    assert (by_flag.path, by_flag.origin) == (flagged, "given")
    assert find_jar(FLINK) is None


def test_one_that_is_given_is_that_one_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(cached_path(SPARK))
    monkeypatch.setenv("WINNOW_SPARK_JOB_SERVER_JAR", str(tmp_path / "none.jar"))
    with pytest.raises(JobServerError) as raised:
        find_jar(SPARK)
    assert_told(str(raised.value), "WINNOW_SPARK_JOB_SERVER_JAR", f"{tmp_path}/none.jar", "winnow find", whole=True)
    with pytest.raises(JobServerError, match=r"^--spark_job_server_jar: .*built for Beam 2\.48\.0; "):
        find_jar(SPARK, str(write_jar(tmp_path / "old.jar", beam="2.48.0")))


def test_an_address_is_not_a_file() -> None:
    with pytest.raises(JobServerError, match=r"^--spark_job_server_jar=https://h/s\.jar: expected a local file; "):
        find_jar(SPARK, "https://h/s.jar")


@pytest.mark.parametrize("damage", ["a changed byte", "cut off", "no hash"])
def test_a_damaged_one_is_not_used_and_the_line_says_so(damage: str) -> None:
    path = keep(cached_path(SPARK))
    whole = path.read_bytes()
    if damage == "a changed byte":
        path.write_bytes(whole[:-1] + b"!")
    elif damage == "cut off":
        path.write_bytes(whole[:100])
    else:
        path.with_name(path.name + CHECKSUM).unlink()
    printed = io.StringIO()
    assert find_jar(SPARK, console=Console(markup=False, soft_wrap=True, file=printed)) is None
    (line,) = printed.getvalue().splitlines()
    assert line.startswith(f"engine  {path} is damaged (")
    assert line.endswith("; it is built again")


def test_who_waits_for_another_builder_takes_what_that_one_made() -> None:
    if shutil.which("java") is None or shutil.which("mvn") is None:
        pytest.skip("no java or no mvn on PATH: apt-get install openjdk-17-jre-headless maven")
    path = cached_path(SPARK)
    path.parent.mkdir()
    printed = io.StringIO()
    found: list[Path] = []
    second = threading.Thread(
        target=lambda: found.append(
            job_server("spark", console=Console(markup=False, soft_wrap=True, file=printed))[0].path
        ),
        daemon=True,
    )
    with _build_lock(path, None):
        second.start()
        while "waiting" not in printed.getvalue():
            second.join(0.01)
        keep(path)
    second.join()
    assert found == [path]
    assert_told(printed.getvalue(), "process is building", whole=True)


@pytest.mark.parametrize(
    ("server", "version"), [(SPARK, "3.4.1"), (SPARK, "4.0.0"), (FLINK, "1.19.1"), (FLINK, "1.20.0")]
)
def test_a_version_that_cannot_be_built(server: object, version: str) -> None:
    if shutil.which("java") is None:
        pytest.skip("no java on PATH: apt-get install openjdk-17-jre-headless")
    engine = "spark" if server is SPARK else "flink"
    with pytest.raises(JobServerError, match=rf"^{engine.capitalize()} {version}: expected "):
        job_server("spark" if server is SPARK else "flink", engine_version=version)


def test_a_jar_that_does_not_open_javas_modules_is_run_with_flags_that_do(tmp_path: Path) -> None:
    found = find_jar(SPARK, str(write_jar(tmp_path / "mine.jar")))
    assert found is not None
    java = Java(Path("/usr/bin/java"), "17.0.15", "", None, "PATH")
    flags = found.flags(java)
    assert flags[:2] == (f"--spark_job_server_jar={tmp_path}/mine.jar", "--job_server_java_launcher=/usr/bin/java")
    assert "--job_server_jvm_properties=--add-opens=java.base/java.nio=ALL-UNNAMED" in flags
