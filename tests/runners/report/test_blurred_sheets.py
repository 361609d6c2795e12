"""What `winnow report` shows of pictures that a classifier calls unsafe, or could not measure: blocks of colour."""

import base64
import io
import re
from pathlib import Path

import numpy as np
import pytest

from tests.faults.winnow import ended, run_here
from winnow.filters.models.onnx.writing import OnnxGraph

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")
pytest.importorskip("onnxruntime", reason="needs the extra `image-models`")

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  pictures: {root: pictures, files: ["*"], class: public}
annotate:
  - image.nsfw:
      {model: red.onnx, classes: [sfw, nsfw], unsafe: [nsfw],
       framing: {side: 8, fit: stretch, mean: [0, 0, 0], deviation: [1, 1, 1]}}
"""
FIGURE = re.compile(r"<figure>.*?base64,([^\"]+)\".*?([a-z]+)\.png.*?</figure>", re.S)
EDGES = 15
"""Between neighbours in noise the mean difference is larger, in blocks of colour smaller."""


def classifier(path: Path) -> None:
    """A network that calls a picture as unsafe as it is red, and gives no number for one without red."""
    graph = OnnxGraph("red")
    means = graph.node("Flatten", graph.node("GlobalAveragePool", graph.input("seen", ("n", 3, 8, 8))), axis=1)
    weights = graph.constant("weights", np.array([[-1, 1], [0, 0], [0, 0]], np.float32))
    said = graph.node("Gemm", means, weights, graph.constant("bias", np.array([1, 0], np.float32)))
    graph.output(graph.node("Mul", said, graph.node("Div", said, said), name="scores"), ("n", 2))
    path.write_bytes(graph.to_bytes())


def edges_of_pictures(folder: Path, *options: str) -> dict[str, float]:
    """The mean difference between neighbours in each picture of the sheet, by name."""
    ended(run_here(folder, "report", "recipe.yaml", "--contact-sheet", "random", "--output", "page.html", *options))
    page = (folder / "page.html").read_text("utf-8")
    sheet = page[page.index('<section id="contact-sheets"') :].partition("</section>")[0]
    found = {}
    for jpeg, name in FIGURE.findall(sheet):
        with Image.open(io.BytesIO(base64.b64decode(jpeg))) as picture:
            found[name] = float(np.abs(np.diff(np.asarray(picture.convert("L"), np.float64), axis=1)).mean())
    return found


def test_a_sheet_blurs_what_is_unsafe_or_was_not_measured_unless_asked(tmp_path: Path) -> None:
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    noise = np.random.default_rng(7).integers(0, 256, (150, 200, 3), dtype=np.uint8)
    for name, redness in (("unsafe", 1.0), ("safe", 0.1), ("unmeasured", 0.0)):
        Image.fromarray((noise * [redness, 1, 1]).astype(np.uint8)).save(pictures / f"{name}.png")
    classifier(tmp_path / "red.onnx")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "1"))

    assert {name: seen > EDGES for name, seen in edges_of_pictures(tmp_path).items()} == {
        "unsafe": False,
        "safe": True,
        "unmeasured": False,
    }
    assert min(edges_of_pictures(tmp_path, "--unblurred").values()) > EDGES
