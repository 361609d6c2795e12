"""Task `image_classifier`: the cross-entropy of each image's label under a network that reads pixels.

Rows give a picture in `image` and a label in another column. The network is one of the small ones here, or a
PyTorch module that a function of the user's makes, from images × 3 × height × width to images × classes.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.schemas.errors import ScoreError
from winnow.schemas.recipe.checks import Between
from winnow.scoring.mimic.models import Batch, Parameters, SampleModel
from winnow.scoring.protocol import IMAGE, OK, Encoded, Files, TaskKind
from winnow.scoring.tasks.labels import label_problems, numbered_labels
from winnow.scoring.torch_models.base import TorchTask
from winnow.scoring.torch_models.blocks import Size
from winnow.scoring.torch_models.examples import Examples
from winnow.scoring.torch_models.identity import function_identity
from winnow.scoring.torch_models.networks import Network, network_of, output_shape
from winnow.scoring.torch_models.packages import versions
from winnow.scoring.torch_models.pictures import squares_of
from winnow.scoring.torch_models.runtime import TorchRuntime, at_least_float32, kind_of
from winnow.scoring.torch_models.vision import convolutions, no_image, normalised, patches

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

NAME: Final = "image_classifier"


@dataclass(frozen=True, slots=True)
class ImageClassifierConfig:
    """The inputs and the network."""

    label: str = ""  # a dotted column of strings, integers or booleans; must be given
    label_folder: bool = False  # the column has paths, such as samples.source.path; the label is the file's folder
    label_key: str = ""  # the column has JSON objects, such as samples.metadata; the label is at this key
    labels: tuple[bool | int | str, ...] = ()  # the classes, in the order of the network's outputs; must be given
    architecture: str = "convolutions"
    """winnow's: `convolutions` and `patches` are small ones of its own; or `module:function` of the user's."""
    network: Size = field(default_factory=Size)  # of a small one; `convolutions` take its width alone
    size: Annotated[int, Between(8, 4_096)] = 224  # the paper's: pixels per side
    patch: Annotated[int, Between(1, 512)] = 16  # the paper's ViT-B/16: pixels per side, of `patches`
    mean: Annotated[float, Between(-1e6, 1e6)] = 0.5  # the paper's: subtracted from each colour of 0 to 1
    deviation: Annotated[float, Between(1e-6, 1e6)] = 0.5  # the paper's: divisor after subtracting the mean
    running: TorchRuntime = field(default_factory=TorchRuntime)  # where it computes


class ImageClassifier(TorchTask):
    """Images with labels."""

    name = NAME

    def __init__(self, config: ImageClassifierConfig, network: Network) -> None:
        self._config = config
        super().__init__(network, config.running, SampleModel(self._losses))

    @property
    def reads(self) -> tuple[str, ...]:
        """The image and its label."""
        return _reads(self._config)

    @property
    def side(self) -> int:
        """The pixels per side of the pictures that it reads."""
        return self._config.size

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        """Read rows with a known label and a picture."""
        numbers, reasons = numbered_labels(rows[self._config.label], self._config, NAME)
        status, pixels = squares_of(rows[IMAGE], reasons == OK, self._config.size)
        status = np.where(status == OK, reasons, status)
        numbers = numbers[status == OK]
        examples = Examples(len(numbers), pixels=pixels, labels=numbers)
        return Encoded(status, examples, examples.count)

    def mismatched(self, examples: Examples) -> tuple[Examples, NDArray[np.bool_]]:
        """Give each example the label of the one before it, and say which ones that changes."""
        assert examples.labels is not None
        labels = np.roll(examples.labels, 1)
        return replace(examples, labels=labels), labels != examples.labels

    def batch(self, examples: Examples) -> Batch:
        """Pixels as bytes, and labels."""
        import torch

        assert examples.pixels is not None
        assert examples.labels is not None
        return torch.from_numpy(examples.pixels), torch.from_numpy(examples.labels)

    def _losses(self, weights: Parameters, batch: Batch) -> "Tensor":
        import torch

        pixels, labels = batch
        given = normalised(pixels, self._config.mean, self._config.deviation, kind_of(weights))
        said = self.network.forward(dict(weights), given)
        return torch.nn.functional.cross_entropy(at_least_float32(said), labels, reduction="none")


def _reads(config: ImageClassifierConfig) -> tuple[str, ...]:
    return (IMAGE, config.label)


def _load(config: ImageClassifierConfig, _files: Files) -> ImageClassifier:
    config.running.ready(NAME)
    if problems := label_problems(config):
        raise ScoreError(f"task {NAME}: {problems[0]}")
    return ImageClassifier(config, _network(config))


def _network(config: ImageClassifierConfig) -> Network:
    classes = len(config.labels)
    if config.architecture == "convolutions":
        return convolutions(config.network.width, classes)
    if config.architecture == "patches":
        return patches(config.network, config.size, config.patch, classes)
    running = config.running
    made = network_of(config.architecture, running)
    image = normalised(no_image(config.size, running.device), config.mean, config.deviation, running.placement.dtype)
    output_shape(
        made, running, (image,), (1, classes), f"{config.architecture}: of one image of {config.size} pixels a side"
    )
    return made


TASK = TaskKind(
    name=NAME,
    version=2,
    summary="Images with labels: the cross-entropy under a network that reads pixels.",
    config=ImageClassifierConfig,
    load=_load,
    reads=_reads,
    depends=lambda config: (*versions("torch"), *function_identity(config.architecture)),
    resource="model",
    adapts=True,
)
