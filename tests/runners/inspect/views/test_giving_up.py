"""What takes long on a large store is given up within a shard, or a round: the page asked something newer."""

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.runners.inspect.views.sites_store import opened
from winnow.pipelines.processes.cancelling import CancelledError, cancellable
from winnow.pipelines.query.cluster_tasks import cluster_tasks
from winnow.pipelines.query.duplicates import Browser
from winnow.pipelines.query.vector_map import cluster_words, map_vectors
from winnow.pipelines.rules.deciding import choose_representatives
from winnow.pipelines.running.job_tasks import HERE
from winnow.runners.inspect.frame import fill_frame, frame_of
from winnow.runners.inspect.opened import Opened


def _clusters(shown: Opened) -> object:
    browser = Browser(shown.store, shown.generation, ())
    with HERE.folder("clusters") as steps:
        return list(cluster_tasks(browser, "near", 10, steps).counting(HERE))


def _map(_: Opened) -> object:
    found = map_vectors(np.random.default_rng(1).normal(size=(2000, 8)).astype(np.float32))
    return cluster_words(["some words"] * 2000, found.clusters)


@pytest.mark.parametrize(
    ("work", "least"),
    [
        (_clusters, 1.0),
        (lambda shown: choose_representatives(frame_of(shown).pinned), 1.0),
        (lambda shown: fill_frame(frame_of(shown).pinned), 2.0),  # what `settle` does: both passes
        (_map, 1.0),
    ],
    ids=["clusters", "representatives", "settle", "map"],
)
def test_long_work_looks_between_its_parts_whether_it_is_wanted(
    sites: Path, work: Callable[[Opened], object], least: float
) -> None:
    shown = opened(sites / "recipe.yaml")
    shards = len(frame_of(shown).shards)
    looked: list[int] = []
    lock = threading.Lock()

    def flag(after: int) -> bool:
        with lock:
            looked.append(0)
            return len(looked) > after

    with cancellable(partial(flag, 1 << 30)):
        work(shown)
    assert len(looked) >= least * shards > 3
    for after in (0, 1, shards - 1):
        looked.clear()
        with cancellable(partial(flag, after)), pytest.raises(CancelledError):
            work(shown)
