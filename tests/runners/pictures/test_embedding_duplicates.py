"""Copies of pictures by their embeddings, from the command line, with a small encoder."""

import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.faults.winnow import assert_clean, ended, run_here, tree_hash
from tests.messages import assert_told
from tests.runners.pictures.test_picture_duplicates import clusters, rows, scene
from tests.runners.test_annotate import table
from winnow.filters.duplicates.vectors import cells
from winnow.filters.models.onnx.writing import OnnxGraph

pytestmark = pytest.mark.processes

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")
pytest.importorskip("faiss", reason="needs the extra `embeddings`")
pytest.importorskip("onnxruntime", reason="needs the extra `image-models`")

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: SHARD_ROWS}
sources:
  pictures: {root: ../pictures, files: ["**/*"], class: public}
annotate:
  - image.embedding:
      model: ../encoder.onnx
      dimensions: 192
      framing: {side: 8, fit: stretch}
dedupe: {embedding: {min_similarity: 0.9}}
"""
SCENES = 30


def encoder(path: Path) -> None:
    """A network that gives the pixels of a picture of 8 x 8."""
    graph = OnnxGraph("pixels")
    graph.output(graph.node("Flatten", graph.input("picture", ("n", 3, 8, 8)), name="vector"), ("n", 192))
    path.write_bytes(graph.to_bytes())


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    whole = tmp_path_factory.mktemp("embedded")
    encoder(whole / "encoder.onnx")
    folder = whole / "pictures"
    folder.mkdir()
    for number in range(SCENES):
        original = scene(number)
        original.save(folder / f"{number}-original.png")
        if number < 3:
            shutil.copy(folder / f"{number}-original.png", folder / f"{number}-same.png")
            original.resize((150, 112), Image.Resampling.LANCZOS).save(folder / f"{number}-small.png")
            original.crop((5, 5, 235, 175)).save(folder / f"{number}-cropped.jpg", quality=60)
    (folder / "truncated.jpg").write_bytes((folder / "0-cropped.jpg").read_bytes()[:1500])
    (folder / "page.txt").write_text("A page without a picture.")
    return whole


def searched(pictures: Path, name: str, shard_rows: int = 8, workers: int = 1) -> tuple[Path, str]:
    folder = pictures / name
    folder.mkdir()
    (folder / "recipe.yaml").write_text(RECIPE.replace("SHARD_ROWS", str(shard_rows)))
    return folder, ended(run_here(folder, "run", "recipe.yaml", "--workers", str(workers)))


@pytest.fixture(scope="module")
def searched_once(pictures: Path) -> tuple[Path, str]:
    return searched(pictures, "store-of-one-worker")


def test_copies_are_clusters_and_nothing_else_is(searched_once: tuple[Path, str]) -> None:
    folder, said = searched_once
    ways = ("original.png", "same.png", "small.png", "cropped.jpg")
    assert clusters(folder, "embedding") == {frozenset(f"{number}-{way}" for way in ways) for number in range(3)}
    found = rows(folder, "embedding")
    assert found["0-original.png"]["vectors"] == 3
    assert (found["0-same.png"]["similarity"], found["0-same.png"]["size"]) == (1, 4)
    assert 0.9 <= found["0-small.png"]["similarity"] < 1
    assert (found["9-original.png"]["status"], found["9-original.png"]["similarity"]) == ("unmatched", None)
    assert (found["truncated.jpg"]["status"], found["page.txt"]["status"]) == ("truncated", "no_picture")
    assert_told(said, "sampled embeddings", "1.000")
    assert "9 of 41 samples dropped" in ended(run_here(folder, "plan", "recipe.yaml"))
    shown = ended(run_here(folder, "duplicates", "recipe.yaml"))
    assert re.search(r"^embedding +pictures +40 +39 +3 +12 +9 ", shown, re.MULTILINE), shown
    cluster = found["0-original.png"]["cluster"]
    listed = [name for name in found if found[name]["cluster"] == cluster]
    assert len(listed) == 4
    assert f"pictures 4  {cluster}\n" in shown  # where its first picture is
    assert_clean(folder)


@pytest.mark.large
def test_cells_shards_and_workers_change_no_value(
    pictures: Path, searched_once: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected: dict[str, Any] = rows(searched_once[0], "embedding")
    other, _ = searched(pictures, "two-workers", workers=2)
    assert tree_hash(other) == tree_hash(searched_once[0])
    monkeypatch.setattr(cells, "_ALL_PAIRS", 1)
    monkeypatch.setattr(cells, "_EACH", 4)
    split, said = searched(pictures, "several-cells", shard_rows=64)
    found = rows(split, "embedding")
    assert "similar pairs of sampled embeddings share a cell" in said
    assert {name: row["cluster"] for name, row in found.items()} == {
        name: row["cluster"] for name, row in expected.items()
    }


def test_a_store_without_pictures_is_searched(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "page.txt").write_text("A page without a picture.")
    encoder(tmp_path / "encoder.onnx")
    folder, said = searched(tmp_path, "empty")
    assert rows(folder, "embedding")["page.txt"]["status"] == "no_picture"
    assert "0 of 0 similar pairs" in said


def test_copies_of_an_evaluation_set_are_dropped_from_the_training_set(pictures: Path) -> None:
    folder = pictures / "contamination"
    (folder / "evaluation").mkdir(parents=True)
    for number in range(3):
        shutil.copy(pictures / "pictures" / f"{number}-original.png", folder / "evaluation")
    recipe = RECIPE.replace("SHARD_ROWS", "8").replace(
        "sources:\n", 'sources:\n  evaluation: {root: evaluation, files: ["*"], class: public}\n'
    )
    recipe = recipe.replace("{min_similarity: 0.9}}", "{min_similarity: 0.9}, representative: [source]}")
    recipe += "keep: [{drop: samples.source.name = 'evaluation', reason: evaluation}]\n"
    (folder / "recipe.yaml").write_text(recipe)
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    ended(run_here(folder, "plan", "recipe.yaml", "--decisions", "decisions.parquet"))
    samples, decided = table(folder, "samples"), pq.read_table(folder / "decisions.parquet")
    reason_of = dict(zip(decided["id"].to_pylist(), decided["reason"].to_pylist(), strict=True))
    dropped: dict[str, set[str]] = {}
    for identity, place in zip(samples["id"].to_pylist(), samples["source"].to_pylist(), strict=True):
        dropped.setdefault(str(reason_of.get(identity)), set()).add(f"{place['name']}/{place['path']}")
    ways = ("original.png", "same.png", "small.png", "cropped.jpg")
    assert dropped["duplicate_embedding"] == {f"pictures/{number}-{way}" for number in range(3) for way in ways}
    assert dropped["evaluation"] == {f"evaluation/{number}-original.png" for number in range(3)}
