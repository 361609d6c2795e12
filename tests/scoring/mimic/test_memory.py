"""Portions follow from bytes; bytes follow from shapes."""

from typing import Any

import pytest

from winnow.scoring.mimic.memory import Portions, is_out_of_memory, sample_bytes

torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`")


def test_what_is_freed_does_not_count() -> None:
    def call() -> Any:
        one = torch.ones(1000)  # 4000 bytes
        two = one + 1  # 4000 more
        del one
        return two * 2  # as many as before

    assert sample_bytes(call) == 8000


def test_views_and_what_is_written_in_place_take_nothing() -> None:
    assert sample_bytes(lambda: torch.ones(1000).view(10, 100).mul_(2)) == 4000


@pytest.mark.parametrize(("max_bytes", "sizes"), [(1, [1] * 5), (8000, [2, 2, 1]), (12_000, [3, 2]), (1 << 20, [5])])
def test_portions_keep_to_the_budget(max_bytes: int, sizes: list[int]) -> None:
    batch = (torch.ones(5, 1000),)
    parts = Portions(max_bytes).run(batch, lambda part: part[0].sum(1), lambda part: part[0] * 2)
    assert [len(part) for part in parts] == sizes


def test_what_any_batch_takes_is_not_counted_for_each_sample() -> None:
    batch = (torch.ones(5, 1000),)
    held: list[Any] = []

    def measure(part: Any) -> Any:
        held.append(torch.ones(10_000))  # as a copy of weights
        return part[0] * 2

    parts = Portions(52_000).run(batch, lambda part: part[0], measure)
    assert [len(part) for part in parts] == [3, 2]


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (MemoryError(), True),
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)"), True),
        (RuntimeError("shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_errors_that_say_that_memory_ended(error: BaseException, says: bool) -> None:
    assert is_out_of_memory(error) == says
