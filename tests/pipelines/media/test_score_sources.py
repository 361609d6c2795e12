"""Whatever a picture lies in, a task gets the pixels, and a row the status, that operators give it."""

import io
import tarfile
from collections import Counter
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from rich.console import Console
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from winnow.filters.image.decode.stills import DecodeLimits, UndecodableError, decode, sized
from winnow.filters.image.models.framing import Framing, framed
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.media.score_inputs import ROWS, Inputs
from winnow.pipelines.media.thumbnails import picture_source
from winnow.pipelines.running.ledger.crashes import CrashedPictures
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.location import open_store_at
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.store_stages import ingest
from winnow.schemas.recipe import load_recipe

SIDE, MOST = 32, 120_000
RECIPE = f"""
version: 1
store: {{path: store, seed: 7}}
limits: {{max_image_pixels: {MOST}}}
sources:
  files: {{root: files, files: ["*.img"], class: scans}}
  crawl: {{root: crawl, files: ["*.warc.gz"], class: web}}
  tars: {{root: tars, files: ["*.tar"], class: web}}
  tables: {{root: tables, files: ["*.parquet"], class: web, columns: {{media: image}}}}
"""
LIMITS = DecodeLimits(max_pixels=MOST)


@cache
def contents() -> Mapping[str, tuple[str, bytes]]:
    """Files by name, each with its type."""
    height, width = np.mgrid[0:300, 0:400]
    photo = Image.fromarray(
        np.stack([height * 255 // 299, width * 255 // 399, (height + width) % 256], -1).astype("u1")
    )
    turned = Image.Exif()
    turned[274] = 6
    clear = Image.new("RGBA", (50, 9), (10, 200, 30, 0))
    clear.paste((200, 10, 30, 255), (0, 0, 20, 9))
    large = Image.new("RGB", (401, 300))
    return {
        "photo": ("image/jpeg", _file(photo, "JPEG", quality=90, exif=turned)),
        "small": ("image/webp", _file(photo.resize((9, 70)), "WEBP", lossless=True)),
        "clear": ("image/png", _file(clear, "PNG")),
        "cut": ("image/jpeg", _file(photo, "JPEG")[:-900]),
        "large": ("image/png", _file(large, "PNG")),
    }


def _file(image: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def expected(mime: str, content: bytes) -> bytes | str:
    """The square, or the status that the decoder gives."""
    framing = Framing(SIDE, "stretch")
    try:
        still = sized(decode(content, mime, LIMITS, framing.decoded_side), framing.decoded_side)
    except UndecodableError as error:
        return error.reason
    return framed(still.pixels, framing).tobytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    for name in ("files", "crawl", "tars", "tables"):
        (folder / name).mkdir()
    with tarfile.open(folder / "tars/a.tar", "w") as archive, (folder / "crawl/a.warc.gz").open("wb") as out:
        writer = WARCWriter(out, gzip=True)
        for name, (mime, content) in contents().items():
            (folder / "files" / f"{name}.img").write_bytes(content)
            entry = tarfile.TarInfo(f"{name}.{mime.removeprefix('image/')}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
            headers = StatusAndHeaders("200 OK", [("Content-Type", mime)], protocol="HTTP/1.1")
            url = f"https://e.org/{name}"
            record = writer.create_warc_record(url, "response", payload=io.BytesIO(content), http_headers=headers)
            writer.write_record(record)
    images = [{"bytes": content, "path": name} for name, (_, content) in contents().items()]
    pq.write_table(pa.table({"image": images}), folder / "tables/a.parquet")
    (folder / "recipe.yaml").write_text(RECIPE)
    ingest(bind(load_recipe(folder / "recipe.yaml")), Engine("local", 1), Console(quiet=True))
    return folder


def seen(folder: Path, source: str, inputs: Inputs, max_rows: int = ROWS) -> dict[str, bytes | str]:
    """By the hash of each row's picture, its square, or why there is none."""
    store = open_store_at(folder / "store")
    found: dict[str, bytes | str] = {}
    for shard in store.manifest(store.require_latest(), "samples"):
        for batch in store.batches(shard, ["media"]) if shard.source == source else ():
            hashes = [row[0]["sha256"] for row in batch["media"].to_pylist()]
            for images in inputs.images(batch["media"], source, SIDE, max_rows):
                values = zip(images.squares.to_pylist(), images.statuses, strict=True)
                found |= zip(hashes[images.rows], [square or status for square, status in values], strict=True)
    return found


@pytest.fixture
def inputs(folder: Path) -> Inputs:
    return Inputs(picture_source(load_recipe(folder / "recipe.yaml")))


@pytest.mark.parametrize("source", ["files", "crawl", "tars", "tables"])
def test_every_source_gives_what_the_decoder_gives(folder: Path, inputs: Inputs, source: str) -> None:
    found = seen(folder, source, inputs)
    assert found == {sha256(content).hexdigest(): expected(mime, content) for mime, content in contents().values()}
    assert Counter(map(type, found.values())) == {bytes: 3, str: 2}
    assert sorted(one for one in found.values() if isinstance(one, str)) == ["too_many_pixels", "truncated"]


def test_pixels_do_not_depend_on_how_many_are_read_at_once(folder: Path, inputs: Inputs) -> None:
    assert seen(folder, "tars", inputs, max_rows=2) == seen(folder, "tars", inputs)


def test_a_picture_that_killed_its_decoder_is_not_decoded_for_a_score(
    folder: Path, inputs: Inputs, tmp_path: Path
) -> None:
    elsewhere = LocalStore(tmp_path)
    bad = sha256(contents()["photo"][1]).hexdigest()
    CrashedPictures(elsewhere).add(bad, "SIGSEGV")
    assert seen(folder, "files", inputs.in_store(elsewhere))[bad] == "crashed"
    assert seen(folder, "files", inputs)[bad] != "crashed"
