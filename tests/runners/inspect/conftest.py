"""A store that is made once, and a server over it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.made_once import made_once
from tests.runners.inspect.asking import Asker, make_books, opened, served
from tests.runners.inspect.embedded_store import make_embedded
from tests.runners.inspect.photos_store import make_photos


@pytest.fixture(scope="session")
def books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished store, which tests only read."""
    return made_once(tmp_path_factory, "inspected_books", make_books)


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store of pictures, which tests only read."""
    return made_once(tmp_path_factory, "inspected_photos", make_photos)


@pytest.fixture(scope="session")
def embedded(lid_model: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store of texts with embeddings, which tests only read."""
    return made_once(tmp_path_factory, "inspected_embedded", make_embedded)


@pytest.fixture(scope="module")
def page(books: Path) -> Iterator[Asker]:
    with served(opened(books / "recipe.yaml")) as asker:
        yield asker
