"""Check that arrays are a model's weights."""

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from winnow.schemas.errors import ScoreError
from winnow.schemas.problems import suggestion
from winnow.scoring.protocol import Weights

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]


def require_weights(weights: Weights, shapes: Shapes, where: str) -> None:
    """Raise an error for weights that are not a model's.

    Raises:
        ScoreError: One line per parameter: missing, unknown, of another shape or type, or not finite.
    """
    found = [f"{where}: {name}: missing; expected {_shown(shapes[name])}" for name in shapes if name not in weights]
    for name, array in weights.items():
        if name not in shapes:
            found.append(f"{where}: {name}: unknown{suggestion(name, tuple(shapes))}; expected {', '.join(shapes)}")
        elif array.shape != shapes[name]:
            found.append(f"{where}: {name}: has shape {_shown(array.shape)}; expected {_shown(shapes[name])}")
        elif array.dtype.kind != "f":
            found.append(f"{where}: {name}: has type {array.dtype}; expected floating-point numbers")
        elif not np.isfinite(array).all():
            count = int((~np.isfinite(array)).sum())
            found.append(f"{where}: {name}: {count:,} of {array.size:,} numbers are not finite; train it again")
    if found:
        raise ScoreError("\n".join(found))


def _shown(shape: tuple[int, ...]) -> str:
    return " × ".join(str(side) for side in shape) or "a single number"
