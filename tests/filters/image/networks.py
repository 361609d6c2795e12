"""What tests of networks on pictures share: real pictures, winnow's models, and the peers' own code."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.measuring.environments import PEERS
from winnow.filters.operators import Kernel, find_operator
from winnow.pipelines.assets import AssetError, AssetFiles, lookup

PICTURES = Path(__file__).parent / "pictures"


def photograph(name: str) -> NDArray[np.uint8]:
    """A picture of the repository, decoded."""
    decoder = pytest.importorskip("simplejpeg", reason="needs the extra `image-models`")
    found: NDArray[np.uint8] = decoder.decode_jpeg((PICTURES / f"{name}.jpg").read_bytes(), "RGB")
    return found


def loaded(name: str, **settings: Any) -> Kernel:
    """An operator's kernel; the test is skipped, with what to run, where its package or model is missing."""
    pytest.importorskip("onnxruntime", reason="needs the extra `image-models`")
    operator = find_operator(name)
    config = operator.config(**settings)
    for asset in operator.assets(config):
        try:
            lookup(asset)
        except AssetError as error:
            pytest.skip(str(error))
    return operator.load(config, AssetFiles())


def peer(code: str, *arguments: str) -> Any:
    """What a program of the peers' environment prints; skipped where that has not been made."""
    python = PEERS / "picture-networks" / "bin" / "python"
    if not (PEERS / "picture-networks" / "ready").exists():
        pytest.skip("needs the peers' environment: python -m benchmarks.pictures.networks makes it")
    done = subprocess.run([python, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def node_peer(name: str, code: str, *arguments: str) -> Any:
    """What a program prints that runs on Node.js among a peer's packages; skipped where they have not been fetched."""
    folder = PEERS / name
    if not (folder / "ready").exists():
        pytest.skip("needs the peers' environments: python -m benchmarks.pictures.networks makes them")
    done = subprocess.run(["node", "-e", code, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])
