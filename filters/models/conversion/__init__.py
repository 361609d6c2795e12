"""Makes ONNX files of networks that are published otherwise: once, when `winnow assets fetch` fetches them.

No stage imports this room: what runs is ONNX Runtime on the files that are made here.
"""
