"""`flink`: Beam's Flink runner, embedded in our own job server (`[local]`) or on a session cluster.

In a batch a Beam bundle is a whole subtask of Flink's, so the parallelism says how many tasks of a stage run at once.
On this machine it is the number of worker processes; on a cluster it is the number of slots, which the JobManager
reports before a job is submitted.
"""

import json
import secrets
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from apache_beam.options.pipeline_options import FlinkRunnerOptions, JobServerOptions, PipelineOptions, PortableOptions

from winnow.pipelines.running.version_handshake import driver_settings
from winnow.runners.engines.backend import Backend, Launch, Request, print_notice
from winnow.runners.engines.failures import DIED, WorkerLostError
from winnow.runners.engines.flags import beam_options
from winnow.runners.engines.java import FLINK as SERVER
from winnow.runners.engines.java.job_servers import Service
from winnow.runners.engines.java.watch import EXIT_ON_OUT_OF_MEMORY
from winnow.runners.engines.portable import (
    CancelledOnError,
    cancelled,
    chosen_job_server,
    endpoint_is_local,
    require_job_server,
    server_arguments,
    submission,
)
from winnow.runners.engines.workers.environments import WorkerSource
from winnow.runners.engines.workers.pool import worker_losses_reported
from winnow.schemas.counts import count_of
from winnow.schemas.errors import StageError, WinnowError

ANSWER_SECONDS = 10.0
ASKED_SECONDS = 10.0  # between looks at a cluster's slots
RETURN_SECONDS = 30.0  # for a TaskManager that is started again
_ANSWER_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Flink cluster."""

    address: str  # host:port of the JobManager's REST service
    version: str  # of Flink
    task_managers: int
    slots: int  # of all of them, in use or not
    free: int  # of these, not in use

    @property
    def slots_each(self) -> int:
        """The slots of the largest TaskManager."""
        return -(-self.slots // max(self.task_managers, 1))


CACHE_MILLIS = 60_000  # how long a worker outlives a stage of a job, to serve the next
EMBEDDED = ("[local]", "[auto]")

_BASE_HEAP, _HEAP_EACH = 768, 64  # MiB, and for each unit of parallelism: tasks are references, not rows
_BASE_NETWORK, _NETWORK_EACH = 64, 32  # MiB
_SHUFFLE_BUFFERS = 64  # of 32 KiB, per exchange and subtask; with Flink's default of 512 a job runs out of memory

_WORKER_GONE = (
    *("CANCELLED: client cancelled", "call already closed", "call is closed"),
    *("is no longer reachable", "Connection unexpectedly closed by remote task manager"),
    *("Heartbeat of TaskManager with id", "The TaskExecutor is shutting down"),
)
"""Messages of Beam's Java about a worker that disappeared, and of Flink about a TaskManager."""
_FEW_SLOTS = (
    "Flink has fewer free slots than the job's parallelism: free some slots, start TaskManagers, or run with a smaller "
    "--parallelism after '--'"
)
_UNDERSTOOD = (
    (
        "Insufficient number of network buffers",
        "Flink's TaskManagers lack memory for exchanges: set taskmanager.network.sort-shuffle.min-buffers: 64 and "
        "taskmanager.memory.network.min: 256m on the cluster, or run with a smaller --parallelism after '--'",
    ),
    ("NoResourceAvailableException", _FEW_SLOTS),
    ("TimeoutException: Timeout has occurred: ", _FEW_SLOTS),  # a request for slots timed out
    (
        "exceeds JVM heap space",
        "a group of rows does not fit in the heap of Flink's Java: give it more memory "
        "(taskmanager.memory.process.size on a "
        "cluster, --job_server_jvm_properties=-Xmx4g here)",
    ),
    (
        "java.lang.OutOfMemoryError",
        "Flink's Java ran out of memory: give it more memory (taskmanager.memory.process.size and "
        "taskmanager.memory.task.off-heap.size on a cluster, --job_server_jvm_properties=-Xmx4g here)",
    ),
)


class FlinkOptions(PipelineOptions):
    """Flags of the Flink runner that Beam declares in Java alone."""

    @classmethod
    def _add_argparse_args(cls, parser) -> None:  # type: ignore[no-untyped-def]  # Beam's own parser has no types
        parser.add_argument("--execution_mode_for_batch", default=None, help="PIPELINED or BATCH, or …_FORCED.")
        parser.add_argument("--number_of_execution_retries", type=int, default=None, help="Retries of a failed job.")
        parser.add_argument(
            "--execution_retry_delay", type=int, default=None, help="Delay before a retry, in milliseconds."
        )
        parser.add_argument("--flink_conf_dir", default=None, help="A folder with Flink's own settings for the job.")


@dataclass(frozen=True, slots=True)
class FlinkService(Service):
    """Flink's job server, with settings for the embedded Flink."""

    settings: tuple[tuple[str, str], ...] = ()

    def command(self, folder: Path) -> list[str]:
        """The command, with a folder of settings; a folder that the user names comes later and takes precedence."""
        conf = folder / "conf"
        conf.mkdir()
        (conf / "config.yaml").write_text("".join(f"{name}: {value}\n" for name, value in self.settings))
        given = Service.command(self, folder)
        at = given.index("--artifacts-dir")
        return [*given[:at], "--flink-conf-dir", str(conf), *given[at:]]


@dataclass(frozen=True, slots=True)
class _Flags:
    """The user's flags that this module evaluates."""

    master: str
    parallelism: int | None
    endpoint: str | None  # of a running job server
    conf: str | None
    portable: PortableOptions
    jobs: JobServerOptions
    flink: FlinkRunnerOptions

    @property
    def embedded(self) -> bool:
        """Whether Flink runs inside the job server."""
        return self.master in EMBEDDED

    @property
    def worker_source(self) -> WorkerSource:
        """The source of workers."""
        return WorkerSource.from_options(self.portable, is_local=self.embedded and endpoint_is_local(self.endpoint))


class Flink:
    """Flink 1.19."""

    is_local = False

    def __init__(self) -> None:
        self._services: dict[tuple[object, ...], FlinkService] = {}  # cached, as finding one reads a large jar

    def uses_nodes(self, request: Request) -> bool:
        """Whether a cluster is named, or a job server elsewhere."""
        return not _flags(request).worker_source.is_local

    def check(self, request: Request) -> None:
        """Check the flags, Java, the job server, and the cluster if one is named."""
        flags = _flags(request)
        require_job_server("flink", flags.flink.flink_job_server_jar, flags.jobs, flags.endpoint)
        if not flags.embedded:
            cluster_at(flags.master, SERVER.engine_minor)
        flags.worker_source.check()

    @contextmanager
    def launch(self, request: Request, log: Path) -> Iterator[Launch]:
        """Start a job server for the first pipeline, and on this machine a pool of workers for each."""
        flags = _flags(request)
        name = f"winnow-{request.stage}-{secrets.token_hex(4)}"  # no other job of the cluster has it
        settings: dict[str, object] = {**driver_settings(request.node), "job_name": name}
        slots: LostSlots | None = None
        with ExitStack() as stack:
            if flags.embedded:
                settings |= _spread(request.workers, request.workers)
            else:
                cluster = cluster_at(flags.master, SERVER.engine_minor)
                settings |= _spread(cluster.slots, cluster.slots_each)
                stack.enter_context(cluster_loss_reported(cluster, SERVER.engine_minor))
                if (wanted := flags.parallelism or cluster.slots) > cluster.free:
                    _report_missing_slots(cluster, wanted)
                slots = LostSlots(cluster, min(wanted, cluster.slots))
            workers = stack.enter_context(flags.worker_source.workers(log))
            settings |= workers.settings
            submitted = submission(flags.endpoint, partial(self._service, flags, request), log, workers.pool)
            settings["job_endpoint"], runner = stack.enter_context(submitted)
            if slots is not None:
                stack.enter_context(worker_losses_reported(slots, partial(slots.cancel, name, runner)))
            yield Launch(runner, beam_options(request.flags, **settings))

    def translated_error(self, message: str) -> WinnowError | None:
        """Translate messages of failed jobs that are specific to Flink."""
        if any(word in message for word in _WORKER_GONE):
            return WorkerLostError(DIED)
        return next((StageError(meaning) for known, meaning in _UNDERSTOOD if known in message), None) or cancelled(
            message
        )

    def _service(self, flags: _Flags, request: Request) -> FlinkService:
        key = (request.workers, request.flags)
        service = self._services[key] = self._services.get(key) or _service(flags, request)
        return service


class LostSlots:
    """The slots that a cluster has lost during a job: Flink would wait minutes for each try to get them back.

    A stage is submitted anew instead, with what is left of it, to the slots that are left.
    """

    def __init__(self, cluster: Cluster, needed: int) -> None:
        self._cluster, self._needed = cluster, needed
        self._asked = time.monotonic()
        self._fewer_since: float | None = None

    @property
    def lost(self) -> int:
        """How many have been missing for a while, in which a TaskManager may be started again."""
        now = time.monotonic()
        if now - self._asked < ASKED_SECONDS:
            return 0
        self._asked = now
        try:
            missing = self._needed - cluster_at(self._cluster.address, SERVER.engine_minor).slots
        except WinnowError:  # the job's own error will tell; how long fewer slots were there is not known any more
            missing = 0
        if missing <= 0:
            self._fewer_since = None
            return 0
        self._fewer_since = self._fewer_since or now
        return missing if now - self._fewer_since >= RETURN_SECONDS else 0

    def cancel(self, name: str, runner: CancelledOnError) -> None:
        """Cancel the job of this name: on the cluster, as it would keep the slots that are left, and for its driver."""
        url = _rest(self._cluster.address)
        with suppress(OSError, ValueError, KeyError, TypeError):  # a cluster that is gone holds no slots
            with urllib.request.urlopen(f"{url}/jobs/overview", timeout=ANSWER_SECONDS) as answer:
                jobs = json.loads(answer.read(_ANSWER_BYTES))["jobs"]
            for job in (job for job in jobs if job["name"].startswith(name) and job["end-time"] < 0):
                ask = urllib.request.Request(f"{url}/jobs/{job['jid']}?mode=cancel", method="PATCH")
                urllib.request.urlopen(ask, timeout=ANSWER_SECONDS).close()
        runner.cancel()


def _report_missing_slots(cluster: Cluster, wanted: int) -> None:
    print_notice(
        "flink",
        f"waiting: {cluster.free} of the {wanted} slots that the job needs are free; Flink fails a job that "
        "gets none for five minutes (slot.request.timeout); to use fewer: --parallelism=N",
    )


def _spread(parallelism: int, processes: int) -> dict[str, object]:
    return {"parallelism": parallelism, "sdk_worker_parallelism": processes, "environment_cache_millis": CACHE_MILLIS}


def _flags(request: Request) -> _Flags:
    options = beam_options(request.flags)
    flink, portable = options.view_as(FlinkRunnerOptions), options.view_as(PortableOptions)
    return _Flags(
        master=flink.flink_master.strip().removeprefix("http://"),
        parallelism=flink.parallelism if flink.parallelism > 0 else None,
        endpoint=portable.job_endpoint,
        conf=options.view_as(FlinkOptions).flink_conf_dir,
        portable=portable,
        jobs=options.view_as(JobServerOptions),
        flink=flink,
    )


def _service(flags: _Flags, request: Request) -> FlinkService:
    jar, java = chosen_job_server("flink", flags.flink.flink_job_server_jar, flags.jobs)
    parallelism = flags.parallelism or (request.workers if flags.embedded else 1)
    heap = _BASE_HEAP + _HEAP_EACH * parallelism
    network = _BASE_NETWORK + _NETWORK_EACH * parallelism
    conf = ("--flink-conf-dir", flags.conf) if flags.conf else ()
    return FlinkService(
        title="Flink's job server",
        java=java.path,
        jvm=(f"-Xmx{heap}m", EXIT_ON_OUT_OF_MEMORY, *flags.jobs.job_server_jvm_properties),
        jar=jar.path,
        arguments=(
            *("--flink-master", "[local]" if flags.embedded else flags.master),
            *server_arguments(flags.jobs),
            *conf,
        ),
        settings=(
            ("rest.bind-address", "127.0.0.1"),
            ("rest.address", "127.0.0.1"),
            ("jobmanager.bind-host", "127.0.0.1"),
            ("taskmanager.bind-host", "127.0.0.1"),
            ("taskmanager.memory.network.min", f"{network}m"),
            ("taskmanager.memory.network.max", f"{network}m"),
            ("taskmanager.network.sort-shuffle.min-buffers", str(_SHUFFLE_BUFFERS)),
        ),
    )


FLINK: Backend = Flink()


def _rest(address: str) -> str:
    """The URL of a JobManager's REST service."""
    return address if "://" in address else f"http://{address}"


def cluster_at(master: str, expected_minor: str) -> Cluster:
    """The cluster at `host:port`; WinnowError if nothing answers, it is not Flink of this version, or it has no
    workers."""
    flag = f"--flink_master={master}"
    address = master.strip().removeprefix("http://").rstrip("/")
    url = _rest(address)
    try:
        parts = urllib.parse.urlsplit(url)
        usable = bool(parts.hostname and parts.port)
    except ValueError:
        usable = False
    if not usable:
        raise WinnowError(f"{flag}: expected HOST:PORT of a JobManager's REST service, or [local]")
    try:
        with urllib.request.urlopen(f"{url}/overview", timeout=ANSWER_SECONDS) as answer:
            overview = json.loads(answer.read(_ANSWER_BYTES))
        slots, free = int(overview["slots-total"]), int(overview.get("slots-available", overview["slots-total"]))
        cluster = Cluster(address, str(overview["flink-version"]), int(overview["taskmanagers"]), slots, free)
    except urllib.error.HTTPError as error:
        raise WinnowError(f"{flag}: no Flink JobManager answers there (HTTP status {error.code})") from None
    except (OSError, TimeoutError) as error:
        reason = getattr(error, "reason", None) or error
        why = getattr(reason, "strerror", None) or str(reason)
        raise WinnowError(
            f"{flag}: no answer from a JobManager within {ANSWER_SECONDS:.0f} s ({why}); is the cluster up and this "
            "the port of its REST service (rest.port, 8081 by default)?"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise WinnowError(f"{flag}: the answer is not that of a Flink JobManager's REST service") from None
    if ".".join(cluster.version.split(".")[:2]) != expected_minor:
        raise WinnowError(
            f"{flag}: the cluster runs Flink {cluster.version}, but the job server is for {expected_minor}: "
            f"use a cluster of Flink {expected_minor}, or use a job server built for {cluster.version}"
        )
    if cluster.slots < 1:
        raise WinnowError(f"{flag}: the cluster has no TaskManager and thus no slots; start one")
    return cluster


@contextmanager
def cluster_loss_reported(cluster: Cluster, expected_minor: str) -> Iterator[None]:
    """Report the loss of the cluster as the reason for a job's failure: a StageError in place of the job's own error.

    Or that of a TaskManager as a WorkerLostError: what is left can run on the others.
    """
    try:
        yield
    except Exception as error:
        try:
            now = cluster_at(cluster.address, expected_minor)
        except WinnowError:
            raise StageError(
                f"--flink_master={cluster.address}: lost the connection to the cluster during the job; committed "
                f"work is kept, run the same command again once it is up"
            ) from error
        if now.slots < cluster.slots and str(error) == _FEW_SLOTS:  # those that the job had are gone
            raise WorkerLostError(f"{count_of(cluster.slots - now.slots, 'slot')} of Flink are gone; {DIED}") from error
        raise
