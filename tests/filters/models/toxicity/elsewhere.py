"""The network in ONNX, for another engine: ONNX has an LSTM of its own, whose gates stand in another order."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[Any]


def _gates(array: Array) -> Array:
    """Keras' input, forget, cell, output as ONNX's input, output, forget, cell; a row a gate's unit."""
    let_in, keep, new, let_out = np.split(array, 4, axis=-1)
    return np.concatenate([let_in, let_out, keep, new], axis=-1).T


def onnx_network(weights: Mapping[str, Array]) -> bytes:
    """From `windows`, int64 of any number by 100, to their six scores."""
    ways = ("forward", "backward")
    bias = [np.concatenate([_gates(weights[f"{way}.bias"]), np.zeros(200, np.float32)]) for way in ways]
    constants = {
        "embedding": weights["embedding"],
        "W": np.stack([_gates(weights[f"{way}.kernel"]) for way in ways]),
        "R": np.stack([_gates(weights[f"{way}.recurrent"]) for way in ways]),
        "B": np.stack(bias),
        **{name.replace(".", "_"): weights[name] for name in weights if name.startswith(("hidden", "output"))},
        "time": np.array([0], np.int64),
        "flat": np.array([0, -1], np.int64),
    }
    nodes = [
        helper.make_node("Transpose", ["windows"], ["steps"], perm=[1, 0]),
        helper.make_node("Gather", ["embedding", "steps"], ["vectors"]),
        helper.make_node("LSTM", ["vectors", "W", "R", "B"], ["all"], direction="bidirectional", hidden_size=50),
        helper.make_node("ReduceMax", ["all", "time"], ["highest"], keepdims=0),  # ways, windows, units
        helper.make_node("Transpose", ["highest"], ["apart"], perm=[1, 0, 2]),
        helper.make_node("Reshape", ["apart", "flat"], ["both"]),
        helper.make_node("Gemm", ["both", "hidden_kernel", "hidden_bias"], ["hidden"]),
        helper.make_node("Relu", ["hidden"], ["shown"]),
        helper.make_node("Gemm", ["shown", "output_kernel", "output_bias"], ["logits"]),
        helper.make_node("Sigmoid", ["logits"], ["scores"]),
    ]
    graph = helper.make_graph(
        nodes,
        "toxicity",
        [helper.make_tensor_value_info("windows", TensorProto.INT64, ["n", 100])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", 6])],
        [numpy_helper.from_array(np.ascontiguousarray(array), name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return bytes(model.SerializeToString())
