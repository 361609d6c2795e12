"""Every test of objects runs on a disk, in memory, and on servers of S3 and GCS."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipelines.store.servers import BUCKET, Server, started
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.location import open_location
from winnow.pipelines.store.memory import MemoryStore

SERVERS = [
    "moto",
    pytest.param("versitygw", marks=pytest.mark.engines),
    pytest.param("fake_gcs", marks=pytest.mark.engines),
]
S3_SERVERS = SERVERS[:2]

_places = itertools.count()


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with started("moto", tmp_path_factory.mktemp("moto")) as server:
        yield server


@pytest.fixture(scope="session")
def versitygw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with started("versitygw", tmp_path_factory.mktemp("versitygw")) as server:
        yield server


@pytest.fixture(scope="session")
def fake_gcs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with started("fake-gcs-server", tmp_path_factory.mktemp("gcs")) as server:
        yield server


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Server:
    """Each of the servers, which the environment points to."""
    running: Server = request.getfixturevalue(request.param)
    point_to(monkeypatch, running.environment)
    return running


def point_to(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    """Only this environment, and nothing of the machine's own."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "GOOGLE_", "STORAGE_"))]:
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(params=["disk", "memory", *SERVERS])
def objects(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    if request.param == "disk":
        yield LocalStore(tmp_path / "store")
    elif request.param == "memory":
        yield MemoryStore(str(tmp_path))
    else:
        running: Server = request.getfixturevalue(request.param)
        point_to(monkeypatch, running.environment)
        yield open_location(f"{running.scheme}://{BUCKET}/store-{next(_places)}")
