"""A recipe that needs every kind of graph, and the service that stands for Dataflow."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

PROJECT = ("--project=winnow-test", "--region=europe-west1")
LINES, PARTS = 40, 3
ACCELERATOR = "type:nvidia-l4;count:1;install-nvidia-driver"
RECIPE = """
version: 1
store: {{path: "{store}", seed: 7, shard_rows: 16, task_bytes: 1 KiB, row_group_rows: 8}}
sources:
  lines: {{root: "{root}", files: ["*.jsonl"], class: public, key: id}}
annotate:
  - text.length
  - text.gopher
dedupe:
  exact: {{}}
  near: {{preset: fineweb, min_similarity: 0.75}}
score:
  mimic:
    task: next_byte
    buckets: 256
    reference: {{train_on: "samples.source.name = 'lines'"}}
    accelerator: "{accelerator}"
    min_ram_bytes: 2 GiB
mix: {{}}
export:
  - {{parquet: {{path: "{mixture}"}}}}
"""


@pytest.fixture(scope="session")
def gcp() -> None:
    """What Beam needs to speak with Dataflow."""
    for module in ("google.cloud", "apitools"):
        if find_spec(module) is None or (module == "google.cloud" and find_spec("google.cloud.dataflow") is None):
            pytest.skip("no client of Dataflow here; pip install 'winnow[dataflow]'")


def lines(part: int) -> str:
    """A file of a source, with texts that are equal and texts that are alike."""
    rows = [
        {"id": f"{part}-{row}", "text": f"Line {row % 17} is written here {'and there ' * (row % 5)}"}
        for row in range(LINES)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def write_recipe(folder: Path, store: str, root: str | None = None) -> Path:
    """The recipe, and on a disk its sources beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    if root is None:
        root = str(folder / "lines")
        Path(root).mkdir()
        for part in range(PARTS):
            (Path(root) / f"{part}.jsonl").write_text(lines(part))
    mixture = store.rpartition("/")[0] + "/mixture"
    recipe = folder / "recipe.yaml"
    recipe.write_text(RECIPE.format(store=store, root=root, accelerator=ACCELERATOR, mixture=mixture))
    return recipe
