"""Lists the engines, their requirements, and which of these are installed."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

from rich.console import Console

from winnow.runners.engines.java.installed_java import require_java
from winnow.runners.engines.java.jars import JobServerJar, find_jar
from winnow.runners.engines.java.maven import require_maven
from winnow.runners.engines.java.server_kinds import FLINK, JAVA_VERSIONS, SPARK, JobServer, JobServerError
from winnow.runners.engines.prism_program import find_prism
from winnow.runners.tables.quantities import byte_size
from winnow.schemas.errors import WinnowError

State = Literal["ready", "to be built", "not ready"]


@dataclass(frozen=True, slots=True)
class EngineState:
    """The state of one engine on this machine."""

    name: str
    state: State
    needs: str
    found: tuple[str, ...]
    to_do: tuple[str, ...]  # if it is not ready


def engine_states(console: Console) -> tuple[EngineState, ...]:
    """The state of every engine."""
    nothing = "nothing besides winnow"
    return (
        EngineState("local", "ready", nothing, (), ()),
        EngineState("portable", "ready", nothing, (), ()),
        _with_job_server(SPARK, console),
        _with_job_server(FLINK, console),
        _dataflow(),
        _prism(),
    )


def described(jar: JobServerJar) -> str:
    """A jar in one line."""
    return (
        f"{jar.server.title} {jar.engine_version}, Beam {jar.beam_version}, {byte_size(jar.path.stat().st_size)}, "
        f"{jar.origin}: {jar.path}"
    )


def _with_job_server(server: JobServer, console: Console) -> EngineState:
    versions = " or ".join(str(major) for major in JAVA_VERSIONS)
    needs = f"Java {versions}, and a job server for {server.title} {server.engine_minor}"
    found: list[str] = []
    wrong: list[str] = []
    jar: JobServerJar | None = None
    try:
        found.append(str(require_java(server)))
    except JobServerError as error:
        wrong.append(str(error))
    try:
        jar = find_jar(server, console=console)
        if jar is not None:
            found += [described(jar), f"sha256 {jar.sha256}"]
        else:
            found.append(f"Maven at {require_maven(server)}")
    except JobServerError as error:
        wrong.append(str(error))
    if wrong:
        return EngineState(server.engine, "not ready", needs, tuple(found), tuple(wrong))
    if jar is None:
        remedy = f"the first run builds it; build it now with: winnow engines build {server.engine}"
        return EngineState(server.engine, "to be built", needs, tuple(found), (remedy,))
    return EngineState(server.engine, "ready", needs, tuple(found), ())


def _dataflow() -> EngineState:
    needs = "Beam's packages for Google Cloud, a project and its credentials"
    try:
        here = find_spec("google.cloud.dataflow") is not None
    except ModuleNotFoundError:
        here = False
    if not here:
        return EngineState("dataflow", "not ready", needs, (), ("pip install 'winnow[dataflow]'",))
    return EngineState(
        "dataflow", "ready", needs, ("the packages; credentials are checked when a job is submitted",), ()
    )


def _prism() -> EngineState:
    needs = "Beam's program prism; only for small data, as it keeps everything in memory"
    try:
        return EngineState("prism", "ready", needs, (str(find_prism(None)),), ())
    except WinnowError as error:
        return EngineState("prism", "not ready", needs, (), (str(error),))
