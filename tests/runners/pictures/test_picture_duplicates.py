"""Copies of pictures from the command line: equal bytes, and what resizing and recompressing makes of a picture."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.faults.winnow import assert_clean, ended, run_here, tree_hash
from tests.runners.test_annotate import table
from winnow.filters.duplicates.kinds import pdq
from winnow.pipelines.dedupe import clusters as module

pytestmark = pytest.mark.processes

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: SHARD_ROWS}
sources:
  pictures: {root: ../pictures, files: ["**/*"], class: public}
dedupe: {image_bytes: {}, pdq: {radius: 31, min_quality: 50}}
"""
SCENES = 3


def scene(number: int) -> Any:
    """Blobs of colour under some noise: no two numbers alike, and of full quality."""
    random = np.random.default_rng(number)
    coarse = Image.fromarray(random.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    smooth = np.asarray(coarse.resize((240, 180), Image.Resampling.BICUBIC), np.int64)
    noisy = smooth + random.integers(-9, 10, smooth.shape)
    return Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of each scene the original, an equal file, a smaller picture, and a recompressed one; flat and broken ones."""
    whole = tmp_path_factory.mktemp("copies")
    folder = whole / "pictures"
    folder.mkdir()
    for number in range(SCENES):
        original = scene(number)
        original.save(folder / f"{number}-original.png")
        shutil.copy(folder / f"{number}-original.png", folder / f"{number}-same.png")
        original.resize((150, 112), Image.Resampling.LANCZOS).save(folder / f"{number}-small.png")
        original.save(folder / f"{number}-recompressed.jpg", quality=60)
    scene(100).save(folder / "stranger.webp", quality=90)
    for name, colour in (("blue", "blue"), ("red", "red")):
        Image.new("RGB", (90, 90), colour).save(folder / f"flat-{name}.png")
    (folder / "truncated.jpg").write_bytes((folder / "0-recompressed.jpg").read_bytes()[:2000])
    (folder / "page.txt").write_text("A page without a picture.")
    return whole


def searched(pictures: Path, name: str, shard_rows: int = 4) -> Path:
    folder = pictures / name
    folder.mkdir()
    (folder / "recipe.yaml").write_text(RECIPE.replace("SHARD_ROWS", str(shard_rows)))
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    return folder


def rows(folder: Path, kind: str) -> dict[str, dict[str, Any]]:
    """What the layer says of each file's only picture, with file names for ids."""
    samples, found = table(folder, "samples"), table(folder, f"dedupe.{kind}")
    names = [place["path"] for place in samples["source"].to_pylist()]
    name_of = dict(zip(samples["id"].to_pylist(), names, strict=True))
    rows = {}
    for name, row in zip(names, found.to_pylist(), strict=True):
        one = {key: values if key in ("status", "share") else (values or [None])[0] for key, values in row.items()}
        assert one["items"] == (None if row["status"] in ("no_picture", "no_video", "forgotten") else row["status"])
        rows[name] = {**one, **{key: name_of.get(one[key]) for key in ("cluster", "matched")}}
    return rows


def clusters(folder: Path, kind: str) -> set[frozenset[str]]:
    members: dict[object, set[str]] = {}
    for name, row in rows(folder, kind).items():
        if row["status"] == "ok":
            members.setdefault(row["cluster"], set()).add(name)
    return {frozenset(found) for found in members.values()}


@pytest.fixture(scope="module")
def store(pictures: Path) -> Path:
    return searched(pictures, "store-of-one-worker")


def test_equal_files_are_one_cluster(store: Path) -> None:
    assert clusters(store, "image_bytes") == {
        frozenset({f"{number}-original.png", f"{number}-same.png"}) for number in range(SCENES)
    }
    found = rows(store, "image_bytes")
    assert {found[name]["status"] for name in ("stranger.webp", "truncated.jpg", "flat-red.png")} == {"unmatched"}
    assert found["page.txt"]["status"] == "no_picture"


def test_resized_and_recompressed_copies_are_found_and_no_other_picture_is(store: Path) -> None:
    ways = ("original.png", "same.png", "small.png", "recompressed.jpg")
    assert clusters(store, "pdq") == {frozenset(f"{number}-{way}" for way in ways) for number in range(SCENES)}
    found = rows(store, "pdq")
    assert {name: found[name]["status"] for name in found if "-" not in name or name.startswith("flat")} == {
        "stranger.webp": "unmatched",
        "flat-blue.png": "low_quality",
        "flat-red.png": "low_quality",
        "truncated.jpg": "truncated",
        "page.txt": "no_picture",
    }
    assert (found["stranger.webp"]["size"], found["stranger.webp"]["hashes"], found["flat-red.png"]["size"]) == (
        1,
        1,
        None,
    )


def test_distances_are_those_of_the_hashes(store: Path) -> None:
    names = [place["path"] for place in table(store, "samples")["source"].to_pylist()]
    hashes = dict(zip(names, table(store, "image.pdq")["hash"].to_pylist(), strict=True))
    for name, row in rows(store, "pdq").items():
        if row["status"] == "ok":
            one, other = (int.from_bytes(hashes[file][0]) for file in (name, row["matched"]))
            assert row["distance"] == (one ^ other).bit_count() <= 31
            assert row["hashes"] in (2, 3)
            assert row["size"] == 4


def test_the_largest_file_stays_and_the_plan_names_the_reasons(store: Path) -> None:
    plan = ended(run_here(store, "plan", "recipe.yaml", "--decisions", "decisions.parquet"))
    assert "duplicate_image_bytes" in plan
    assert "duplicate_pdq" in plan
    assert f"{3 * SCENES} of 17 samples dropped" in plan
    assert_clean(store)


def test_the_largest_clusters_are_listed(store: Path) -> None:
    listed = json.loads(ended(run_here(store, "duplicates", "recipe.yaml", "--json")))["kinds"]
    assert {kind: (one["clusters"], one["compared"], one["most_rows"]) for kind, one in listed.items()} == {
        "image_bytes": (SCENES, 16, 2),
        "pdq": (SCENES, 13, 4),
    }
    largest = listed["pdq"]["largest"][0]
    farthest = max(
        row["distance"] for row in rows(store, "pdq").values() if row["size"] == 4 and row["distance"] is not None
    )
    assert min(one["lowest_similarity"] for one in listed["pdq"]["largest"]) == 1 - farthest / 256
    assert largest["hashes"] in (2, 3)
    cluster = largest["cluster"]
    assert "4 pictures" in ended(run_here(store, "duplicates", "show", "recipe.yaml", cluster, "--kind", "pdq"))


def test_a_cluster_of_too_many_hashes_is_an_alarm(store: Path) -> None:
    recipe = (store / "recipe.yaml").read_text()
    (store / "strict.yaml").write_text(recipe.replace("min_quality: 50", "min_quality: 50, max_cluster: 2"))
    alarms = ended(run_here(store, "plan", "strict.yaml"), 1)
    found = {row["cluster"]: row["hashes"] for row in rows(store, "pdq").values() if row["size"] == 4}
    assert alarms.count("has 3 different hashes in 4 pictures") == sum(hashes == 3 for hashes in found.values()) > 0


def test_split_bands_and_star_contraction_give_the_same_values(
    pictures: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdq, "_MAX_SPLIT", 2)
    monkeypatch.setattr(pdq, "_LINE_BYTES", 1 << 30)
    monkeypatch.setattr(module, "MAX_EDGES", 0)
    assert rows(searched(pictures, "split"), "pdq") == rows(store, "pdq")


def test_a_recipe_may_list_the_hashes_among_its_measurements(pictures: Path, store: Path) -> None:
    folder = pictures / "listed"
    folder.mkdir()
    (folder / "recipe.yaml").write_text(RECIPE.replace("SHARD_ROWS", "4") + "annotate: [image.pdq]\n")
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    assert tree_hash(folder) == tree_hash(store)
    other = RECIPE.replace("SHARD_ROWS", "4") + "annotate: [{image.pdq: {where: samples.url IS NULL}}]\n"
    (folder / "recipe.yaml").write_text(other)
    assert "dedupe.pdq writes the layer image.pdq" in ended(run_here(folder, "run", "recipe.yaml"), 1)


def test_other_shards_give_the_same_values(pictures: Path, store: Path) -> None:
    other = searched(pictures, "shards", shard_rows=64)
    for kind in ("image_bytes", "pdq"):
        assert rows(other, kind) == rows(store, kind)


def test_a_forgotten_picture_is_not_compared(pictures: Path, store: Path) -> None:
    folder = searched(pictures, "forgetting")
    samples = table(folder, "samples")
    names = [place["path"] for place in samples["source"].to_pylist()]
    gone = samples["id"][names.index("0-original.png")].as_py().hex()
    ended(run_here(folder, "forget", "recipe.yaml", "--id", gone, "--reason", "request"))
    ended(run_here(folder, "dedupe", "recipe.yaml", "--workers", "1"))
    for kind in ("image_bytes", "pdq"):
        assert sorted(row["status"] for row in rows(folder, kind).values()).count("forgotten") == 1
    assert rows(folder, "image_bytes")["0-same.png"]["status"] == "unmatched"
    assert rows(folder, "pdq")["0-same.png"]["size"] == 3
