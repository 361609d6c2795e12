"""Store, sources and staging in buckets: nothing of a run is on a disk but the recipe."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.winnow import run, tree_hash
from tests.pipelines.store.servers import Server, started
from tests.runners.engines.dataflow.conftest import PARTS, PROJECT, lines, write_recipe
from tests.runners.engines.dataflow.service import Service, serving
from winnow.pipelines.store.location import open_location, open_store_at
from winnow.runners.engines.engine import named_engine
from winnow.schemas.errors import WinnowError

pytestmark = [pytest.mark.engines, pytest.mark.usefixtures("gcp")]

KEY = {"type": "authorized_user", "client_id": "x", "client_secret": "x", "refresh_token": "x"}


@pytest.fixture(scope="module")
def gcs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with started("fake-gcs-server", tmp_path_factory.mktemp("gcs")) as server:
        yield server


@pytest.fixture
def buckets(gcs: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """The environment in which drivers and workers find the buckets."""
    key = tmp_path / "key.json"
    key.write_text(json.dumps(KEY))  # Beam asks for some, and does not use them here
    environment = {**gcs.environment, "GOOGLE_APPLICATION_CREDENTIALS": str(key)}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return environment


def test_a_run_with_everything_in_buckets_has_the_tree_hash_of_a_local_run(
    buckets: dict[str, str], tmp_path: Path
) -> None:
    for part in range(PARTS):
        open_location("gs://crawl/lines").put(f"{part}.jsonl", lines(part).encode())
    write_recipe(tmp_path, "gs://crawl/store", root="gs://crawl/lines")
    with serving(Service(tmp_path, environment=buckets)) as service:
        flags = (*PROJECT, *service.flags, "--temp_location=gs://crawl/tmp")
        done = run(tmp_path, "run", "recipe.yaml", "--runner", "dataflow", "--", *flags)
        assert done.status == 0, done.err + "\n".join(job.said for job in service.jobs)
    local = tmp_path / "local"
    write_recipe(local, str(local / "store"))
    assert run(local, "run", "recipe.yaml", "--workers", "1").status == 0
    assert open_store_at("gs://crawl/store").require_latest().tree_hash == tree_hash(local)


@pytest.mark.usefixtures("buckets")
def test_a_bucket_that_does_not_exist_is_named() -> None:
    with pytest.raises(WinnowError, match=r"^gs://absent: no such bucket at http://127.0.0.1:\d+; create it"):
        named_engine("dataflow", 0, (*PROJECT, "--temp_location=gs://absent/tmp"))
