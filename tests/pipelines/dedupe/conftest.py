"""Searches of these tests have a group for each shard: in groups by size, shards as small as theirs would be one."""

import pytest

from winnow.pipelines.dedupe import stage


@pytest.fixture(autouse=True)
def _a_group_for_each_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "GROUP_BYTES", 1)
