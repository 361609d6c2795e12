"""Values of networks do not change under a version: `UPDATE_GOLDEN=1` writes them anew.

Networks differ between instruction sets in the last digits, so numbers may differ by the tolerance; all else may not.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.filters.image.networks import loaded, photograph
from tests.filters.image.test_quality import batch, noise
from winnow.filters.operators import find_operator

FOLDER = Path(__file__).parent / "golden"
TOLERANCES = {"embedding": 5e-4, "faces": 2e-4, "nsfw": 1e-3, "text_area": 1e-3}


@pytest.mark.parametrize(("name", "tolerance"), TOLERANCES.items())
def test_values_are_those_of_the_version(name: str, tolerance: float) -> None:
    kernel = loaded(f"image.{name}")
    rows = kernel(batch(photograph("astronaut"), noise(90, 120), noise(1, 1))).to_pylist()
    found = {"operator": f"image.{name}", "version": find_operator(f"image.{name}").version, "rows": shortened(rows)}
    path = FOLDER / f"{name}.json"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    assert_close(found, json.loads(path.read_text(encoding="utf-8")), tolerance)


def shortened(value: Any) -> Any:
    """Of a vector only some numbers."""
    if isinstance(value, dict):
        return {key: shortened(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shortened(one) for one in value[:: 40 if len(value) > 100 else 1]]
    return value


def assert_close(found: object, golden: object, tolerance: float) -> None:
    assert type(found) is type(golden)
    if isinstance(found, dict) and isinstance(golden, dict):
        assert found.keys() == golden.keys()
        for key in found:
            assert_close(found[key], golden[key], tolerance)
    elif isinstance(found, list) and isinstance(golden, list):
        assert len(found) == len(golden)
        for one, other in zip(found, golden, strict=True):
            assert_close(one, other, tolerance)
    elif isinstance(found, float):
        assert found == pytest.approx(golden, abs=tolerance)
    else:
        assert found == golden
