"""`prism`: Beam's portable runner in Go, for conformance tests on small data, as it keeps everything in memory.

Unlike Beam, winnow never downloads it: the program must be named or installed.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from apache_beam.options.pipeline_options import JobServerOptions, PipelineOptions, PortableOptions, PrismRunnerOptions

from winnow.pipelines.running.version_handshake import OPTION, versions_here
from winnow.runners.engines.backend import Backend, Launch, Request
from winnow.runners.engines.flags import beam_options
from winnow.runners.engines.java.job_servers import JOB_SERVERS, Service
from winnow.runners.engines.portable import CancelledOnError
from winnow.runners.engines.prism_program import find_prism
from winnow.runners.engines.workers.pool import forks_workers, worker_pool


@dataclass(frozen=True, slots=True)
class PrismService(Service):
    """Prism as a job server: without Java, jar or artifact folder."""

    def command(self, _: Path) -> list[str]:
        """The command that starts it."""
        return [str(self.jar), *self.arguments]


class Prism(Backend):
    """Beam's Prism."""

    is_local = True

    def check(self, request: Request) -> None:
        """Check the flags and the program."""
        options = beam_options(request.flags)
        if options.view_as(PortableOptions).job_endpoint is None:
            find_prism(options.view_as(PrismRunnerOptions).prism_location)

    @contextmanager
    def launch(self, request: Request, log: Path) -> Iterator[Launch]:
        """One Prism per command, with one worker: it never starts more."""
        given = beam_options(request.flags)
        portable = given.view_as(PortableOptions)
        settings: dict[str, object] = {OPTION: versions_here()}
        with ExitStack() as stack:
            if portable.environment_type is None and forks_workers():
                address, _ = stack.enter_context(worker_pool(log))
                settings |= {"environment_type": "EXTERNAL", "environment_config": address}
            elif portable.environment_type is None:
                settings["environment_type"] = "LOOPBACK"
            if portable.job_endpoint is None:
                server = JOB_SERVERS.at(_service(given))
                stack.enter_context(server.printing_into(log))
                settings["job_endpoint"] = server.endpoint
            runner = stack.enter_context(CancelledOnError())
            yield Launch(runner, beam_options(request.flags, **settings))


def _service(options: PipelineOptions) -> PrismService:
    prism = options.view_as(PrismRunnerOptions)
    port = options.view_as(JobServerOptions).job_port
    found = find_prism(prism.prism_location)
    return PrismService(
        title="Prism",
        java=found,
        jvm=(),
        jar=found,
        arguments=(
            *("--job_port", str(port), "--serve_http=false"),
            *("--log_level", prism.prism_log_level, "--log_kind", "text"),
        ),
    )


PRISM: Backend = Prism()
