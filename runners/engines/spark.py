"""`spark`: Beam's Spark runner, in a Java of this process's own (`local[N]`), on a cluster, or at a running job server.

A Beam bundle is a whole Spark partition here, so `spark.default.parallelism` says how finely a stage's tasks are cut.
"""

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from apache_beam.options.pipeline_options import JobServerOptions, PortableOptions, SparkRunnerOptions

from winnow.pipelines.surroundings import FOLDER_OPTION, OPTION, surroundings
from winnow.runners.engines.addresses import is_loopback, require_listening, split_address
from winnow.runners.engines.booting import boot_command
from winnow.runners.engines.failures import DIED, WorkerLostError
from winnow.runners.engines.flags import beam_options
from winnow.runners.engines.java_watch import EXIT_ON_OUT_OF_MEMORY, java_watched
from winnow.runners.engines.launching import Launch, Request
from winnow.runners.engines.pool import WorkerPool, forks_workers, losses_told, worker_pool
from winnow.runners.engines.portable import CancelledOnError, asked_job_server
from winnow.runners.jobserver import SPARK as SERVER
from winnow.runners.jobserver import Java, JobServerJar
from winnow.runners.jobserver.running import JOB_SERVERS, Service
from winnow.schemas.errors import StageError, WinnowError

CACHE_MILLIS = 60_000  # without it every Spark task starts a Python of its own
PARTITIONS_EACH = 8  # for each worker: few enough that empty ones cost little, enough that the last are short
CLUSTER_PARTITIONS = 64  # at least, on a cluster, whose size is not known here

_EMBEDDED = re.compile(r"local(?:\[.+\])?")
_CLUSTER = "spark://"
_EMBEDDED_JVM = (
    "-Xmx2g",  # tasks are references; bulk goes through files
    "-Dspark.driver.host=127.0.0.1",
    "-Dspark.driver.bindAddress=127.0.0.1",
)
_CLUSTER_JVM = (
    "-Xmx1g",
    # A Python worker that died stays in its executor's cache, and every task that is sent there fails: so a task is
    # tried elsewhere, and the executor gets no more of this job; the next job begins with all of them. A task that has
    # failed everywhere ends the job at once: Spark's own two minutes, and an executor restarted for each try, would
    # only keep back an error of the task itself.
    "-Dspark.scheduler.excludeOnFailure.unschedulableTaskSetTimeout=1s",
    "-Dspark.task.maxFailures=4",
    "-Dspark.excludeOnFailure.enabled=true",
    "-Dspark.excludeOnFailure.task.maxTaskAttemptsPerNode=3",
    "-Dspark.excludeOnFailure.stage.maxFailedExecutorsPerNode=64",
    "-Dspark.excludeOnFailure.application.maxFailedExecutorsPerNode=64",
    f"-Dspark.executor.extraJavaOptions={EXIT_ON_OUT_OF_MEMORY}",
)


@dataclass(frozen=True, slots=True)
class _Flags:
    """What the user said, as far as it is decided by here."""

    master: str | None  # only if it was said
    environment: str | None
    commanded: str | None  # what executors start workers with
    endpoint: str | None  # of a job server that runs already
    jobs: JobServerOptions
    spark: SparkRunnerOptions

    @property
    def embedded(self) -> bool:
        """Whether Spark is inside the job server."""
        return self.master is None or _EMBEDDED.fullmatch(self.master) is not None

    @property
    def masters(self) -> tuple[str, ...]:
        """The addresses of the cluster's masters."""
        return tuple((self.master or "").removeprefix(_CLUSTER).split(","))

    @property
    def workers_are_here(self) -> bool:
        """Whether workers can come from a pool of this process."""
        if self.endpoint is not None and not is_loopback(split_address(self.endpoint, "--job_endpoint")[0]):
            return False
        return self.embedded


class Spark:
    """Spark 3.5."""

    here = False

    def check(self, request: Request) -> None:
        """Flags, Java, the job server, and whoever is named."""
        flags = _flags(request)
        if flags.master is not None and not flags.embedded and not flags.master.startswith(_CLUSTER):
            raise WinnowError(
                f"--spark_master_url={flags.master}: expected local[N] or spark://host:port; for others start a job "
                "server of your own beside them, and give its --job_endpoint"
            )
        if flags.endpoint is None:
            asked_job_server("spark", flags.spark.spark_job_server_jar, flags.jobs)
        else:
            require_listening([flags.endpoint], "--job_endpoint", "start the job server, or correct the address")
        if not flags.embedded:
            require_listening(flags.masters, "--spark_master_url", "start the master, or correct the address")
        if not flags.workers_are_here and flags.environment is None and flags.commanded is None:
            boot_command()

    @contextmanager
    def launch(self, request: Request, log: Path) -> Iterator[Launch]:
        """A job server at the first pipeline; on this machine a pool of workers at each."""
        flags = _flags(request)
        settings: dict[str, object] = {
            OPTION: surroundings(),
            FOLDER_OPTION: os.getcwd(),
            "environment_cache_millis": CACHE_MILLIS,
            "sdk_worker_parallelism": request.workers if flags.workers_are_here else _cores(flags),
        }
        with ExitStack() as stack:
            pool: WorkerPool | None = None
            if flags.environment is None and not flags.workers_are_here:
                command = flags.commanded or boot_command()
                settings |= {"environment_type": "PROCESS", "environment_options": [f"process_command={command}"]}
            elif flags.environment is None and not forks_workers():
                settings["environment_type"] = "LOOPBACK"
            elif flags.environment is None:
                address, pool = stack.enter_context(worker_pool(log))
                settings |= {"environment_type": "EXTERNAL", "environment_config": address}
            if flags.endpoint is None:
                service = _service(flags, request)
                server = JOB_SERVERS.at(service)
                stack.enter_context(server.printing_into(log))
                if pool is not None:  # Spark would wait minutes for a worker that has died, and tries nothing again
                    stack.enter_context(losses_told(pool, partial(JOB_SERVERS.end, service)))
                stack.enter_context(java_watched(server))
                settings["job_endpoint"] = server.endpoint
            runner = stack.enter_context(CancelledOnError())
            yield Launch(runner, beam_options(request.flags, **settings))

    def understood(self, message: str) -> WinnowError | None:
        """What Spark and its Java side say in their own words."""
        for pattern, line in _MEANINGS:
            if found := re.search(pattern, message):
                return StageError(line.format(*found.groups()))
        if re.search(_LOST, message):
            return WorkerLostError(DIED)
        return None


_MEANINGS = (
    (
        r'Cannot run program "([^"]+)".*error=(?:2|13)\b',
        "a machine of the cluster has no {0} that it may run; install winnow there, or name the command by "
        "--environment_options=process_command=…",
    ),
    (
        r"Process died with exit code (\d+)",
        "the command that starts workers on the cluster ended with status {0}: run winnow-boot --help on its machines, "
        "as the user of its executors",
    ),
    (
        r"All masters are unresponsive",
        f"the Spark master does not take this application: is it Spark {SERVER.engine_version}? The job server is, and "
        "another patch version is refused (--spark_job_server_jar names another job server)",
    ),
    (
        r"local class incompatible: stream classdesc serialVersionUID",
        f"the cluster's Spark is of another version than the job server's, {SERVER.engine_version}; they must be the "
        "same (--spark_job_server_jar names another job server)",
    ),
    (
        r"java\.lang\.OutOfMemoryError",
        "an executor of Spark ran out of memory; nothing incomplete was committed; give more by "
        "--job_server_jvm_properties=-Dspark.executor.memory=2g, or smaller partitions by "
        "--job_server_jvm_properties=-Dspark.default.parallelism=…",
    ),
)
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
            raise WinnowError(
                f"{flag}: a stage needs what its pipeline commits, so a pipeline that only is packed is no use"
            )
    named = any(flag.partition("=")[0] == "--spark_master_url" for flag in request.flags)
    return _Flags(
        master=spark.spark_master_url.strip() if named else None,
        environment=portable.environment_type,
        commanded=portable.lookup_environment_option("process_command"),
        endpoint=portable.job_endpoint,
        jobs=options.view_as(JobServerOptions),
        spark=spark,
    )


def _service(flags: _Flags, request: Request) -> Service:
    jar, java = asked_job_server("spark", flags.spark.spark_job_server_jar, flags.jobs)
    partitions = PARTITIONS_EACH * request.workers
    if not flags.embedded:
        partitions = max(partitions, CLUSTER_PARTITIONS)
    jvm = [*(_EMBEDDED_JVM if flags.embedded else _CLUSTER_JVM), EXIT_ON_OUT_OF_MEMORY]
    jvm += [f"-Dspark.default.parallelism={partitions}", "-Dspark.ui.enabled=false", "-Dspark.app.name=winnow"]
    if not flags.embedded and all(is_loopback(split_address(one, "")[0]) for one in flags.masters):
        jvm += ["-Dspark.driver.host=127.0.0.1", "-Dspark.driver.bindAddress=127.0.0.1"]
    jobs = flags.jobs
    arguments = [
        *("--spark-master-url", flags.master or f"local[{request.workers}]"),
        *("--job-port", str(jobs.job_port), "--artifact-port", str(jobs.artifact_port)),
        *("--expansion-port", str(jobs.expansion_port or -1)),
    ]
    if jobs.artifacts_dir:
        arguments += ["--artifacts-dir", jobs.artifacts_dir]
    return Service(
        title="Spark's job server",
        java=java.path,
        jvm=(*_opened(jar, java), *jvm, *jobs.job_server_jvm_properties),
        jar=jar.path,
        arguments=tuple(arguments),
    )


def _opened(jar: JobServerJar, java: Java) -> list[str]:
    """What Java has to be told for this jar, beside where it is."""
    flag = "--job_server_jvm_properties="
    return [one.removeprefix(flag) for one in jar.flags(java) if one.startswith(flag)]


def _cores(flags: _Flags) -> int:
    """Python workers of an executor: one for each of its cores; 0 for about all of its machine's, as Spark gives it."""
    named = [re.fullmatch(r"-Dspark\.executor\.cores=([0-9]+)", one) for one in flags.jobs.job_server_jvm_properties]
    return next((int(found[1]) for found in reversed(named) if found), 0)


SPARK = Spark()
