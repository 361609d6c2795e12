"""A jar of the wrong kind or of the wrong versions is refused in a line."""

from pathlib import Path

import pytest

from tests.messages import assert_told
from tests.runners.engines.java.jars import write_jar
from winnow.runners.engines.java.jars import Contents, require_compatible_jar
from winnow.runners.engines.java.server_kinds import SPARK, JobServerError, beam_installed


def refusal(jar: Path, engine_version: str | None = None) -> str:
    with pytest.raises(JobServerError) as raised:
        require_compatible_jar(jar, SPARK, engine_version)
    return str(raised.value)


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    return tmp_path / "server.jar"


def test_a_job_server_says_its_versions(jar: Path) -> None:
    assert require_compatible_jar(write_jar(jar), SPARK) == Contents(
        main_class=SPARK.main_class, beam_version="2.70.0", engine_version="3.5.0", opens=False
    )


def test_a_jar_is_read_once_until_it_is_another_file(jar: Path) -> None:
    first = require_compatible_jar(write_jar(jar), SPARK)
    assert require_compatible_jar(jar, SPARK) is first
    jar.unlink()
    other = require_compatible_jar(write_jar(jar, beam=beam_installed()), SPARK)
    assert other.beam_version == beam_installed() != first.beam_version


def test_one_of_the_installed_beam_fits(jar: Path) -> None:
    assert require_compatible_jar(write_jar(jar, beam=beam_installed()), SPARK).beam_version == beam_installed()


def test_a_file_that_is_not_there(jar: Path) -> None:
    assert refusal(jar) == f"{jar}: no such file"


def test_a_folder(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"{tmp_path}: a folder; expected a jar"


def test_not_a_jar_at_all(jar: Path) -> None:
    jar.write_text("<html>404</html>")
    assert_told(refusal(jar), str(jar), "complete jar", whole=True)


def test_a_jar_that_was_cut_off(jar: Path) -> None:
    write_jar(jar)
    jar.write_bytes(jar.read_bytes()[:-200])
    assert refusal(jar).startswith(f"{jar}: not a complete jar (")


def test_a_damaged_entry(jar: Path) -> None:
    write_jar(jar)
    jar.write_bytes(jar.read_bytes().replace(b"Manifest-Version", b"Manifest-Wersion", 1))
    assert refusal(jar).startswith(f"{jar}: not a complete jar (bad crc-32")


def test_no_main_class(jar: Path) -> None:
    assert_told(
        refusal(write_jar(jar, main_class=None)),
        str(jar),
        "org.apache.beam.runners.spark.SparkJobServerDriver",
        whole=True,
    )


def test_another_engine(jar: Path) -> None:
    assert_told(
        refusal(write_jar(jar, main_class="org.apache.beam.runners.flink.FlinkJobServerDriver")),
        str(jar),
        "org.apache.beam.runners.flink.FlinkJobServerDriver",
        "org.apache.beam.runners.spark.SparkJobServerDriver",
        whole=True,
    )


@pytest.mark.parametrize("beam", ["2.48.0", "2.69.0", "3.0.0"])
def test_another_beam(jar: Path, beam: str) -> None:
    assert_told(
        refusal(write_jar(jar, beam=beam)),
        str(jar),
        beam,
        "Beam 2.70.0",
        str(beam_installed()),
        str(beam_installed()),
        whole=True,
    )


def test_no_beam(jar: Path) -> None:
    assert_told(refusal(write_jar(jar, beam=None)), "unknown version")


@pytest.mark.parametrize("spark", ["3.4.1", "4.0.0"])
def test_another_spark(jar: Path, spark: str) -> None:
    assert refusal(write_jar(jar, spark=spark)) == f"{jar}: Spark {spark} is inside; expected 3.5"


def test_no_spark(jar: Path) -> None:
    assert_told(refusal(write_jar(jar, spark=None)), str(jar), "expected 3.5", whole=True)


def test_a_cluster_may_want_the_patch_level_too(jar: Path) -> None:
    write_jar(jar, spark="3.5.1")
    assert require_compatible_jar(jar, SPARK, "3.5.1").engine_version == "3.5.1"
    assert refusal(jar, "3.5.0") == f"{jar}: Spark 3.5.1 is inside; expected 3.5.0"
