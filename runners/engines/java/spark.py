"""`spark`: Beam's Spark runner, embedded in our own job server (`local[N]`), on a cluster, or at a running job server.

A Beam bundle is a whole Spark partition here, so `spark.default.parallelism` says how finely a stage's tasks are cut.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from apache_beam.options.pipeline_options import JobServerOptions, PortableOptions, SparkRunnerOptions

from winnow.pipelines.running.version_handshake import driver_settings
from winnow.runners.engines.addresses import is_loopback, require_listening, split_address
from winnow.runners.engines.backend import Backend, Launch, Request
from winnow.runners.engines.failures import DIED, WorkerLostError
from winnow.runners.engines.flags import beam_options
from winnow.runners.engines.java import SPARK as SERVER
from winnow.runners.engines.java import Java, JobServerJar
from winnow.runners.engines.java.job_servers import Service
from winnow.runners.engines.java.spark_resources import ClusterOptions, SparkResources, executor_cores, spark_setting
from winnow.runners.engines.java.watch import EXIT_ON_OUT_OF_MEMORY
from winnow.runners.engines.portable import (
    cancelled,
    chosen_job_server,
    endpoint_is_local,
    require_job_server,
    server_arguments,
    submission,
)
from winnow.runners.engines.workers.environments import WorkerSource
from winnow.schemas.errors import StageError, WinnowError

CACHE_MILLIS = 60_000  # otherwise every Spark task starts its own Python
PARTITIONS_EACH = 8  # per worker: few enough that empty ones cost little, enough that the last ones are short
CLUSTER_PARTITIONS = 64  # the minimum on a cluster, whose size is unknown here

_EMBEDDED = re.compile(r"local(?:\[.+\])?")
_CLUSTER = "spark://"
_TRIES = 4
_LOOPBACK = (("SPARK_LOCAL_IP", "127.0.0.1"),)  # Spark's page does not heed spark.driver.bindAddress
_EMBEDDED_JVM = ("-Xmx2g",)  # tasks are references; bulk goes through files
_CLUSTER_JVM = (
    "-Xmx1g",
    # A dead Python worker stays in its executor's cache, and every task sent there fails. So a task is retried
    # elsewhere, and the executor gets no more tasks of this job; the next job uses all executors again. A task that has
    # failed everywhere ends the job at once: Spark's default of two minutes, with an executor restarted for each try,
    # would only delay the task's own error.
    "-Dspark.scheduler.excludeOnFailure.unschedulableTaskSetTimeout=1s",
    "-Dspark.excludeOnFailure.stage.maxFailedExecutorsPerNode=64",
    "-Dspark.excludeOnFailure.application.maxFailedExecutorsPerNode=64",
    f"-Dspark.executor.extraJavaOptions={EXIT_ON_OUT_OF_MEMORY}",
)


@dataclass(frozen=True, slots=True)
class _Flags:
    """The user's flags that this module evaluates."""

    master: str | None  # only if given
    endpoint: str | None  # of a running job server
    portable: PortableOptions
    jobs: JobServerOptions
    spark: SparkRunnerOptions
    cluster: ClusterOptions

    @property
    def embedded(self) -> bool:
        """Whether Spark runs inside the job server."""
        return self.master is None or _EMBEDDED.fullmatch(self.master) is not None

    @property
    def masters(self) -> tuple[str, ...]:
        """The addresses of the cluster's masters."""
        return tuple((self.master or "").removeprefix(_CLUSTER).split(","))

    @property
    def worker_source(self) -> WorkerSource:
        """The source of workers."""
        return WorkerSource.from_options(self.portable, is_local=self.embedded and endpoint_is_local(self.endpoint))

    def require_master(self) -> None:
        """Raise unless one of the masters listens."""
        if not self.embedded:
            require_listening(self.masters, "--spark_master_url", "start the master, or correct the address")


class Spark:
    """Spark 3.5."""

    is_local = False

    def uses_nodes(self, request: Request) -> bool:
        """Whether a cluster is named, or a job server elsewhere."""
        return not _flags(request).worker_source.is_local

    def check(self, request: Request) -> None:
        """Check the flags, Java, the job server, and the masters if any are named."""
        flags = _flags(request)
        if flags.master is not None and not flags.embedded and not flags.master.startswith(_CLUSTER):
            raise WinnowError(
                f"--spark_master_url={flags.master}: expected local[N] or spark://host:port; for other masters, "
                f"start your own job server and give its --job_endpoint"
            )
        require_job_server("spark", flags.spark.spark_job_server_jar, flags.jobs, flags.endpoint)
        flags.require_master()
        flags.worker_source.check()

    @contextmanager
    def launch(self, request: Request, log: Path) -> Iterator[Launch]:
        """Start a job server for the first pipeline, and on this machine a pool of workers for each."""
        flags = _flags(request)
        flags.require_master()  # checked again, as stages may be hours apart
        worker_source = flags.worker_source
        settings: dict[str, object] = {
            **driver_settings(request.node),
            "job_name": f"winnow-{request.stage}",
            "environment_cache_millis": CACHE_MILLIS,
            # One per core of an executor; 0 for all cores that Spark assigns on its machine.
            "sdk_worker_parallelism": request.workers if worker_source.is_local else executor_cores(flags.jobs),
        }
        with ExitStack() as stack:
            workers = stack.enter_context(worker_source.workers(log))
            settings |= workers.settings
            resources = None if flags.embedded else SparkResources(flags.jobs, flags.cluster, len(flags.masters))
            submitted = submission(flags.endpoint, partial(_service, flags, request), log, workers.pool, resources)
            settings["job_endpoint"], runner = stack.enter_context(submitted)
            yield Launch(runner, beam_options(request.flags, **settings))

    def translated_error(self, message: str) -> WinnowError | None:
        """Translate messages of Spark and Java."""
        at = re.search(_HOST, message)
        host = "" if at is None else f"{at[1]}: "
        for pattern, line in _MEANINGS:
            if found := re.search(pattern, message):
                return StageError(f"{host}{line.format(*found.groups())}")
        if re.search(_LOST, message):
            return WorkerLostError(f"{host}{DIED}")
        return cancelled(message)


_MEANINGS = (
    (
        r'Cannot run program "([^"]+)".*error=(?:2|13)\b',
        "a machine of the cluster cannot run {0}; install winnow there, or give the command with "
        "--environment_options=process_command=…",
    ),
    (
        r"Process died with exit code (\d+)",
        "the command that starts workers on the cluster ended with status {0}: run winnow-boot --help on its machines, "
        "as the user of its executors",
    ),
    (
        r"All masters are unresponsive",
        f"no Spark master accepts this application; check that one is up and runs Spark {SERVER.engine_version} like "
        f"the job server. For another version, run winnow engines build spark --engine-version and set "
        f"{SERVER.variable}",
    ),
    (
        r"local class incompatible: stream classdesc serialVersionUID",
        f"the cluster's Spark is of a different version than the job server's, {SERVER.engine_version}; run winnow "
        f"engines build spark --engine-version with the cluster's version, and let {SERVER.variable} name it",
    ),
    (
        r"\[INVALID_(?:DRIVER|EXECUTOR)_MEMORY\].*must be at least (\d+)",
        "Spark needs a heap of at least {0} bytes: set --job_server_jvm_properties=-Xmx1g if embedded, "
        "-Dspark.executor.memory=1g on a cluster",
    ),
    (
        # The exit codes of Java's ExitOnOutOfMemoryError and of Spark.
        r"java\.lang\.OutOfMemoryError|exited with code (?:3|52)\b",
        "an executor of Spark ran out of memory; nothing incomplete was committed; give more with "
        "--job_server_jvm_properties=-Dspark.executor.memory=2g, or use smaller partitions with "
        "--job_server_jvm_properties=-Dspark.default.parallelism=…",
    ),
)
_HOST = r"\(TID \d+\) \((\S+) executor (?!driver)"
"""Where Spark ran a task that failed."""

_LOST = (
    r"TimeoutException: Waited \d+|StatusRuntimeException: (?:CANCELLED|UNAVAILABLE)|ExecutorLostFailure|"
    r"call already cancelled|Job \d+ cancelled because SparkContext was shut down|Connection reset"
)


def _flags(request: Request) -> _Flags:
    options = beam_options(request.flags)
    spark, portable = options.view_as(SparkRunnerOptions), options.view_as(PortableOptions)
    for given, flag in (
        (portable.output_executable_path, "--output_executable_path"),
        (spark.spark_submit_uber_jar, "--spark_submit_uber_jar"),
    ):
        if given:
            raise WinnowError(f"{flag}: not supported, as a stage needs the results of its pipeline")
    named = any(flag.partition("=")[0] == "--spark_master_url" for flag in request.flags)
    return _Flags(
        master=spark.spark_master_url.strip() if named else None,
        endpoint=portable.job_endpoint,
        portable=portable,
        jobs=options.view_as(JobServerOptions),
        spark=spark,
        cluster=options.view_as(ClusterOptions),
    )


def _service(flags: _Flags, request: Request) -> Service:
    jar, java = chosen_job_server("spark", flags.spark.spark_job_server_jar, flags.jobs)
    partitions = PARTITIONS_EACH * request.workers
    if not flags.embedded:
        partitions = max(partitions, CLUSTER_PARTITIONS)
    jvm = [*(_EMBEDDED_JVM if flags.embedded else _CLUSTER_JVM), EXIT_ON_OUT_OF_MEMORY]
    jvm += [f"-Dspark.default.parallelism={partitions}", "-Dspark.app.name=winnow"]
    page = flags.cluster.spark_ui_port
    jvm += [f"-Dspark.ui.enabled={'false' if page is None else 'true'}"]
    jvm += [] if page is None else [f"-Dspark.ui.port={page}", "-Dspark.ui.killEnabled=false"]
    on_loopback = flags.embedded or all(is_loopback(split_address(one, "")[0]) for one in flags.masters)
    if on_loopback:
        jvm += ["-Dspark.driver.host=127.0.0.1", "-Dspark.driver.bindAddress=127.0.0.1"]
    if not flags.embedded:
        jvm += _retry_settings(flags.jobs)
    master = flags.master or f"local[{request.workers}]"
    return Service(
        title="Spark's job server",
        java=java.path,
        jvm=(*_java_options(jar, java), *jvm, *flags.jobs.job_server_jvm_properties),
        jar=jar.path,
        arguments=("--spark-master-url", master, *server_arguments(flags.jobs)),
        environment=_LOOPBACK if on_loopback else (),
    )


def _retry_settings(jobs: JobServerOptions) -> list[str]:
    """Settings for how often a task is tried; Spark requires fewer tries per machine than in total."""
    configured = spark_setting(jobs, "spark.task.maxFailures", str(_TRIES))
    here = min(int(configured), _TRIES) - 1 if configured.isdigit() else _TRIES - 1
    tries = f"-Dspark.task.maxFailures={_TRIES}"  # the user's comes later and takes precedence
    if here < 1:
        return [tries]
    exclude = "-Dspark.excludeOnFailure"
    return [tries, f"{exclude}.enabled=true", f"{exclude}.task.maxTaskAttemptsPerNode={here}"]


def _java_options(jar: JobServerJar, java: Java) -> list[str]:
    """The Java options that this jar needs."""
    flag = "--job_server_jvm_properties="
    return [one.removeprefix(flag) for one in jar.flags(java) if one.startswith(flag)]


SPARK: Backend = Spark()
