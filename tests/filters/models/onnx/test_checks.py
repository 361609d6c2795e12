"""ONNX files are walked before they are run: what needs more than the file itself, or may not end, is refused."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_told

onnx = pytest.importorskip("onnx", reason="writes the models of these tests")
from onnx import ModelProto, TensorProto, helper, numpy_helper  # noqa: E402

from tests.filters.models.safety.models import model, nodes  # noqa: E402
from tests.property_sizes import scaled  # noqa: E402
from winnow.filters.models.onnx.sessions import check_onnx  # noqa: E402
from winnow.schemas.errors import RecipeError  # noqa: E402


def refusal(content: ModelProto | bytes) -> str:
    with pytest.raises(RecipeError) as caught:
        check_onnx(onnx, "m.onnx", content if isinstance(content, bytes) else content.SerializeToString())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def branch(made: Any) -> Any:
    """An If whose branches compute this node."""
    graph = helper.make_graph([made], "inner", [], [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)])
    return helper.make_node("If", ["condition"], ["logits"], then_branch=graph, else_branch=graph)


def test_a_plain_model_passes() -> None:
    check_onnx(onnx, "m.onnx", model().SerializeToString())
    check_onnx(onnx, "m.onnx", model(opsets=[helper.make_opsetid("com.microsoft", 1)]).SerializeToString())


def outside(tensor: TensorProto, where: str) -> TensorProto:
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=where)
    return tensor


@pytest.mark.parametrize("where", ["weights.bin", "../../etc/passwd", "/etc/passwd"])
def test_tensors_in_other_files_are_refused(where: str) -> None:
    made = model()
    outside(made.graph.initializer[0], where)
    assert_told(refusal(made), "tensor", "'values'")


def places_of_tensors() -> Iterator[tuple[str, ModelProto]]:
    far = outside(numpy_helper.from_array(np.zeros(1, np.float32), "far"), "w.bin")
    constant = helper.make_node("Constant", [], ["x"], value=far)
    yield "constant", model(computed=[constant])
    yield "branch", model(computed=[branch(constant)])
    function = helper.make_function("own", "F", [], ["x"], [constant], [helper.make_opsetid("", 18)])
    yield "function", model(functions=[function])
    sparse = helper.make_sparse_tensor(far, numpy_helper.from_array(np.zeros(1, np.int64), "i"), [4])
    made = model()
    made.graph.sparse_initializer.append(sparse)
    yield "sparse", made
    trained = model()
    trained.training_info.add().algorithm.initializer.append(far)
    yield "training", trained
    listed = model(computed=[helper.make_node("Any", [], ["x"], all=[far])])
    yield "list", listed


@pytest.mark.parametrize(("_place", "made"), list(places_of_tensors()))
def test_wherever_they_hide(_place: str, made: ModelProto) -> None:
    assert "'far' is in another file" in refusal(made)


def test_operators_of_other_libraries_are_refused() -> None:
    foreign = helper.make_node("Evil", ["input_ids"], ["logits"], domain="my.library")
    for made in (model(computed=[foreign]), model(computed=[branch(foreign)])):
        assert_told(refusal(made), "ONNX", "my.library.Evil")


def test_functions_of_the_model_itself_are_its_own() -> None:
    call = helper.make_node("Mean", ["input_ids"], ["logits"], domain="mine")
    function = helper.make_function("mine", "Mean", ["x"], ["y"], nodes()[:1], [helper.make_opsetid("", 18)])
    check_onnx(onnx, "m.onnx", model(computed=[call], functions=[function]).SerializeToString())


@pytest.mark.parametrize(
    ("operator", "domain", "why"),
    [
        ("RandomNormalLike", "", "is random"),
        ("Bernoulli", "ai.onnx", "is random"),
        ("Loop", "", "may never end"),
        ("Scan", "", "may never end"),
        ("EPContext", "com.microsoft", "reads another file"),
    ],
)
def test_what_is_random_endless_or_elsewhere_is_refused(operator: str, domain: str, why: str) -> None:
    made = model(computed=[branch(helper.make_node(operator, [], ["x"], domain=domain))])
    assert f"the operator {operator} {why}" in refusal(made)


@pytest.mark.parametrize("dims", [[1 << 40], [1 << 32, 1 << 32], [-1]])
def test_a_tensor_is_no_larger_than_its_bytes(dims: list[int]) -> None:
    made = model()
    del made.graph.initializer[0].dims[:]
    made.graph.initializer[0].dims.extend(dims)
    assert "'values'" in refusal(made)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "without a graph"),
        (b"\x08\x07", "without a graph"),
        (b"garbage!", "not an ONNX model"),
        (b"\x3a\xff\xff\xff\xff\x0f", "not an ONNX model"),
        (b"\x80" * 20, "not an ONNX model"),
        (b"\x3a", "not an ONNX model"),
    ],
)
def test_what_is_no_model_is_refused_in_a_line(content: bytes, why: str) -> None:
    assert why in refusal(content)


def test_graphs_are_not_nested_for_ever() -> None:
    content = b""
    for _ in range(2_000):  # a graph with a node with an attribute with a graph
        attribute = b"\x32" + _length(content) + content
        node = b"\x2a" + _length(attribute) + attribute
        content = b"\x0a" + _length(node) + node
    assert "not an ONNX model" in refusal(b"\x3a" + _length(content) + content)


def _length(content: bytes) -> bytes:
    size, found = len(content), b""
    while size > 0x7F:
        found += bytes([size & 0x7F | 0x80])
        size >>= 7
    return found + bytes([size])


@settings(max_examples=scaled(150), deadline=None)
@given(st.data())
def test_a_damaged_model_is_walked_or_refused(data: st.DataObject) -> None:
    raw = bytearray(model().SerializeToString())
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    said = ""
    try:
        check_onnx(onnx, "m.onnx", bytes(raw))
    except RecipeError as error:
        said = str(error)
    assert "\n" not in said
