"""Searches for duplicates run on the engine, however little there is to compare."""

from collections.abc import Iterator

import pytest

from winnow.runners.stages.deduplication import HERE_VARIABLE


@pytest.fixture(scope="package", autouse=True)
def searches_on_the_engine() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(HERE_VARIABLE, "0")
        yield
