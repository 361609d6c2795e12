"""The published network, where it has been fetched."""

import pytest

from winnow.filters.models.toxicity.conversion import NAME
from winnow.pipelines.assets import AssetError, lookup


def published() -> str:
    """Where it lies; the test is skipped where it does not, and says what to run."""
    try:
        return lookup(NAME)
    except AssetError as error:
        pytest.skip(str(error))
