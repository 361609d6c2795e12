"""ONNX files written here are those that the package `onnx` reads, and give the numbers of numpy."""

import numpy as np
import pytest

from winnow.filters.models.onnx.sessions import check_onnx, open_session
from winnow.filters.models.onnx.writing import OnnxGraph

onnx = pytest.importorskip("onnx", reason="the oracle of these tests")


def head() -> OnnxGraph:
    graph = OnnxGraph("head")
    weights = graph.constant("weights", np.arange(6, dtype=np.float32).reshape(3, 2))
    bias = graph.constant("bias", np.array([0.5, -30], np.float32))
    product = graph.node("Gemm", graph.input("x", ("n", 3)), weights, bias, alpha=2.0, transB=0)
    graph.output(graph.node("Relu", product, name="y"), ("n", 2))
    return graph


def test_the_package_reads_what_was_written_and_it_computes() -> None:
    content = head().to_bytes()
    check_onnx(onnx, "head.onnx", content)
    model = onnx.load_from_string(content)
    onnx.checker.check_model(model, full_check=True)
    assert [node.op_type for node in model.graph.node] == ["Gemm", "Relu"]
    assert [one.name for one in model.graph.output] == ["y"]
    session = open_session("image.test", "image-models", "head.onnx", content)
    given = np.array([[1, 2, 3], [0, -1, 0]], np.float32)
    expected = np.maximum(2 * given @ np.arange(6).reshape(3, 2) + [0.5, -30], 0)
    assert session.run(None, {"x": given})[0].tolist() == expected.tolist()
    assert head().to_bytes() == content


def test_all_kinds_of_attributes_are_read_as_they_were_given() -> None:
    graph = OnnxGraph("window")
    pooled = graph.node("MaxPool", graph.input("x", (1, 1, 8, 8)), kernel_shape=[2, 3], auto_pad="SAME_UPPER")
    graph.output(graph.node("LeakyRelu", pooled, alpha=0.25), (1, 1, 8, 8))
    model = onnx.load_from_string(graph.to_bytes())
    found = [{one.name: onnx.helper.get_attribute_value(one) for one in node.attribute} for node in model.graph.node]
    assert found == [{"auto_pad": b"SAME_UPPER", "kernel_shape": [2, 3]}, {"alpha": 0.25}]
