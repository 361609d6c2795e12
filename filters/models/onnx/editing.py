"""Change what an ONNX file says of its inputs and outputs, nothing else of it: assets come as they were exported."""

from collections.abc import Mapping

from winnow.filters.models.onnx.messages import Field, Value, fields, text_of, written
from winnow.filters.models.onnx.writing import Shape, described
from winnow.schemas.errors import WinnowError

__all__ = ["with_shapes"]

_GRAPH = 7  # of a model
_CONSTANT, _INPUT, _OUTPUT, _DESCRIBED = 5, 11, 12, 13  # of a graph


def with_shapes(content: bytes, shapes: Mapping[str, Shape]) -> bytes:
    """A model with these shapes of its inputs and outputs.

    Constants are no longer listed as inputs, which would keep ONNX Runtime from folding them, and shapes within the
    graph are dropped, which would be those of the old input.

    Args:
        content: A model.
        shapes: The shape of every input and output, of 32-bit floats.

    Raises:
        WinnowError: It has other inputs or outputs.
    """
    model = list(fields(memoryview(content)))
    parts = [_edited(one, shapes) if one.number == _GRAPH else bytes(one.raw) for one in model]
    return b"".join(parts)


def _edited(graph: Field, shapes: Mapping[str, Shape]) -> bytes:
    assert isinstance(graph.value, memoryview)
    read = list(fields(graph.value))
    constants = {_name(one, 8) for one in read if one.number == _CONSTANT}
    kept: list[bytes] = []
    seen = set()
    for one in read:
        name = _name(one, 1) if one.number in (_INPUT, _OUTPUT) else ""
        if one.number == _DESCRIBED or (one.number == _INPUT and name in constants):
            continue
        if one.number in (_INPUT, _OUTPUT):
            if name not in shapes:
                raise WinnowError(f"the model has the input or output {name[:80]!r}; expected {', '.join(shapes)}")
            seen.add(name)
            kept.append(written((one.number, described(name, shapes[name]))))
        else:
            kept.append(bytes(one.raw))
    if absent := sorted(shapes.keys() - seen):
        raise WinnowError(f"the model has no input or output {absent[0]!r}")
    content: Value = b"".join(kept)
    return written((_GRAPH, content))


def _name(one: Field, number: int) -> str:
    return text_of(fields(one.value), number) if isinstance(one.value, memoryview) else ""
