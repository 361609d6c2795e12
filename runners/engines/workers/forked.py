"""A Beam environment whose workers are forked from the fork server, not started anew.

Beam's own `SubprocessSDKEnvironment` starts a Python for each worker of each pipeline. This one differs only in how
the process is started; Beam's is still used on systems where forking is not safe. No part of Beam is replaced: the
environment and the worker are registered with the same decorators as Beam's own. The classes they extend are internal
to Beam, so a new version of Beam can require a change here.
"""

import os
import platform
import shlex
import signal
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from apache_beam.portability.api.org.apache.beam.model.pipeline.v1 import beam_runner_api_pb2, endpoints_pb2
from apache_beam.runners.pipeline_context import PipelineContext
from apache_beam.runners.portability.fn_api_runner.fn_runner import ExtendedProvisionInfo
from apache_beam.runners.portability.fn_api_runner.worker_handlers import (
    BeamFnControlServicer,
    GrpcServer,
    GrpcWorkerHandler,
    StateServicer,
    WorkerHandler,
)
from apache_beam.transforms.environments import Environment, SubprocessSDKEnvironment
from google.protobuf import json_format  # type: ignore[import-untyped]  # publishes no types

from winnow.pipelines.processes.identity import started
from winnow.pipelines.running import worker
from winnow.pipelines.running.fork_server import WorkerRequest
from winnow.runners.engines.workers.fork_server import FORK_SERVER
from winnow.schemas.environment.modules import module_path, python_module

URN = "winnow:environment:forked:v1"
ENDED_SECONDS = 0.01  # between checks whether a worker has ended


@Environment.register_urn(URN, bytes)
class ForkedEnvironment(Environment):
    """The environment of a pipeline's functions: workers from the fork server, which print to a file."""

    def __init__(
        self,
        log: str,
        capabilities: Iterable[str] = (),
        artifacts: Iterable[beam_runner_api_pb2.ArtifactInformation] = (),
        resource_hints: Mapping[str, bytes] | None = None,
    ) -> None:
        super().__init__(capabilities, artifacts, resource_hints)
        self._log = log

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ForkedEnvironment) and super().__eq__(other) and self._log == other._log

    def __hash__(self) -> int:
        return hash((super().__hash__(), self._log))

    def to_runner_api_parameter(self, _: PipelineContext) -> tuple[str, bytes]:
        """Called by Beam."""
        return URN, self._log.encode()

    @staticmethod
    def from_runner_api_parameter(
        log: bytes,
        capabilities: Iterable[str],
        artifacts: Iterable[beam_runner_api_pb2.ArtifactInformation],
        resource_hints: Mapping[str, bytes],
        _: PipelineContext,
    ) -> "ForkedEnvironment":
        """Called by Beam."""
        return ForkedEnvironment(log.decode(), capabilities, artifacts, resource_hints)


def worker_environment(log: Path) -> Environment:
    """The environment of workers on this machine, which print to `log`."""
    if platform.system() == "Linux":
        return ForkedEnvironment(str(log))
    found = [f"{name}={value}" for name, value in module_path().items()]
    command = shlex.join(["exec", "env", *found, *python_module(worker.__name__)])  # it prints where the driver does
    return SubprocessSDKEnvironment.from_command_string(command)


@WorkerHandler.register_environment(URN, bytes)
class ForkedWorker(GrpcWorkerHandler):
    """One worker, as Beam's runner sees it."""

    def __init__(
        self, log: bytes, state: StateServicer, provision: ExtendedProvisionInfo, grpc_server: GrpcServer
    ) -> None:
        super().__init__(state, provision, grpc_server)
        self._log = log.decode()
        self._process = 0
        self._since: str | None = None

    def start_worker(self) -> None:
        """Start the worker; called once, when its endpoints are ready."""
        variables = {
            "CONTROL_API_SERVICE_DESCRIPTOR": _descriptor(self.control_address),
            "LOGGING_API_SERVICE_DESCRIPTOR": _descriptor(self.logging_api_service_descriptor().url),
            "PIPELINE_OPTIONS": json_format.MessageToJson(self.provision_info.provision_info.pipeline_options),
            "WORKER_ID": self.worker_id,
        }
        self._process = FORK_SERVER.worker(WorkerRequest({**os.environ, **variables}, os.getcwd(), self._log))
        self._since = started(self._process)

    def close(self) -> None:
        """End the worker. One that has not connected yet cannot be asked to end, and would wait for work for ever."""
        if self._is_running and self.control_conn._state == BeamFnControlServicer.UNSTARTED_STATE:
            with suppress(ProcessLookupError):
                os.kill(self._process, signal.SIGTERM)
        super().close()

    def stop_worker(self) -> None:
        """Wait until the worker has ended; called after it was asked to end."""
        while self._is_running:
            time.sleep(ENDED_SECONDS)

    @property
    def _is_running(self) -> bool:
        return self._since is not None and started(self._process) == self._since


def _descriptor(address: str) -> str:
    return str(endpoints_pb2.ApiServiceDescriptor(url=address))  # in protobuf's text format, which workers read
