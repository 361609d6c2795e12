"""Beam's runner for Dataflow, with a name and labels for each job; a running job can be cancelled.

Pipelines that need a disk of this machine are rejected, as workers cannot access it.
"""

import io
import re
import secrets
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import apache_beam as beam
from apache_beam.internal.cloudpickle.cloudpickle import CloudPickler
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions, TestOptions
from apache_beam.pipeline import AppliedPTransform, PipelineVisitor
from apache_beam.portability.api.org.apache.beam.model.pipeline.v1 import beam_runner_api_pb2
from apache_beam.runners.dataflow import dataflow_runner
from apache_beam.runners.runner import PipelineResult

from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.memory import MemoryStore
from winnow.runners.engines.backend import print_notice
from winnow.schemas.environment.version import winnow_version
from winnow.schemas.errors import StageError


class _Steps(PipelineVisitor):
    def visit_transform(self, transform_node: AppliedPTransform) -> None:
        """Inspect a step as workers receive it."""
        step = transform_node.transform
        if isinstance(step, beam.ParDo):
            _DiskFinder(transform_node.full_label).dump((step.fn, step.args, step.kwargs))


class _DiskFinder(CloudPickler):
    """Finds references to this machine's disks by pickling a step's objects as Beam does; the result is discarded."""

    def __init__(self, step: str) -> None:
        super().__init__(io.BytesIO())
        self._step = step

    def reducer_override(self, obj: Any) -> Any:
        """Inspect one object; called by pickle."""
        if isinstance(obj, LocalStore | MemoryStore):
            raise StageError(
                f"{obj.root}: {self._step} opens it, and workers cannot access it; use gs://BUCKET/… or s3://BUCKET/…"
            )
        return super().reducer_override(obj)


NAME = "winnow"


class DataflowRunner(dataflow_runner.DataflowRunner):
    """One job. Beam knows Dataflow's runner by its class's name."""

    def __init__(self, stage: str) -> None:
        super().__init__()
        self._stage = stage
        self._job: dataflow_runner.DataflowPipelineResult | None = None

    def run_pipeline(
        self,
        pipeline: beam.Pipeline,
        options: PipelineOptions,
        pipeline_proto: beam_runner_api_pb2.Pipeline | None = None,
    ) -> PipelineResult:
        """Submit the job."""
        stage, version = self._stage, slug(winnow_version())
        cloud = options.view_as(GoogleCloudOptions)
        cloud.job_name = job_name(cloud.job_name or NAME, stage)
        cloud.labels = [*(cloud.labels or ()), f"winnow-stage={slug(stage)}", f"winnow-version={version}"]
        if not (cloud.dataflow_endpoint or "").startswith("http://localhost"):
            require_no_disks(pipeline)
        job: dataflow_runner.DataflowPipelineResult = super().run_pipeline(pipeline, options, pipeline_proto)
        if options.view_as(TestOptions).dry_run:
            graph = self.proto_pipeline
            raise StageError(
                f"dataflow: dry run: {stage} is a graph of {len(graph.components.transforms)} transforms and "
                f"{graph.ByteSize():,} bytes; nothing was submitted, and later stages need its results"
            )
        self._job = job
        where = f"https://console.cloud.google.com/dataflow/jobs/{cloud.region}/{job.job_id()}?project={cloud.project}"
        print_notice("dataflow", f"{stage}: job {cloud.job_name}  {where}")
        return job

    def cancel(self) -> None:
        """Ask the service to cancel the job, if there is one."""
        if self._job is not None:
            with suppress(Exception):  # the user interrupted the run and has seen the job's address
                self._job.cancel()


def job_name(name: str, stage: str) -> str:
    """A unique job name from the user's name and the stage."""
    now = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{name}-{slug(stage)}"[:40].rstrip("-") + f"-{now}-{secrets.token_hex(2)}"


def slug(text: str) -> str:
    """A text reduced to the characters allowed in names and labels."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "x"


def require_no_disks(pipeline: beam.Pipeline) -> None:
    """Raise a StageError if a worker would open a folder or the memory of this machine."""
    pipeline.visit(_Steps())
