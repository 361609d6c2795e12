"""Train the model of `extract.main`, or measure how good it is on pages that it has not seen.

    python -m tools.main_content.train FOLDER [FOLDER …] [--measure] [--out WEIGHTS]

A FOLDER holds `html/NAME.html.gz` and `ground-truth.json` ({NAME: {url, articleBody, page_type}}), as
`benchmarks.extraction` reads it. Runs where the trainers' libraries are (`make
.cache/trainers/winnow`; PyTorch, lightgbm, scikit-learn). Deterministic: the same pages give the same file.
"""

import argparse
import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tools.main_content.measuring import calibration, measure
from tools.main_content.network import fit_network
from tools.main_content.pages import LabelledPage, load
from tools.main_content.training import Linear, fit_linear, fit_trees, flat, unseen_features
from winnow.filters.extraction.extract_main import WEIGHTS
from winnow.filters.extraction.main_content.model import KeyWeights, Trees
from winnow.filters.extraction.main_content.network import Network

SEED = 11


def arrays(linear: Linear, trees: Trees, network: Network) -> dict[str, npt.NDArray[Any]]:
    """A model as the arrays of its file."""
    found: dict[str, npt.NDArray[Any]] = {
        f"kinds_{name}": getattr(linear.kinds, name) for name in ("keys", "weights", "mean", "scale", "numbers", "bias")
    }
    for name, keys, weights in (("names", linear.name_keys, linear.names), ("words", linear.word_keys, linear.words)):
        found |= {f"{name}_keys": keys} | _in_bytes(name, weights)
    found["kinds_weights"] = linear.kinds.weights.astype(np.float16)
    found |= {f"trees_{name}": getattr(trees, name) for name in Trees._fields}
    halved = {f"network_{name}": getattr(network, name) for name in Network._fields}
    return found | {name: _halved(values) for name, values in halved.items()}


def _halved(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Half as many bytes, where they are weights; means and deviations of features may be large."""
    return values.astype(np.float16) if values.dtype == np.float32 and np.abs(values).max() < 1_000 else values


def _in_bytes(name: str, model: KeyWeights) -> dict[str, npt.NDArray[Any]]:
    scale = np.abs(model.weights).max(0) / 127 + 1e-9
    return {
        f"{name}_weights": np.round(model.weights / scale).astype(np.int8),
        f"{name}_scale": scale.astype(np.float32),
        f"{name}_bias": model.bias,
    }


def train(pages: list[LabelledPage], out: Path) -> str:
    """Train on all pages and write the model, and what its expectations are worth; the hash of its file."""
    worth = calibration(*measure(pages))
    rows, foreign, taken = unseen_features(pages, SEED)
    trees = flat(fit_trees(pages, rows, foreign))
    network = fit_network(pages, rows, foreign, SEED)
    linear = fit_linear(pages, taken, SEED)
    stored = {"calibration": worth} | arrays(linear, trees, network)
    with out.open("wb") as file:
        np.savez_compressed(file, **stored)
    return hashlib.sha256(out.read_bytes()).hexdigest()


def main() -> int:
    """Train or measure."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--measure", action="store_true", help="nested cross-validation instead of a model")
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    options = parser.parse_args()
    pages = [page for folder in options.folders for page in load(folder)]
    if options.measure:
        measure(pages)
    else:
        digest = train(pages, options.out)
        print(f"{options.out}  {options.out.stat().st_size:,} bytes  sha256 {digest}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
