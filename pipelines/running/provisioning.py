"""Asks an engine for a worker's provision: where to connect, and the pipeline's options.

Foreign engines give a worker little more than its name and an address to ask.
"""

import json
from dataclasses import dataclass

import grpc  # type: ignore[import-untyped]  # publishes no types
from apache_beam.portability.api.org.apache.beam.model.fn_execution.v1 import (
    beam_provision_api_pb2,
    beam_provision_api_pb2_grpc,
)
from apache_beam.portability.api.org.apache.beam.model.pipeline.v1 import endpoints_pb2
from google.protobuf import json_format  # type: ignore[import-untyped]  # publishes no types

ANSWER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RequestedWorker:
    """A worker as requested by an engine; empty fields are provided on request."""

    worker_id: str
    provision: str
    control: str = ""
    logging: str = ""


@dataclass(frozen=True, slots=True)
class Provision:
    """The engine's answer."""

    worker_id: str
    control: str
    logging: str
    options: str  # the pipeline's options, as JSON
    capabilities: tuple[str, ...]

    def option(self, name: str) -> str | None:
        """One of the pipeline's options; None if it was not given."""
        given = json.loads(self.options)
        found = given.get(f"beam:option:{name}:v1")
        return None if found is None else str(found)

    def variables(self) -> dict[str, str]:
        """The environment variables for Beam's own workers; without the options, which can be long."""
        return {
            "WORKER_ID": self.worker_id,
            "CONTROL_API_SERVICE_DESCRIPTOR": _descriptor(self.control),
            "LOGGING_API_SERVICE_DESCRIPTOR": _descriptor(self.logging),
            "RUNNER_CAPABILITIES": " ".join(self.capabilities),
        }


def provision_of(asked: RequestedWorker) -> Provision:
    """Asks the engine."""
    with grpc.insecure_channel(asked.provision) as channel:
        stub = beam_provision_api_pb2_grpc.ProvisionServiceStub(channel)
        request = beam_provision_api_pb2.GetProvisionInfoRequest()
        metadata = [("worker_id", asked.worker_id)]
        info = stub.GetProvisionInfo(request, metadata=metadata, timeout=ANSWER_SECONDS).info
    return Provision(
        asked.worker_id,
        asked.control or info.control_endpoint.url,
        asked.logging or info.logging_endpoint.url,
        json_format.MessageToJson(info.pipeline_options),
        tuple(sorted(info.runner_capabilities)),
    )


def _descriptor(address: str) -> str:
    return str(endpoints_pb2.ApiServiceDescriptor(url=address))  # in protobuf's text format, which workers read
