"""A pytest plugin: writes which functions of winnow's each test called, by the set that the import hook fills."""

import builtins
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

CALLED = "__winnow_called__"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """One line a test, its fixtures included."""
    called: set[str] = vars(builtins)[CALLED]
    called.clear()
    result = yield
    folder = Path(os.environ["WINNOW_CALLED_FOLDER"])
    with (folder / f"{os.environ.get('PYTEST_XDIST_WORKER', 'all')}.jsonl").open("a", encoding="utf-8") as lines:
        lines.write(json.dumps({"test": item.nodeid, "called": sorted(called)}) + "\n")
    return result
