"""How many threads a library may start in a worker. Imports nothing: libraries read these when they are loaded."""

import os

THREAD_LIMITS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
"""Set to 1 in every worker: the processes are the parallelism, and pinned values need a fixed order (law 4)."""


def limit_threads() -> None:
    """One thread a library, where the surroundings do not say otherwise."""
    for variable in THREAD_LIMITS:
        os.environ.setdefault(variable, "1")
