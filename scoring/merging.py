"""Merge checkpoints into a reference: their average, or task arithmetic on a base.

Task arithmetic (arXiv 2212.04089): θ0 + λ Σ (θi - θ0). Sums are taken in float64, in the order in which the
checkpoints are given, one parameter at a time; the result has the types of the first checkpoint. Integers, such as
counts of batches, are not parameters: they are copied from the first checkpoint.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import ScoreError
from winnow.schemas.problems import listed, one_line
from winnow.scoring.protocol import Weights

_Merge = Callable[[Sequence[NDArray[np.float64]]], NDArray[np.float64]]


def average(checkpoints: Mapping[str, Weights]) -> Weights:
    """The mean of checkpoints, parameter by parameter (arXiv 2203.05482, the uniform soup).

    Args:
        checkpoints: Weights by their name in messages, such as their path; at least one.

    Raises:
        ScoreError: They belong to different models, or something is not finite.
    """
    return _merged(checkpoints, lambda arrays: _sum(arrays) / len(arrays))


def task_arithmetic(base: Weights, checkpoints: Mapping[str, Weights], scale: float) -> Weights:
    """The base plus `scale` times each checkpoint's difference from it.

    Args:
        base: The weights that every checkpoint was trained from.
        checkpoints: Weights by their name in messages, such as their path; at least one.
        scale: λ, chosen on held-out examples; 1 returns a single checkpoint itself, negative values unlearn.

    Raises:
        ScoreError: They belong to different models, or something is not finite.
    """
    if not np.isfinite(scale):
        raise ScoreError(f"merging: the scale is {scale}; expected a finite number, such as 0.4")
    if not checkpoints:
        raise ScoreError("merging: no checkpoint is given; expected at least one besides the base")

    def merge(arrays: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        first = arrays[0]
        return first + scale * _sum([array - first for array in arrays[1:]])

    named = "the base" if "the base" not in checkpoints else "the base weights"
    return _merged({named: base, **checkpoints}, merge)


def _sum(arrays: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    total = arrays[0].copy()
    for array in arrays[1:]:
        total += array
    return total


def _merged(checkpoints: Mapping[str, Weights], merge: _Merge) -> Weights:
    if not checkpoints:
        raise ScoreError("merging: no checkpoint is given; expected at least one")
    (first, expected), *others = checkpoints.items()
    _check_numbers(first, expected)
    for name, weights in others:
        wrong = list(_mismatches(expected, weights))
        if wrong:
            raise ScoreError(f"merging: {name} is not a checkpoint of the same model as {first}: {'; '.join(wrong)}")
        _check_numbers(name, weights)
    found = {}
    for parameter, array in expected.items():
        if array.dtype.kind != "f":
            found[parameter] = array.copy()
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            wide = [np.asarray(one[parameter], np.float64) for one in checkpoints.values()]
            found[parameter] = np.asarray(merge(wide)).astype(array.dtype)
    if unfinished := [name for name, array in found.items() if not np.isfinite(array).all()]:
        raise ScoreError(f"merging: the result is not finite: {listed(unfinished)}; expected a smaller scale")
    return found


def _check_numbers(name: str, weights: Weights) -> None:
    if not weights:
        raise ScoreError(f"merging: {name} has no parameters")
    if strange := [f"{one} is {array.dtype}" for one, array in weights.items() if array.dtype.kind not in "fiub"]:
        raise ScoreError(f"merging: {name}: {listed(strange)}; expected floating-point numbers")
    if unfinished := [one for one, array in weights.items() if not np.isfinite(array).all()]:
        raise ScoreError(f"merging: {name}: not finite: {listed(unfinished)}; expected weights that converged")


def _mismatches(expected: Weights, found: Weights) -> Iterator[str]:
    """The parameters that are missing, unexpected, of another shape or type, by name."""
    if missing := sorted(expected.keys() - found.keys()):
        yield f"missing {listed(missing)}"
    if unexpected := sorted(found.keys() - expected.keys()):
        yield f"unexpected {listed([one_line(name) for name in unexpected])}"
    common = [name for name in expected if name in found]
    shapes = [
        f"{name} has shape {found[name].shape}, expected {expected[name].shape}"
        for name in common
        if found[name].shape != expected[name].shape
    ]
    types = [
        f"{name} is {found[name].dtype}, expected {expected[name].dtype}"
        for name in common
        if found[name].dtype != expected[name].dtype
    ]
    for wrong in (shapes, types):
        if wrong:
            yield listed(wrong)
