"""Jobs that fail, and drivers that are told to leave."""

import re
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

from tests.faults.winnow import Done, run, start
from tests.runners.engines.dataflow.conftest import PROJECT, write_recipe
from tests.runners.engines.dataflow.service import Service, serving

pytestmark = [pytest.mark.engines, pytest.mark.usefixtures("gcp")]


def ingest(folder: Path, service: Service) -> tuple[str, ...]:
    write_recipe(folder, str(folder / "store"))
    (folder / "staging").mkdir()
    flags = (*PROJECT, f"--temp_location={folder}/staging", *service.flags)
    return ("ingest", "recipe.yaml", "--runner", "dataflow", "--", *flags)


def failed(folder: Path, service: Service) -> Done:
    with serving(service):
        done = run(folder, *ingest(folder, service))
        assert [job.state for job in service.jobs] == ["JOB_STATE_FAILED"]
    assert done.status == 1
    return done


def test_an_error_of_a_worker_arrives_as_its_line(tmp_path: Path) -> None:
    done = failed(tmp_path, Service(tmp_path, spoils="lines/1.jsonl"))
    assert done.err == (
        f"winnow: {tmp_path}/lines/1.jsonl: "
        "the file was listed but is now missing; restore it, or run again without it\n"
    )


def test_a_worker_with_another_winnow_says_so(tmp_path: Path) -> None:
    done = failed(tmp_path, Service(tmp_path, version="0.0.9"))
    assert re.fullmatch(
        r"winnow: a worker on \S+ has winnow 0\.0\.9, .*, but its driver has winnow 0\.1\.0, .*; install the same .*\n",
        done.err,
    )


def test_a_service_that_leaves_before_it_is_given_a_job_is_named(tmp_path: Path) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    service = Service(tmp_path, port=listening.getsockname()[1])

    def answer_once() -> None:
        with listening, listening.accept()[0] as asking:
            asking.recv(4096)
            asking.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

    answering = threading.Thread(target=answer_once)
    answering.start()
    done = run(tmp_path, *ingest(tmp_path, service))
    answering.join()
    assert done.status == 1
    assert done.err == (
        "winnow: dataflow: the service no longer answers; committed work is kept. Once it answers and the job shown "
        "above has ended or is cancelled, run the same command again\n"
    )


def test_an_interrupted_driver_cancels_its_job(tmp_path: Path) -> None:
    with serving(Service(tmp_path, runs=False)) as service:
        driver = start(tmp_path, *ingest(tmp_path, service))
        while not service.jobs:
            assert driver.poll() is None
            time.sleep(0.1)
        time.sleep(1)  # until it waits for the job
        driver.send_signal(signal.SIGINT)
        assert driver.wait(60) == 130
        assert [job.state for job in service.jobs] == ["JOB_STATE_CANCELLED"]
