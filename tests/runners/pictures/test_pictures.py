"""Pictures from the command line: decoded once, measured as lists, judged by rules, each failure with its reason."""

import json
import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray

from tests.faults.winnow import assert_clean, ended, run_here, tree_hash
from tests.pipelines.export.drawn_stores import tree
from tests.pipelines.media.deadly_decoder import arm_here
from tests.runners.test_annotate import table
from winnow.filters.image.decode.stills import Still, UndecodableError
from winnow.pipelines.decoding import decoding_process, isolation
from winnow.pipelines.running import shard_rows

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: 4}
sources:
  pictures: {root: pictures, files: ["*"], class: public}
limits: {max_image_pixels: 40_000}
annotate: [image.geometry, {image.quality: {side: 64}}, image.pdq, image.rights]
keep:
  - {drop: list_min(image.geometry.shorter) < 50, reason: small, when_null: drop}
  - {drop: list_max(image.quality.sharpness) < 10, reason: blurred, when_null: drop}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    noise = np.random.default_rng(7).integers(0, 256, (100, 120, 3), dtype=np.uint8)
    Image.fromarray(noise).save(pictures / "a.png")
    Image.fromarray(noise).save(pictures / "b.jpg", quality=90)
    Image.fromarray(noise[:30, :40]).save(pictures / "c.webp")
    red = Image.new("RGB", (90, 90), "red")
    Image.new("RGB", (90, 90), "blue").save(pictures / "d.gif", save_all=True, append_images=[red])
    (pictures / "e.jpg").write_bytes((pictures / "b.jpg").read_bytes()[:3000])
    Image.new("RGB", (400, 400)).save(pictures / "f.png")
    (pictures / "g.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    exif = Image.Exif()
    exif[274], exif[315] = 6, "Ana"
    Image.fromarray(noise).save(pictures / "h.jpg", exif=exif)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


def column(folder: Path, layer: str, name: str) -> list[object]:
    return [None if value is None else value[0] for value in table(folder, layer)[name].to_pylist()]


def test_the_parts_of_a_shard_are_decoded_by_one_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_rows, "BATCH_ROWS", 1)
    used: set[int] = set()
    answers = isolation._Decoder._answers

    def noted(self: isolation._Decoder, room: NDArray[np.uint8]) -> list[Still | UndecodableError]:
        used.add(id(self._process))
        return answers(self, room)

    monkeypatch.setattr(isolation._Decoder, "_answers", noted)
    recipe = RECIPE.replace("shard_rows: 4", "shard_rows: 8").replace("side: 64", "only_sharpness: true")
    (folder / "recipe.yaml").write_text(recipe)
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    assert len(used) == 1
    assert table(folder, "image.quality").column_names[-1] == "sharpness"


def test_each_picture_is_measured_or_says_why_not_and_rules_read_lists(folder: Path) -> None:
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    assert column(folder, "image.quality", "items") == [
        "ok",
        "ok",
        "ok",
        "ok",
        "truncated",
        "too_many_pixels",
        "unsupported",
        "ok",
    ]
    assert column(folder, "image.geometry", "width") == [120, 120, 40, 90, None, None, None, 100]
    assert column(folder, "image.geometry", "frames") == [1, 1, 1, 2, None, None, None, 1]
    media = [row[0] for row in table(folder, "samples")["media"].to_pylist()]
    assert [one["frames"] for one in media] == [1, 1, 1, 2, 1, 1, None, 1]
    assert [one["orientation"] for one in media] == [1, 1, 1, 1, 1, 1, None, 6]
    hashed = column(folder, "image.pdq", "hash")
    assert all(isinstance(one, bytes) and len(one) == 32 for one in (hashed[0], hashed[7]))
    assert column(folder, "image.rights", "creator") == [*[None] * 7, "Ana"]
    assert column(folder, "image.rights", "opted_out") == [*[False] * 6, None, False]
    plan = ended(run_here(folder, "plan", "recipe.yaml"))
    assert "5 of 8 samples dropped" in plan
    assert_clean(folder)


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.processes)])
def test_two_workers_and_other_sets_of_operators_give_the_same_values(folder: Path, workers: str) -> None:
    ended(run_here(folder, "run", "recipe.yaml", "--workers", workers))
    whole = tree_hash(folder)
    expected = column(folder, "image.quality", "sharpness")
    other = folder / "other"
    other.mkdir()
    (other / "recipe.yaml").write_text(RECIPE.replace("root: pictures", "root: ../pictures"))
    ended(run_here(other, "run", "recipe.yaml", "--workers", "1"))
    assert tree_hash(other) == whole
    alone = folder / "alone"
    alone.mkdir()
    only = RECIPE.replace("root: pictures", "root: ../pictures").split("keep:")[0]
    (alone / "recipe.yaml").write_text(only.replace("image.geometry, ", "").replace(", image.pdq", ""))
    ended(run_here(alone, "run", "recipe.yaml", "--workers", "1"))
    assert column(alone, "image.quality", "sharpness") == expected


CAPTIONED = """
version: 1
store: {path: store, seed: 7}
sources:
  pairs: {root: ., files: [pairs.jsonl], format: jsonl, columns: {media: image, captions: says}, class: public}
annotate: [caption.length, caption.language, caption.overlap, image.geometry]
keep:
  - {preset: captions}
  - {preset: datacomp@basic, rules: {datacomp_side: {drop: list_max(image.geometry.shorter) < 100}}}
"""


def test_presets_judge_captions_and_pictures_of_a_table(folder: Path) -> None:
    said = [
        ("a.png", ["A picture of noise in all colours"]),
        ("a.png", ["Ein Bild voll Rauschen in allen Farben"]),
        ("b.jpg", ["b.jpg"]),
        ("c.webp", ["A picture of noise in all colours"]),
        ("h.jpg", ["photo", "The noise, turned upright on the page"]),
        ("e.jpg", ["A picture of which half is missing"]),
        ("h.jpg", []),
    ]
    lines = [json.dumps({"image": f"pictures/{name}", "says": captions}) for name, captions in said]
    (folder / "pairs.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "recipe.yaml").write_text(CAPTIONED)
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    assert table(folder, "caption.length")["words"].to_pylist() == [[7], [7], [1], [7], [1, 7], [7], None]
    plan = ended(run_here(folder, "plan", "recipe.yaml"))
    assert "5 of 7 samples dropped" in plan
    for reason in ("datacomp_language", "caption_short", "datacomp_side", "datacomp_undecodable", "caption_missing"):
        assert reason in plan
    shown = ended(run_here(folder, "operators", "datacomp@basic"))
    assert "list_min(image.geometry.aspect) > 3.0" in shown
    assert_clean(folder)


def test_a_picture_that_changed_is_unavailable(folder: Path) -> None:
    ended(run_here(folder, "ingest", "recipe.yaml", "--workers", "1"))
    (folder / "pictures" / "a.png").write_bytes((folder / "pictures" / "d.gif").read_bytes())
    (folder / "pictures" / "b.jpg").unlink()
    ended(run_here(folder, "annotate", "recipe.yaml", "--workers", "1"))
    assert column(folder, "image.quality", "items")[:3] == ["unavailable", "unavailable", "ok"]


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.large)])
def test_a_lost_disk_is_no_fact_about_a_picture(folder: Path, workers: str) -> None:
    only = RECIPE.split("keep:")[0].replace("image.geometry, {image.quality: {side: 64}}, image.pdq", "image.geometry")
    (folder / "recipe.yaml").write_text(only)
    ended(run_here(folder, "ingest", "recipe.yaml", "--workers", "1"))
    (folder / "pictures").rename(folder / "elsewhere")
    (folder / "pictures").mkdir()  # where the disk is mounted
    said = ended(run_here(folder, "annotate", "recipe.yaml", "--workers", workers), 1)
    assert "source pictures: its media must be read again, but its root pictures is missing or empty; mount it" in said
    assert said.count("\n") == 1
    assert not list((folder / "store" / "layers").rglob("*.parquet"))
    (folder / "pictures").rmdir()
    (folder / "elsewhere").rename(folder / "pictures")
    for file in ("a.png", "b.jpg"):
        (folder / "pictures" / file).unlink()
    (folder / "pictures" / "a.png").symlink_to("a.png")  # fails to open, as a share that is stale
    said = ended(run_here(folder, "annotate", "recipe.yaml", "--workers", workers), 1)
    assert "source pictures: cannot read media again from a.png under " in said
    (folder / "pictures" / "a.png").unlink()
    ended(run_here(folder, "annotate", "recipe.yaml", "--workers", workers))
    for layer in ("image.geometry", "image.rights"):
        assert column(folder, layer, "items")[:3] == ["unavailable", "unavailable", "ok"]
    assert_clean(folder)


def add_deadly_pictures(folder: Path) -> None:
    content = (folder / "pictures" / "b.jpg").read_bytes()
    (folder / "pictures" / "i.jpg").write_bytes(content + b"(fault)")
    (folder / "pictures" / "j.jpg").write_bytes(content + b"(abort)")


def end_decoders() -> None:
    """The next ones are started anew."""
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):  # it has ended
            if decoding_process.__name__ in " ".join(child.cmdline()):
                child.kill()


@pytest.mark.processes
@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.large)])
def test_a_picture_that_kills_its_decoder_costs_itself_and_is_remembered(
    folder: Path, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    add_deadly_pictures(folder)
    end_decoders()
    with monkeypatch.context() as armed:
        arm_here(folder / "deadly", armed)
        said = ended(run_here(folder, "run", "recipe.yaml", "--workers", workers))
    assert said.count("note    pictures that crashed the decoder: 2; their items are `crashed`, their hashes in ") == 1
    end_decoders()
    assert column(folder, "image.quality", "items")[-3:] == ["ok", "crashed", "crashed"]
    assert column(folder, "image.quality", "items") == column(folder, "image.pdq", "items")
    assert_clean(folder)
    assert len(list((folder / "store" / "poison").rglob("*.json"))) == 2
    (folder / "recipe.yaml").write_text(RECIPE.replace("side: 64", "side: 32"))
    ended(run_here(folder, "annotate", "recipe.yaml", "--workers", "1"))  # the decoder no longer dies of them
    assert column(folder, "image.quality", "items")[-3:] == ["ok", "crashed", "crashed"]


EXPORTED = """
version: 1
store: {path: store, seed: 7}
sources:
  pictures: {root: pictures, files: ["*.jpg"], class: public}
mix: {unit: samples}
export:
  - webdataset: {path: out, media: image, pictures: {resize: {side: 30}}}
"""


@pytest.mark.processes
@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.large)])
def test_a_picture_that_kills_its_decoder_in_an_export_is_left_out_and_remembered(
    folder: Path, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    add_deadly_pictures(folder)
    (folder / "recipe.yaml").write_text(EXPORTED)
    end_decoders()
    with monkeypatch.context() as armed:
        arm_here(folder / "deadly", armed)
        ended(run_here(folder, "run", "recipe.yaml", "--workers", workers))
    before = tree(folder / "out")
    manifest = json.loads(before["winnow.json"])
    assert manifest["left_out"] == [
        {"reason": "media_unchangeable", "file": file, "detail": detail, "samples": 1}
        for file, detail in (("e.jpg", "truncated"), ("i.jpg", "crashed"), ("j.jpg", "crashed"))
    ]
    assert manifest["outputs"] == {"train": {"planned": 5, "samples": 2, "shards": 1}}
    assert_clean(folder)
    assert len(list((folder / "store" / "poison").rglob("*.json"))) == 2
    end_decoders()
    shutil.rmtree(folder / "out")
    ended(run_here(folder, "export", "recipe.yaml", "--workers", workers))  # the decoder no longer dies of them
    assert tree(folder / "out") == before
