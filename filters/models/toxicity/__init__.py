"""The Jigsaw network of `text.toxicity`: converted once from the published files, and run by ONNX Runtime."""
