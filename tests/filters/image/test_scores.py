"""Scores by the user's own models: heads over embeddings, and whole networks."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from tests.filters.image.networks import loaded, photograph
from tests.filters.image.test_quality import batch, noise
from tests.messages import assert_refused
from winnow.filters.image.decode.shrink import shrink
from winnow.filters.image.models.framing import Framing
from winnow.filters.models.onnx.writing import OnnxGraph
from winnow.filters.models.tensors import tensors_bytes
from winnow.filters.operators import PictureOperator, TextOperator, find_operator
from winnow.schemas.errors import RecipeError

VECTOR = "image.embedding.vector"
GOLDEN = Path(__file__).parent / "golden"


def head(path: Path, **arrays: Any) -> str:
    path.write_bytes(tensors_bytes({name: np.array(one, np.float32) for name, one in arrays.items()}, {}))
    return str(path)


def vectors(*rows: list[list[float] | None] | None) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(rows, pa.list_(pa.list_(pa.float32())))], names=[VECTOR])


LINEAR = {"weight": [[1, 2], [-1, 0.5]], "bias": [0.25, 0]}


@pytest.mark.parametrize("name", ["aesthetic", "watermark"])
def test_values_are_those_of_the_version(tmp_path: Path, name: str) -> None:
    model = head(tmp_path / "head.safetensors", **LINEAR)
    measure = loaded(f"image.{name}", model=model, number=1, activation="sigmoid")
    rows = measure(vectors([[0.6, 0.8], None, [1, 0]], [], None, [None], [[0, -1]])).to_pylist()
    golden = {"operator": f"image.{name}", "version": find_operator(f"image.{name}").version, "rows": rows}
    path = GOLDEN / f"{name}.json"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")
    assert golden == json.loads(path.read_text(encoding="utf-8"))


def test_a_head_gives_a_score_for_each_vector_and_none_where_there_is_none(tmp_path: Path) -> None:
    measure = loaded("image.aesthetic", model=head(tmp_path / "head.safetensors", **LINEAR))
    found = measure(vectors([[1, 0], None, [0, 1]], [None], None, []))
    assert found["score"].to_pylist() == [[1.25, None, 2.25], [None], None, []]
    assert found["status"].to_pylist() == ["ok", "no_embedding", "no_embedding", "no_embedding"]


def test_layers_follow_one_another_by_their_numbers(tmp_path: Path) -> None:
    arrays = {"layers.10.weight": [[1, 1]], "layers.10.bias": [1], "layers.2.weight": [[1, 0], [0, -1]]}
    model = head(tmp_path / "head.safetensors", **arrays)
    given = vectors([[3, 4]])
    assert loaded("image.aesthetic", model=model)(given)["score"].to_pylist() == [[4]]
    assert loaded("image.aesthetic", model=model, hidden="none")(given)["score"].to_pylist() == [[0]]


def test_an_onnx_head_gives_what_the_same_layers_give(tmp_path: Path) -> None:
    graph = OnnxGraph("head")
    weights = graph.constant("weights", np.array(LINEAR["weight"], np.float32))
    bias = graph.constant("bias", np.array(LINEAR["bias"], np.float32))
    graph.output(graph.node("Gemm", graph.input("vector", ("n", 2)), weights, bias, transB=1), ("n", 2))
    (tmp_path / "head.onnx").write_bytes(graph.to_bytes())
    given = vectors([[0.6, 0.8], [1, 0]])
    ours = loaded("image.aesthetic", model=head(tmp_path / "head.safetensors", **LINEAR))(given)
    theirs = loaded("image.aesthetic", model=str(tmp_path / "head.onnx"))(given)
    np.testing.assert_allclose(theirs["score"].to_pylist(), ours["score"].to_pylist(), atol=2e-5)


def test_a_whole_network_reads_pictures(tmp_path: Path) -> None:
    graph = OnnxGraph("classes")
    graph.output(graph.node("GlobalAveragePool", graph.input("picture", ("n", 3, "h", "w"))), ("n", 3, 1, 1))
    (tmp_path / "whole.onnx").write_bytes(graph.to_bytes())
    settings = {"model": str(tmp_path / "whole.onnx"), "reads": "pictures", "number": 2}
    plain = Framing(16, "stretch", mean=(0.0, 0.0, 0.0), deviation=(1.0, 1.0, 1.0))
    measure = loaded("image.watermark", framing=plain, **settings)
    operator = find_operator("image.watermark")
    config = operator.config(framing=plain, **settings)
    assert isinstance(operator.configured(config), PictureOperator)
    by_head = operator.configured(operator.config(embedding="video.embedding"))
    assert isinstance(by_head, TextOperator)
    assert by_head.inputs(operator.config(embedding="video.embedding")) == ("video.embedding.vector",)
    assert by_head.needs == ()
    found = measure(batch(noise(16, 16), noise(1, 1)))
    assert found.schema == operator.writes(config)
    blue = [one[:, :, 2].mean() / 255 for one in (noise(16, 16), noise(1, 1))]
    np.testing.assert_allclose(found["score"].to_pylist(), blue, atol=2e-5)


@pytest.mark.parametrize(
    ("arrays", "settings", "said"),
    [
        ({"weight": [[1, 2, 3]]}, {}, "3 numbers … 2"),
        ({"weight": [[1, 2]]}, {"number": 1}, "1 numbers … `number`"),
        ({"weight": [1, 2]}, {}, "[2] … [2]"),
        ({"weight": [[1, 2]], "bias": [1, 2]}, {}, "weight is [1, 2] with a bias of [2]"),
        ({"weight": [[1, 2]], "scale": [1]}, {}, "'scale' … expected linear"),
        ({"scale": [1]}, {}, "no layers; expected linear layers"),
        ({"0.weight": [[1, 2]], "1.weight": [[1, 2]]}, {}, "1 numbers … reads 2"),
        ({"weight": [[1, float("nan")]]}, {}, "weights that are not finite"),
    ],
)
def test_heads_that_do_not_fit_are_one_line(
    tmp_path: Path, arrays: dict[str, Any], settings: dict[str, Any], said: str
) -> None:
    with assert_refused(RecipeError, said) as caught:
        loaded("image.aesthetic", model=head(tmp_path / "h.safetensors", **arrays), **settings)(vectors([[1, 2]]))
    assert "\n" not in str(caught.value)


def test_a_model_must_be_given_and_a_pickle_is_refused(tmp_path: Path) -> None:
    operator = find_operator("image.aesthetic")
    with assert_refused(RecipeError, "image.aesthetic", "`model`"):
        operator.assets(operator.config())
    (tmp_path / "head.pth").write_bytes(b"PK\x03\x04 torch")
    with pytest.raises(RecipeError, match="a zip, like PyTorch checkpoints"):
        loaded("image.aesthetic", model=str(tmp_path / "head.pth"))


def stamped(picture: NDArray[np.uint8], place: tuple[int, int]) -> NDArray[np.uint8]:
    """The picture with half-transparent words over it."""
    pillow = pytest.importorskip("PIL.Image", reason="needs the extra `image-models`")
    from PIL import ImageDraw, ImageFont

    over = pillow.new("L", (picture.shape[1], picture.shape[0]), 0)
    draw = ImageDraw.Draw(over)
    for row in range(0, picture.shape[0], 60):
        draw.text((place[0], place[1] + row), "SAMPLE © photo", font=ImageFont.load_default(28), fill=150)
    share = np.asarray(over, np.float64)[:, :, None] / 255
    return (picture * (1 - share) + 255 * share).astype(np.uint8)


def test_a_head_that_was_trained_on_embeddings_tells_watermarks_apart(tmp_path: Path) -> None:
    """Ridge regression on crops from the left of a photograph, tried on crops from its right."""
    random, embed = np.random.default_rng(7), loaded("image.embedding")
    face = photograph("astronaut")

    def examples(left: int, count: int) -> tuple[pa.Array, NDArray[np.float64]]:
        pictures, labels = [], []
        for number in range(count):
            side = int(random.integers(110, 160))
            top, start = int(random.integers(0, 320 - side)), left + int(random.integers(0, 160 - side + 1))
            crop = shrink(face[top : top + side, start : start + side], 105, 105).repeat(3, 0).repeat(3, 1)
            place = (int(random.integers(0, 60)), int(random.integers(0, 40)))
            pictures.append(stamped(crop, place) if number % 2 else crop)
            labels.append(number % 2)
        return embed(batch(*pictures))["vector"], np.array(labels, np.float64)

    given, wanted = examples(0, 40)
    known = np.array(given.to_pylist())
    weights = np.linalg.solve(known.T @ known + 0.1 * np.eye(known.shape[1]), known.T @ (wanted - 0.5))
    measure = loaded("image.watermark", model=head(tmp_path / "head.safetensors", weight=[weights], bias=[0.5]))
    tried, truth = examples(160, 24)
    rows = pa.RecordBatch.from_arrays([pa.array([tried.to_pylist()], pa.list_(tried.type))], names=[VECTOR])
    scores = np.array(measure(rows)["score"].to_pylist()[0])
    right = (scores[truth == 1][:, None] > scores[truth == 0][None, :]).mean()  # the area under the curve
    assert right > 0.9
