"""What `winnow report` shows of what a classifier calls unsafe, or could not measure: blocks of colour.

So it is of pictures, and of clips: of one film a part may be seen, and another not.
"""

import base64
import io
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from tests.faults.winnow import ended, run_here
from tests.filters.video.films import av
from tests.runners.test_annotate import table
from winnow.filters.models.onnx.writing import OnnxGraph

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")
pytest.importorskip("onnxruntime", reason="needs the extra `image-models`")

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  pictures: {root: pictures, files: ["*"], class: public}
annotate:
  - image.nsfw: NETWORK
"""
FILMS = """
version: 1
store: {path: films-store, seed: 7}
sources:
  films: {root: films, files: ["*"], class: public}
annotate: [video.shots]
"""
CLIPS = """
version: 1
store: {path: store, seed: 7}
sources:
  shots: {root: films.yaml, files: [films], format: clips, class: public, clips: {min_seconds: 0.5}}
annotate:
  - video.nsfw: {every_seconds: 0.5, image: NETWORK}
"""
NETWORK = """{model: red.onnx, classes: [sfw, nsfw], unsafe: [nsfw],
    framing: {side: 8, fit: stretch, mean: [0, 0, 0], deviation: [1, 1, 1]}}"""
FIGURE = re.compile(r"<figure[^>]*>.*?base64,([^\"]+)\".*?(?:picture|frames of) ([0-9a-f]+).*?</figure>", re.S)
Name = TypeVar("Name")
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


def edges(folder: Path, recipe: str, *options: str) -> dict[str, float]:
    """The mean difference between neighbours in each picture of the sheet, by the beginning of its sample's id."""
    ended(run_here(folder, "report", recipe, "--contact-sheet", "random", "--output", "page.html", *options))
    page = (folder / "page.html").read_text("utf-8")
    sheet = page[page.index('<section id="contact-sheets"') :].partition("</section>")[0]
    found = {}
    for jpeg, sample in FIGURE.findall(sheet):
        with Image.open(io.BytesIO(base64.b64decode(jpeg))) as picture:
            found[sample] = float(np.abs(np.diff(np.asarray(picture.convert("L"), np.float64), axis=1)).mean())
    return found


def named(names: Mapping[str, Name], beginning: str) -> Name:
    """What the sample is called whose id begins so."""
    (found,) = (name for sample, name in names.items() if sample.startswith(beginning))
    return found


def test_a_sheet_blurs_what_is_unsafe_or_was_not_measured_unless_asked(tmp_path: Path) -> None:
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    noise = np.random.default_rng(7).integers(0, 256, (150, 200, 3), dtype=np.uint8)
    for name, redness in (("unsafe", 1.0), ("safe", 0.1), ("unmeasured", 0.0)):
        Image.fromarray((noise * [redness, 1, 1]).astype(np.uint8)).save(pictures / f"{name}.png")
    classifier(tmp_path / "red.onnx")
    (tmp_path / "recipe.yaml").write_text(RECIPE.replace("NETWORK", NETWORK))
    ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "1"))

    names = {row["id"].hex(): row["source"]["path"] for row in table(tmp_path, "samples").to_pylist()}
    seen = {named(names, one): found > EDGES for one, found in edges(tmp_path, "recipe.yaml").items()}
    assert seen == {"unsafe.png": False, "safe.png": True, "unmeasured.png": False}
    assert min(edges(tmp_path, "recipe.yaml", "--unblurred").values()) > EDGES


def test_copies_side_by_side_are_blurred_unless_asked(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    noise = np.random.default_rng(7).integers(0, 256, (150, 200, 3), dtype=np.uint8)
    for name in ("one", "same"):
        Image.fromarray(noise).save(tmp_path / f"pictures/{name}.png")
    classifier(tmp_path / "red.onnx")
    (tmp_path / "recipe.yaml").write_text(RECIPE.replace("NETWORK", NETWORK) + "dedupe: {image_bytes: {}}\n")
    ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "1"))

    for options, blurred in (((), 2), (("--unblurred",), 0)):
        ended(run_here(tmp_path, "report", "recipe.yaml", "--output", "page.html", *options))
        shown = re.findall(
            r'<img [^>]*alt="item [0-9a-f]+( \(blurred\))?"', (tmp_path / "page.html").read_text("utf-8")
        )
        assert (len(shown), sum(map(bool, shown))) == (2, blurred)


def noisy_film(path: Path) -> None:
    """A second of red noise, one of noise with little red, and one with none."""
    with av.open(str(path), "w", format="matroska") as container:
        stream: Any = container.add_stream("ffv1", rate=10, options={"threads": "1"})
        stream.width, stream.height, stream.pix_fmt = 96, 72, "yuv444p"
        for number in range(30):
            noise = np.random.default_rng(number // 10).integers(0, 256, (72, 96, 3), dtype=np.uint8)
            shades = [(1.0, 1, 1), (0.1, 1, 1), (0, 1, 1)][number // 10]
            frame = av.VideoFrame.from_ndarray((noise * shades).astype(np.uint8), "rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 10)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def test_of_one_film_an_unsafe_clip_is_blurred_and_another_is_not(tmp_path: Path) -> None:
    (tmp_path / "films").mkdir()
    noisy_film(tmp_path / "films" / "film.mkv")
    classifier(tmp_path / "red.onnx")
    for name, recipe in (("films.yaml", FILMS), ("clips.yaml", CLIPS)):
        (tmp_path / name).write_text(recipe.replace("NETWORK", NETWORK))
        ended(run_here(tmp_path, "run", name, "--workers", "1"))

    clips = table(tmp_path, "samples").to_pylist()
    starts = {row["id"].hex(): row["media"][0]["clip"]["start"] for row in clips}
    seen = {named(starts, one): found > EDGES for one, found in edges(tmp_path, "clips.yaml").items()}
    assert seen == {0: False, 1000: True, 2000: False}
    assert min(edges(tmp_path, "clips.yaml", "--unblurred").values()) > EDGES
