"""What is wrong with a request is one line, before anything is read or written."""

import os
from pathlib import Path

import pytest

from tests.faults.winnow import run
from tests.runners.engines.dataflow.conftest import PROJECT, write_recipe
from tests.runners.engines.dataflow.service import Service, serving
from winnow.runners.engines.engine import named_engine
from winnow.schemas.errors import WinnowError

pytestmark = pytest.mark.usefixtures("gcp")

BUCKET = "--temp_location=gs://staging/tmp"
HINT = "expected --runner dataflow -- --project=PROJECT --region=REGION --temp_location=gs://BUCKET/tmp"


@pytest.fixture(autouse=True)
def no_google(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("GOOGLE_", "CLOUDSDK_", "STORAGE_", "GCE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NO_GCE_CHECK", "true")


def refused(*flags: str) -> str:
    with pytest.raises(WinnowError) as raised:
        named_engine("dataflow", 0, flags)
    return str(raised.value)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ((), f"--project is missing; {HINT}"),
        (("--project=1234",), "--project=1234 is not a project id; expected 6 or more of a-z, 0-9 and '-'"),
        (("--project=winnow-test", BUCKET), f"--region is missing (nor is CLOUDSDK_COMPUTE_REGION set); {HINT}"),
        (PROJECT, f"--temp_location is missing; {HINT}"),
        (
            (*PROJECT, "--temp_location=/tmp/there"),
            "--temp_location=/tmp/there: Dataflow stages in a bucket; expected gs://BUCKET/FOLDER",
        ),
        (
            (*PROJECT, "--temp_location=gs://ab/tmp"),
            "gs://ab/tmp: 'ab' is not a bucket name; expected 3 to 63 of a-z, 0-9, '-', '_' and '.': "
            "gs://BUCKET/PREFIX",
        ),
        ((*PROJECT, BUCKET, "--machine_typ=n2"), "Beam has no flag --machine_typ (did you mean --machine_type?)"),
        ((*PROJECT, BUCKET, "--num_workers=many"), "Beam's flag --num_workers: invalid int value: 'many'"),
        (
            (*PROJECT, BUCKET, "--template_location=gs://staging/template"),
            "--template_location: a stage's graph depends on the results of earlier stages; run the driver itself as "
            "a job",
        ),
    ],
)
def test_what_is_wrong_with_the_flags(flags: tuple[str, ...], said: str) -> None:
    assert refused(*flags).startswith(said)


def test_without_credentials_the_remedy_is_named_within_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    said = refused(*PROJECT, BUCKET)
    assert said.startswith("gs://staging: no credentials (")
    assert "gcloud auth application-default login" in said


def test_a_service_that_is_not_there_is_named(tmp_path: Path) -> None:
    said = refused(*PROJECT, f"--temp_location={tmp_path}", "--dataflow_endpoint=http://localhost:1")
    assert said == (
        "http://localhost:1: no answer (Connection refused); correct --dataflow_endpoint, or leave it out to "
        "use Google's"
    )


def test_an_address_that_is_none_is_named(tmp_path: Path) -> None:
    said = refused(*PROJECT, f"--temp_location={tmp_path}", "--dataflow_endpoint=//localhost")
    assert said.startswith("//localhost: no answer (unknown url type: '//localhost'); correct --dataflow_endpoint")


def test_a_store_on_a_disk_is_refused(tmp_path: Path) -> None:
    write_recipe(tmp_path, str(tmp_path / "store"))
    done = run(tmp_path, "run", "recipe.yaml", "--runner", "dataflow", "--", *PROJECT, BUCKET, "--dry_run=True")
    assert done.status == 1
    assert done.err == (
        f"winnow: {tmp_path}/store: Dataflow's workers cannot access it; use gs://BUCKET/… or s3://BUCKET/…\n"
    )
    assert not (tmp_path / "store").exists()


def test_a_dry_run_says_what_would_be_submitted(tmp_path: Path) -> None:
    write_recipe(tmp_path, str(tmp_path / "store"))
    with serving(Service(tmp_path)) as service:
        flags = (*PROJECT, f"--temp_location={tmp_path}", "--dry_run=True", *service.flags)
        done = run(tmp_path, "ingest", "recipe.yaml", "--runner", "dataflow", "--", *flags)
        assert service.jobs == []
    assert done.status == 1
    assert done.err.startswith("winnow: dataflow: dry run: ingest is a graph of 24 transforms and ")
