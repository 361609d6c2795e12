"""Networks on pictures from the command line: lists aligned with the media, read by a head and by rules."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.faults.winnow import assert_clean, ended, run_here, tree_hash
from tests.filters.image.networks import PICTURES, loaded
from tests.messages import assert_told
from tests.runners.test_annotate import table
from winnow.filters.models.tensors import tensors_bytes

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: 2}
sources:
  pictures: {root: ROOT, files: ["*.jpg"], class: public}
annotate:
  - image.watermark: {model: ROOT/head.safetensors, activation: sigmoid}
  - image.embedding
  - image.faces
keep:
  - {drop: list_max(image.faces.area) > 0.05, reason: face, when_null: keep}
  - {drop: list_max(image.watermark.score) > 2, reason: watermark, when_null: drop}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    loaded("image.faces")
    loaded("image.embedding")
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for name in "ab":
        shutil.copy(PICTURES / "astronaut.jpg", pictures / f"{name}.jpg")
    (pictures / "c.jpg").write_bytes((PICTURES / "astronaut.jpg").read_bytes()[:3000])
    weights = np.full((1, 1280), 0.05, np.float32)
    (pictures / "head.safetensors").write_bytes(tensors_bytes({"weight": weights}, {}))
    (tmp_path / "recipe.yaml").write_text(RECIPE.replace("ROOT", str(pictures)))
    return tmp_path


def test_a_head_reads_vectors_and_rules_read_lists(folder: Path) -> None:
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    vectors = table(folder, "image.embedding")["vector"].to_pylist()
    assert [None if row[0] is None else len(row[0]) for row in vectors] == [1280, 1280, None]
    assert vectors[0] == vectors[1]
    assert table(folder, "image.embedding")["items"].to_pylist() == [["ok"], ["ok"], ["truncated"]]
    scores = table(folder, "image.watermark")
    assert scores["status"].to_pylist() == ["ok", "ok", "no_embedding"]
    expected = 1 / (1 + np.exp(-0.05 * np.sum(vectors[0][0])))
    assert scores["score"].to_pylist() == [[pytest.approx(expected, abs=1e-5)]] * 2 + [[None]]
    assert table(folder, "image.faces")["count"].to_pylist() == [[1], [1], [None]]
    assert "3 of 3 samples dropped" in ended(run_here(folder, "plan", "recipe.yaml"))
    assert_clean(folder)


@pytest.mark.processes
def test_one_worker_and_two_give_the_same_store(folder: Path) -> None:
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    whole = tree_hash(folder)
    other = folder / "other"
    other.mkdir()
    shutil.copy(folder / "recipe.yaml", other)
    ended(run_here(other, "run", "recipe.yaml", "--workers", "2"))
    assert tree_hash(other) == whole


def test_a_head_for_other_vectors_and_a_missing_model_are_one_line(folder: Path) -> None:
    (folder / "pictures" / "head.safetensors").write_bytes(tensors_bytes({"weight": np.ones((1, 3), np.float32)}, {}))
    failed = run_here(folder, "run", "recipe.yaml", "--workers", "1")
    assert failed.status
    assert_told(failed.err, "3 numbers", "1280")
    assert "Traceback" not in failed.err
    recipe = (folder / "recipe.yaml").read_text()
    (folder / "recipe.yaml").write_text(recipe.replace("{model: ", "{hidden: none}  # "))
    failed = run_here(folder, "run", "recipe.yaml", "--workers", "1")
    assert_told(failed.err, "image.watermark", "`model`", "ONNX")
    assert "Traceback" not in failed.err
