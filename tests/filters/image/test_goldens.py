"""Values of operators that look at pictures do not change under a version: `UPDATE_GOLDEN=1` writes them anew.

The pictures are computed, so no decoder has a part in them.
"""

import json
import os
from pathlib import Path

import pytest

from tests.filters.duplicates.test_pdq import made
from tests.filters.image.test_quality import batch
from winnow.filters.operators import find_operator
from winnow.pipelines.binding.operators import BoundAssets

FOLDER = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", ["geometry", "pdq", "quality"])
def test_values_are_those_of_the_version(name: str) -> None:
    operator = find_operator(f"image.{name}")
    pictures = [made("waves", 64, 64), made("steps", 120, 90), made("steps", 1, 1)]
    found = operator.load(operator.config(), BoundAssets(()))(batch(*pictures)).to_pylist()
    rows = [{key: value.hex() if isinstance(value, bytes) else value for key, value in row.items()} for row in found]
    golden = {"operator": operator.name, "version": operator.version, "rows": rows}
    path = FOLDER / f"{name}.json"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")
    assert golden == json.loads(path.read_text(encoding="utf-8"))
