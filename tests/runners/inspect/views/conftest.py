"""Stores that are made once."""

from pathlib import Path

import pytest

from tests.made_once import made_once
from tests.runners.inspect.views import sites_store


@pytest.fixture(scope="session")
def sites(lid_model: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the store of `sites_store`, decided; a test that changes it takes a copy."""
    return made_once(tmp_path_factory, "sites", sites_store.make)
