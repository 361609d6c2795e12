"""The chosen parameters, and the unit direction from a trajectory's weights towards reference weights."""

import fnmatch
import glob
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from winnow.schemas.errors import ScoreError
from winnow.schemas.problems import listed, shown, suggestion
from winnow.scoring.protocol import Weights

_NAMED = 5  # most problems in a message

_MLP: Final = r"[\w.]*?\.?(\d+)\.mlp\..+"
LAST_MLP: Final[Mapping[str, re.Pattern[str]]] = {
    "last_image_mlp": re.compile(rf"(?:visual|vision_model|image)\.{_MLP}"),
    "last_text_mlp": re.compile(rf"(?:transformer|text_model|text)\.{_MLP}"),
}
"""Names for the layers of dual encoders that the paper takes: the last MLP of a tower, as open_clip, `transformers` and
winnow's small towers name it."""


@dataclass(frozen=True, slots=True)
class Direction:
    """Where a step should go: (reference - at) / norm over the chosen parameters."""

    unit: Weights  # of norm 1, with the types of the weights
    norm: float  # the distance to the reference


def chosen_parameters(names: Collection[str], globs: Sequence[str]) -> tuple[str, ...]:
    """The names that a glob matches, in the order of `names`; `LAST_MLP` has names for some of them.

    Raises:
        ScoreError: A glob matches nothing; it may be misspelt.
    """
    if not globs:
        raise ScoreError("parameters: no glob is given; `*` chooses all")
    globs = [found for one in globs for found in (_last(names, one) if one in LAST_MLP else [one])]
    for one in globs:
        if not any(fnmatch.fnmatchcase(name, one) for name in names):
            raise ScoreError(f"parameters: {shown(one)} matches no parameter{suggestion(one, [*names, *LAST_MLP])}")
    return tuple(name for name in names if any(fnmatch.fnmatchcase(name, one) for one in globs))


def _last(names: Collection[str], preset: str) -> list[str]:
    """The parameters of the last MLP of a tower, as globs."""
    layers = {name: int(found[1]) for name in names if (found := LAST_MLP[preset].fullmatch(name))}
    if not layers:
        raise ScoreError(
            f"parameters: {preset} finds no parameter of a layer's `mlp` in that tower; name them by a glob, such as "
            f"{shown(next(iter(names), '*'))}"
        )
    last = max(layers.values())
    return [glob.escape(name) for name, layer in layers.items() if layer == last]


def direction(at: Weights, reference: Weights, names: Sequence[str]) -> Direction:
    """The unit direction over the named parameters. Differences and the norm are taken in float64.

    Raises:
        ScoreError: They belong to different models, a weight is not finite, they are equal, or their distance
        overflows.
    """
    _check_alike(at, reference, names)
    with np.errstate(over="ignore"):  # what is then no number is refused
        steps = {name: reference[name].astype(np.float64) - at[name].astype(np.float64) for name in names}
    largest = max((float(np.abs(step).max()) for step in steps.values() if step.size), default=0.0)
    over = listed([shown(name) for name in names], 3)
    if largest == 0.0:
        raise ScoreError(
            f"the reference equals the scored weights, over {over}: there is no direction; "
            "use another reference or an earlier checkpoint, or choose other parameters"
        )
    # Squares of values scaled to 1 neither overflow nor vanish.
    norm = math.inf
    if math.isfinite(largest):
        norm = largest * math.sqrt(math.fsum(float(np.square(step / largest).sum()) for step in steps.values()))
    if not math.isfinite(norm):
        raise ScoreError(
            f"the distance of the reference from the scored weights overflows, over {over}; "
            "expected weights of converged trainings"
        )
    return Direction({name: (step / norm).astype(at[name].dtype) for name, step in steps.items()}, norm)


def against(at: Weights, gradient: Weights) -> Weights:
    """Weights that lie from others straight against a gradient: the reference of a score that asks whether a step on a
    sample lowers the loss of which that is the gradient.

    They are as far away as the changed weights are from zero, so that rounding stays small beside the distance.

    Raises:
        ScoreError: The gradient is zero, or not finite.
    """
    slope, size = (
        math.sqrt(math.fsum(float(np.square(of[name], dtype=np.float64).sum()) for name in gradient))
        for of in (gradient, at)
    )
    if not 0 < slope < math.inf:
        raise ScoreError(
            f"the target's gradient has the norm {slope:g}: there is no direction; use another target, an earlier "
            "checkpoint or other parameters"
        )
    length = (size or 1.0) / slope
    moved = {
        name: (at[name].astype(np.float64) - length * step.astype(np.float64)).astype(at[name].dtype)
        for name, step in gradient.items()
    }
    return {**at, **moved}


def _check_alike(at: Weights, reference: Weights, names: Sequence[str]) -> None:
    problems = [problem for name in names if (problem := _mismatch(name, at, reference)) is not None]
    if not problems:
        return
    more = f"; … and {len(problems) - _NAMED} more" if len(problems) > _NAMED else ""
    raise ScoreError(f"the reference belongs to another model: {'; '.join(problems[:_NAMED])}{more}")


def _mismatch(name: str, at: Weights, reference: Weights) -> str | None:
    for whose, weights in (("the weights", at), ("the reference", reference)):
        if name not in weights:
            return f"{shown(name)} is not in {whose}{suggestion(name, weights)}"
    ours, theirs = at[name], reference[name]
    if ours.shape != theirs.shape:
        return f"{shown(name)} has shape {list(theirs.shape)}, expected {list(ours.shape)}"
    if ours.dtype != theirs.dtype:
        return f"{shown(name)} is {theirs.dtype}, expected {ours.dtype}"
    if not np.issubdtype(ours.dtype, np.floating):
        return f"{shown(name)} is {ours.dtype}, expected floating-point numbers"
    for whose, value in (("the weights", ours), ("the reference", theirs)):
        if not np.isfinite(value).all():
            return f"{shown(name)} of {whose} holds numbers that are not finite"
    return None
