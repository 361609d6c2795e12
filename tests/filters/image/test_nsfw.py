"""`image.nsfw`: its network beside TensorFlow.js, benign photographs, and classifiers of other people."""

from pathlib import Path

import numpy as np
import pytest

from tests.filters.image.networks import loaded, node_peer, photograph
from tests.filters.image.test_quality import batch, noise
from tests.messages import assert_refused
from winnow.filters.image.models.framing import Framing
from winnow.filters.image.models.networks import PictureNetwork
from winnow.filters.image.models.nsfwjs import CLASSES, FRAMING, MODEL
from winnow.filters.image.models.open_nsfw import FRAMING as OPEN_NSFW
from winnow.filters.models.onnx.writing import OnnxGraph
from winnow.filters.operators import Assets, find_operator
from winnow.filters.presets import find_preset
from winnow.pipelines.assets import AssetError, AssetFiles, lookup
from winnow.schemas.errors import RecipeError

CLASSIFY = """
const { readFileSync } = require("fs");
const tf = require("@tensorflow/tfjs");
const wasm = require("@tensorflow/tfjs-backend-wasm");
wasm.setWasmPaths(require.resolve("@tensorflow/tfjs-backend-wasm").replace(/[^/]*$/, ""));
(async () => {
  await tf.setBackend("wasm");
  const model = await require("nsfwjs").load("InceptionV3", { size: 299 });
  const [file, height, width] = process.argv.slice(1);
  const pixels = tf.tensor3d(new Uint8Array(readFileSync(file)), [Number(height), Number(width), 3], "int32");
  const found = (await model.classify(pixels, 5)).map((one) => [one.className.toLowerCase(), one.probability]);
  console.log(JSON.stringify(Object.fromEntries(found)));
})();
"""
TFJS = [0.00404777, 0.00063444, 0.99305058, 0.00204068, 0.00022660]  # @tensorflow/tfjs 4.22.0, on the input below


def test_the_network_gives_what_tensorflow_js_gives() -> None:
    runtime = pytest.importorskip("onnxruntime", reason="needs the extra `image-models`")
    try:
        path = lookup(MODEL.name)
    except AssetError as error:
        pytest.skip(str(error))
    given = np.random.default_rng(1).random((1, 3, 299, 299), dtype=np.float32)
    (found,) = runtime.InferenceSession(path).run(None, {"pixels": given})
    assert found[0].tolist() == pytest.approx(TFJS, abs=1e-5)
    assert PictureNetwork("image.nsfw", path, FRAMING).shapes == ((len(CLASSES),),)


@pytest.mark.peers
def test_a_photograph_is_classified_as_nsfwjs_itself_does_on_tensorflow_js(tmp_path: Path) -> None:
    face = photograph("astronaut")
    (tmp_path / "pixels").write_bytes(face.tobytes())
    theirs = node_peer("nsfwjs", CLASSIFY, str(tmp_path / "pixels"), *map(str, face.shape[:2]))
    (ours,) = loaded("image.nsfw")(batch(face)).to_pylist()
    assert {name: ours[name] for name in CLASSES} == pytest.approx(theirs, abs=2e-3)  # they shrink with another filter


def test_benign_photographs_are_neutral_and_classes_sum_to_one() -> None:
    found = loaded("image.nsfw")(batch(photograph("astronaut"), noise(40, 700), noise(1, 1))).to_pylist()
    for row in found:
        assert row["status"] == "ok"
        assert sum(row[name] for name in CLASSES) == pytest.approx(1, abs=1e-3)
        assert row["score"] == pytest.approx(row["hentai"] + row["porn"], abs=1e-4)
    assert found[0]["score"] < 0.05
    assert max(CLASSES, key=found[0].__getitem__) == "neutral"


def test_the_second_classifier_says_what_its_own_code_says_of_the_same_picture() -> None:
    """Its own: squeezed to 256 pixels without a margin of 16, levels of blue, green and red less their means."""
    settings = dict(find_preset("nsfw@yahoo").operators["image.nsfw"])
    framing = Framing(**{**settings.pop("framing"), "mean": OPEN_NSFW.mean, "deviation": OPEN_NSFW.deviation})  # type: ignore[dict-item, arg-type]
    kernel = loaded("image.nsfw", **{**settings, "classes": ("sfw", "nsfw"), "unsafe": ("nsfw",), "framing": framing})
    image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")
    runtime = pytest.importorskip("onnxruntime", reason="needs the extra `image-models`")
    session = runtime.InferenceSession(lookup("open-nsfw"))
    for picture in (photograph("astronaut"), photograph("astronaut")[:200], noise(90, 120)):
        small = image.fromarray(picture).resize((256, 256), image.Resampling.BILINEAR).crop((16, 16, 240, 240))
        given = np.asarray(small, np.float32)[:, :, ::-1] - np.array([104, 117, 123], np.float32)
        (theirs,) = session.run(None, {session.get_inputs()[0].name: np.ascontiguousarray(given)[None]})
        (ours,) = kernel(batch(picture)).to_pylist()
        assert ours["sfw"] + ours["nsfw"] == pytest.approx(1, abs=1e-3)
        assert ours["score"] == pytest.approx(float(theirs[0, 1]), abs=0.05)


def test_a_picture_has_the_same_scores_whatever_is_beside_it() -> None:
    measure, face = loaded("image.nsfw"), photograph("astronaut")
    assert measure(batch(noise(64, 64), face)).to_pylist()[1:] == measure(batch(face)).to_pylist()


class Files:
    """The user's own file."""

    def __init__(self, path: Path) -> None:
        self.file = str(path)

    def path(self, name: str) -> str:
        assert name == "own"
        return self.file


def own(folder: Path, numbers: list[float]) -> Assets:
    """A classifier that says the same of every picture."""
    graph = OnnxGraph("own")
    pooled = graph.node("Flatten", graph.node("GlobalAveragePool", graph.input("seen", ("n", 3, 8, 8))), axis=1)
    zeros = graph.constant("zeros", np.zeros((3, len(numbers)), np.float32))
    scores = graph.node("Gemm", pooled, zeros, graph.constant("scores", np.array(numbers, np.float32)), name="given")
    graph.output(scores, ("n", len(numbers)))
    (folder / "own.onnx").write_bytes(graph.to_bytes())
    return Files(folder / "own.onnx")


def test_a_classifier_of_ones_own_has_its_own_classes(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="needs the extra `image-models`")
    operator = find_operator("image.nsfw")
    frame = {"side": 8, "fit": "stretch"}
    config = operator.config(
        model="own",
        classes=("sfw", "nsfw"),
        unsafe=("nsfw",),
        framing=type(FRAMING)(**frame),  # type: ignore[arg-type]
    )
    (found,) = operator.load(config, own(tmp_path, [0.75, 0.25]))(batch(noise(20, 20))).to_pylist()
    assert found == {"status": "ok", "score": 0.25, "sfw": 0.75, "nsfw": 0.25}
    (found,) = operator.load(config, own(tmp_path, [0.75, np.nan]))(batch(noise(20, 20))).to_pylist()
    assert found == {"status": "not_finite", "score": None, "sfw": None, "nsfw": None}
    with assert_refused(RecipeError, "3 numbers", "`classes`", "2"):
        operator.load(config, own(tmp_path, [0.5, 0.25, 0.25]))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"unsafe": ("nude",)}, "`unsafe` … `classes`"),
        ({"classes": ("porn", "score"), "unsafe": ("porn",)}, "expected different … `score`"),
    ],
)
def test_classes_that_make_no_sense_are_refused(settings: dict[str, tuple[str, ...]], said: str) -> None:
    operator = find_operator("image.nsfw")
    try:
        lookup(MODEL.name)
    except AssetError as error:
        pytest.skip(str(error))
    with assert_refused(RecipeError, said):
        operator.load(operator.config(**settings), AssetFiles())
