"""Values of operators that look at pictures do not change under a version: `UPDATE_GOLDEN=1` writes them anew.

The pictures are computed, so no decoder has a part in them; the files are in the repository.
"""

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest

from tests.filters.duplicates.perceptual.test_pdq import made
from tests.filters.image.test_network_goldens import TOLERANCES
from tests.filters.image.test_quality import batch
from winnow.filters.operators import FILES, PictureOperator, find_operator, operator_names
from winnow.pipelines.assets import AssetFiles

FOLDER = Path(__file__).parent / "golden"
SIGNED = Path(__file__).parent / "metadata" / "c2pa_signed"


def computed() -> list[str]:
    """The operators on decoded pictures that are no networks."""
    operators = [find_operator(name) for name in operator_names()]
    names = [one.name.removeprefix("image.") for one in operators if type(one) is PictureOperator and not one.files]
    return [name for name in names if name not in TOLERANCES]


@pytest.mark.parametrize("name", computed())
def test_values_of_pictures_are_those_of_the_version(name: str) -> None:
    pictures = [made("waves", 64, 64), made("steps", 120, 90), made("steps", 1, 1)]
    assert_golden(name, batch(*pictures))


def test_values_of_files_are_those_of_the_version() -> None:
    files = sorted(SIGNED.iterdir())
    rows = [{"mime": f"image/{file.suffix[1:]}", "content": file.read_bytes()} for file in files]
    assert_golden("rights", pa.RecordBatch.from_pylist(rows, schema=FILES))


def assert_golden(name: str, given: pa.RecordBatch) -> None:
    operator = find_operator(f"image.{name}")
    found = operator.load(operator.config(), AssetFiles())(given).to_pylist()
    rows = [{key: value.hex() if isinstance(value, bytes) else value for key, value in row.items()} for row in found]
    golden = {"operator": operator.name, "version": operator.version, "rows": rows}
    path = FOLDER / f"{name}.json"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")
    assert golden == json.loads(path.read_text(encoding="utf-8"))
