"""Submitting a pipeline to a job server so that nothing is left of it: no job, and no files of the submission."""

from contextlib import suppress
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

from winnow.runners.jobserver import EngineName, Java, JobServerJar, job_server


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
        self._result = super().run_portable_pipeline(pipeline, options)
        return self._result

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and self._result is not None:
            with suppress(grpc.RpcError):  # of a job server that is no more, and its job with it
                self._result.cancel()


def asked_job_server(engine: EngineName, given: str | None, jobs: JobServerOptions) -> tuple[JobServerJar, Java]:
    """The jar and the Java that Beam's flags name, or those that are found.

    Args:
        engine: Which.
        given: The jar that the engine's own flag names.
        jobs: The flags of all job servers.
    """
    launcher = jobs.job_server_java_launcher
    return job_server(engine, given, launcher=None if launcher == "java" else launcher, beam_cache=jobs.jar_cache_dir)
