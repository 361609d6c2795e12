"""Every test of objects runs on a disk and on an in-process store with object-store semantics."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.memory import MemoryStore, forget_memory_store


@pytest.fixture(params=["disk", "memory"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ObjectStore]:
    if request.param == "disk":
        yield LocalStore(tmp_path / "store")
    else:
        yield MemoryStore(str(tmp_path))
        forget_memory_store(str(tmp_path))
