"""Vectors of pictures: the published features, and encoders of the user's own."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from tests.filters.image.networks import loaded, photograph
from tests.filters.image.test_quality import batch, noise
from tests.messages import assert_refused
from winnow.filters.image.decode.shrink import shrink
from winnow.filters.image.models.framing import Framing
from winnow.filters.models.conversion.torch_files import read_arrays
from winnow.filters.models.onnx.sessions import open_session
from winnow.filters.models.onnx.writing import OnnxGraph
from winnow.filters.presets import find_preset
from winnow.pipelines.assets import AssetError, lookup
from winnow.schemas.efficientnet import WEIGHTS
from winnow.schemas.errors import RecipeError

BLACK = np.zeros((20, 30, 3), np.uint8)


def vectors(found: pa.RecordBatch) -> NDArray[np.float64]:
    return np.array(found["vector"].to_pylist())


def encoder(path: Path, last: str = "Relu", shift: float = 0.0, size: tuple[int, int] = (3, 4)) -> str:
    """A network from the mean of each colour to numbers."""
    graph = OnnxGraph("encoder")
    means = graph.node("Flatten", graph.node("GlobalAveragePool", graph.input("picture", ("n", 3, "h", "w"))))
    weights = graph.constant("weights", np.arange(np.prod(size), dtype=np.float32).reshape(size) + 1)
    bias = graph.constant("bias", np.full(size[1], shift, np.float32))
    graph.output(graph.node(last, graph.node("Gemm", means, weights, bias), name="vector"), ("n", size[1]))
    graph.output(graph.node("Identity", "picture", name="tokens"), ("n", 3, "h", "w"))
    path.write_bytes(graph.to_bytes())
    return str(path)


RAW = Framing(16, "stretch", mean=(0.0, 0.0, 0.0), deviation=(1.0, 1.0, 1.0))


def test_features_are_those_that_the_published_classifier_reads() -> None:
    """The golden numbers are those of the code in efficientnet-lite-pytorch 0.1.0, on the same picture."""
    loaded("image.embedding")
    try:
        arrays = read_arrays(Path(lookup(WEIGHTS.name)))
    except AssetError as error:
        pytest.skip(str(error))
    path = lookup("efficientnet-lite0.features")
    down, across = np.mgrid[:224, :224]
    picture = np.stack([across * 255 // 223, down * 255 // 223, (across // 32 + down // 32) % 2 * 255])
    session = open_session("image.embedding", "image-models", path)
    (features,) = session.run(None, {"pixels": ((picture - 127) / 128).astype(np.float32)[None]})
    said = features[0] @ np.asarray(arrays["_fc.weight"]).T + np.asarray(arrays["_fc.bias"])
    likeliest = np.argsort(-said)[:5]
    assert likeliest.tolist() == [844, 851, 149, 916, 664]
    np.testing.assert_allclose(said[likeliest], [2.5360, 2.4809, 2.4126, 2.4062, 2.4020], atol=1e-3)


def test_copies_are_near_and_other_pictures_are_not() -> None:
    face = photograph("astronaut")
    found = loaded("image.embedding")(batch(face, shrink(face, 240, 240), face[5:315, 5:315], noise(300, 300)))
    assert found["status"].to_pylist() == ["ok"] * 4
    rows = vectors(found)
    assert rows.shape == (4, 1280)
    assert np.abs(np.linalg.norm(rows, axis=1) - 1).max() < 1e-3
    assert (rows * 4096 == np.round(rows * 4096)).all()
    near, cropped, far = (rows @ rows.T)[0, 1:]
    assert near > 0.95
    assert cropped > 0.9
    assert far < 0.6


def test_the_detector_of_copies_finds_crops_and_mirror_images_and_no_other_face() -> None:
    settings = find_preset("copies@sscd").operators["image.embedding"]
    face = photograph("astronaut")
    small = shrink(face, 100, 100)
    upper, lower = face[: len(face) // 2], face[len(face) // 2 :]
    pictures = (face, small, face[40:, 30:], face[:, ::-1].copy(), face // 2, upper, lower, noise(300, 300))
    kernel = loaded("image.embedding", **{**settings, "framing": Framing(**settings["framing"])})  # type: ignore[arg-type]
    found = vectors(kernel(batch(*pictures)))
    assert found.shape == (8, 512)
    cosines = found @ found.T
    assert cosines[0, 1:5].min() > 0.6
    assert cosines[5, 6] < 0.4
    assert cosines[7, :7].max() < 0.4


def test_a_picture_has_the_same_vector_whatever_is_beside_it_and_tiny_ones_have_one() -> None:
    measure, face = loaded("image.embedding"), photograph("astronaut")
    alone = measure(batch(face))["vector"]
    others = measure(batch(noise(1, 1), face, noise(1, 3000)))
    assert others["vector"][1:2] == alone
    assert others["status"].to_pylist() == ["ok"] * 3


def test_the_users_own_encoder_gives_the_vectors(tmp_path: Path) -> None:
    model = encoder(tmp_path / "m.onnx")
    found = loaded("image.embedding", model=model, dimensions=4, framing=RAW)(batch(noise(16, 16), BLACK))
    assert found["status"].to_pylist() == ["ok", "no_features"]
    exact = noise(16, 16).mean((0, 1)) / 255 @ (np.arange(12).reshape(3, 4) + 1)
    vector, absent = found["vector"].to_pylist()
    assert np.abs(np.array(vector) - exact / np.linalg.norm(exact)).max() < 2e-4
    assert absent is None


def test_a_number_that_is_none_makes_no_vector(tmp_path: Path) -> None:
    model = encoder(tmp_path / "m.onnx", "Log")
    found = loaded("image.embedding", model=model, dimensions=4, framing=RAW)(batch(BLACK, noise(16, 16)))
    assert found["status"].to_pylist() == ["not_finite", "ok"]
    assert found["vector"].to_pylist()[0] is None


def test_encoders_of_another_size_or_without_a_vector_are_refused(tmp_path: Path) -> None:
    model = encoder(tmp_path / "m.onnx")
    with assert_refused(RecipeError, "4 numbers", "`dimensions`", "4"):
        loaded("image.embedding", model=model, framing=RAW)
    with assert_refused(RecipeError, "[3", "16", "16]", "`output`"):
        loaded("image.embedding", model=model, output="tokens", framing=RAW)


def test_no_pictures_give_no_rows() -> None:
    assert loaded("image.embedding")(batch()).num_rows == 0
