"""`image.brisque` beside the package `brisque` 0.2.0 (its features made plain floats, which numpy 2 wants).

The pictures are those of scikit-learn; blurred, resized by Pillow 12, or with noise of numpy's generator.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from tests.filters.image.test_quality import batch
from tests.messages import assert_refused
from winnow.filters.image.brisque import OPERATOR, BrisqueConfig, natural_features, read_regression
from winnow.filters.operators import Kernel
from winnow.pipelines.assets import state_of
from winnow.pipelines.binding.operators import BoundAsset, BoundAssets
from winnow.schemas.errors import RecipeError

(ASSET,) = OPERATOR.declares
Pixels = NDArray[np.uint8]


def load_sample_image(name: str) -> Pixels:
    from sklearn.datasets import load_sample_image  # type: ignore[import-untyped]  # takes seconds

    found: Pixels = load_sample_image(name)
    return found


def blurred(pixels: Pixels) -> Pixels:
    return np.asarray(Image.fromarray(pixels).filter(ImageFilter.GaussianBlur(3)))


def small(pixels: Pixels) -> Pixels:
    return np.asarray(Image.fromarray(pixels).resize((333, 221)))


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    if state_of(ASSET) != "present":
        pytest.skip("needs its model: winnow assets fetch brisque")
    return OPERATOR.load(BrisqueConfig(), BoundAssets((BoundAsset("brisque", ASSET, ASSET.value_digest),)))


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        ("china.jpg", lambda pixels: pixels, 14.4969),
        ("flower.jpg", lambda pixels: pixels, 15.7940),
        ("china.jpg", blurred, 73.9456),
        ("flower.jpg", blurred, 83.3859),
        ("china.jpg", small, 6.2904),
        ("flower.jpg", small, 20.0096),
    ],
)
def test_scores_are_those_of_the_peer(
    kernel: Kernel, name: str, change: Callable[[Pixels], Pixels], expected: float
) -> None:
    (found,) = kernel(batch(change(load_sample_image(name)))).to_pylist()
    assert found["status"] == "ok"
    assert found["score"] == pytest.approx(expected, abs=0.01)


def test_noise_is_distortion(kernel: Kernel) -> None:
    clean = load_sample_image("flower.jpg")
    noisy = np.clip(clean + np.random.default_rng(7).normal(0, 25, clean.shape), 0, 255).astype(np.uint8)
    one, other = kernel(batch(clean, noisy)).column("score").to_pylist()
    assert one < 20 < 50 < other


def test_pictures_without_statistics_say_why(kernel: Kernel) -> None:
    flat, tiny = np.full((40, 40, 3), 128, np.uint8), load_sample_image("china.jpg")[:15, :200]
    step = np.repeat(np.repeat([[0], [255]], 20, 0), 40, 1).astype(np.uint8)[:, :, None].repeat(3, 2)
    found = kernel(batch(flat, tiny)).to_pylist()
    assert found == [{"status": "flat", "score": None}, {"status": "too_small", "score": None}]
    (edge,) = kernel(batch(step)).to_pylist()
    assert (edge["score"] is None) is (edge["status"] == "flat")


def test_a_picture_on_its_side_has_the_same_features_in_another_order() -> None:
    upright = load_sample_image("china.jpg")[:100, :140]
    one, other = natural_features(upright), natural_features(np.ascontiguousarray(upright.transpose(1, 0, 2)))
    for start in (0, 18):
        assert one[start : start + 2] == pytest.approx(other[start : start + 2])
        assert one[start + 2 : start + 6] == pytest.approx(other[start + 6 : start + 10])


@pytest.mark.parametrize(
    "text", ["", "svm_type c_svc\nkernel_type rbf\nSV\n", "svm_type epsilon_svr\nkernel_type rbf\n"]
)
def test_another_file_is_no_model(text: str) -> None:
    with assert_refused(RecipeError, "own.txt", "36 features"):
        read_regression(text, "own.txt")
