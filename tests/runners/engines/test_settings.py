"""What engines are started with, by the flags that are given: no engine runs here."""

import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from apache_beam.options.pipeline_options import GoogleCloudOptions, JobServerOptions, PortableOptions, SetupOptions

from tests.runners.engines.java.jars import write_jar
from winnow.runners.engines.addresses import is_loopback, require_answering, split_address
from winnow.runners.engines.backend import Backend, Request
from winnow.runners.engines.dataflow.dataflow import DATAFLOW, Dataflow, DataflowError, job_options
from winnow.runners.engines.failures import WorkerLostError
from winnow.runners.engines.flags import beam_options
from winnow.runners.engines.java import flink, spark
from winnow.runners.engines.java.flink import FLINK, Cluster, cluster_loss_reported
from winnow.runners.engines.java.job_servers import Service
from winnow.runners.engines.java.server_kinds import FLINK as FLINK_SERVER
from winnow.runners.engines.java.spark import SPARK
from winnow.runners.engines.java.spark_resources import executor_cores, spark_setting
from winnow.runners.engines.local import LOCAL, PORTABLE
from winnow.runners.engines.portable import CancelledOnError, cancelled, endpoint_is_local, server_arguments
from winnow.runners.engines.prism import PRISM
from winnow.runners.engines.workers.environments import WorkerSource
from winnow.schemas.errors import StageError, WinnowError

CLOUD = ("--project=my-project", "--region=europe-west1", "--temp_location=gs://bucket/tmp")


@contextmanager
def answering(status: int) -> Iterator[str]:
    """A web service that answers every request with this status."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the library's name
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_no_more_workers_are_busy_than_there_are_tasks() -> None:
    busy = [Request(4, (), tasks=tasks).busy for tasks in (None, 0, 1, 4, 9)]
    assert busy == [4, 1, 1, 4, 4]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("host:1", ("host", 1)),
        ("10.0.0.1:65535", ("10.0.0.1", 65_535)),
        ("[::1]:80", ("::1", 80)),
        *((text, None) for text in ("host", "host:", "host:0", "host:65536", ":80", "host:x", "http://host:80")),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, found: tuple[str, int] | None) -> None:
    if found is not None:
        assert split_address(text, "--flag") == found
        return
    with pytest.raises(WinnowError, match="--flag"):
        split_address(text, "--flag")


def test_what_is_on_this_machine_is_known_by_its_address() -> None:
    here = ("localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]")
    assert [is_loopback(host) for host in (*here, "10.0.0.1", "::", "example.org", "")] == [True] * 5 + [False] * 4
    endpoints = (None, "localhost:8099", "[::1]:8099", "10.0.0.1:8099", "cluster:8099")
    assert [endpoint_is_local(one) for one in endpoints] == [True, True, True, False, False]


def test_a_service_answers_whatever_it_says() -> None:
    for status in (200, 404, 500):
        with answering(status) as url:
            require_answering(url, "check it")
    with pytest.raises(WinnowError, match=r"127\.0\.0\.1.*check it"):
        require_answering(url, "check it")
    with pytest.raises(WinnowError, match=r"nowhere.*check it"):
        require_answering("nowhere", "check it")


def test_a_job_that_was_cancelled_is_told_apart() -> None:
    assert isinstance(cancelled("Pipeline x failed in state CANCELLED: bundle"), StageError)
    assert cancelled("Pipeline x failed in state FAILED") is None


def test_all_job_servers_are_started_with_the_ports_that_are_given() -> None:
    def arguments(*flags: str) -> dict[str, str]:
        given = server_arguments(beam_options(flags).view_as(JobServerOptions))
        return dict(zip(given[::2], given[1::2], strict=True))

    assert arguments() == {"--job-port": "0", "--artifact-port": "0", "--expansion-port": "-1"}
    ports = {"--job-port": "1", "--artifact-port": "2", "--expansion-port": "3", "--artifacts-dir": "/a"}
    assert arguments("--job_port=1", "--artifact_port=2", "--expansion_port=3", "--artifacts_dir=/a") == ports


def test_workers_are_in_the_environment_that_is_given() -> None:
    def environment(**settings: object) -> str:
        options = beam_options((), **settings)
        context: Any = None  # of a pipeline, which environments do without
        made = CancelledOnError().default_environment(options).to_runner_api(context)
        return str(made.SerializeToString(), "latin-1")

    assert "10.0.0.1:50000" in environment(environment_type="EXTERNAL", environment_config="10.0.0.1:50000")
    process = environment(
        environment_type="PROCESS",
        environment_options=["process_command=/opt/boot", "process_variables=A=1,B=2"],
    )
    assert all(one in process for one in ("beam:env:process:v1", "/opt/boot", "A", "1", "B", "2"))
    assert "beam:env:process:v1" in environment(
        environment_type="PROCESS", environment_config='{"command": "/opt/other", "env": {}}'
    )


def test_workers_are_this_machines_unless_flags_say_otherwise(tmp_path: Path) -> None:
    def source(*flags: str, is_local: bool) -> WorkerSource:
        return WorkerSource.from_options(beam_options(flags).view_as(PortableOptions), is_local=is_local)

    given = source("--environment_type=DOCKER", is_local=True)
    with given.workers(tmp_path / "log") as workers:
        assert (dict(workers.settings), workers.pool) == ({}, None)
    command = "--environment_options=process_command=/opt/boot"
    with source(command, is_local=False).workers(tmp_path / "log") as workers:
        options = {"environment_type": "PROCESS", "environment_options": ["process_command=/opt/boot"]}
        assert (dict(workers.settings), workers.pool) == (options, None)
    source(command, is_local=False).check()


@pytest.mark.parametrize(
    ("backend", "flags", "elsewhere"),
    [
        (LOCAL, (), False),
        (PORTABLE, (), False),
        (PORTABLE, ("--environment_type=LOOPBACK",), False),
        (PORTABLE, ("--environment_type=PROCESS",), True),
        (SPARK, (), False),
        (SPARK, ("--spark_master_url=local",), False),
        (SPARK, ("--spark_master_url=local[2]",), False),
        (SPARK, ("--spark_master_url=spark://127.0.0.1:7077",), True),
        (SPARK, ("--job_endpoint=localhost:8099",), False),
        (SPARK, ("--job_endpoint=cluster:8099",), True),
        (FLINK, (), False),
        (FLINK, ("--flink_master=[local]",), False),
        (FLINK, ("--flink_master=http://127.0.0.1:8081",), True),
        (FLINK, ("--job_endpoint=cluster:8099",), True),
        (DATAFLOW, CLOUD, True),
        (DATAFLOW, (*CLOUD, "--dataflow_endpoint=http://localhost:1"), False),
        (DATAFLOW, (*CLOUD, "--dataflow_endpoint=http://example.org"), True),
    ],
)
def test_workers_are_elsewhere_where_a_flag_names_another_place(
    backend: Backend, flags: tuple[str, ...], elsewhere: bool
) -> None:
    assert backend.uses_nodes(Request(2, flags)) == elsewhere
    assert backend.is_local == (backend in (LOCAL, PORTABLE, PRISM))


@pytest.fixture
def java(tmp_path: Path) -> tuple[str, ...]:
    """Flags that name a Java, and job servers of Spark and Flink, of which no one runs."""
    launcher = tmp_path / "java"
    launcher.write_text("#!/bin/sh\necho 'openjdk version \"17.0.9\" 2023-10-17' >&2\n")
    launcher.chmod(0o755)
    write_jar(tmp_path / "spark.jar")
    write_jar(tmp_path / "flink.jar", FLINK_SERVER.main_class, spark=None)
    with zipfile.ZipFile(tmp_path / "flink.jar", "a") as jar:
        version = f"{FLINK_SERVER.engine_key}={FLINK_SERVER.engine_version}\n"
        jar.writestr(FLINK_SERVER.engine_word, version)
    return (f"--job_server_java_launcher={launcher}",)


def spark_service(tmp_path: Path, workers: int, *flags: str) -> Service:
    request = Request(workers, (f"--spark_job_server_jar={tmp_path}/spark.jar", *flags))
    return spark._service(spark._flags(request), request)


def test_spark_within_its_job_server_has_a_core_and_eight_partitions_for_each_worker(
    tmp_path: Path, java: tuple[str, ...]
) -> None:
    service = spark_service(tmp_path, 3, *java)
    assert service.arguments[:2] == ("--spark-master-url", "local[3]")
    assert {"-Xmx2g", "-Dspark.default.parallelism=24", "-Dspark.ui.enabled=false"} <= {*service.jvm}
    assert {"-Dspark.driver.host=127.0.0.1", "-Dspark.driver.bindAddress=127.0.0.1"} <= {*service.jvm}
    assert not any("maxFailures" in one or "ui.port" in one for one in service.jvm)
    assert service.environment == (("SPARK_LOCAL_IP", "127.0.0.1"),)
    given = spark_service(tmp_path, 3, *java, "--spark_master_url=local[7]", "--job_server_jvm_properties=-Xmx9g")
    assert (given.arguments[1], given.jvm[-1]) == ("local[7]", "-Xmx9g")


@pytest.mark.parametrize(
    ("workers", "more", "partitions", "on_a_machine"),
    [
        (3, (), 64, "3"),
        (20, (), 160, "3"),
        (3, ("-Dspark.task.maxFailures=9",), 64, "3"),
        (3, ("-Dspark.task.maxFailures=3",), 64, "2"),
        (3, ("-Dspark.task.maxFailures=3", "-Dspark.task.maxFailures=2"), 64, "1"),
        (3, ("-Dspark.task.maxFailures=1",), 64, None),
        (3, ("-Dspark.task.maxFailures=many",), 64, "3"),
    ],
)
def test_a_cluster_of_spark_tries_a_task_on_other_machines(
    tmp_path: Path,
    java: tuple[str, ...],
    workers: int,
    more: tuple[str, ...],
    partitions: int,
    on_a_machine: str | None,
) -> None:
    flags = (*java, "--spark_master_url=spark://cluster:7077", *(f"--job_server_jvm_properties={one}" for one in more))
    service = spark_service(tmp_path, workers, *flags)
    assert service.arguments[:2] == ("--spark-master-url", "spark://cluster:7077")
    assert {"-Xmx1g", f"-Dspark.default.parallelism={partitions}", "-Dspark.task.maxFailures=4"} <= {*service.jvm}
    per_machine = [one for one in service.jvm if "maxTaskAttemptsPerNode" in one]
    assert [one.partition("=")[2] for one in per_machine] == ([] if on_a_machine is None else [on_a_machine])
    assert not any("driver.host" in one for one in service.jvm)
    assert (service.environment, service.jvm[len(service.jvm) - len(more) :]) == ((), more)


def test_the_last_setting_of_spark_counts() -> None:
    def jobs(*given: str) -> JobServerOptions:
        return beam_options([f"--job_server_jvm_properties={one}" for one in given]).view_as(JobServerOptions)

    twice = jobs("-Dspark.executor.cores=2", "-Xmx1g", "-Dspark.executor.cores=6", "-Dspark.executor.coresmax=9")
    assert spark_setting(twice, "spark.executor.cores", "0") == "6"
    assert [executor_cores(one) for one in (twice, jobs(), jobs("-Dspark.executor.cores=all"))] == [6, 0, 0]


def flink_service(tmp_path: Path, workers: int, *flags: str) -> flink.FlinkService:
    request = Request(workers, (f"--flink_job_server_jar={tmp_path}/flink.jar", *flags))
    return flink._service(flink._flags(request), request)


@pytest.mark.parametrize(
    ("workers", "more", "master", "heap", "network"),
    [
        (2, (), "[local]", "-Xmx896m", "128m"),
        (2, ("--flink_master=[auto]", "--parallelism=5"), "[local]", "-Xmx1088m", "224m"),
        (9, ("--flink_master=cluster:8081",), "cluster:8081", "-Xmx832m", "96m"),
        (9, ("--flink_master=http://cluster:8081", "--parallelism=3"), "cluster:8081", "-Xmx960m", "160m"),
    ],
)
def test_flink_has_memory_for_its_parallelism(
    tmp_path: Path, java: tuple[str, ...], workers: int, more: tuple[str, ...], master: str, heap: str, network: str
) -> None:
    service = flink_service(tmp_path, workers, *java, *more)
    settings = dict(service.settings)
    assert service.arguments[:2] == ("--flink-master", master)
    assert (service.jvm[0], settings["taskmanager.memory.network.min"]) == (heap, network)
    assert settings["taskmanager.memory.network.max"] == network
    assert settings["rest.address"] == settings["rest.bind-address"] == "127.0.0.1"


def test_a_folder_of_settings_that_is_given_comes_after_winnows(tmp_path: Path, java: tuple[str, ...]) -> None:
    service = flink_service(tmp_path, 1, *java, "--flink_conf_dir=/mine", "--artifacts_dir=/there")
    command = service.command(tmp_path)
    folders = [command[at + 1] for at, one in enumerate(command) if one == "--flink-conf-dir"]
    assert folders == [str(tmp_path / "conf"), "/mine"]
    assert [command[at + 1] for at, one in enumerate(command) if one == "--artifacts-dir"][-1] == "/there"
    written = (tmp_path / "conf" / "config.yaml").read_text().splitlines()
    assert written == [f"{name}: {value}" for name, value in service.settings]
    assert command[0] == str(service.java)
    assert command[command.index("-jar") + 1] == str(tmp_path / "flink.jar")


def test_the_workers_of_a_cluster_are_as_many_as_its_largest_machine_has_slots() -> None:
    cluster = Cluster("cluster:8081", "1.19.1", 3, 7, 2)
    assert cluster.slots_each == 3
    assert [replace(cluster, task_managers=number).slots_each for number in (0, 1, 7)] == [7, 7, 1]


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("io.grpc.StatusRuntimeException: CANCELLED: client cancelled", WorkerLostError),
        ("TaskManager 10.0.0.1 is no longer reachable", WorkerLostError),
        ("java.io.IOException: Insufficient number of network buffers", StageError),
        ("org…NoResourceAvailableException: could not acquire", StageError),
        ("java.lang.OutOfMemoryError: Metaspace", StageError),
        ("failed in state CANCELLED", StageError),
        ("ValueError: of the pipeline's own", None),
    ],
)
def test_flinks_words_mean(message: str, kind: type[WinnowError] | None) -> None:
    found = FLINK.translated_error(message)
    assert (None if found is None else type(found)) == kind


def test_a_cluster_that_is_gone_is_the_reason_of_a_jobs_failure() -> None:
    cluster = Cluster("127.0.0.1:9", "1.19.1", 1, 1, 1)  # nothing listens at the port `discard`
    with pytest.raises(StageError, match=r"--flink_master=127\.0\.0\.1:9"), cluster_loss_reported(cluster, "1.19"):
        raise ValueError("the job's own")
    with cluster_loss_reported(cluster, "1.19"):
        pass


def test_an_image_has_winnow_within_and_places_stand_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDSDK_COMPUTE_REGION", "us-east1")
    options = job_options((*CLOUD, "--sdk_container_image=mine"), Path("nowhere"), "node")
    cloud = options.view_as(GoogleCloudOptions)
    assert (cloud.temp_location, cloud.staging_location, cloud.region) == (
        "gs://bucket/tmp",
        "gs://bucket/tmp",
        "europe-west1",
    )
    assert options.view_as(SetupOptions).sdk_location == "container"
    assert not options.view_as(SetupOptions).save_main_session
    own = ("--project=p", "--staging_location=gs://bucket/s", "--extra_package=/dist/winnow-1.whl")
    other = job_options(own, Path("nowhere"))
    cloud = other.view_as(GoogleCloudOptions)
    assert (cloud.temp_location, cloud.region) == ("gs://bucket/s", "us-east1")
    assert other.view_as(SetupOptions).extra_packages == ["/dist/winnow-1.whl"]


def test_places_that_the_clouds_workers_cannot_reach_are_named() -> None:
    request, cloud = Request(2, CLOUD), Dataflow()
    cloud.require_reachable(request, ["gs://bucket/store", "s3://bucket/store"])
    with pytest.raises(DataflowError, match="/data/store"):
        cloud.require_reachable(request, ["gs://bucket/store", "/data/store"])
    cloud.require_reachable(Request(2, (*CLOUD, "--dataflow_endpoint=http://localhost:1")), ["/data/store"])
