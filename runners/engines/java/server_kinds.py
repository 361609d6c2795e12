"""The kinds of job servers: Java processes that take a Beam pipeline and run it on Spark or Flink.

Each engine has one, in one jar. Its versions are read from the engine's Maven file.
"""

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from winnow.schemas.errors import WinnowError

EngineName = Literal["spark", "flink"]

JAVA_VERSIONS = (11, 17)
"""The versions that both Spark 3.5 and Flink 1.19 support, and that were tested."""

_MAVEN = "{http://maven.apache.org/POM/4.0.0}"


class JobServerError(WinnowError):
    """An engine's Java, its jar or the tools to build it are missing or unsuitable."""


@dataclass(frozen=True, slots=True)
class JobServer:
    """One engine's job server: its parts, and how to recognise its jar."""

    engine: EngineName
    title: str  # Spark, Flink
    main_class: str  # that the jar's manifest must name
    artifact: str  # Beam's own jar of it, without the version
    engine_property: str  # the property of the Maven file that says the engine's version
    engine_word: str  # the entry of the jar that says the engine's version, and the key in it
    engine_key: str

    @property
    def pom(self) -> Path:
        """The Maven file that builds the jar."""
        return Path(__file__).parent / "poms" / self.engine / "pom.xml"

    @property
    def variable(self) -> str:
        """The environment variable that names a user's own jar."""
        return f"WINNOW_{self.engine.upper()}_JOB_SERVER_JAR"

    @property
    def flag(self) -> str:
        """Beam's flag for the same purpose."""
        return f"--{self.engine}_job_server_jar"

    @property
    def engine_version(self) -> str:
        """The engine's version in the jar that Maven builds."""
        return self._property(self.engine_property)

    @property
    def engine_minor(self) -> str:
        """The part of the version that must match: 3.5, 1.19."""
        return minor(self.engine_version)

    @property
    def beam_version(self) -> str:
        """The version of Beam's Java part in the jar that Maven builds: the oldest that works with winnow."""
        return self._property("beam.version")

    def _property(self, name: str) -> str:
        found = ElementTree.parse(self.pom).findtext(f"{_MAVEN}properties/{_MAVEN}{name}")
        assert found is not None, f"{self.pom}: no property {name}"
        return found


SPARK = JobServer(
    engine="spark",
    title="Spark",
    main_class="org.apache.beam.runners.spark.SparkJobServerDriver",
    artifact="beam-runners-spark-3-job-server",
    engine_property="spark.version",
    engine_word="spark-version-info.properties",
    engine_key="version",
)

FLINK = JobServer(
    engine="flink",
    title="Flink",
    main_class="org.apache.beam.runners.flink.FlinkJobServerDriver",
    artifact="beam-runners-flink-1.19-job-server",
    engine_property="flink.version",
    engine_word=".flink-runtime.version.properties",
    engine_key="project.version",
)

SERVERS: dict[EngineName, JobServer] = {"spark": SPARK, "flink": FLINK}


def beam_installed() -> str:
    """The version of Beam in this environment, without importing it."""
    return version("apache-beam")


def minor(text: str) -> str:
    """`3.5` of `3.5.0`."""
    return ".".join(text.split(".")[:2])
