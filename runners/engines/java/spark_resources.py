"""Follows the executors that a Spark cluster gives a job, from the job server's log.

A job waits for ever if a standalone cluster grants no executor, or has lost its master and all executors. In the first
case the cluster may be busy: the wait is shown to the user. The second ends the job.
"""

import re
import time

from apache_beam.options.pipeline_options import JobServerOptions, PipelineOptions

from winnow.runners.engines.backend import print_notice
from winnow.runners.engines.java.watch import OutputListener

GONE_SECONDS = 30.0  # wait for a lost master, which may be restarted
STANDBY_SECONDS = 150.0  # with several masters: another takes over within one to two minutes, according to Spark
QUIET_SECONDS = 15.0  # from an executor's end to the notice that there is none, as in Spark
STARTING_SECONDS = 60.0  # for an executor to start on a busy machine
QUICK_SECONDS = 20.0  # an executor that ends within this time has not worked
QUICK_ENDS = 12  # in succession: the next would fail too, as a master grants executors for ever
AGAIN_SECONDS = 300.0  # between notices of a waiting run

_GRANTED = "Granted executor ID"
_REGISTERED = re.compile(r"Registered executor .*? with ID (\d+)")
_LOST = re.compile(r"Lost executor (\d+) on ")
_LOST_TASK = "Lost task "
_STARVED = "Initial job has not accepted any resources"
_MASTER_LOST = "Disconnected from Spark cluster"
_MASTER_FOUND = "Master has changed, new master is at"
_STAYS = "committed work is kept, run the same command again"


class ClusterOptions(PipelineOptions):
    """winnow's own flags among Beam's."""

    @classmethod
    def _add_argparse_args(cls, parser) -> None:  # type: ignore[no-untyped-def]  # Beam's own parser has no types
        parser.add_argument(
            "--resource_wait_seconds",
            type=int,
            default=0,
            help="Seconds that a job waits for a busy cluster; 0: for ever.",
        )
        parser.add_argument("--spark_ui_port", type=int, default=None, help="The port of Spark's page; none: no page.")


def spark_setting(jobs: JobServerOptions, name: str, default: str) -> str:
    """A Spark setting that the user gave to the job server; the last one counts."""
    start = f"-D{name}="
    given = [argument.removeprefix(start) for argument in jobs.job_server_jvm_properties if argument.startswith(start)]
    return given[-1] if given else default


def executor_cores(jobs: JobServerOptions) -> int:
    """The cores of an executor, if given; else 0, for all free cores of a cluster's worker."""
    given = spark_setting(jobs, "spark.executor.cores", "0")
    return int(given) if given.isdigit() else 0  # Spark rejects anything but a number


class SparkResources(OutputListener):
    """Follows the executors of one job, and reports when there are none."""

    def __init__(self, jobs: JobServerOptions, waiting: ClusterOptions, masters: int) -> None:
        self._limit = float(max(waiting.resource_wait_seconds, 0))
        memory = spark_setting(jobs, "spark.executor.memory", "1g")
        cores = executor_cores(jobs) or 1
        self._wanted = f"{memory} of memory and {cores} core{'s' if cores > 1 else ''}"
        self._living: dict[str, float] = {}  # by id: the start time
        self._quick_ends = 0
        self._grace = GONE_SECONDS if masters == 1 else STANDBY_SECONDS
        self._masterless_since: float | None = None
        self._none_since: float | None = None  # without any executor
        self._starting_until = 0.0
        self._reported_at: float | None = None
        self._reported_loss = False

    def on_line(self, line: str) -> None:
        """Process a log line of Spark's driver."""
        now = time.monotonic()
        if found := _REGISTERED.search(line):
            self._living[found[1]] = now
            self._none_since = None
        elif found := _LOST.search(line):
            since = self._living.pop(found[1], now)
            self._quick_ends = self._quick_ends + 1 if now - since < QUICK_SECONDS else 0
            if not self._living and self._none_since is None:
                self._none_since = now
        elif _STARVED in line:
            if not self._living and self._none_since is None:
                self._none_since = now - QUIET_SECONDS
        elif _GRANTED in line:
            self._starting_until = now + STARTING_SECONDS
        elif _MASTER_LOST in line:
            self._masterless_since = now
        elif _MASTER_FOUND in line:
            self._masterless_since = None

    def is_remote(self, line: str) -> bool:
        """Whether the line is about an executor, as a failed task is."""
        return _LOST_TASK in line

    def reason_to_end(self) -> str:
        """Why to end the job: the cluster is gone, or the wait took too long."""
        now = time.monotonic()
        if self._quick_ends >= QUICK_ENDS:
            return (
                f"executors of the Spark cluster end as soon as they start, {QUICK_ENDS} in succession; the stderr of "
                f"one, in its worker's work folder, says why; {_STAYS}"
            )
        if self._none_since is None:
            if self._reported_at is not None:
                self._reported_at = None
                print_notice("spark", "the cluster granted executors; the run continues")
            return ""
        without = now - self._none_since
        if self._masterless_since is not None:
            if min(without, now - self._masterless_since) >= self._grace:
                return f"the Spark cluster lost its master and all executors; {_STAYS} once it is up"
            if not self._reported_loss:
                self._reported_loss = True
                print_notice(
                    "spark",
                    f"the master and all executors are lost; the run ends in {self._grace:.0f} s unless they return",
                )
            return ""
        self._reported_loss = False
        if self._limit and without >= self._limit:
            return f"the Spark cluster gave no executor of {self._wanted} within {self._limit:.0f} s; {_STAYS} later"
        due = without >= QUIET_SECONDS and now >= self._starting_until
        if due and (self._reported_at is None or now - self._reported_at >= AGAIN_SECONDS):
            self._reported_at = now
            print_notice(
                "spark",
                f"waiting: the cluster grants no executor of {self._wanted}; its master's page shows the workers "
                "and their use. To request less: --job_server_jvm_properties=-Dspark.executor.memory=500m",
            )
        return ""
