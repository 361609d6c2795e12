"""What the service and its jobs say, as the user reads it."""

import pytest

from tests.messages import assert_told
from winnow.runners.engines.dataflow.dataflow import DATAFLOW


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (
            "403 POST https://dataflow.example/v1b3/projects/p/locations/r/jobs: Could not create workflow; user does "
            "not have write access to project: p",
            "dataflow: … docs/howto/dataflow.md",
        ),
        (
            "Dataflow pipeline failed. State: CANCELLED, Error:\nNone",
            "dataflow: … committed work",
        ),
        (
            "Dataflow pipeline failed. State: FAILED, Error:\nNone",
            "dataflow: … job failed",
        ),
        (
            "Job did not reach to a terminal state after waiting indefinitely. Console URL: "
            "https://console.example/j?p=q",
            "dataflow: … https://console.example/j?p=q",
        ),
        (
            "Dataflow pipeline failed. State: FAILED, Error:\nTraceback (most recent call last):\nModuleNotFoundError: "
            "No module named 'winnow'",
            "dataflow: … docs/howto/dataflow.md … --sdk_container_image",
        ),
        (
            "503 failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Failed to connect to "
            "remote host: Connection refused",
            "dataflow: … longer answers",
        ),
    ],
)
def test_a_message_means(message: str, line: str) -> None:
    assert_told(str(DATAFLOW.translated_error(message)), line, whole=True)


def test_other_messages_are_left_as_they_are() -> None:
    assert DATAFLOW.translated_error("Dataflow pipeline failed. State: FAILED, Error:\nno machines left") is None
