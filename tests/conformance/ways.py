"""The ways in which a recipe can be run here: engines, with what each needs, and stores."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

import pytest

from tests.pipelines.store.servers import BUCKET, started
from tests.runners.engines.clusters import spark_cluster
from tests.runners.engines.flink_cluster import session_cluster
from winnow.runners.engines.engine import named_engine
from winnow.runners.engines.java import job_server
from winnow.schemas.errors import WinnowError


@dataclass(frozen=True)
class Setting:
    """What a run is given."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    root: str = ""  # of the store and the exports, where that is not the recipe's folder

    @contextmanager
    def reached(self) -> Iterator[None]:
        """This process has the environment of the runs."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.environment.items():
                patch.setenv(name, value)
            yield


Readying: TypeAlias = Callable[[Path], AbstractContextManager[Setting]]
"""Starts what a way needs, in a folder of its own."""


@dataclass(frozen=True)
class Way:
    """One way."""

    name: str
    ready: Readying
    one_of_a_kind: bool = False  # it stands for its kind in every check of a change


def plain(*arguments: str) -> Readying:
    """Nothing is needed."""

    @contextmanager
    def ready(_: Path) -> Iterator[Setting]:
        yield Setting(arguments)

    return ready


def job_server_of(*arguments: str, engine: Literal["spark", "flink"]) -> Readying:
    """Java and the engine's job server, which is built where it is not."""

    @contextmanager
    def ready(_: Path) -> Iterator[Setting]:
        require_job_server(engine)
        yield Setting(("--runner", engine, *arguments))

    return ready


def require_job_server(engine: Literal["spark", "flink"]) -> None:
    """Skips where there is no Java or no way to get the jar."""
    try:
        job_server(engine)
    except WinnowError as error:
        pytest.skip(str(error))


@contextmanager
def standalone_spark(folder: Path) -> Iterator[Setting]:
    """A master and two workers; Python is started by winnow's own boot."""
    require_job_server("spark")
    with spark_cluster(folder / "cluster") as cluster:
        few = "--job_server_jvm_properties=-Dspark.default.parallelism=8"  # of 64 most would have nothing to do
        yield Setting(("--runner", "spark", "--", f"--spark_master_url={cluster.url}", few))


@contextmanager
def flink_session(folder: Path) -> Iterator[Setting]:
    """A JobManager and a TaskManager."""
    require_job_server("flink")
    with session_cluster(folder / "cluster") as cluster:
        yield Setting(("--runner", "flink", "--workers", "2", "--", f"--flink_master={cluster.master}"))


@contextmanager
def prism(_: Path) -> Iterator[Setting]:
    """Beam's runner in Go, which goes by watermarks."""
    try:
        named_engine("prism", 0, ())
    except WinnowError as error:
        pytest.skip(str(error))
    yield Setting(("--runner", "prism"))


def store_on(server: str, *arguments: str) -> Readying:
    """The store and the exports on an object store."""

    @contextmanager
    def ready(folder: Path) -> Iterator[Setting]:
        with started(server, folder / "server") as running:
            yield Setting(arguments, running.environment, f"{running.scheme}://{BUCKET}/demo")

    return ready


@contextmanager
def spark_on_s3(folder: Path) -> Iterator[Setting]:
    """An engine that is not Beam's own, and a store that is no disk."""
    with ExitStack() as stack:
        spark = stack.enter_context(job_server_of("--workers", "2", engine="spark")(folder))
        store = stack.enter_context(store_on("moto")(folder))
        yield Setting(spark.arguments, store.environment, store.root)


WAYS = (
    Way("multi-process", plain("--workers", "2")),
    Way("portable", plain("--runner", "portable"), one_of_a_kind=True),
    Way("spark-embedded", job_server_of("--workers", "2", engine="spark"), one_of_a_kind=True),
    Way("spark-standalone", standalone_spark),
    Way("flink-embedded", job_server_of("--workers", "2", engine="flink"), one_of_a_kind=True),
    Way("flink-session", flink_session),
    Way("prism", prism, one_of_a_kind=True),
    Way("s3-moto", store_on("moto", "--workers", "2"), one_of_a_kind=True),
    Way("s3-versitygw", store_on("versitygw", "--workers", "2")),
    Way("gcs", store_on("fake-gcs-server", "--workers", "2")),
    Way("spark-on-s3", spark_on_s3),
)


def sealed(path: str) -> bool:
    """Whether a file of an export holds the recipe, and with it the folders that the recipe names."""
    return path.endswith(("README.md", "card.json", "winnow.json"))
