"""What the service and its jobs say, as the user reads it."""

import pytest

from winnow.runners.engines.dataflow.dataflow import DATAFLOW


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (
            "403 POST https://dataflow.example/v1b3/projects/p/locations/r/jobs: Could not create workflow; user does "
            "not have write access to project: p",
            "dataflow: refused: Could not create workflow; user does not have write access to project: p; "
            "docs/howto/dataflow.md lists the roles and APIs that a project needs",
        ),
        (
            "Dataflow pipeline failed. State: CANCELLED, Error:\nNone",
            "dataflow: the job was cancelled; committed work is kept, run the same command again",
        ),
        (
            "Dataflow pipeline failed. State: FAILED, Error:\nNone",
            "dataflow: the job failed and gave no reason; its page shows the workers' logs",
        ),
        (
            "Job did not reach to a terminal state after waiting indefinitely. Console URL: "
            "https://console.example/j?p=q",
            "dataflow: lost the connection to the job, which may still run: https://console.example/j?p=q; run the "
            "same command "
            "again once it has ended or is cancelled",
        ),
        (
            "Dataflow pipeline failed. State: FAILED, Error:\nTraceback (most recent call last):\nModuleNotFoundError: "
            "No module named 'winnow'",
            "dataflow: workers cannot import winnow; rebuild the image as in docs/howto/dataflow.md, or omit "
            "--sdk_container_image",
        ),
        (
            "503 failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Failed to connect to "
            "remote host: Connection refused",
            "dataflow: the service no longer answers; committed work is kept. Once it answers and the job shown "
            "above has ended or is cancelled, run the same command again",
        ),
    ],
)
def test_a_message_means(message: str, line: str) -> None:
    assert str(DATAFLOW.translated_error(message)) == line


def test_other_messages_are_left_as_they_are() -> None:
    assert DATAFLOW.translated_error("Dataflow pipeline failed. State: FAILED, Error:\nno machines left") is None
