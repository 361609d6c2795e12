"""64-bit hashes: numpy and kernels make the same of a value."""

import numpy as np

from winnow.filters.language.kernels.hashes import mixed, mixed_values


def test_numpy_mixes_values_as_kernels_do() -> None:
    values = np.random.default_rng(1).integers(0, 1 << 64, 200, np.uint64)
    values[:3] = 0, 1, (1 << 64) - 1
    assert mixed_values(values).tolist() == [int(mixed(value)) for value in values]
