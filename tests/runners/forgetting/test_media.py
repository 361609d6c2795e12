"""Media have a hash, a length and a size, wherever ingest finds them, and can be forgotten by their hash."""

import contextlib
import gzip
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.pipelines.export.test_media import png
from tests.pipelines.ingest.made_archives import Capture, write_warc
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.media.references import MediaFinder, media_sources
from winnow.pipelines.store.location import open_store_at
from winnow.runners.commands.main import main
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.store_stages import ingest
from winnow.schemas.recipe import load_recipe

pytestmark = pytest.mark.processes

RECIPE = """
version: 1
store: {path: store}
sources:
  crawl: {root: data, files: ["*.warc.gz"], class: web}
  files: {root: data, files: ["*.png", "*.bin"], class: web}
  named: {root: data, files: ["*.jsonl"], class: web, columns: {media: image, captions: says}}
limits: {max_body_bytes: 2 KiB}
"""

LARGE = b"\x00\x00\x00\x14ftypisom" + bytes(3000)
"""A film that is larger than what is held."""


def ingested() -> None:
    ingest(bind(load_recipe(Path("recipe.yaml"))), Engine("local", 1), Console(quiet=True))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    data = folder / "data"
    data.mkdir()
    captures = [
        Capture("https://e.org/one.png", png(1), "image/png"),
        Capture(
            "https://e.org/two.png", gzip.compress(png(2), mtime=0), "image/png", headers={"Content-Encoding": "gzip"}
        ),
        Capture("https://e.org/large.mp4", LARGE, "video/mp4"),
        Capture("https://e.org/coded.mp4", gzip.compress(LARGE), "video/mp4", headers={"Content-Encoding": "gzip"}),
        Capture("https://e.org/cut.mp4", gzip.compress(LARGE)[:-4], "video/mp4", headers={"Content-Encoding": "gzip"}),
    ]
    write_warc(data / "a.warc.gz", captures)
    (data / "three.png").write_bytes(png(3))
    (data / "large.bin").write_bytes(LARGE)
    lines = [{"image": name, "says": name} for name in ("three.png", "three.png", "large.bin")]
    (data / "lines.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "recipe.yaml").write_text(RECIPE)
    with contextlib.chdir(folder):
        ingested()
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "copy"
    shutil.copytree(whole, folder)
    monkeypatch.chdir(folder)
    return folder


def rows() -> list[dict[str, Any]]:
    store = open_store_at("store")
    return [
        row
        for one in store.manifest(store.require_latest(), "samples")
        for batch in store.batches(one)
        for row in batch.to_pylist()
    ]


def test_every_row_has_a_hash_by_which_it_is_found_and_what_cannot_be_hashed_has_no_row(folder: Path) -> None:
    assert all(medium["sha256"] for row in rows() for medium in row["media"])
    assert not [row for row in rows() if row["url"] == "https://e.org/cut.mp4"]


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_every_medium_has_the_facts_of_its_bytes(folder: Path) -> None:
    facts = sorted(
        (row["source"]["name"], one["mime"], one["sha256"], one["bytes"], one["width"], one["height"])
        for row in rows()
        for one in row["media"]
    )
    of_png = {shade: ("image/png", sha256(png(shade)), len(png(shade)), 1, 1) for shade in (1, 2, 3)}
    of_film = ("video/mp4", sha256(LARGE), len(LARGE), None, None)
    assert facts == sorted(
        [
            ("crawl", *of_png[1]),
            ("crawl", *of_png[2]),
            ("crawl", *of_film),
            ("crawl", *of_film),
            ("files", *of_png[3]),
            ("files", *of_film),
            ("named", *of_png[3]),
            ("named", *of_png[3]),
            ("named", *of_film),
        ]
    )
    finder = MediaFinder(media_sources(load_recipe(folder / "recipe.yaml")), "crawl")
    for row in rows():
        if row["url"] == "https://e.org/two.png":
            found = finder.find(row["media"][0])
            assert isinstance(found, dict)
            assert found["sha256"] == row["media"][0]["sha256"]


@pytest.mark.parametrize(("content", "count"), [(png(1), 1), (png(2), 1), (png(3), 3), (LARGE, 4)])
def test_rows_are_forgotten_by_the_hash_of_their_media(folder: Path, content: bytes, count: int) -> None:
    del folder
    assert main(["forget", "recipe.yaml", "--sha256", sha256(content).upper()]) == 0
    forgotten = [row for row in rows() if row["modality"] == "forgotten"]
    assert len(forgotten) == count
    assert all(row["media"] == [] for row in forgotten)


def test_what_was_forgotten_stays_so_when_it_is_read_later(folder: Path) -> None:
    assert main(["forget", "recipe.yaml", "--sha256", sha256(png(3))]) == 0
    (folder / "data/again.png").write_bytes(png(3))
    ingested()
    assert [row["modality"] for row in rows() if row["source"]["path"] == "again.png"] == ["forgotten"]


def test_the_hash_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del folder
    row = next(row for row in rows() if row["source"]["path"] == "three.png")
    capsys.readouterr()
    assert main(["show", "recipe.yaml", row["id"].hex()]) == 0
    assert f"medium   image/png, 1 × 1, {len(png(3))} bytes, sha256 {sha256(png(3))}\n" in capsys.readouterr().out
