"""Technical quality of pictures, against its definitions and against SciPy's Laplacian."""

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from winnow.filters.image.decode.luma import luma_sums, pair_tables
from winnow.filters.image.geometry import GeometryConfig, geometry
from winnow.filters.image.pdq import PdqConfig, hashes
from winnow.filters.image.quality import OPERATOR, QualityConfig, quality
from winnow.filters.operators import IMAGES


def batch(*pictures: NDArray[np.uint8], size: int = 1000) -> pa.RecordBatch:
    rows = [
        {
            "mime": "image/png",
            "bytes": size,
            "height": len(one),
            "width": one.shape[1],
            "frames": 1,
            "pixels": one.tobytes(),
            "rows": len(one),
            "columns": one.shape[1],
        }
        for one in pictures
    ]
    return pa.RecordBatch.from_pylist(rows, schema=IMAGES)


def noise(height: int, width: int) -> NDArray[np.uint8]:
    return np.random.default_rng(7).integers(0, 256, (height, width, 3), dtype=np.uint8)


def luma(picture: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Rec. 601, rounded."""
    weighted = picture.astype(np.int64) @ np.array([9798, 19235, 3735])
    rounded: NDArray[np.float64] = ((weighted + 16384) >> 15).astype(np.float64)
    return rounded


@pytest.mark.parametrize(
    ("height", "width"), [(40, 60), (1, 9), (9, 1), (2, 2), (1, 1), (3, 200), (9, 32), (5, 33), (7, 95), (2, 40_001)]
)
def test_it_measures_what_is_defined(height: int, width: int) -> None:
    picture = noise(height, width)
    grey = luma(picture)
    kernel = np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]], np.float64)
    bends = ndimage.convolve(grey, kernel, mode="mirror")
    shares = np.unique(grey, return_counts=True)[1] / grey.size
    (found,) = quality(batch(picture), QualityConfig()).to_pylist()
    assert found == pytest.approx(
        {
            "sharpness": bends.var(),
            "brightness": grey.mean(),
            "contrast": grey.std(),
            "entropy": -(shares * np.log2(shares)).sum(),
            "dark": (grey <= 5).mean(),
            "bright": (grey >= 250).mean(),
        },
        abs=2e-6,
    )


@pytest.mark.parametrize(
    ("height", "width"), [(3 * 4096 + 1, 9), (3000, 31), (3000, 63), (3, 3 * 32_768 + 7), (700, 640)]
)
def test_sums_and_counts_of_the_sharpest_picture_do_not_overflow(height: int, width: int) -> None:
    board = (np.indices((height, width)).sum(axis=0) % 2 * 255).astype(np.uint8)
    (found,) = quality(batch(np.repeat(board[:, :, None], 3, axis=2)), QualityConfig()).to_pylist()
    bends = np.where(board == 0, 1020.0, -1020.0)
    assert found["sharpness"] == pytest.approx(bends.var(), rel=1e-12)
    assert (found["dark"], found["bright"]) == ((board == 0).mean(), (board == 255).mean())


def test_the_luma_of_every_colour_is_rounded_as_it_is_defined() -> None:
    tables, levels = pair_tables(), np.arange(256)
    for red in range(0, 256, 3):
        colours = np.stack(np.broadcast_arrays(red, levels[:, None], levels), axis=2).astype(np.uint8)
        counts, _, _ = luma_sums(colours, tables)
        assert np.array_equal(counts, np.bincount(luma(colours).astype(np.int64).ravel(), minlength=256)), red


@pytest.mark.parametrize(("height", "width"), [(40, 60), (1, 1), (9, 1), (5, 33), (700, 640), (2, 40_001)])
def test_sharpness_alone_is_that_beside_the_others(height: int, width: int) -> None:
    pictures = batch(noise(height, width), noise(width, height))
    alone = quality(pictures, QualityConfig(only_sharpness=True))
    assert (
        alone.schema == OPERATOR.writes(QualityConfig(only_sharpness=True)) == pa.schema([("sharpness", pa.float64())])
    )
    assert alone.to_pylist() == quality(pictures, QualityConfig()).select(["sharpness"]).to_pylist()


def test_a_blurred_picture_is_less_sharp_and_a_flat_one_says_nothing() -> None:
    sharp = noise(50, 50)
    blurred = ndimage.gaussian_filter(sharp, (2, 2, 0))
    flat = np.full((50, 50, 3), 255, np.uint8)
    values = quality(batch(sharp, blurred, flat), QualityConfig()).column("sharpness").to_pylist()
    assert values[0] > 10 * values[1] > 10 * values[2] == 0
    assert quality(batch(flat), QualityConfig()).to_pylist()[0]["bright"] == 1


def test_each_picture_of_a_batch_is_measured_by_itself_and_none_is_an_empty_layer() -> None:
    pictures = [noise(20, 30), noise(7, 5), noise(64, 64)]
    together = quality(batch(*pictures), QualityConfig())
    assert together.to_pylist() == [quality(batch(one), QualityConfig()).to_pylist()[0] for one in pictures]
    assert hashes(batch(*pictures).slice(1), PdqConfig()).to_pylist() == [
        hashes(batch(one), PdqConfig()).to_pylist()[0] for one in pictures[1:]
    ]
    layers = quality(batch(), QualityConfig()), hashes(batch(), PdqConfig()), geometry(batch(), GeometryConfig())
    assert [layer.num_rows for layer in layers] == [0, 0, 0]


def test_geometry_is_of_the_whole_picture() -> None:
    assert geometry(batch(noise(10, 40)), GeometryConfig()).to_pylist() == [
        {
            "width": 40,
            "height": 10,
            "shorter": 10,
            "longer": 40,
            "aspect": 4.0,
            "bytes": 1000,
            "bytes_per_pixel": 2.5,
            "frames": 1,
        }
    ]
