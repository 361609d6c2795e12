"""Pairs read as a layout says, with weights in several files: the same by one worker or two, in any order of files."""

import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from rich.console import Console

from tests.runners.scores.stores import ONE, table
from tests.scoring.torch_models.samples import NoFiles
from winnow.filters.models.tensors import tensors_bytes
from winnow.pipelines.binding.bound_recipe import bind
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.publishing import Outcome
from winnow.runners.stages.scoring import score
from winnow.runners.stages.store_stages import ingest
from winnow.schemas.recipe import load_recipe
from winnow.scoring.protocol import Weights
from winnow.scoring.tasks.pairs import TASK, PairsConfig
from winnow.scoring.torch_models.blocks import Size
from winnow.scoring.torch_models.layouts import Layout

pytest.importorskip("torch", reason="needs the extra `torch`")

pytestmark = pytest.mark.torch

RECIPE = """
version: 1
store: {{path: {name}-store, seed: 7, shard_rows: 64}}
sources:
  web: {{root: {name}, files: ["*.jsonl"], class: web, key: id, columns: {{media: file, captions: says}}}}
score:
  pairs:
    task: pairs
    caption: samples.captions
    network: {{width: 8, layers: 2, heads: 2}}
    patch: 8
    batch: 16
    layout: {{size: 16, fit: bicubic_crop, tokenizer: bytes, start: '', end: '', clean: lower, max_tokens: 12}}
    parameters: [last_image_mlp]
    reference: {{weights: reference/model.safetensors.index.json}}
    trajectory: {{weights: [at.safetensors]}}
"""
ROWS = 360


def saved(folder: Path) -> None:
    """A reference in two files with an index, and a checkpoint."""
    layout = Layout(size=16, tokenizer="bytes", start="", end="", clean="lower", max_tokens=12)
    task = TASK.load(PairsConfig(network=Size(8, 2, 2), patch=8, batch=16, layout=layout), NoFiles())
    initial: Any = task.initial  # type: ignore[union-attr]
    reference: Weights = initial(1)
    (folder / "reference").mkdir()
    halves = (list(reference)[::2], list(reference)[1::2])
    for number, names in enumerate(halves):
        raw = tensors_bytes({name: reference[name] for name in names}, {})
        (folder / "reference" / f"{number}.safetensors").write_bytes(raw)
    index = {name: f"{number}.safetensors" for number, names in enumerate(halves) for name in names}
    (folder / "reference" / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    (folder / "at.safetensors").write_bytes(tensors_bytes(initial(2), {}))


def scored(folder: Path, name: str, engine: Engine, *, reverse: bool) -> tuple[Outcome, str]:
    """Scores of the same pictures, in files of other names and orders."""
    (folder / name).mkdir()
    rows = []
    for number in range(ROWS):
        noise = np.random.default_rng(number)
        width, height = (int(one) for one in noise.integers(9, 60, 2))
        pixels = noise.integers(0, 256, (height, width, 3), np.uint8)
        Image.fromarray(pixels).save(folder / name / f"{number}.png")
        rows.append({"id": f"row-{number}", "file": f"{number}.png", "says": f"Caption &amp; {number}"})
    if reverse:
        random.Random(1).shuffle(rows)
    (folder / name / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / f"{name}.yaml").write_text(RECIPE.format(name=name))
    recipe, said = bind(load_recipe(folder / f"{name}.yaml")), io.StringIO()
    ingest(recipe, ONE, Console(file=io.StringIO()))
    return score(recipe, engine, Console(markup=False, soft_wrap=True, file=said, width=400)), said.getvalue()


def by_id(outcome: Outcome) -> dict[bytes, Any]:
    columns = pa.table({"id": table(outcome, "samples")["id"], **dict(_named(table(outcome, "trace.pairs")))})
    return {row.pop("id"): row for row in columns.to_pylist()}


def _named(found: pa.Table) -> list[tuple[str, pa.ChunkedArray]]:
    return list(zip(found.column_names, found.columns, strict=True))


def test_one_worker_or_two_and_any_order_give_the_same_and_an_untrained_reference_is_told(tmp_path: Path) -> None:
    saved(tmp_path)
    one, said = scored(tmp_path, "one", ONE, reverse=False)
    two, _ = scored(tmp_path, "two", Engine("local", 2), reverse=True)
    first, second = by_id(one), by_id(two)
    assert {row["status"] for row in first.values()} == {"ok"}
    assert len(first) == ROWS
    assert first.keys() == second.keys()
    for row, values in first.items():
        assert second[row]["status"] == values["status"]
        for name in ("m1", "loss1", "reference_loss", "alignment"):
            assert second[row][name] == pytest.approx(values[name], rel=1e-4, abs=1e-5)
    assert "the given reference does not tell captions from exchanged ones" in said
