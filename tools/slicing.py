"""A pytest plugin: leaves out the tests that a slice has no time for, so that none is cut off."""

import os
import time

import pytest

from tools.slice import NOT_IN_THE_TIME, UNTIL


def pytest_runtest_setup() -> None:
    """Skip what would begin too late."""
    if time.time() > float(os.environ[UNTIL]):
        pytest.skip(NOT_IN_THE_TIME)
