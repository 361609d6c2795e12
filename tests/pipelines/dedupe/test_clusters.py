"""Clusters, merged in one task or by star contraction, are the components that networkx finds."""

import random
from collections import Counter
from pathlib import Path

import networkx
import numpy as np
import pyarrow as pa
import pytest

from tests.pipelines.dedupe.search import Row, changed, layer, prose, search, write_pages
from winnow.filters.duplicates.kind import AskedKind, find_kind
from winnow.filters.duplicates.kinds.near import NearConfig, near_settings
from winnow.pipelines.dedupe import clusters as module
from winnow.pipelines.dedupe.clusters import EDGES
from winnow.pipelines.dedupe.graph import OutcomeGraph, StarGraph
from winnow.pipelines.dedupe.groups import MEMBERS
from winnow.pipelines.dedupe.matches import MATCHES
from winnow.pipelines.dedupe.nodes import first_place, nodes_of, rows_of_places, shards_of
from winnow.pipelines.dedupe.search import CoveredShard, Search, put_shards
from winnow.pipelines.running.scratch_parts import put_part, read_part
from winnow.pipelines.running.step_progress import steps_done
from winnow.pipelines.store.generations import Store, create_or_open
from winnow.pipelines.store.location import open_location
from winnow.runners.engines.engine import Engine
from winnow.runners.terminal.progress.job import JobProgress
from winnow.schemas.records import StoreRecord
from winnow.schemas.uint128 import values_of

SHARD_ROWS = 8
NEAR = {"near": AskedKind(find_kind("near"), near_settings(NearConfig()))}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    record = StoreRecord("store", 7, 64, 1 << 20, 16, 1 << 20, 1 << 20)
    return create_or_open(open_location(str(tmp_path / "store")), record)


def chains_and_copies() -> list[Row]:
    """Chains of similar texts, copies of texts in a chain, other equal texts, and texts without a match."""
    rows: list[Row] = []
    for number in range(4):
        words = prose(number, 200)
        for link in range(2 + 2 * number):
            rows.append({"id": f"chain{number}.{link}", "text": " ".join(words)})
            words = changed(words, 0.02, 100 * number + link)
    rows += [{"id": f"{row['id']}.copy{copy}", "text": str(row["text"]).upper()} for row in rows[:3] for copy in (1, 2)]
    rows += [{"id": f"equal{copy}", "text": " ".join(prose(50))} for copy in range(3)]
    rows += [{"id": f"alone{number}", "text": " ".join(prose(1000 + number))} for number in range(9)]
    return rows


def test_one_task_and_star_contraction_write_the_same_layer_for_any_shards_and_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = chains_and_copies()
    found = []
    for name, max_edges, shard_rows in (("task", 1 << 23, 64), ("stars", 0, 7)):
        monkeypatch.setattr(module, "MAX_EDGES", max_edges)
        write_pages(tmp_path / name, {"a": random.Random(name).sample(rows, len(rows))})
        search(tmp_path / name, shard_rows=shard_rows)
        found.append(layer(tmp_path / name, "near"))
    assert found[0] == found[1]
    assert is_consistent(found[0], {str(row["id"]): str(row["text"]).lower() for row in rows})


def is_consistent(found: dict[str, Row], texts: dict[str, str]) -> bool:
    """Whether every row's size, texts and match agree with the rows of its cluster."""
    for key, row in found.items():
        members = [other for other in found if found[other]["cluster"] == row["cluster"]]
        assert row["size"] == len(members), key
        assert row["texts"] == len({texts[other] for other in members}), key
        assert row["matched"] is None if len(members) == 1 else row["matched"] in members, key
    return True


def search_before_clusters(store: Store, shards: int, pairs: list[tuple[int, int]], copies: dict[int, int]) -> Search:
    """A search with the scratch files that comparing leaves: similar pairs, and the root of each copy."""
    covered = [CoveredShard(f"{shard:04d}", "pages", SHARD_ROWS, {"samples": f"{shard}"}) for shard in range(shards)]
    searching = Search(store, put_shards(store.objects, covered), "scratch/dedupe/test", NEAR)
    roots = Counter(copies.values())
    edges = np.array(pairs, np.int64).reshape(-1, 2)
    for shard in range(shards):
        here = range(SHARD_ROWS * shard, SHARD_ROWS * (shard + 1))
        alike = sorted(set(edges.reshape(-1).tolist()) & set(here))
        grouped = sorted(row for row in here if row in copies or row in roots)
        root = [copies.get(row, row) for row in grouped]
        matches = [row_numbers(alike), row_numbers(alike), ids(alike), ids(alike)]
        same = [pa.array(np.ones(len(alike)))] * 2 + [pa.array(np.ones(len(alike), np.bool_))]
        members = [row_numbers(grouped), row_numbers(root), ids(root), ids(root)]
        sizes = pa.array([roots[row] + 1 for row in root], pa.int64())
        for name, columns, schema in (
            ("matches", [*matches, *same], MATCHES),
            ("members", [*members, sizes], MEMBERS),
        ):
            batch = pa.RecordBatch.from_arrays(columns, schema=schema)
            put_part(store.objects, searching.scratch, f"near/{name}", shard, batch)
        mine = edges[edges[:, 0] // SHARD_ROWS == shard]
        forest = pa.RecordBatch.from_arrays([row_numbers(mine[:, 0]), row_numbers(mine[:, 1])], schema=EDGES)
        put_part(store.objects, searching.scratch, "near/forests", shard, forest)
    return searching


def row_numbers(rows: object) -> pa.Array:
    """Return the rows' nodes."""
    numbers = np.array(rows, np.int64)
    return pa.array(
        [int(nodes_of(one // SHARD_ROWS, np.array([first_place(one % SHARD_ROWS)]))[0]) for one in numbers.tolist()],
        pa.uint64(),
    )


def ids(rows: list[int]) -> pa.Array:
    """Return ids that get smaller as the rows get larger."""
    numbers = np.array(rows, np.int64).astype(np.uint64)
    return values_of(np.uint64(1 << 40) - numbers, numbers)


def outcomes(searching: Search) -> dict[int, tuple[bytes, int, int]]:
    """Return the cluster, its size and its number of texts for each row in a cluster."""
    found: dict[int, tuple[bytes, int, int]] = {}
    for shard in range(len(searching.covered)):
        for row in read_part(searching.store.objects, searching.scratch, "near/outcomes", shard).to_pylist():
            found[SHARD_ROWS * shard + int(rows_of_places(np.array(row["place"])))] = (
                row["cluster"],
                row["size"],
                row["texts"],
            )
    return found


def clusters_by_networkx(pairs: list[tuple[int, int]], copies: dict[int, int]) -> dict[int, tuple[bytes, int, int]]:
    """Return the same, as networkx finds it."""
    graph = networkx.Graph([*pairs, *copies.items()])
    found: dict[int, tuple[bytes, int, int]] = {}
    for members in networkx.connected_components(graph):
        texts = [row for row in members if row not in copies]
        named = ids([max(texts)])[0].as_py()
        found |= dict.fromkeys(members, (named, len(members), len(texts)))
    return found


def test_star_contraction_finds_the_components_that_networkx_finds(store: Store) -> None:
    drawn = random.Random(1)
    shards = 6
    copies = {40 + copy: drawn.randrange(40) for copy in range(8)}
    pairs = [(row, row + 1) for row in range(12)]  # a chain over two shards
    pairs += [tuple(sorted(drawn.sample(range(14, 40), 2))) for _ in range(10)]  # type: ignore[misc]
    searching = search_before_clusters(store, shards, pairs, copies)
    last = run_star_contraction(searching, 3)
    Engine("local", 1).run(OutcomeGraph(last).build)
    assert outcomes(searching) == clusters_by_networkx(pairs, copies)
    assert last.number < module.max_star_rounds(len(pairs))
    assert not list(store.objects.list(f"{searching.scratch}/exchange/Upward"))


def run_star_contraction(searching: Search, partitions: int) -> module.StarRound:
    for number in range(0, 20, module.ROUNDS_A_JOB):
        rounds = module.star_rounds(searching, "near", number, partitions)
        Engine("local", 1).run(StarGraph(rounds).build)
        for one in rounds:
            one.clear()
        if rounds[-1].finished:
            return rounds[-1]
    raise AssertionError("star contraction did not finish")


def test_progress_shows_the_last_step_that_has_begun(store: Store) -> None:
    searching = Search(store, put_shards(store.objects, []), "scratch/dedupe/test", NEAR)
    steps = {"Bands": 6, "Candidates": 3, "Forests.near": 1}
    shown = JobProgress(store.objects, searching.scratch, "dedupe", steps, rounds_after="Forests")
    assert shown.status({"Bands": 6, "Candidates": 2}).line().split() == ["dedupe", "Candidates", "2/3", "parts"]
    assert shown.status({"Forests.near": 1, "Upward-0.near": 2}).line().split() == [
        "dedupe",
        "Upward-0.near",
        "2",
        "parts",
    ]
    assert steps_done(store.objects, searching.scratch) == Counter()


def test_a_node_contains_its_shard_number() -> None:
    assert shards_of(row_numbers([17]).to_numpy()).tolist() == [2]
