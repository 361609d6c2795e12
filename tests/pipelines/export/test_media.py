"""Media are read again where they were found; what is gone costs its samples, which are counted."""

import struct
import tarfile
import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console

from tests.messages import assert_refused, assert_told
from tests.pipelines.export.drawn_stores import WEB, export, put_table_of, tree
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.export.places.manifest import LeftOut
from winnow.pipelines.export.stage import Finished, bind_exports
from winnow.pipelines.media.references import FILE_CHANGED, FILE_MISSING
from winnow.pipelines.media.thumbnails import picture_source
from winnow.pipelines.mix.draws import Draw, DrawnShard
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.location import open_store_at
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.store_stages import ingest
from winnow.schemas.errors import RecipeError
from winnow.schemas.mixture import Amount, MixturePlan, PlannedOutput, PlannedStratum
from winnow.schemas.recipe import Recipe, load_recipe
from winnow.schemas.rows.draws import DRAW

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  crawl: {root: pictures, files: ["*.png"], class: web}
mix: {}
export:
  - webdataset: {path: out, media: image}
"""


def png(shade: int) -> bytes:
    """A picture of one dot."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    pixels = chunk(b"IDAT", zlib.compress(bytes([0, shade])))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + pixels + chunk(b"IEND", b"")


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    (tmp_path / "pictures").mkdir()
    for shade in range(6):
        (tmp_path / "pictures" / f"{shade}.png").write_bytes(png(shade))
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return load_recipe(tmp_path / "recipe.yaml")


def draw_all(store: Store, copies: int = 1) -> Draw:
    """Every sample of the store."""
    shards, total = [], 0
    for shard in store.manifest(store.require_latest(), "samples"):
        ids = pa.concat_arrays([batch["id"] for batch in store.batches(shard)])
        rows = [
            {"output": 0, "row": row, "id": one, "stratum": 0, "first": 0, "copies": copies, "units": 1, "bytes": 0}
            for row, one in enumerate(ids.to_pylist())
        ]
        path = put_table_of(store.objects, pa.Table.from_pylist(rows, DRAW), f"plans/p/{shard.shard}")
        shards.append(DrawnShard(shard.shard, shard.source, path, {"samples": shard.object}, shard.rows, len(rows)))
        total += len(rows) * copies
    amount = Amount(total, total)
    output = PlannedOutput("train", total, (PlannedStratum(WEB, amount, 0, total, total, amount, amount, 1, -1),))
    plan = MixturePlan("tiny", 7, "tree", "samples", None, 4.0, "1", "asked", amount, {}, (output,))
    return Draw(plan, tuple(shards))


def exported(recipe: Recipe, copies: int = 1, change: str = "") -> Finished:
    """The pictures, ingested and exported; something may happen to them in between."""
    store = ingest(bind(recipe), Engine("local", 1), Console(quiet=True)).store
    draw = draw_all(store, copies)
    pictures = Path(recipe.located("pictures"))
    if change:
        (pictures / "2.png").unlink()
        (pictures / "4.png").write_bytes(png(99))
    (done,) = export(store, draw, bind_exports(recipe), media=picture_source(recipe))
    return done


def members(folder: Path) -> list[bytes]:
    """The pictures in the tars of an export."""
    found = []
    for path in sorted(folder.glob("*.tar")):
        with tarfile.open(path) as tar:
            for member in tar:
                stream = tar.extractfile(member)
                if stream is not None and member.name.endswith(".jpg"):
                    found.append(stream.read())
    return sorted(found)


def test_each_copy_has_the_bytes_that_its_sample_refers_to(tmp_path: Path, recipe: Recipe) -> None:
    done = exported(recipe, copies=2)
    assert members(tmp_path / "out") == sorted([png(shade) for shade in range(6)] * 2)
    assert done.manifest.left_out == ()


def test_samples_whose_media_are_gone_are_left_out_and_counted(tmp_path: Path, recipe: Recipe) -> None:
    done = exported(recipe, copies=2, change="two of them")
    assert members(tmp_path / "out") == sorted([png(shade) for shade in (0, 1, 3, 5)] * 2)
    assert done.manifest.left_out == (
        LeftOut("media_gone", "2.png", FILE_MISSING, 2),
        LeftOut("media_gone", "4.png", FILE_CHANGED, 2),
    )
    assert_told(done.notes[-1], "4 samples", "out because")
    assert done.manifest.outputs["train"] == {"planned": 12, "samples": 8, "shards": 1}


def test_media_that_are_back_are_exported_where_the_export_is_replaced(tmp_path: Path, recipe: Recipe) -> None:
    exported(recipe, change="two of them")
    store = open_store_at(tmp_path / "store")
    for shade in (2, 4):
        (tmp_path / "pictures" / f"{shade}.png").write_bytes(png(shade))
    news = [
        export(store, draw_all(store, 1), bind_exports(recipe), media=picture_source(recipe), replace=replace)[0]
        for replace in (False, True, True)
    ]
    assert [one.new for one in news] == [False, True, False]  # only where that is asked for, and once
    assert members(tmp_path / "out") == sorted(png(shade) for shade in range(6))
    assert news[1].manifest.left_out == ()


def test_samples_without_the_medium_that_is_wanted_are_said_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    for shade in range(6):
        (tmp_path / "pictures" / f"{shade}.png").write_bytes(png(shade))
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    store = ingest(bind(load_recipe(tmp_path / "recipe.yaml")), Engine("local", 1), Console(quiet=True)).store
    (tmp_path / "recipe.yaml").write_text(RECIPE.replace("media: image", "media: mp4"))
    recipe = load_recipe(tmp_path / "recipe.yaml")
    before = tree(tmp_path)
    (entry,) = recipe.export
    with pytest.raises(RecipeError) as error:
        export(store, draw_all(store, 1), bind_exports(recipe), media=picture_source(recipe))
    said = str(error.value)
    assert_told(said, str(entry.place), "export[0].webdataset", "6 samples")
    assert_told(said, "image/png", "mp4", "video/mp4", "video/x-m4v")
    assert {path for path in tree(tmp_path) if "plans" not in path} == {path for path in before if "plans" not in path}


def test_shards_are_capped_by_the_bytes_of_media_where_those_are_written(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    for shade in range(6):
        (tmp_path / "pictures" / f"{shade}.png").write_bytes(png(shade) + bytes(3000))
    beside = "  - webdataset: {path: names, shard_bytes: 8 KiB}\n"
    capped = RECIPE.replace("media: image", "media: image, shard_bytes: 8 KiB")
    (tmp_path / "recipe.yaml").write_text(f"{capped}{beside}")
    recipe = load_recipe(tmp_path / "recipe.yaml")
    store = ingest(bind(recipe), Engine("local", 1), Console(quiet=True)).store
    pictures, names = export(store, draw_all(store, 2), bind_exports(recipe), media=picture_source(recipe))
    assert pictures.manifest.outputs == {"train": {"planned": 12, "samples": 12, "shards": 6}}
    assert names.manifest.outputs == {"train": {"planned": 12, "samples": 12, "shards": 1}}
    assert members(tmp_path / "out") == sorted([png(shade) + bytes(3000) for shade in range(6)] * 2)


def test_a_type_that_clips_are_not_written_as_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    recipe = tmp_path / "clips.yaml"
    clips = "{root: films.yaml, files: [films], format: clips, class: public, clips: {}}"
    wanted = "webdataset: {path: out, media: mov}"
    recipe.write_text(
        f"version: 1\nstore: {{path: store}}\nsources:\n  shots: {clips}\nmix: {{}}\nexport:\n  - {wanted}\n"
    )
    with assert_refused(RecipeError, "clips.yaml:7", "export[0].webdataset", "mp4"):
        bind_exports(load_recipe(recipe))
