"""Networks that look at pictures: from decoded pixels to what an ONNX model says about each."""
