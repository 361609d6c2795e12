"""ONNX files: how they are checked, written and run."""
