"""What Spark says, as a person reads it. The words are Spark's own, from runs of 3.5.0 and 3.5.1."""

import pytest
from apache_beam.options.pipeline_options import JobServerOptions

from tests.messages import assert_told, assert_told_each
from winnow.runners.engines.flags import beam_options
from winnow.runners.engines.java import spark_resources
from winnow.runners.engines.java.spark import SPARK
from winnow.runners.engines.java.spark_resources import ClusterOptions, SparkResources

STARVED = (
    "05:37:48 WARN TaskSchedulerImpl: Initial job has not accepted any resources; check your cluster UI to ensure that "
    "workers are registered and have sufficient resources"
)
GRANTED = (
    "05:50:31 INFO StandaloneSchedulerBackend: Granted executor ID app-20261122055031-0000/0 on hostPort "
    "127.0.0.1:33953 with 1 core(s), 500.0 MiB RAM"
)
REGISTERED = (
    "05:50:36 INFO StandaloneSchedulerBackend$StandaloneDriverEndpoint: Registered executor NettyRpcEndpointRef("
    "spark-client://Executor) (127.0.0.1:48142) with ID 0,  ResourceProfileId 0"
)
LOST = (
    "05:33:05 ERROR TaskSchedulerImpl: Lost executor 0 on 127.0.0.1: Remote RPC client disassociated. Likely due to "
    "containers exceeding thresholds, or network issues. Check driver logs for WARN messages."
)
MASTER_LOST = "05:32:59 WARN StandaloneSchedulerBackend: Disconnected from Spark cluster! Waiting for reconnection..."
SMALL = "--job_server_jvm_properties=-Dspark.executor.memory=500m"


def resources(*flags: str, masters: int = 1) -> SparkResources:
    options = beam_options(flags)
    return SparkResources(options.view_as(JobServerOptions), options.view_as(ClusterOptions), masters)


def after(watched: SparkResources, *lines: str) -> str:
    for line in lines:
        watched.on_line(line)
    return watched.reason_to_end()


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ((), "1g of memory and 1 core;"),
        ((SMALL,), "500m of memory and 1 core;"),
        ((SMALL, "--job_server_jvm_properties=-Dspark.executor.cores=4"), "500m of memory and 4 cores;"),
    ],
)
def test_a_cluster_that_gives_nothing_is_told_of_once_with_what_was_asked_for(
    capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], wanted: str
) -> None:
    watched = resources(*flags)
    assert after(watched, STARVED) == after(watched, STARVED) == ""
    assert_told(capsys.readouterr().out, wanted, "--job_server_jvm_properties=-Dspark.executor.memory=500m", whole=True)


def test_an_executor_that_comes_after_all_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    watched = resources()
    after(watched, STARVED)
    assert after(watched, GRANTED, REGISTERED) == ""
    assert_told_each(capsys.readouterr().out.splitlines()[1:], "cluster granted executors")


@pytest.mark.parametrize("lines", [(GRANTED, STARVED), (GRANTED, REGISTERED), (REGISTERED, MASTER_LOST), (LOST,)])
def test_what_ends_by_itself_is_no_news(capsys: pytest.CaptureFixture[str], lines: tuple[str, ...]) -> None:
    """Slow starts, a master whose executors work on without it, an executor that the master replaces."""
    assert after(resources(), *lines) == ""
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("masters", "seconds"), [(1, 30), (2, 150)])
def test_a_master_and_executors_that_are_gone_are_given_a_while(
    capsys: pytest.CaptureFixture[str], masters: int, seconds: int
) -> None:
    watched = resources(masters=masters)
    assert after(watched, REGISTERED, MASTER_LOST, LOST) == after(watched) == ""
    assert_told(capsys.readouterr().out, "run ends", str(seconds), whole=True)


def test_a_cluster_that_was_waited_for_and_is_gone_then_is_given_the_same_while(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = resources()
    assert after(watched, STARVED) == after(watched, MASTER_LOST) == ""
    assert_told(capsys.readouterr().out, "run ends", "30 s")
    monkeypatch.setattr(spark_resources, "GONE_SECONDS", 0.0)
    assert_told(after(resources(), STARVED, MASTER_LOST), "Spark cluster lost", whole=True)


def test_executors_that_end_as_soon_as_they_start_end_the_run() -> None:
    watched = resources()
    lives = [
        (REGISTERED.replace("ID 0", f"ID {number}"), LOST.replace("executor 0", f"executor {number}"))
        for number in range(12)
    ]
    assert after(watched, *(line for life in lives[:11] for line in life)) == ""
    assert_told(after(watched, *lives[11]), "Spark cluster", "12", whole=True)


def test_executors_that_have_worked_may_end_as_often_as_they_like(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_resources, "QUICK_SECONDS", 0.0)
    assert after(resources(), *[REGISTERED, LOST] * 30) == ""


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (
            "Job aborted due to stage failure: Task 0 in stage 2.0 failed 4 times: ExecutorLostFailure (executor 0 "
            "exited caused by one of the running tasks) Reason: Command exited with code 3",
            "--job_server_jvm_properties=-Dspark.executor.memory=2g",
        ),
        (
            "Lost task 0.0 in stage 0.0 (TID 0) (127.0.0.1 executor 0): java.io.InvalidClassException: "
            "org.apache.spark.rdd.RDD; local class incompatible: stream classdesc serialVersionUID = "
            "823754013007382808, local class serialVersionUID = 3516924559342767982",  # a cluster of 3.5.1
            "3.5.0 … winnow engines … --engine-version",
        ),
    ],
)
def test_a_failed_jobs_message_means(message: str, line: str) -> None:
    assert_told(str(SPARK.translated_error(message)), line, whole=True)
