"""Submits pipelines to a job server, and cleans up jobs and submission files."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

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
from winnow.runners.engines.java.watch import OutputListener, java_watched
from winnow.runners.engines.workers.pool import WorkerPool, worker_losses_reported
from winnow.schemas.errors import StageError


class CancelledOnError(PortableRunner):
    """Beam's portable runner as a context manager, which cancels the job on an error."""

    _result: PipelineResult | None = None

    def default_environment(self, options: PipelineOptions) -> Environment:
        """An environment without staged packages; Beam would collect packages and leave a folder behind each time."""
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
        """Run the pipeline; called by Beam."""
        self._result = result = super().run_portable_pipeline(pipeline, options)
        portable: Any = result  # Beam's portable result, which is not typed
        portable._message_stream = _until_disconnected(portable._message_stream)
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
            with suppress(grpc.RpcError):  # the job server may have ended, and its job with it
                self._result.cancel()


def _until_disconnected(messages: Iterator[object]) -> Iterator[object]:
    """Yield messages until the job server disconnects, so that Beam's thread prints no traceback."""
    with suppress(grpc.RpcError):
        yield from messages


def cancelled(message: str) -> StageError | None:
    """The error for a job that was cancelled elsewhere, such as in the engine's web interface."""
    if "failed in state CANCELLED" in message:
        return StageError("the job was cancelled; committed work is kept, run the same command again")
    return None


def chosen_job_server(engine: EngineName, given: str | None, jobs: JobServerOptions) -> tuple[JobServerJar, Java]:
    """The jar and the Java that Beam's flags name, or those found on this machine.

    `given`: the jar named by the engine's own flag; `jobs`: the flags shared by all job servers.
    """
    launcher = jobs.job_server_java_launcher
    return job_server(engine, given, launcher=None if launcher == "java" else launcher, beam_cache=jobs.jar_cache_dir)


def require_job_server(engine: EngineName, given: str | None, jobs: JobServerOptions, endpoint: str | None) -> None:
    """Raise unless a job server can be started here, or one listens at the given endpoint."""
    if endpoint is None:
        chosen_job_server(engine, given, jobs)
    else:
        require_job_endpoint(endpoint)


def require_job_endpoint(endpoint: str) -> None:
    """Raise unless a job server listens at the endpoint."""
    require_listening([endpoint], "--job_endpoint", "start the job server, or correct the address")


def endpoint_is_local(endpoint: str | None) -> bool:
    """Whether the job server is on this machine: our own, or at a loopback address."""
    return endpoint is None or is_loopback(split_address(endpoint, "--job_endpoint")[0])


def server_arguments(jobs: JobServerOptions) -> tuple[str, ...]:
    """The arguments that all of Beam's job servers are started with."""
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
    listener: OutputListener | None = None,
) -> Iterator[tuple[str, CancelledOnError]]:
    """The job server for one pipeline, and the runner that submits to it.

    `given`: the address of a running job server; None to start `service`, once, for all pipelines. `log` also receives
    the job server's output. `pool`: the workers of this process, if any: an engine on one machine retries nothing, and
    may wait minutes for a dead worker, so a worker's death ends the job. `listener`: interprets what our own job server
    prints about a cluster.
    """
    runner = CancelledOnError()
    with ExitStack() as stack:
        if given is None:
            server = JOB_SERVERS.at(own := service())
            stack.enter_context(server.printing_into(log))
            if pool is not None:
                stack.enter_context(worker_losses_reported(pool, partial(JOB_SERVERS.end, own)))
            stack.enter_context(java_watched(server, listener))
        else:
            require_job_endpoint(given)  # checked again, as stages may be hours apart
            if pool is not None:
                stack.enter_context(worker_losses_reported(pool, runner.cancel))
        yield given or server.endpoint, stack.enter_context(runner)
