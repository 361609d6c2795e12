"""What all tests begin with: interrupts that work, hypothesis at the size asked for, and pipelines run inline."""

import gc
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import inline_engine
from tests.inline_engine import INLINE
from tests.messages import pytest_runtest_setup, pytest_sessionfinish, pytest_testnodedown
from tests.outcomes import pytest_collectreport, pytest_runtest_logreport
from tests.property_sizes import QUICK_EXAMPLES, THOROUGH
from winnow.pipelines.assets import AssetError, lookup

# Hooks that pytest finds here.
__all__ = [
    "pytest_collectreport",
    "pytest_runtest_logreport",
    "pytest_runtest_setup",
    "pytest_sessionfinish",
    "pytest_testnodedown",
]

settings.register_profile("quick", max_examples=QUICK_EXAMPLES, deadline=None)
settings.register_profile("thorough", max_examples=100, deadline=None)
settings.load_profile("thorough" if THOROUGH else "quick")


def unsynced(fd: object) -> None:
    """In place of `os.fsync`: no test pulls the plug, and those that kill processes start them."""


def pytest_configure() -> None:
    """Mind interrupts: what a shell starts in the background ignores them, as would each command that a test starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.setdefault("WINNOW_WARMING", "1")  # `make test` has compiled the kernels
    os.environ.setdefault("LANGUAGE", "C")  # or argparse looks for files of translations at each word
    inline_engine.install()
    os.fsync = unsynced


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep what collection makes out of the collector's sight: half a million objects that live to the end would be
    looked at again by each full collection, and once more at the exit."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import a module that is marked, as a whole, as what is not asked for."""
    asked = re.fullmatch(r"(?:\w+ and )?not \w+(?: and not \w+)*", config.getoption("markexpr"))
    if asked is None or not (collection_path.name.startswith("test_") and collection_path.suffix == ".py"):
        return None
    line = re.search(r"^pytestmark = .*", collection_path.read_text("utf-8"), re.MULTILINE)
    marks = re.findall(r"pytest\.mark\.(\w+)", line[0]) if line else []
    return True if set(marks) & set(re.findall(r"not (\w+)", asked[0])) else None


@pytest.fixture(scope="session")
def lid_model() -> None:
    """Skip tests that identify languages where the model has not been fetched."""
    try:
        lookup("lid.176")
    except AssetError as error:
        pytest.skip(str(error))  # it ends with the command to run


@pytest.fixture(autouse=True)
def _inline_unless_beam_is_the_subject(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests marked `beam` get Beam's own runner, all others the inline engine, where one worker is asked for."""
    INLINE.on = request.node.get_closest_marker("beam") is None
    yield
    INLINE.on = True
