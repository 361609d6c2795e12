"""Successive items are grouped by their sizes alone."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.pipelines.running.job_tasks import TASK_BYTES
from winnow.pipelines.running.shard_groups import successive_groups


@settings(derandomize=True, deadline=None)
@given(st.lists(st.integers(0, 4 * TASK_BYTES), max_size=60), st.integers(1, 8))
def test_groups_are_successive_few_and_about_equal(sizes: list[int], most: int) -> None:
    groups = successive_groups(np.array(sizes, np.int64), most)
    assert [item for group in groups for item in group] == list(range(len(sizes)))
    assert len(groups) <= most
    each = max(TASK_BYTES, -(-sum(sizes) // most)) + len(sizes)
    assert all(sum(sizes[item] for item in group) <= each + max(sizes) for group in groups)


def test_a_million_shards_are_at_most_4096_groups() -> None:
    groups = successive_groups(np.full(1_000_000, 50 << 20, np.int64))
    assert 4_000 < len(groups) <= 4_096
    assert max(map(len, groups)) <= 246
