"""Submitting a pipeline to a job server so that nothing is left of it: no job, and no files of the submission."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import grpc  # type: ignore[import-untyped]  # publishes no types
from apache_beam.options.pipeline_options import JobServerOptions, PipelineOptions, PortableOptions
from apache_beam.portability.api.org.apache.beam.model.pipeline.v1 import beam_runner_api_pb2
from apache_beam.runners.portability.portable_runner import PortableRunner
from apache_beam.runners.runner import PipelineResult
from apache_beam.transforms.environments import (
    Environment,
    ExternalEnvironment,
    ProcessEnvironment,
    python_sdk_capabilities,
)
from apache_beam.transforms.resources import resource_hints_from_options

from winnow.runners.engines.addresses import is_loopback, require_listening, split_address
from winnow.runners.engines.java import EngineName, Java, JobServerJar, job_server
from winnow.runners.engines.java.job_servers import JOB_SERVERS, Service
from winnow.runners.engines.java.watch import Attendant, java_watched
from winnow.runners.engines.workers.pool import WorkerPool, losses_told
from winnow.schemas.errors import StageError


class CancelledOnError(PortableRunner):
    """Beam's portable runner; leaving its `with` block by an error before the job has ended cancels the job."""

    _result: PipelineResult | None = None

    def default_environment(self, options: PipelineOptions) -> Environment:
        """Workers that have all they need: Beam would look for packages to send them, and leave a folder each time."""
        portable = options.view_as(PortableOptions)
        capabilities, hints = python_sdk_capabilities(), resource_hints_from_options(options)
        address = portable.environment_config or ""
        if portable.environment_type == "EXTERNAL" and address and "{" not in address:
            return ExternalEnvironment(address, capabilities=capabilities, resource_hints=hints)
        command = portable.lookup_environment_option("process_command")
        if portable.environment_type == "PROCESS" and command and not portable.environment_config:
            given = portable.lookup_environment_option("process_variables")
            variables = ProcessEnvironment.parse_environment_variables(given.split(",") if given else [])
            return ProcessEnvironment(command, env=variables, capabilities=capabilities, resource_hints=hints)
        return super().default_environment(options)

    def run_portable_pipeline(self, pipeline: beam_runner_api_pb2.Pipeline, options: PipelineOptions) -> PipelineResult:
        """For Beam."""
        self._result = result = super().run_portable_pipeline(pipeline, options)
        result._message_stream = _until_gone(result._message_stream)  # type: ignore[attr-defined]  # the portable one's
        return result

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.cancel()

    def cancel(self) -> None:
        """Cancel the job, if there is one."""
        if self._result is not None:
            with suppress(grpc.RpcError):  # of a job server that is no more, and its job with it
                self._result.cancel()


def _until_gone(messages: Iterator[object]) -> Iterator[object]:
    """A thread of Beam's reads them, and prints its traceback when the job server ends; the job's state tells that."""
    with suppress(grpc.RpcError):
        yield from messages


def cancelled(message: str) -> StageError | None:
    """The error that a job ends with which somebody has cancelled: at the engine's own page, say."""
    if "failed in state CANCELLED" in message:
        return StageError("the job was cancelled; what was committed stays, run the same command again")
    return None


def asked_job_server(engine: EngineName, given: str | None, jobs: JobServerOptions) -> tuple[JobServerJar, Java]:
    """The jar and the Java that Beam's flags name, or those that are found.

    Args:
        engine: Which.
        given: The jar that the engine's own flag names.
        jobs: The flags of all job servers.
    """
    launcher = jobs.job_server_java_launcher
    return job_server(engine, given, launcher=None if launcher == "java" else launcher, beam_cache=jobs.jar_cache_dir)


def require_job_server(engine: EngineName, given: str | None, jobs: JobServerOptions, endpoint: str | None) -> None:
    """One that can be started here, or the one that is said to run already."""
    if endpoint is None:
        asked_job_server(engine, given, jobs)
    else:
        require_job_endpoint(endpoint)


def require_job_endpoint(endpoint: str) -> None:
    """Somebody listens where a job server is said to run."""
    require_listening([endpoint], "--job_endpoint", "start the job server, or correct the address")


def endpoint_is_here(endpoint: str | None) -> bool:
    """Whether the job server is on this machine: one of this process's own, or at the loopback's address."""
    return endpoint is None or is_loopback(split_address(endpoint, "--job_endpoint")[0])


def server_arguments(jobs: JobServerOptions) -> tuple[str, ...]:
    """What any of Beam's job servers is started with, by the flags of all of them."""
    arguments = (
        *("--job-port", str(jobs.job_port), "--artifact-port", str(jobs.artifact_port)),
        *("--expansion-port", str(jobs.expansion_port or -1)),
    )
    return (*arguments, "--artifacts-dir", jobs.artifacts_dir) if jobs.artifacts_dir else arguments


@contextmanager
def submission(
    given: str | None,
    service: Callable[[], Service],
    log: Path,
    pool: WorkerPool | None,
    attendant: Attendant | None = None,
) -> Iterator[tuple[str, CancelledOnError]]:
    """Where one pipeline is submitted, and the runner that does it.

    Args:
        given: The address of a job server that runs already; else there is one of this process's own.
        service: That one. It is started at the first pipeline, and kept.
        log: It prints there as well, meanwhile.
        pool: Where workers come from, if from this process. An engine on one machine tries nothing again, and may wait
            minutes for a worker that has died: its end is the job's.
        attendant: Who understands what a job server of our own says of a cluster.
    """
    runner = CancelledOnError()
    with ExitStack() as stack:
        if given is None:
            server = JOB_SERVERS.at(own := service())
            stack.enter_context(server.printing_into(log))
            if pool is not None:
                stack.enter_context(losses_told(pool, partial(JOB_SERVERS.end, own)))
            stack.enter_context(java_watched(server, attendant))
        else:
            require_job_endpoint(given)  # again: stages may be hours apart
            if pool is not None:
                stack.enter_context(losses_told(pool, runner.cancel))
        yield given or server.endpoint, stack.enter_context(runner)
