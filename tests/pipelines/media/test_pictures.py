"""Decoded pictures shared by operators: each has its own pixels for as long as it is held, whatever its row claims."""

import gc
import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.property_sizes import scaled
from winnow.filters.image.decode.batches import pixels_of
from winnow.filters.image.decode.stills import DecodeLimits, Still, decode, sized
from winnow.filters.operators import NO_PIXELS
from winnow.pipelines.decoding.probe import probe_bytes
from winnow.pipelines.ingest.files import FILE
from winnow.pipelines.media.pictures import OK, Pictures, PictureSource, decoded_bytes
from winnow.pipelines.media.references import MediaSources, media_sources
from winnow.schemas.recipe import load_recipe
from winnow.schemas.rows.samples import SAMPLES

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")
pytest.importorskip("simplejpeg", reason="needs the extra `image`")

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  photos: {root: pictures, files: ["*"], class: web}
"""
COUNT = 24
HELD = 60_000  # bytes: a few of the pictures
SIDES = (None, 96, 40, 20, 7)
LIMITS = DecodeLimits()


@cache
def file_of(number: int) -> tuple[str, bytes]:
    """A picture of some size up to twice the room's, as JPEG or PNG, some of them turned."""
    random = np.random.default_rng(number)
    height, width = random.integers(1, 200, 2).tolist()
    exif = Image.Exif()
    exif[274] = int(random.integers(1, 9)) if number % 3 == 0 else 1
    out = io.BytesIO()
    pixels = random.integers(0, 256, (height, width, 3), dtype=np.uint8)
    kind = "PNG" if number % 4 == 3 else "JPEG"
    Image.fromarray(pixels).save(out, kind, exif=exif)
    return f"image/{kind.lower()}", out.getvalue()


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> MediaSources:
    folder = tmp_path_factory.mktemp("pictures")
    (folder / "pictures").mkdir()
    for number in range(COUNT):
        (folder / "pictures" / f"{number}").write_bytes(file_of(number)[1])
    (folder / "recipe.yaml").write_text(RECIPE)
    return media_sources(load_recipe(Path(folder / "recipe.yaml")))


def medium(number: int, **claims: Any) -> dict[str, Any]:
    """What ingest writes of a file, but for these fields."""
    mime, content = file_of(number)
    probe = probe_bytes(content, mime)
    known = {name: getattr(probe, name) for name in ("bytes", "sha256", "width", "height", "orientation", "frames")}
    reference = {"path": f"{number}", "offset": 0, "length": len(content), "container": FILE, "member": "0"}
    return {"mime": mime, **known, "ref": reference, **claims}


def pictures_of(sources: MediaSources, rows: Sequence[Sequence[dict[str, Any]]], held: int) -> Pictures:
    media = pa.array(rows, SAMPLES.field("media").type)
    return Pictures(PictureSource(sources, LIMITS, held), "photos", media)


def expected(number: int, side: int | None) -> Still:
    mime, content = file_of(number)
    return sized(decode(content, mime, LIMITS, side), side)


def check(asked: Sequence[int], batch: pa.RecordBatch, side: int | None) -> None:
    for number, pixels in zip(asked, pixels_of(batch), strict=True):
        assert np.array_equal(pixels, expected(number, side).pixels), (number, side)


Batches = list[tuple[NDArray[np.int64], pa.RecordBatch]]


@settings(max_examples=scaled(60), deadline=None)
@given(
    numbers=st.lists(st.lists(st.integers(0, COUNT - 1), max_size=4), min_size=1, max_size=10),
    sides=st.lists(st.sampled_from(SIDES), min_size=1, max_size=4),
    held=st.sampled_from((1, 20_000, HELD)),
)
def test_pixels_never_change_while_they_are_held(
    sources: MediaSources, numbers: list[list[int]], sides: list[int | None], held: int
) -> None:
    flat = [number for row in numbers for number in row]
    given: list[tuple[int | None, Batches]] = []
    for _ in range(2):  # the next rows, while the batches of these are still held
        pictures = pictures_of(sources, [[medium(number) for number in row] for row in numbers], held)
        items = pictures.decoded(None).items_of(np.arange(len(numbers)))
        given += [(side, list(pictures.batches(items, side))) for side in sides]
        assert pictures.statuses == [OK] * len(flat)
    for side, batches in given:
        assert [item for items, _ in batches for item in items.tolist()] == list(range(len(flat)))
        for items, batch in batches:
            check([flat[item] for item in items], batch, side)


def test_two_readers_of_one_thread_do_not_share_memory(sources: MediaSources) -> None:
    one, other = (pictures_of(sources, [[medium(number)] for number in range(8)], HELD) for _ in range(2))
    items = np.arange(8)
    for (first, mine), (second, theirs) in zip(
        one.batches(items, None), other.batches(items[::-1], None), strict=False
    ):
        check(first.tolist(), mine, None)
        check(second.tolist(), theirs, None)


@pytest.mark.parametrize("claim", [None, 1, 100_000], ids=["unknown", "too small", "too large"])
def test_sides_get_their_own_scale_whatever_size_the_row_claims(sources: MediaSources, claim: int | None) -> None:
    sizes = {number: decode(file_of(number)[1], file_of(number)[0], LIMITS) for number in range(COUNT)}
    large = [number for number in range(COUNT) if max(sizes[number].height, sizes[number].width) >= 160]
    assert large
    pictures = pictures_of(sources, [[medium(number, width=claim, height=claim)] for number in large], 10_000_000)
    for side in (40, None, 20, 40):
        for items, batch in pictures.batches(np.arange(len(large)), side):
            check([large[item] for item in items], batch, side)


def test_a_room_is_used_again_when_nothing_refers_to_it(sources: MediaSources) -> None:
    def address() -> int:
        pictures = pictures_of(sources, [[medium(0)]], HELD)
        ((_, batch),) = pictures.batches(np.arange(1), None)
        return int(batch.column("pixels").buffers()[2].address)

    gc.collect()  # what other tests left
    assert len({address() for _ in range(10)}) == 1


def test_a_side_that_several_ask_for_and_one_that_needs_no_pixels(sources: MediaSources) -> None:
    media = pa.array([[medium(number)] for number in range(8)], SAMPLES.field("media").type)
    pictures = Pictures(PictureSource(sources, LIMITS), "photos", media, sides=(NO_PIXELS, 20, None, 20))
    for items, batch in pictures.batches(np.arange(8), NO_PIXELS):
        sizes = [(expected(item, None).height, expected(item, None).width) for item in items.tolist()]
        assert list(zip(batch["height"].to_pylist(), batch["width"].to_pylist(), strict=True)) == sizes
    for side in (20, None, 20):
        for items, batch in pictures.batches(np.arange(8), side):
            check(items.tolist(), batch, side)


def test_what_rows_will_take_is_what_decoding_takes(sources: MediaSources) -> None:
    rows = [[0, 3], [], [5], [7, 8, 9], [11]]
    media = pa.array([[medium(number) for number in row] for row in rows], SAMPLES.field("media").type)
    for sides in ((None,), (20, 40), (7, None, NO_PIXELS), (NO_PIXELS,)):
        scales = set(sides) - {NO_PIXELS} or {1}
        for row, size in zip(rows, decoded_bytes(media, sides, LIMITS).tolist(), strict=True):
            taken = 0
            for number in row:
                mime, content = file_of(number)
                taken += sum(
                    {(one := decode(content, mime, LIMITS, side).pixels).shape: one.nbytes for side in scales}.values()
                )
            assert abs(size - taken) <= 0.3 * taken + 100  # scaled sides are rounded up
    assert decoded_bytes(media, (None,), DecodeLimits(max_pixels=1)).tolist() == [0] * len(rows)
