"""`local`: Beam's FnApiRunner with one process per worker; and `portable`: the same through Beam's job service."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from apache_beam.options.pipeline_options import PortableOptions
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

from winnow.pipelines.running.version_handshake import driver_settings
from winnow.runners.engines.backend import Backend, Launch, Request
from winnow.runners.engines.flags import beam_options
from winnow.runners.engines.workers.forked import worker_environment

LOOPBACK = "LOOPBACK"
"""Beam's name for workers that are threads of the driver."""


class Local(Backend):
    """FnApiRunner by name, as `DirectRunner` may switch to another runner."""

    is_local = True

    def check(self, request: Request) -> None:
        """Reject unknown flags."""
        beam_options(request.flags)

    @contextmanager
    def launch(self, request: Request, log: Path) -> Iterator[Launch]:
        """One worker is this process itself; more are forked, but none that would have no task.

        If several were asked for and one has tasks, it is forked all the same: a row that kills it may not kill the
        command.
        """
        environment = None if request.workers == 1 else worker_environment(log)
        options = beam_options(request.flags, direct_num_workers=request.busy)
        yield Launch(FnApiRunner(default_environment=environment), options)


class Portable(Backend):
    """Beam's job service in this process: the same path as Spark and Flink, without them."""

    is_local = True

    def uses_nodes(self, request: Request) -> bool:
        """Whether the user names workers other than threads of this process."""
        given = beam_options(request.flags).view_as(PortableOptions).environment_type
        return given not in (None, LOOPBACK)

    def check(self, request: Request) -> None:
        """Reject unknown flags."""
        beam_options(request.flags)

    @contextmanager
    def launch(self, request: Request, _: Path) -> Iterator[Launch]:
        """Workers are threads of this process, unless the user names others."""
        from winnow.runners.engines.portable import CancelledOnError

        settings = driver_settings(request.node) if self.uses_nodes(request) else {}
        options = beam_options(request.flags, job_endpoint="embed", environment_type=LOOPBACK, **settings)
        with CancelledOnError() as runner:
            yield Launch(runner, options)


LOCAL: Backend = Local()
PORTABLE: Backend = Portable()
