"""Pictures are changed on their way to an export, several stay together, and large media are not held in memory."""

import io
import json
import resource
import tarfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from tests.messages import assert_refused
from tests.pipelines.export.drawn_stores import export
from tests.pipelines.export.test_media import draw_all
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.export.media import fetching
from winnow.pipelines.export.places.manifest import LeftOut
from winnow.pipelines.export.stage import Finished, bind_exports
from winnow.pipelines.media.references import FILE_CHANGED, FILE_MISSING
from winnow.pipelines.media.thumbnails import picture_source
from winnow.pipelines.store.generations import Store
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.store_stages import ingest
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe import Recipe, load_recipe

RECIPE = """
version: 1
store: {{path: store, seed: 7}}
sources:
  crawl: {{root: pictures, files: ["*"], class: web{format}}}
mix: {{}}
export:
{exports}
"""


def photo(number: int, size: tuple[int, int] = (90, 60), kind: str = "JPEG", orientation: int = 6) -> bytes:
    """Noise that no encoder makes small; its EXIF data turn it and say a secret."""
    noise = np.random.default_rng(number).integers(0, 256, (size[1], size[0], 3), np.uint8)
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x010E] = "secret place"
    held = io.BytesIO()
    Image.fromarray(noise).save(held, kind, exif=exif.tobytes())
    return held.getvalue()


def recipe_of(folder: Path, *exports: str, tar: bool = False) -> Recipe:
    lines = "".join(f"  - {one}\n" for one in exports)
    raw = RECIPE.format(exports=lines, format=", format: webdataset" if tar else "")
    (folder / "recipe.yaml").write_text(raw)
    return load_recipe(folder / "recipe.yaml")


def ingested(recipe: Recipe) -> Store:
    return ingest(bind(recipe), Engine("local", 1), Console(quiet=True)).store


def written(recipe: Recipe, store: Store, copies: int = 1, **options: Any) -> list[Finished]:
    return export(store, draw_all(store, copies), bind_exports(recipe), media=picture_source(recipe), **options)


def samples(folder: Path) -> dict[str, dict[str, bytes]]:
    """The members of each sample in the tars of an export, by suffix."""
    found: dict[str, dict[str, bytes]] = defaultdict(dict)
    for path in sorted(folder.glob("*.tar")):
        with tarfile.open(path) as tar:
            for member in tar:
                key, _, suffix = member.name.partition(".")
                found[key][suffix] = tar.extractfile(member).read()  # type: ignore[union-attr]
    return found


def fill(folder: Path, files: dict[str, bytes]) -> None:
    (folder / "pictures").mkdir()
    for name, content in files.items():
        (folder / "pictures" / name).write_bytes(content)


def test_pictures_are_changed_for_each_export_as_it_asks(tmp_path: Path) -> None:
    fill(tmp_path, {f"{number}.jpg": photo(number) for number in range(4)})
    changes = "{resize: {mode: keep_ratio, side: 30}, encode: {format: webp}}"
    recipe = recipe_of(
        tmp_path,
        "webdataset: {path: plain, media: image}",
        f"webdataset: {{path: small, media: image, pictures: {changes}}}",
        "webdataset: {path: bare, media: image, pictures: {strip: true}}",
    )
    written(recipe, ingested(recipe))
    plain, small, bare = (samples(tmp_path / name) for name in ("plain", "small", "bare"))
    assert sorted(one["jpg"] for one in plain.values()) == sorted(photo(number) for number in range(4))
    assert plain.keys() == small.keys() == bare.keys()
    for key, one in small.items():
        facts = json.loads(one["json"])
        with Image.open(io.BytesIO(one["webp"])) as picture:
            assert (picture.format, picture.size) == ("WEBP", (30, 45))  # upright
        assert [facts[name] for name in ("width", "height", "original_width", "original_height")] == [30, 45, 90, 60]
        with Image.open(io.BytesIO(bare[key]["jpg"])) as picture, Image.open(io.BytesIO(plain[key]["jpg"])) as before:
            assert picture.tobytes() == before.tobytes()
            assert dict(picture.getexif()) == {0x0112: 6}
        assert b"secret" not in bare[key]["jpg"]
    manifest = json.loads((tmp_path / "small" / "winnow.json").read_text())
    assert manifest["options"]["pictures"]["encoder"].startswith("pillow ")


def test_what_cannot_be_changed_is_left_out_with_its_reason_and_not_tried_again(tmp_path: Path) -> None:
    files = {"good.jpg": photo(1), "cut.jpg": photo(2)[:-900], "odd.tif": photo(3, kind="TIFF")}
    fill(tmp_path, files)
    recipe = recipe_of(
        tmp_path,
        "webdataset: {path: small, media: image, pictures: {resize: {side: 30}}}",
        "webdataset: {path: bare, media: image, pictures: {strip: {keep: []}}}",
    )
    store = ingested(recipe)
    small, bare = written(recipe, store, copies=2)
    assert small.manifest.left_out == (LeftOut("media_unchangeable", "cut.jpg", "truncated", 2),)
    assert bare.manifest.left_out == (
        LeftOut("media_unchangeable", "cut.jpg", "unstripped", 2),
        LeftOut("media_unchangeable", "odd.tif", "unstripped", 2),
    )
    assert small.manifest.outputs == {"train": {"planned": 6, "samples": 4, "shards": 1}}
    assert [one.new for one in written(recipe, store, copies=2, replace=True)] == [False, False]


def tar_of(folder: Path, groups: dict[str, list[bytes]]) -> None:
    (folder / "pictures").mkdir()
    with tarfile.open(folder / "pictures" / "a.tar", "w") as tar:
        for key, pictures in groups.items():
            members = [(f"{key}.{number}.jpg", raw) for number, raw in enumerate(pictures)]
            captions = {"caption": [f"long caption of {key}", f"of {key}"]}
            for name, raw in [*members, (f"{key}.json", json.dumps(captions).encode())]:
                info = tarfile.TarInfo(name)
                info.size = len(raw)
                tar.addfile(info, io.BytesIO(raw))


def test_several_pictures_of_a_sample_have_numbered_members(tmp_path: Path) -> None:
    groups = {key: [photo(at), photo(at + 10)] for at, key in enumerate("abc")}
    tar_of(tmp_path, groups)
    recipe = recipe_of(tmp_path, "webdataset: {path: out, media: images, caption: shortest, energon: true}", tar=True)
    written(recipe, ingested(recipe))
    found = samples(tmp_path / "out")
    assert all(sorted(one) == ["0.jpg", "1.jpg", "json", "txt"] for one in found.values())
    by_text = {one["txt"].decode(): [one["0.jpg"], one["1.jpg"]] for one in found.values()}
    assert by_text == {f"of {key}": pictures for key, pictures in groups.items()}
    facts = json.loads(next(iter(found.values()))["json"])
    assert facts["width"] == [90, 90]


def test_different_numbers_of_pictures_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    tar_of(tmp_path, {"a": [photo(1)], "b": [photo(2), photo(3)], "c": [photo(4), photo(5)]})
    recipe = recipe_of(tmp_path, "webdataset: {path: out, media: images}", tar=True)
    store = ingested(recipe)
    with assert_refused(RecipeError, "pictures (1", "1", "2", "2"):
        written(recipe, store)
    assert not (tmp_path / "out").exists()


def test_large_media_are_copied_and_checked_and_never_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "LARGE_BYTES", 1000)  # so that every picture is large
    files = {f"{number}.jpg": photo(number) + bytes(number) for number in range(6)}
    fill(tmp_path, files)
    recipe = recipe_of(tmp_path, "webdataset: {path: out, media: image, energon: true}")
    store = ingested(recipe)
    (tmp_path / "pictures" / "2.jpg").unlink()
    changed = bytearray(files["4.jpg"])
    changed[500] ^= 1
    (tmp_path / "pictures" / "4.jpg").write_bytes(changed)
    (done,) = written(recipe, store, copies=2)
    kept = [files[f"{number}.jpg"] for number in (0, 1, 3, 5)]
    assert sorted(one["jpg"] for one in samples(tmp_path / "out").values()) == sorted(kept * 2)
    assert done.manifest.left_out == (
        LeftOut("media_gone", "2.jpg", FILE_MISSING, 2),
        LeftOut("media_gone", "4.jpg", FILE_CHANGED, 2),
    )
    monkeypatch.undo()
    held = recipe_of(tmp_path, "webdataset: {path: held, media: image, energon: true}")
    written(held, store, copies=2)
    one, other = ({path.name: path.read_bytes() for path in (tmp_path / of).glob("*.tar*")} for of in ("out", "held"))
    assert one == other


@pytest.mark.large
def test_memory_does_not_grow_with_a_picture_of_a_gigabyte(tmp_path: Path) -> None:
    fill(tmp_path, {"small.jpg": photo(1)})
    with (tmp_path / "pictures" / "huge.jpg").open("wb") as file:
        file.write(photo(2))
        file.truncate(1 << 30)
    recipe = recipe_of(tmp_path, "webdataset: {path: out, media: image}")
    store = ingested(recipe)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    written(recipe, store)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    assert sum(path.stat().st_size for path in (tmp_path / "out").glob("*.tar")) > 1 << 30
    assert grown < 128 << 20
