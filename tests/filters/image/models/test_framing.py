"""What networks see: one rule for sizes, and colours as numbers."""

import numpy as np
import pytest

from winnow.filters.image.decode.shrink import resized
from winnow.filters.image.models.framing import Fit, Framing, colour_values, framed, tensor
from winnow.schemas.errors import RecipeError

NOISE = np.random.default_rng(7).integers(0, 256, (60, 100, 3), dtype=np.uint8)


def test_a_crop_is_the_middle_square() -> None:
    seen = framed(NOISE, Framing(30, "crop", keep=0.5))
    assert (seen == NOISE[15:45, 35:65]).all()


def test_a_letterbox_keeps_proportions_and_fills_both_ends() -> None:
    seen = framed(NOISE, Framing(50, "letterbox", fill=9))
    assert seen.shape == (50, 50, 3)
    assert (seen[10:40] == resized(NOISE, 30, 50)).all()
    assert (seen[:10] == 9).all()
    assert (seen[40:] == 9).all()


def test_padding_keeps_pixels_and_fills_to_multiples_of_32() -> None:
    seen = framed(NOISE, Framing(640, "pad"))
    assert seen.shape == (64, 128, 3)
    assert (seen[:60, :100] == NOISE).all()
    assert not seen[60:].any()
    assert framed(NOISE, Framing(64, "pad")).shape == (64, 64, 3)


def test_stretching_ignores_proportions() -> None:
    assert (framed(NOISE, Framing(50, "stretch")) == resized(NOISE, 50, 50)).all()


@pytest.mark.parametrize("fit", ["crop", "stretch", "letterbox", "pad"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 5_000), (5_000, 1), (2, 3)])
def test_tiny_and_extreme_pictures_keep_to_the_side(fit: Fit, shape: tuple[int, int]) -> None:
    seen = framed(np.full((*shape, 3), 77, np.uint8), Framing(64, fit, fill=77))
    assert (seen == 77).all()
    assert max(seen.shape) == 64 if fit != "pad" else max(seen.shape) <= 64


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("colours", ["rgb", "bgr"])
def test_colours_become_the_networks_numbers(colours: str, channels_last: bool) -> None:
    framing = Framing(mean=(0.485, 0.456, 0.406), deviation=(0.229, 0.224, 0.225))
    given = tensor(NOISE, colour_values(framing), colours, channels_last=channels_last)
    exact = (NOISE / 255 - framing.mean) / framing.deviation
    exact = exact[:, :, ::-1] if colours == "bgr" else exact
    assert given.dtype == np.float32
    assert np.allclose(given[0], exact if channels_last else exact.transpose(2, 0, 1), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("framing", "said"),
    [
        (Framing(mean=(0.5,)), r"`mean` is \[0.5\]; expected three numbers"),
        (Framing(deviation=(1.0, float("nan"), 1.0)), "`deviation` is .* expected three numbers"),
        (Framing(deviation=(1.0, 0.0, 1.0)), "`deviation` has a 0"),
    ],
)
def test_settings_that_give_no_numbers_are_refused(framing: Framing, said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        colour_values(framing)
