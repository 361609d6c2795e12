"""Samples with several pictures: rules of `items` drop single ones, and every export leaves out the same."""

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from tests.faults.winnow import assert_clean, ended, run_here, tree_hash
from tests.runners.test_annotate import table

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: 4}
sources:
  documents: {root: in, files: ["*.parquet"], class: public, key: id, columns: {media: images, text: text}}
annotate: [image.geometry, text.length]
dedupe: {image_bytes: {}, pdq: {}, representative: [highest text.length.bytes]}
items:
  - {drop: image.geometry.shorter < 100, reason: small, when_null: drop}
  - {drop: duplicate.pdq, reason: repeated}
  - {drop: samples.media.mime = 'image/gif', reason: gif}
keep: [{drop: items.kept = 0, reason: no_picture}]
mix: {unit: pixels, where: array_length(samples.media) = 1}
export:
  - parquet: {path: out/pq, media: image}
  - webdataset: {path: out/tars, media: image, pictures: {resize: {mode: keep_ratio, side: 64}}}
  - jsonl: {path: out/lines}
"""


def picture(seed: int, width: int = 320, height: int = 240, kind: str = "JPEG") -> bytes:
    noise = np.random.default_rng(seed).integers(0, 255, (8, 8, 3), dtype=np.uint8)
    made = io.BytesIO()
    Image.fromarray(noise).resize((width, height), Image.Resampling.BICUBIC).save(made, kind)
    return made.getvalue()


DOCUMENTS = {
    "a": [picture(1, 400, 300), picture(2, 60, 50)],
    "b": [picture(2, 60, 50), picture(9, 90, 300)],  # both too small
    "c": [picture(1, 200, 150), picture(4)],  # the first as that of `a`, which is preferred
    "d": [],
    "e": [picture(5), picture(5), picture(6, kind="GIF")],  # one twice, and a GIF
    "f": [picture(7), picture(8)],
    "g": [picture(1, 400, 300)],  # that of `a`
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    images = [[{"bytes": one, "path": None} for one in media] for media in DOCUMENTS.values()]
    texts = [f"document {name} " * (30 - number) for number, name in enumerate(DOCUMENTS)]
    columns = {"id": list(DOCUMENTS), "text": texts, "images": images}
    pq.write_table(pa.table(columns), tmp_path / "in" / "documents.parquet")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


def exported(folder: Path) -> dict[str, bytes]:
    """The picture of each document, as the Parquet files have it."""
    (file,) = (folder / "out" / "pq" / "data").glob("*.parquet")
    return {row["text"].split()[1]: row["image"]["bytes"] for row in pq.read_table(file).to_pylist()}


@pytest.mark.processes
def test_a_document_keeps_its_good_pictures_in_every_export(folder: Path) -> None:
    said = ended(run_here(folder, "run", "recipe.yaml", "--workers", "2"))
    rules = {line.split()[1]: line.split()[2] for line in said.splitlines() if line.startswith(("items ", "dedupe "))}
    assert (rules["small"], rules["repeated"], rules["duplicate_image_bytes"]) == ("1", "0", "1")
    assert "Rules of items: 7 of 12 media dropped" in said
    lines = said.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("Rules of items")) + 3
    media = [line.split()[:2] for line in lines[first : first + 5]]
    assert media == [["small", "3"], ["repeated", "2"], ["gif", "1"], ["(sample", "dropped)"], ["kept", "5"]]
    kept = {"a": DOCUMENTS["a"][0], "c": DOCUMENTS["c"][1], "e": DOCUMENTS["e"][0]}
    assert f"train 3 samples, {400 * 300 + 2 * 320 * 240:,} pixels" in said
    assert exported(folder) == kept
    with tarfile.open(next((folder / "out" / "tars").glob("*.tar"))) as tar:
        assert sum(member.name.endswith(".jpg") for member in tar) == 3
    report = (folder / "store" / "report.html").read_text(encoding="utf-8")
    assert "5 of 12 media (41.7 %) are kept by the rules of items." in report
    card = (folder / "out" / "pq" / "README.md").read_text(encoding="utf-8")
    assert "| gif | 1 | 8.3 % |" in card
    shown = json.loads(ended(run_here(folder, "show", "recipe.yaml", identity(folder, "e"), "--json")))
    assert (shown["kept"], shown["items"]) == (True, [[], ["repeated"], ["gif"]])
    assert_clean(folder)


@pytest.mark.large
def test_one_worker_and_two_give_the_same_exports(folder: Path) -> None:
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "2"))
    whole = tree_hash(folder)
    other = folder / "other"
    other.mkdir()
    (other / "recipe.yaml").write_text(RECIPE.replace("root: in", "root: ../in"))
    ended(run_here(other, "run", "recipe.yaml", "--workers", "1"))
    assert tree_hash(other) == whole
    assert exported(other) == exported(folder)


def identity(folder: Path, name: str) -> str:
    rows = table(folder, "samples").to_pylist()
    found: str = next(row["id"].hex() for row in rows if row["source"]["record"] == name)
    return found


@pytest.mark.processes
def test_a_document_without_pictures_left_may_stay_as_its_text(folder: Path) -> None:
    text = RECIPE.replace("items:", "no_items_left: keep\nitems:").partition("keep: [{")[0]
    (folder / "recipe.yaml").write_text(text + "mix: {unit: bytes}\nexport: [{jsonl: {path: out}}]\n")
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    (file,) = (folder / "out").glob("*.jsonl.zst")
    with zstandard.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    media = {row["text"].split()[1]: len(row["metadata"].get("media", [])) for row in rows}
    assert media == {"a": 1, "b": 0, "c": 1, "d": 0, "e": 1, "f": 2}
    assert_clean(folder)
