"""Small images, and modules such as a user would bring; nothing here needs PyTorch until it is called."""

from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np
import pyarrow as pa
from PIL import Image

from winnow.filters.image.decode.shrink import resized
from winnow.filters.image.decode.stills import DecodeLimits, UndecodableError, decode
from winnow.scoring.protocol import picture_type


class NoFiles:
    """For tasks that need none."""

    def path(self, name: str) -> str:
        raise AssertionError(f"{name} was asked for")


class ThesePaths:
    """Files by the paths that they are named by."""

    def path(self, name: str) -> str:
        return name


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    """The bytes of a file of an image."""
    file = BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def plain(colour: tuple[int, int, int], side: int = 16) -> bytes:
    """A file of one colour."""
    return encoded(Image.new("RGB", (side, side), colour))


def noise(seed: int, side: int = 16) -> bytes:
    """A file in which every pixel is its own."""
    return encoded(Image.fromarray(np.random.default_rng(seed).integers(0, 256, (side, side, 3), np.uint8)))


def squares(files: Sequence[bytes | None], side: int = 16) -> pa.Array:
    """Files of PNG as tasks get them; null where there is none that can be decoded."""
    return pa.array([_square(file or b"", side) for file in files], picture_type(side))


def _square(file: bytes, side: int) -> bytes | None:
    try:
        return resized(decode(file, "image/png", DecodeLimits()).pixels, side, side).tobytes()
    except UndecodableError:
        return None


def user_classifier() -> Any:
    """Two classes of images of 16 pixels a side, with batch statistics, dropout and a frozen layer."""
    import torch  # type: ignore[import-not-found, unused-ignore]

    module = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, stride=2),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.Dropout(),
        torch.nn.Flatten(),
        torch.nn.Linear(4 * 49, 2),
    )
    module[0].requires_grad_(False)
    return module


def user_language_model() -> Any:
    """Bytes, each predicted from itself; its embedding is its output as well, under two names."""
    import torch

    module = torch.nn.Sequential(torch.nn.Embedding(256, 8), torch.nn.Linear(8, 256, bias=False))
    module[1].weight = module[0].weight
    return module


def user_pair() -> Any:
    """Two encoders with the names that CLIP gives them."""
    import torch

    class Both(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.image = torch.nn.Linear(3 * 16 * 16, 4)
            self.text = torch.nn.Embedding(256, 4)
            self.logit_scale = torch.nn.Parameter(torch.tensor(1.0))

        def encode_image(self, pixels: Any) -> Any:
            return self.image(pixels.flatten(1))

        def encode_text(self, tokens: Any) -> Any:
            return self.text(tokens).mean(1)

    return Both()


def without_forward_mode() -> Any:
    """Two classes, through an operator of the user's that has a gradient and no forward derivative."""
    import torch

    class Twice(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
        generate_vmap_rule = True

        @staticmethod
        def forward(given: Any) -> Any:
            return given * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * 2

    class Module(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.head = torch.nn.Linear(3 * 16 * 16, 2)

        def forward(self, pixels: Any) -> Any:
            return Twice.apply(self.head(pixels.flatten(1)))

    return Module()


def hungry() -> Any:
    """Two classes; more than two images at a time need more memory than any machine has."""
    import torch

    class Module(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.head = torch.nn.Linear(3 * 16 * 16, 2)

        def forward(self, pixels: Any) -> Any:
            if len(pixels) > 2:
                torch.empty(1 << 60)
            return self.head(pixels.flatten(1))

    return Module()


def starving() -> Any:
    """Two classes; what no machine has is needed for one image."""
    import torch

    class Module(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.head = torch.nn.Linear(3 * 16 * 16, 2)

        def forward(self, pixels: Any) -> Any:
            if pixels.amax() > 0:
                torch.empty(1 << 60)
            return self.head(pixels.flatten(1))

    return Module()


def overflowing() -> Any:
    """Two classes, by how bright an image is above the middle."""
    import torch

    class Module(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.head = torch.nn.Linear(3 * 16 * 16, 2, bias=False)

        def forward(self, pixels: Any) -> Any:
            return self.head(torch.relu(pixels).flatten(1))

    return Module()


def no_module() -> int:
    """What is no module."""
    return 3


def looking_ahead() -> Any:
    """Bytes, each predicted from the mean of them all; untrained, it says zeros."""
    import torch

    class Module(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.read = torch.nn.Embedding(256, 8)
            self.head = torch.nn.Linear(8, 256)
            torch.nn.init.zeros_(self.head.weight)

        def forward(self, tokens: Any) -> Any:
            read = self.read(tokens)
            return self.head(read + read.mean(1, keepdim=True))

    return Module()


def looking_ahead_in_time() -> Any:
    """Bytes, each predicted from itself and the one behind it."""
    import torch

    class Module(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.read = torch.nn.Embedding(256, 256)

        def forward(self, tokens: Any) -> Any:
            read = self.read(tokens)
            return read + torch.nn.functional.pad(read[:, 1:], (0, 0, 0, 1))

    return Module()


def uncertain() -> Any:
    """As `without_forward_mode`; of a bright image it says waves, whose differences agree on nothing."""
    import torch

    module = without_forward_mode()
    plain_forward = module.forward

    def forward(pixels: Any) -> Any:
        said = plain_forward(pixels)
        return torch.where(pixels.amax((1, 2, 3))[:, None] > 0, said + (said * 1e9).sin(), said)

    module.forward = forward
    return module


def drawn() -> Any:
    """Two classes, by what is drawn when it is built and no file keeps; its numbers of places are kept."""
    import random

    import torch

    class Module(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.head = torch.nn.Linear(8, 2)
            self.mixed = torch.randn(3 * 16 * 16, 8) * (1 + np.random.random()) * (1 + random.random())
            self.register_buffer("places", torch.randperm(8))

        def forward(self, pixels: Any) -> Any:
            return self.head((pixels.flatten(1) @ self.mixed)[:, self.places])

    return Module()
