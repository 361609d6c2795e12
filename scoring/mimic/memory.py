"""How many samples fit into memory at once: by bytes per sample, halved if memory runs out after all."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from winnow.schemas.errors import ScoreError
from winnow.scoring.mimic.models import Batch

_Part = TypeVar("_Part")

_ENDS = ("not enough memory", "can't allocate memory", "out of memory", "alloc_failed", "cannot allocate memory")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means out of memory, on a device or, from PyTorch's allocator, on the machine."""
    import torch  # type: ignore[import-not-found, unused-ignore]

    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(said in str(error).lower() for said in _ENDS)


@contextmanager
def whole_batch(count: int) -> Iterator[None]:
    """Computation on a whole batch: if it runs out of memory, no smaller portion helps.

    Raises:
        ScoreError: Memory ran out.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise ScoreError(f"out of memory on the losses of a batch of {count:,} pairs; lower `batch`") from None


def sample_bytes(call: Callable[[], object]) -> int:
    """The peak bytes of tensors created by a call: a function of shapes, not of the machine."""
    import torch
    from torch.multiprocessing.reductions import StorageWeakRef  # type: ignore[import-not-found, unused-ignore]
    from torch.utils._python_dispatch import TorchDispatchMode  # type: ignore[import-not-found, unused-ignore]
    from torch.utils._pytree import tree_leaves  # type: ignore[import-not-found, unused-ignore]

    class WatchedMemory(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.held: dict[int, tuple[Any, int]] = {}
            self.most = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            made = func(*args, **(kwargs or {}))
            known = {
                one.untyped_storage()._cdata for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)
            }
            for one in tree_leaves(made):
                if isinstance(one, torch.Tensor) and (storage := one.untyped_storage())._cdata not in known:
                    self.held[storage._cdata] = (StorageWeakRef(storage), storage.nbytes())
            self.held = {key: kept for key, kept in self.held.items() if not kept[0].expired()}
            self.most = max(self.most, sum(size for _, size in self.held.values()))
            return made

    watched = WatchedMemory()
    with watched:
        call()
    return watched.most


class BatchPortions:
    """Splits batches by a budget of bytes; the split depends only on shapes, until memory runs out."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._sizes: dict[tuple[Any, ...], int] = {}
        self._fit: float = math.inf  # samples that fit, as observed

    def size(self, batch: Batch, measure: Callable[[Batch], object]) -> int:
        """The number of samples of such a batch to compute at once."""
        shape = tuple((tuple(part.shape[1:]), part.dtype) for part in batch)
        if shape not in self._sizes:
            self._sizes[shape] = self._measured(batch, measure)
        return int(min(self._sizes[shape], self._fit))

    def run(self, batch: Batch, call: "Callable[[Batch], _Part]", measure: Callable[[Batch], object]) -> list[_Part]:
        """Call a function on each portion, in order; the size is halved when memory runs out.

        Raises:
            ScoreError: A single sample does not fit.
        """
        count = len(batch[0])
        size = self.size(batch, measure) if count > 1 else 1
        done: list[_Part] = []
        start = 0
        while start < count:
            stop = min(count, start + size)
            part = self._tried(call, take(batch, start, stop))
            if part is None:
                if stop - start == 1:
                    raise ScoreError(
                        "out of memory while scoring one sample; shorten samples, choose a smaller model, or give "
                        "the process more memory"
                    )
                size = max(1, (stop - start) // 2)
                self._fit = size
                continue
            done.append(part)
            start = stop
        return done

    def _measured(self, batch: Batch, measure: Callable[[Batch], object]) -> int:
        few: list[Batch] = [take(batch, 0, count) for count in (1, 2)]
        try:
            # A second sample shows the cost per sample on top of fixed costs, such as copies of weights.
            one, two = (sample_bytes(lambda some=some: measure(some)) for some in few)  # type: ignore[misc]
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            return 1
        return max(1, (self.max_bytes - one) // max(1, two - one, one // 64) + 1)

    @staticmethod
    def _tried(call: "Callable[[Batch], _Part]", batch: Batch) -> "_Part | None":
        import torch

        try:
            return call(batch)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        # Outside the handler: the error's traceback keeps the call's tensors alive.
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return None


def take(batch: Batch, start: int, stop: int) -> Batch:
    """Samples from `start` to `stop`."""
    return tuple(part[start:stop] for part in batch)
