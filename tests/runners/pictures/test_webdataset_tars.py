"""From tars to tars: samples of several members are ingested, measured, judged and exported with their own bytes."""

import io
import json
import tarfile
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from tests.faults.winnow import assert_clean, ended, run_here, tree_hash
from tests.messages import assert_told, assert_told_each
from tests.runners.test_annotate import table

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: 4, task_bytes: 16KiB}
sources:
  pairs: {root: pairs, files: ["*.tar"], class: public}
annotate: [image.geometry, {image.quality: {side: 64}}, image.pdq]
keep:
  - {drop: list_min(image.geometry.shorter) < 50, reason: small, when_null: drop}
mix: {budget: 6, unit: samples}
export:
  - webdataset: {path: out, media: image}
"""


def picture(seed: int, side: int, kind: str) -> bytes:
    out = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(out, format=kind)
    return out.getvalue()


SIDES = [30 if number % 3 == 0 else 90 for number in range(9)]
PICTURES = {f"{number:05d}": picture(number, side, ("JPEG", "PNG")[number % 2]) for number, side in enumerate(SIDES)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tar as img2dataset writes it, with its table beside it."""
    (tmp_path / "pairs").mkdir()
    rows = []
    with tarfile.open(tmp_path / "pairs" / "00000.tar", "w") as archive:
        for key, content in PICTURES.items():
            said = {"key": key, "caption": f"Picture {key}", "url": f"https://a.example/{key}", "status": "success"}
            rows.append(said)
            files = {"jpg": content, "txt": said["caption"].encode(), "json": json.dumps(said).encode()}
            for suffix, raw in files.items():
                entry = tarfile.TarInfo(f"{key}.{suffix}")
                entry.size = len(raw)
                archive.addfile(entry, io.BytesIO(raw))
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


def test_samples_are_measured_judged_and_exported_with_their_own_bytes(folder: Path) -> None:
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    assert [one[0] for one in table(folder, "image.geometry")["width"].to_pylist()] == SIDES
    exported: dict[str, dict[str, bytes]] = {}
    for path in sorted((folder / "out").rglob("*.tar")):
        with tarfile.open(path) as archive:
            for member in archive:
                key, _, suffix = member.name.partition(".")
                stream = archive.extractfile(member)
                assert stream is not None
                exported.setdefault(key, {})[suffix] = stream.read()
    kept = {f"Picture {key}": content for key, content in PICTURES.items() if int(key) % 3}
    assert {one["txt"].decode(): one["jpg"] for one in exported.values()} == kept
    captions = [json.loads(json.loads(one["json"])["captions"]) for one in exported.values()]
    assert {said["origin"] for one in captions for said in one} == {"txt"}
    assert_clean(folder)


@pytest.mark.processes
def test_a_tar_in_parts_gives_the_same_rows_with_one_worker_and_two(folder: Path) -> None:
    ended(run_here(folder, "ingest", "recipe.yaml", "--workers", "2"))
    first = tree_hash(folder)
    other = folder / "other"
    other.mkdir()
    (other / "recipe.yaml").write_text(RECIPE.replace("root: pairs", "root: ../pairs"))
    ended(run_here(other, "ingest", "recipe.yaml", "--workers", "1"))
    assert tree_hash(other) == first
    rows = table(folder, "samples").to_pylist()
    assert len([*(folder / "store" / "samples").iterdir()]) == 6  # of eight parts; two begin and end in one sample
    assert_clean(folder)
    assert sorted(row["source"]["record"] for row in rows) == sorted(PICTURES)
    media = rows[0]["media"][0]
    raw = (folder / "pairs" / "00000.tar").read_bytes()
    reference = media["ref"]
    assert raw[reference["offset"] :][: reference["length"]] == PICTURES[rows[0]["source"]["record"]]
    assert (reference["container"], reference["member"]) == ("tar", f"{rows[0]['source']['record']}.jpg")


def test_a_tar_inside_a_tar_is_one_medium_also_when_parts_begin_in_it(folder: Path) -> None:
    inner = (folder / "pairs" / "00000.tar").read_bytes()
    with tarfile.open(folder / "pairs" / "00000.tar", "w") as archive:
        for name, raw in (("a.jpg", PICTURES["00001"]), ("b.tar", inner), ("c.jpg", PICTURES["00002"])):
            entry = tarfile.TarInfo(name)
            entry.size = len(raw)
            archive.addfile(entry, io.BytesIO(raw))
    ended(run_here(folder, "ingest", "recipe.yaml", "--workers", "1"))
    assert [row["source"]["record"] for row in table(folder, "samples").to_pylist()] == ["a", "b", "c"]
    assert_clean(folder)


def test_each_picture_of_a_sample_is_measured(tmp_path: Path) -> None:
    (tmp_path / "pairs").mkdir()
    files = {"1.jpg": PICTURES["00001"], "1.npy": b"\x93NUMPY\x01\x00" + bytes(99), "1.side.png": PICTURES["00003"]}
    with tarfile.open(tmp_path / "pairs" / "1.tar", "w") as archive:
        for name, raw in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(raw)
            archive.addfile(entry, io.BytesIO(raw))
    (tmp_path / "recipe.yaml").write_text(RECIPE.split("mix:")[0])
    ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "1"))
    (found,) = table(tmp_path, "image.geometry").to_pylist()
    assert (found["items"], found["width"]) == (["ok", "not_an_image", "ok"], [90, None, 30])


def test_a_medium_larger_than_the_limit_is_measured(folder: Path) -> None:
    limited = RECIPE.replace("sources:", "limits: {max_body_bytes: 5000}\nsources:")
    (folder / "recipe.yaml").write_text(limited)
    ended(run_here(folder, "ingest", "recipe.yaml", "--workers", "1"))
    media = {row["source"]["record"]: row["media"][0] for row in table(folder, "samples").to_pylist()}
    assert max(one["bytes"] for one in media.values()) > 5000
    for key, one in media.items():
        assert (one["sha256"], one["bytes"]) == (sha256(PICTURES[key]).hexdigest(), len(PICTURES[key]))
        assert one["width"] == SIDES[int(key)]


def test_a_compressed_tar_is_one_line(folder: Path) -> None:
    (folder / "pairs" / "1.tar.gz").write_bytes(b"\x1f\x8b")
    (folder / "recipe.yaml").write_text(RECIPE.replace('"*.tar"', '"*"'))
    said = ended(run_here(folder, "ingest", "recipe.yaml", "--workers", "1"), 1)
    assert_told_each(said.splitlines(), ("recipe.yaml:5", "sources.pairs", "1.tar.gz"))


def test_pictures_of_a_folder_have_the_captions_beside_them(tmp_path: Path) -> None:
    (tmp_path / "pairs" / "a.b").mkdir(parents=True)
    for name in ("a.b/1.jpg", "a.b/2.png", "a.b/3", "4.jpg"):
        (tmp_path / "pairs" / name).write_bytes(PICTURES["00001"])
    (tmp_path / "pairs" / "a.b" / "1.txt").write_text("One\n")
    (tmp_path / "pairs" / "a.b" / "1.json").write_text('{"caption": ["One", "Uno"], "url": "https://a.example/1"}')
    (tmp_path / "pairs" / "a.b" / "2.txt").write_bytes(b"\xff")
    (tmp_path / "pairs" / "a.b" / "3.json").write_text('{"caption": "Three"}')
    wanted = RECIPE.replace('files: ["*.tar"]', 'files: ["**/*"], format: image_folder')
    (tmp_path / "recipe.yaml").write_text(wanted)
    ingested = ended(run_here(tmp_path, "ingest", "recipe.yaml", "--workers", "1"))
    assert_told(str(ingested), "1 of 4", "samples")
    rows = {row["source"]["path"]: row for row in table(tmp_path, "samples").to_pylist()}
    said = {path: [(one["text"], one["origin"]) for one in row["captions"]] for path, row in rows.items()}
    assert said == {
        "a.b/1.jpg": [("One", "txt"), ("Uno", "json:caption")],
        "a.b/2.png": [],
        "a.b/3": [("Three", "json:caption")],
        "4.jpg": [],
    }
    assert json.loads(rows["a.b/2.png"]["metadata"])["unread"] == {"txt": "byte 0 is not UTF-8"}
    assert rows["a.b/1.jpg"]["url"] == "https://a.example/1"
    assert_clean(tmp_path)
