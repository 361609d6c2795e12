"""Set PyTorch so that equal inputs give equal scores and every operator has its exact derivative."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from winnow.schemas.errors import ScoreError


def need_torch() -> None:
    """Raise ScoreError with the install command if PyTorch is missing."""
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]  # noqa: F401
    except ImportError as error:
        raise ScoreError("the Mimic score of a model needs the package torch; run: pip install 'winnow[torch]'") from (
            error
        )


@contextmanager
def deterministic(threads: int = 1, *, exact: bool = True) -> Iterator[None]:
    """Use one thread and deterministic algorithms; restores settings at exit.

    `exact`: also plain attention and full float32 products, for forward derivatives: fused attention and the fast path
    of encoder layers have none, and shorter products blur them. Without it PyTorch's own settings hold.
    """
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel  # type: ignore[import-not-found, unused-ignore]

    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS is not deterministic without it
    matmul, convolution = torch.backends.cuda.matmul, torch.backends.cudnn
    switches: list[tuple[Any, str, bool]] = [
        (matmul, "allow_tf32", False),
        (matmul, "allow_bf16_reduced_precision_reduction", False),
        (convolution, "allow_tf32", False),
        (convolution, "benchmark", False),  # it chooses kernels by timing
    ]
    switches = switches if exact else switches[-1:]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in switches]
    deterministic, fast_path = torch.are_deterministic_algorithms_enabled(), torch.backends.mha.get_fastpath_enabled()
    threads_before = torch.get_num_threads()
    for owner, name, value in switches:
        setattr(owner, name, value)
    torch.use_deterministic_algorithms(True)
    torch.backends.mha.set_fastpath_enabled(fast_path and not exact)
    torch.set_num_threads(threads)
    try:
        with torch.no_grad(), sdpa_kernel(SDPBackend.MATH) if exact else nullcontext():
            yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
        torch.use_deterministic_algorithms(deterministic)
        torch.backends.mha.set_fastpath_enabled(fast_path)
        torch.set_num_threads(threads_before)
