"""Networks of TensorFlow.js in modules of JavaScript, read as text."""

import base64

import numpy as np
import pytest

from tests.messages import assert_refused
from winnow.filters.models.conversion.keras_layers import keras_onnx
from winnow.filters.models.conversion.tfjs_files import dequantised, literal_of, weights_of
from winnow.schemas.errors import WinnowError

MODULE = "!function(d){x.exports=d()}(1:[function(a,n){n.exports=%s},{}]},{},[1])"


def test_a_literal_is_read_as_javascript_means_it() -> None:
    written = r'{a:{b_1:.5,c:-.25e-3,"d e":"x,{}\"y"},f:[!0,!1,null,true],g:-7}'
    expected = {"a": {"b_1": 0.5, "c": -0.00025, "d e": 'x,{}"y'}, "f": [True, False, None, True], "g": -7}
    assert literal_of(MODULE % written) == expected


@pytest.mark.parametrize("module", ["", "module.exports=a()", MODULE % "{a:f()}", MODULE % "{a:`b`}", MODULE % "{a 1}"])
def test_anything_else_is_refused(module: str) -> None:
    with pytest.raises(WinnowError, match="the module"):
        literal_of(module)


def test_weights_are_bytes_with_a_least_value_and_a_step() -> None:
    raw = bytes(range(100))
    modules = [MODULE % f'"{base64.b64encode(part).decode()}"' for part in (raw[:50], raw[50:])]
    assert weights_of(modules) == raw
    said = {"dtype": "uint8", "min": -1.0, "scale": 0.5}
    manifest = [
        {"name": "a", "shape": [2, 3], "quantization": said},
        {"name": "b", "shape": [94], "quantization": said},
    ]
    found = dequantised(manifest, raw)
    assert found["a"].tolist() == [[-1.0, -0.5, 0.0], [0.5, 1.0, 1.5]]
    assert found["b"].tolist() == (np.arange(6, 100) / 2 - 1).tolist()
    for wrong in (raw[:-1], raw + b"\0"):
        with pytest.raises(WinnowError):
            dequantised(manifest, wrong)
    with assert_refused(WinnowError, "0 strings", "base64"):
        weights_of(["n.exports={}"])


def test_layers_that_are_not_written_are_refused() -> None:
    given = {"class_name": "InputLayer", "config": {"name": "i", "batch_input_shape": [None, 8, 8, 3]}}
    lstm = {"class_name": "LSTM", "config": {"name": "l"}, "inbound_nodes": [[["i", 0, 0, {}]]]}
    with assert_refused(WinnowError, "layers LSTM"):
        keras_onnx("n", [given, lstm], {}, "scores")
