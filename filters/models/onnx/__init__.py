"""ONNX files: checking, writing and running them."""
