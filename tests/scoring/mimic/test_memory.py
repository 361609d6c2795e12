"""Portions follow from bytes; bytes follow from shapes."""

from typing import Any

import pytest

from tests.scoring.mimic.oracle import towards
from tests.scoring.mimic.zoo import pair
from winnow.schemas.errors import ScoreError
from winnow.scoring.mimic.exact import MimicScorer, MimicSettings
from winnow.scoring.mimic.memory import BatchPortions, is_out_of_memory, sample_bytes
from winnow.scoring.mimic.models import BatchModel

torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`")

pytestmark = pytest.mark.torch


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
    parts = BatchPortions(max_bytes).run(batch, lambda part: part[0].sum(1), lambda part: part[0] * 2)
    assert [len(part) for part in parts] == sizes


def test_what_any_batch_takes_is_not_counted_for_each_sample() -> None:
    batch = (torch.ones(5, 1000),)
    held: list[Any] = []

    def measure(part: Any) -> Any:
        held.append(torch.ones(10_000))  # as a copy of weights
        return part[0] * 2

    parts = BatchPortions(52_000).run(batch, lambda part: part[0], measure)
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


@pytest.mark.parametrize("asked", ["forward", "differences", "norms"])
def test_where_memory_ends_on_what_needs_the_whole_batch_a_smaller_one_is_asked_for(asked: Any) -> None:
    of = pair()
    assert isinstance(of.model, BatchModel)
    hungry = BatchModel(of.model.embed, lambda _, __: torch.empty(1 << 60))
    scorer = MimicScorer(hungry, of.at, towards(of), MimicSettings(means=None if asked == "norms" else asked))
    with pytest.raises(ScoreError, match="out of memory on the losses of a batch of 7 pairs; lower `batch`"):
        (scorer.gradient_norms if asked == "norms" else scorer)(of.batch)


def test_other_errors_of_losses_are_not_taken_for_it() -> None:
    of = pair()
    assert isinstance(of.model, BatchModel)

    def losses(_: Any, __: Any) -> Any:
        raise RuntimeError("the user's own")

    with pytest.raises(RuntimeError, match="the user's own"):
        MimicScorer(BatchModel(of.model.embed, losses), of.at, towards(of))(of.batch)
