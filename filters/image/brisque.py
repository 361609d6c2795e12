"""BRISQUE, a score of distortion without a reference: low for clean photographs, high for blurred or noisy ones.

"No-Reference Image Quality Assessment in the Spatial Domain" (Mittal, Moorthy and Bovik 2012): how far the statistics
of neighbouring luma, with local mean and contrast removed, are from those of natural pictures, at two scales. The 36
numbers go to the support vector regression of the package `brisque` 0.2.0. Scores of drawings and screenshots mean
nothing, as these are not natural pictures.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.image.decode.batches import pixels_of
from winnow.filters.operators import STATUS, Assets, Kernel, PictureOperator
from winnow.schemas.assets import Asset
from winnow.schemas.errors import RecipeError
from winnow.schemas.kernels import kernel, leaf

TOO_SMALL, FLAT = "too_small", "flat"
MODEL: Final = "brisque"
LEAST_SIDE: Final = 16  # a smaller picture has too few neighbours at half the size

WRITES = pa.schema([STATUS, pa.field("score", pa.float64())])  # about 0 to 100, clean to distorted

_FEATURES: Final = 36
_TAPS: Final = 7  # of a Gaussian window
_SIGMA: Final = 7 / 6
_CUBIC: Final = (-0.09375, 0.59375, 0.59375, -0.09375)  # halving by bicubic interpolation, as OpenCV does
_LUMA: Final = (0.2125, 0.7154, 0.0721)
_LOW: Final = (  # the range of each feature in the training set
    *(0.336999, 0.019667, 0.23, -0.125959, 0.000167, 0.000616, 0.231, -0.125873, 0.000165, 0.0006, 0.241, -0.128814),
    *(
        0.000179,
        0.000386,
        0.243,
        -0.13308,
        0.000182,
        0.000421,
        0.436998,
        0.016929,
        0.247,
        -0.200231,
        0.000104,
        0.000834,
    ),
    *(0.257, -0.200017, 0.000112, 0.000876, 0.257, -0.155072, 0.000112, 0.000356, 0.258, -0.154374, 0.000117, 0.000351),
)
_HIGH: Final = (
    *(9.999411, 0.807472, 1.644021, 0.202917, 0.712384, 0.468672, 1.644021, 0.169548, 0.713132, 0.467896, 1.553016),
    *(
        0.101368,
        0.687324,
        0.533087,
        1.554016,
        0.101,
        0.689177,
        0.533133,
        3.639918,
        0.800955,
        1.096995,
        0.175286,
        0.755547,
    ),
    *(0.39927, 1.095995, 0.155928, 0.751488, 0.402398, 1.041992, 0.093209, 0.623516, 0.532925, 1.042992, 0.093714),
    *(0.621958, 0.534484),
)


@dataclass(frozen=True, slots=True)
class BrisqueConfig:
    """Nothing to set: the score is defined at a picture's own size."""


@dataclass(frozen=True)
class Regression:
    """A support vector regression with a Gaussian kernel."""

    vectors: NDArray[np.float64]  # one per row
    weights: NDArray[np.float64]
    gamma: float
    offset: float

    def predict(self, features: NDArray[np.float64]) -> float:
        """The value at a point."""
        apart = ((self.vectors - features) ** 2).sum(axis=1)
        return math.fsum((self.weights * np.exp(-self.gamma * apart)).tolist()) - self.offset


def read_regression(text: str, where: str) -> Regression:
    """Read a model in libsvm's format; RecipeError if it is of another kind."""
    head, _, rows = text.partition("\nSV\n")
    said = dict(line.split(maxsplit=1) for line in head.splitlines() if " " in line)
    try:
        if (said["svm_type"], said["kernel_type"]) != ("epsilon_svr", "rbf"):
            raise ValueError(f"{said['svm_type']} with {said['kernel_type']}")
        read = [row.split() for row in rows.splitlines()]
        vectors = [[float(part.partition(":")[2]) for part in row[1:]] for row in read]
        weights = [float(row[0]) for row in read]
        held = np.array(vectors, np.float64).reshape(len(weights), _FEATURES)
        return Regression(held, np.array(weights), float(said["gamma"]), float(said["rho"]))
    except (KeyError, ValueError, IndexError) as error:
        raise RecipeError(f"{where}: not a regression of {_FEATURES} features as libsvm writes it ({error})") from None


def brisque(batch: pa.RecordBatch, model: Regression) -> pa.RecordBatch:
    """The layer of `winnow.filters.operators.IMAGES`."""
    statuses: list[str] = []
    scores: list[float | None] = []
    low, high = np.array(_LOW), np.array(_HIGH)
    for pixels in pixels_of(batch):
        if min(pixels.shape[:2]) < LEAST_SIDE:
            statuses.append(TOO_SMALL)
            scores.append(None)
            continue
        features = natural_features(pixels)
        measured = bool(np.isfinite(features).all())
        statuses.append("ok" if measured else FLAT)
        scaled = 2 * (features - low) / (high - low) - 1
        scores.append(round(model.predict(scaled), 4) if measured else None)  # powers differ by machine
    return pa.RecordBatch.from_arrays([pa.array(statuses, pa.string()), pa.array(scores, pa.float64())], schema=WRITES)


def natural_features(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """The 36 statistics of a picture; not finite where it is flat."""
    red, green, blue = np.array(_LUMA) / 255
    grey = pixels[:, :, 0] * red + pixels[:, :, 1] * green + pixels[:, :, 2] * blue
    around = np.exp(-((np.arange(_TAPS) - _TAPS // 2) ** 2) / (2 * _SIGMA**2))
    around /= around.sum()
    return np.array(_statistics(grey, around) + _statistics(_halved(grey, np.array(_CUBIC)), around))


@kernel
def _halved(grey, taps):  # type: ignore[no-untyped-def]
    """Every second pixel of each axis, rounding halves to even sizes as OpenCV; borders are repeated."""
    height, width = grey.shape
    rows, columns = round(height / 2), round(width / 2)
    narrow = np.empty((height, columns))
    for y in range(height):
        for x in range(columns):
            total = 0.0
            for tap in range(4):
                total += taps[tap] * grey[y, min(max(2 * x - 1 + tap, 0), width - 1)]
            narrow[y, x] = total
    half = np.empty((rows, columns))
    for y in range(rows):
        for x in range(columns):
            total = 0.0
            for tap in range(4):
                total += taps[tap] * narrow[min(max(2 * y - 1 + tap, 0), height - 1), x]
            half[y, x] = total
    return half


def _statistics(grey: NDArray[np.float64], around: NDArray[np.float64]) -> list[float]:
    """18 statistics at one scale: of the contrast-free luma, and of its products with four neighbours."""
    plain = _contrast_free(grey, around)
    alpha, _, left, right = _fitted(plain, 0, 0)
    found = [alpha, (left * left + right * right) / 2]
    for down, across in ((0, 1), (1, 0), (1, 1), (1, -1)):
        alpha, mean, left, right = _fitted(plain, down, across)
        found += [alpha, mean, left * left, right * right]
    return found


@kernel
def _contrast_free(grey, around):  # type: ignore[no-untyped-def]
    """Each pixel minus its neighbourhood's mean, divided by its neighbourhood's deviation; borders count as 0."""
    height, width = grey.shape
    reach = len(around) // 2
    means, squares = np.zeros((height, width)), np.zeros((height, width))
    for y in range(height):
        for tap in range(len(around)):
            other = y + tap - reach
            if 0 <= other < height:
                weight = around[tap]
                for x in range(width):
                    value = grey[other, x]
                    means[y, x] += weight * value
                    squares[y, x] += weight * value * value
    plain = np.empty((height, width))
    for y in range(height):
        for x in range(width):
            mean = square = 0.0
            for tap in range(len(around)):
                other = x + tap - reach
                if 0 <= other < width:
                    mean += around[tap] * means[y, other]
                    square += around[tap] * squares[y, other]
            plain[y, x] = (grey[y, x] - mean) / (math.sqrt(abs(mean * mean - square)) + 1 / 255)
    return plain


@kernel
def _fitted(plain, down, across):  # type: ignore[no-untyped-def]
    """An asymmetric generalised Gaussian fitted to products with a neighbour, or to the values themselves.

    Returns its shape, its mean, and its deviations to the left and to the right.
    """
    height, width = plain.shape
    absolute = square = left = right = 0.0
    lefts = rights = 0
    for y in range(height - down):
        for x in range(max(-across, 0), width - max(across, 0)):
            value = plain[y, x]
            if down or across:
                value *= plain[y + down, x + across]
            absolute += abs(value)
            square += value * value
            if value < 0:
                left += value * value
                lefts += 1
            else:
                right += value * value
                rights += 1
    count = lefts + rights
    if not lefts or not rights or left == 0 or right == 0:
        return np.nan, np.nan, np.nan, np.nan
    left, right = math.sqrt(left / lefts), math.sqrt(right / rights)
    skew = left / right
    wanted = (absolute / count) ** 2 / (square / count)
    wanted *= (skew**3 + 1) * (skew + 1) / (skew * skew + 1) ** 2
    alpha = _shape(wanted)
    constant = math.exp((math.lgamma(1 / alpha) - math.lgamma(3 / alpha)) / 2)
    mean = (right - left) * constant * math.exp(math.lgamma(2 / alpha) - math.lgamma(1 / alpha))
    return alpha, mean, left, right


@leaf
def _shape(wanted):  # type: ignore[no-untyped-def]
    """The shape with this ratio of moments, by bisection: the ratio grows with the shape."""
    low, high = 0.05, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        ratio = math.exp(2 * math.lgamma(2 / middle) - math.lgamma(1 / middle) - math.lgamma(3 / middle))
        if ratio < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _load(_config: BrisqueConfig, assets: Assets) -> Kernel:
    path = assets.path(MODEL)
    with open(path, encoding="ascii") as model:
        return partial(brisque, model=read_regression(model.read(), path))


OPERATOR = PictureOperator(
    name="image.brisque",
    version=1,
    summary="distortion of each photograph without a reference: blur, noise, compression",
    config=BrisqueConfig,
    writes=lambda _: WRITES,
    load=_load,
    assets=lambda _: (MODEL,),
    declares=(
        Asset(
            name=MODEL,
            summary="support vectors of BRISQUE",
            registry="pip",
            package="brisque==0.2.0",
            member="brisque/models/svm.txt",
            size_bytes=351_414,
            sha256="19526fb799c4c7992ccc109fcfecddb25976ba024b194cd3ee275d27e8909c8d",
            licence="Apache-2.0",
        ),
    ),
    reasons=(TOO_SMALL, FLAT),
)
