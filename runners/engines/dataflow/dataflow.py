"""`dataflow`: runs each stage as a job of Google Cloud Dataflow, and waits for it.

docs/howto/dataflow.md describes how to set up a project.
"""

import os
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from apache_beam.options.pipeline_options import (
    GoogleCloudOptions,
    PipelineOptions,
    SetupOptions,
    TestOptions,
    WorkerOptions,
)

from winnow.pipelines.assets.node_files import OPTION as NODE_OPTION
from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.pipelines.store.buckets.gcs import GcsStore
from winnow.runners.engines.addresses import require_answering
from winnow.runners.engines.backend import Backend, Launch, Request
from winnow.runners.engines.dataflow.wheel import pack
from winnow.runners.engines.failures import WorkerLostError
from winnow.runners.engines.flags import beam_options
from winnow.schemas.errors import StageError, WinnowError

INSTALL = "pip install 'winnow[dataflow]'"
GOOGLE = GoogleCloudOptions.DATAFLOW_ENDPOINT
NEEDED = ("google.cloud.dataflow", "google.cloud.storage", "apitools")
PROJECT = re.compile(r"[a-z][-a-z0-9:.]{4,}[a-z0-9]")
HINT = "--runner dataflow -- --project=PROJECT --region=REGION --temp_location=gs://BUCKET/tmp"


LOST = (
    "dataflow: workers repeatedly died during a task, as the job's page shows; give them more memory (a larger "
    "--machine_type, --number_of_worker_harness_threads=1) and run the same command again: committed work is kept"
)


UNREACHED = (
    "the service no longer answers; committed work is kept. Once it answers and the job shown above has ended or is "
    "cancelled, run the same command again"
)


class DataflowError(WinnowError):
    """Dataflow cannot be used with the given settings."""


class Dataflow:
    """Google Cloud Dataflow."""

    is_local = False

    def uses_nodes(self, request: Request) -> bool:
        """Whether the service is not one on this machine."""
        return not _is_local(beam_options(request.flags))

    def check(self, request: Request) -> None:
        """Check the packages, the flags and the staging bucket, within seconds."""
        if absent := [name for name in NEEDED if not _installed(name)]:
            raise DataflowError(f"--runner dataflow needs the package {absent[0]}; {INSTALL}")
        options = beam_options(request.flags)
        _require_settings(options)
        if not options.view_as(TestOptions).dry_run:
            for address in _staging(options):
                if address.startswith("gs://"):
                    next(iter(GcsStore.of(address).list()), None)  # raises if the bucket or the credentials are wrong
            _require_service(options)

    def require_reachable(self, request: Request, places: Sequence[str]) -> None:
        """Raise for addresses on this machine's disks, unless the service runs on this machine."""
        if _is_local(beam_options(request.flags)):
            return
        for place in places:
            if not place.startswith(("gs://", "s3://")):
                raise DataflowError(f"{place}: Dataflow's workers cannot access it; use gs://BUCKET/… or s3://BUCKET/…")

    @contextmanager
    def launch(self, request: Request, _: Path) -> Iterator[Launch]:
        """The options of a job, including winnow's wheel; interrupting the driver cancels the job."""
        from winnow.runners.engines.dataflow.job import DataflowRunner

        with temporary_folder("package") as folder:
            runner = DataflowRunner(request.stage)
            try:
                yield Launch(runner, job_options(request.flags, Path(folder), request.node))
            except KeyboardInterrupt:
                runner.cancel()
                raise
            except WorkerLostError as error:  # the service has retried four times already
                raise StageError(LOST) from error
            except StageError as error:
                if _is_unreached(error.__cause__):
                    raise StageError(f"dataflow: {UNREACHED}") from error
                raise

    def translated_error(self, message: str) -> WinnowError | None:
        """Translate errors of the service and its jobs."""
        for pattern, meaning in _MEANINGS:
            if found := re.search(pattern, message):
                return StageError(f"dataflow: {meaning.format(*found.groups())}")
        return None


def job_options(flags: Sequence[str], folder: Path, node: str = "") -> PipelineOptions:
    """Beam's options for a job; without a container image, winnow is shipped as a wheel written to the folder.

    `node`: what workers need beside it.
    """
    options = beam_options(flags, save_main_session=False, **{NODE_OPTION: node})
    setup = options.view_as(SetupOptions)
    cloud = options.view_as(GoogleCloudOptions)
    cloud.staging_location = cloud.staging_location or cloud.temp_location
    cloud.temp_location = cloud.temp_location or cloud.staging_location
    cloud.region = cloud.region or os.environ.get("CLOUDSDK_COMPUTE_REGION")
    if options.view_as(WorkerOptions).sdk_container_image:
        setup.sdk_location = "container"
    elif not setup.setup_file and not any("winnow" in Path(one).name for one in setup.extra_packages or ()):
        setup.extra_packages = [str(pack(folder)), *(setup.extra_packages or ())]
    return options


def _is_unreached(error: BaseException | None) -> bool:
    """Whether Beam's HTTP client failed to reach the service."""
    from requests.exceptions import ConnectionError as NotConnectedError

    return isinstance(error, ConnectionError | TimeoutError | socket.gaierror | NotConnectedError)


def _require_settings(options: PipelineOptions) -> None:
    cloud = options.view_as(GoogleCloudOptions)
    if not cloud.project:
        raise DataflowError(f"--project is missing; expected {HINT}")
    if not PROJECT.fullmatch(cloud.project):
        raise DataflowError(f"--project={cloud.project} is not a project id; expected 6 or more of a-z, 0-9 and '-'")
    if not (cloud.region or os.environ.get("CLOUDSDK_COMPUTE_REGION")):
        raise DataflowError(f"--region is missing (nor is CLOUDSDK_COMPUTE_REGION set); expected {HINT}")
    if not _staging(options):
        raise DataflowError(f"--temp_location is missing; expected {HINT}")
    for address in _staging(options):
        if address.startswith("gs://"):
            GcsStore.of(address)
        elif not _is_local(options):
            raise DataflowError(f"--temp_location={address}: Dataflow stages in a bucket; expected gs://BUCKET/FOLDER")
    if cloud.template_location:
        raise DataflowError(
            "--template_location: a stage's graph depends on the results of earlier stages; run the driver itself as "
            "a job"
        )


def _require_service(options: PipelineOptions) -> None:
    """Raise at once if the service does not answer; Beam's client would retry for a minute."""
    endpoint = options.view_as(GoogleCloudOptions).dataflow_endpoint or GOOGLE
    ours = "correct --dataflow_endpoint, or leave it out to use Google's"
    require_answering(endpoint, "check the network; HTTPS_PROXY sets a proxy" if endpoint == GOOGLE else ours)


def _staging(options: PipelineOptions) -> list[str]:
    cloud = options.view_as(GoogleCloudOptions)
    return list(dict.fromkeys(place for place in (cloud.temp_location, cloud.staging_location) if place))


def _is_local(options: PipelineOptions) -> bool:
    """Whether the service is on this machine, by Beam's criterion."""
    return urlsplit(options.view_as(GoogleCloudOptions).dataflow_endpoint or "").hostname == "localhost"


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent package is missing
        return False


_MEANINGS = (
    (r"\A503 ", UNREACHED),  # by gRPC
    (r"State: FAILED, Error:\nNone", "the job failed and gave no reason; its page shows the workers' logs"),
    (r"State: CANCELLED", "the job was cancelled; committed work is kept, run the same command again"),
    (
        r"Job did not reach to a terminal state.*?(https://\S+)",
        "lost the connection to the job, which may still run: {}; run the same command again once it has ended or is "
        "cancelled",
    ),
    (
        r"\b403 (?:[A-Z]+ \S+ )?([^\n]+)",
        "refused: {}; docs/howto/dataflow.md lists the roles and APIs that a project needs",
    ),
    (
        r"(?:default credentials were not found|could not be automatically determined|Unable to find credentials)",
        "no credentials were found; run: gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS",
    ),
    (
        r"(?i)no module named '?winnow|ModuleNotFoundError: No module named '(winnow[\w.]*)'",
        "workers cannot import winnow; rebuild the image as in docs/howto/dataflow.md, or omit --sdk_container_image",
    ),
)
"""Patterns in messages of jobs or the service, and winnow's messages for them. The groups fill the braces."""

DATAFLOW: Backend = Dataflow()
