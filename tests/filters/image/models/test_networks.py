"""Networks on pictures: one at a time, and what is no such network is refused in one line."""

from pathlib import Path

import numpy as np
import pytest

from tests.messages import assert_refused
from winnow.filters.image.models.framing import Framing
from winnow.filters.image.models.networks import PictureNetwork
from winnow.filters.models.onnx.writing import OnnxGraph, Shape
from winnow.schemas.errors import RecipeError

SQUARE = Framing(16, "stretch", mean=(0.0, 0.0, 0.0), deviation=(1 / 255, 1 / 255, 1 / 255))
NOISE = np.random.default_rng(7).integers(0, 256, (16, 16, 3), dtype=np.uint8)


def means(path: Path, shape: Shape = ("n", 3, "h", "w")) -> str:
    """A network that gives the mean of each colour, and the greatest."""
    graph = OnnxGraph("means")
    read = graph.input("picture", shape)
    graph.output(graph.node("GlobalAveragePool", read, name="means"), ("n", 3, 1, 1))
    graph.output(graph.node("GlobalMaxPool", read, name="greatest"), ("n", 3, 1, 1))
    path.write_bytes(graph.to_bytes())
    return str(path)


def test_outputs_are_named_and_each_picture_is_run_alone(tmp_path: Path) -> None:
    network = PictureNetwork("image.test", means(tmp_path / "m.onnx"), SQUARE, ("greatest", "means"))
    greatest, mean = network(NOISE)
    assert network.shapes == ((3, 1, 1), (3, 1, 1))
    assert greatest.reshape(-1).tolist() == NOISE.max((0, 1)).tolist()
    assert np.allclose(mean.reshape(-1), NOISE.mean((0, 1)), rtol=1e-6)
    first = PictureNetwork("image.test", means(tmp_path / "m.onnx"), SQUARE)
    assert (first(NOISE)[0] == mean).all()


@pytest.mark.parametrize(
    ("shape", "framing", "said"),
    [
        ((4, 3, 16, 16), SQUARE, "[4 … 3 … 16"),
        (("n", 3, 32, 32), SQUARE, "set `side` to 32"),
        (("n", 3, 16, 24), SQUARE, "expected a square"),
        (("n", 3, 16, 16), Framing(16, "pad"), "expected a square"),
        (("n", 1, 16, 16), SQUARE, "[pictures … 3 … width]"),
        (("n", 3), SQUARE, "[pictures … 3 … width]"),
    ],
)
def test_networks_for_other_inputs_are_refused(tmp_path: Path, shape: Shape, framing: Framing, said: str) -> None:
    with assert_refused(RecipeError, said) as caught:
        PictureNetwork("image.test", means(tmp_path / "m.onnx", shape), framing)
    assert "\n" not in str(caught.value)


def test_a_network_that_reads_bytes_gets_the_colours_as_they_are(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    given = onnx.helper.make_tensor_value_info("picture", onnx.TensorProto.UINT8, ["n", "h", "w", 3])
    gives = onnx.helper.make_tensor_value_info("first", onnx.TensorProto.FLOAT, ["n", "h", "w", 3])
    cast = onnx.helper.make_node("Cast", ["picture"], ["first"], to=onnx.TensorProto.FLOAT)
    graph = onnx.helper.make_graph([cast], "bytes", [given], [gives])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    network = PictureNetwork("image.test", str(tmp_path / "m.onnx"), SQUARE)
    assert network.shapes == ((16, 16, 3),)
    assert (network(NOISE)[0][0] == NOISE).all()


def test_an_unknown_output_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with assert_refused(RecipeError, "output mean"):
        PictureNetwork("image.test", means(tmp_path / "m.onnx"), SQUARE, ("mean",))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "an empty file"),
        (b"\x80\x04\x95", "runs code when"),
        (b"PK\x03\x04 torch", "a zip, like PyTorch checkpoints"),
        (b"\x02\0\0\0\0\0\0\0{}", "ONNX"),
        (b"no model at all", "ONNX"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "m.onnx").write_bytes(content)
    with assert_refused(RecipeError, said) as caught:
        PictureNetwork("image.test", str(tmp_path / "m.onnx"), SQUARE)
    assert "\n" not in str(caught.value)


def test_a_missing_or_huge_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="No such file or directory"):
        PictureNetwork("image.test", str(tmp_path / "gone.onnx"), SQUARE)
    with open(tmp_path / "huge.onnx", "wb") as stream:
        stream.write(b"\x08\x07")
        stream.truncate(3 << 30)
    with assert_refused(RecipeError, "3,221,225,472 bytes", "ONNX", "most 2,147,483,648"):
        PictureNetwork("image.test", str(tmp_path / "huge.onnx"), SQUARE)
