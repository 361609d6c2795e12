"""Clusters of pictures and videos hold no chains: all members are like one of them, for any shards, order, workers."""

import random
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from tests.filters.duplicates.perceptual.test_frames import matched
from tests.pipelines.dedupe.search import id_of, item_clusters, search_items
from tests.pipelines.dedupe.test_vpdq import LAYER as OF_VIDEOS
from winnow.filters.duplicates.kind import AskedKind, find_kind
from winnow.filters.duplicates.kinds import pdq
from winnow.filters.duplicates.kinds.pdq import PdqConfig
from winnow.filters.duplicates.kinds.vpdq import VpdqConfig
from winnow.filters.duplicates.searches import BlockSearch
from winnow.filters.duplicates.vectors.cosine_kinds import CosineSettings
from winnow.pipelines.dedupe.chains import CutChains, count_cut
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.store.generations import Store
from winnow.schemas.rows.duplicates import Kind

VECTOR = pa.field("vector", pa.list_(pa.list_(pa.float32())))
BY_HASHES_AND_VECTORS = {
    "pdq": [pa.field("hash", pa.list_(pa.binary(32))), pa.field("quality", pa.list_(pa.int16()))],
    "embedding": [VECTOR],
    "video_embedding": [VECTOR],
}
STATUSES = [pa.field("status", pa.string()), pa.field("items", pa.list_(pa.string()))]
LAYERS = {kind: pa.schema([*STATUSES, *fields]) for kind, fields in BY_HASHES_AND_VECTORS.items()} | {"vpdq": OF_VIDEOS}
OF_VECTORS = ("embedding", "video_embedding")
SETTINGS: Mapping[Kind, object] = {
    "pdq": PdqConfig(),
    "embedding": CosineSettings(0.9),
    "vpdq": VpdqConfig(min_frames=1, still_radius=0),
    "video_embedding": CosineSettings(0.9),
}
Value = NDArray[Any]


def on_a_line(kind: Kind, line: int, place: float) -> Value:
    """A value: on one line, those at a distance of 1 or less are similar; those of other lines are strangers."""
    drawn = np.random.default_rng(line)
    if kind in OF_VECTORS:
        first, second = np.linalg.qr(drawn.normal(size=(64, 2)))[0].T
        angle = place * np.arccos(0.9) * 0.999
        found: Value = (np.cos(angle) * first + np.sin(angle) * second).astype(np.float32)
        return found
    if kind == "pdq":
        bits = drawn.integers(0, 2, 256).astype(np.uint8)
        bits[: round(30 * place)] ^= 1
        return np.packbits(bits)
    frames = drawn.integers(0, 2**64, (60, 4), dtype=np.uint64)
    return frames[round(2 * place) : round(2 * place) + 10]  # at a distance of 1, eight frames of ten are the same


def similar(kind: Kind, one: Value, other: Value) -> tuple[float, bool]:
    """By definition: how similar two values are, and whether that is enough."""
    if kind in OF_VECTORS:
        cosine = float(np.dot(one, other) / np.linalg.norm(one) / np.linalg.norm(other))
        return cosine, cosine >= 0.9
    if kind == "pdq":
        apart = int(np.unpackbits(np.bitwise_xor(one, other)).sum())
        return 1 - apart / 256, apart <= 31
    shares = matched(one, other, 31), matched(other, one, 31)
    return sum(shares), max(shares) >= 0.8


def row(kind: Kind, value: Value) -> dict[str, Any]:
    """What the kind's operator writes."""
    said: dict[str, Any] = {"status": "ok", "items": ["ok"]}
    if kind in OF_VECTORS:
        return said | {"vector": [value.tolist()]}
    if kind == "pdq":
        return said | {"hash": [value.tobytes()], "quality": [90]}
    return said | {"hash": [[frame.astype("<u8").tobytes() for frame in value]], "quality": [[90] * len(value)]}


def items(kind: Kind) -> dict[str, Value]:
    """Chains of several lengths, some with copies; tight groups, two of them with a bridge; pairs; and strangers."""
    steps = np.cumsum([0, *(0.9, 0.96, 0.84, 0.99) * 2]).tolist()  # so that nothing is as close to two others
    places = {f"chain{length}": steps[:length] for length in (3, 4, 5, 7, 8)}
    places |= {"tight0": [0.0, 0.5, 1.0], "bridged": [0.0, 0.5, 1.5, 2.5, 3.0, 3.5], "pair": [0.0, 1.0], "none": [0.0]}
    found = {}
    for line, (name, there) in enumerate(places.items()):
        for number, place in enumerate(there):
            found[f"{name}.{number}"] = on_a_line(kind, line, place)
            if number % 3 == 1:
                found[f"{name}.{number}.same"] = found[f"{name}.{number}"]
    return found


def searched(
    folder: Path, kind: Kind, found: Mapping[str, Value], shards: int, workers: int = 1
) -> tuple[dict[str, dict[str, Any]], CutChains]:
    """What the layer says of each item, and what the search says of chains."""
    made: list[Search] = []

    def search(store: Store, listed: str) -> Search:
        asked = AskedKind(find_kind(kind), SETTINGS[kind])
        made.append(Search(store, listed, "scratch/dedupe/test", {kind: asked}))
        return made[-1]

    rows = {name: row(kind, value) for name, value in found.items()}
    said = search_items(folder, search, LAYERS[kind], rows, shards, workers)
    return said, count_cut(made[-1], kind)


def stars(kind: Kind, found: Mapping[str, Value]) -> set[frozenset[str]]:
    """The clusters by definition, each item compared with each."""
    by_value: dict[bytes, list[str]] = {}
    for name in sorted(found, key=id_of):
        by_value.setdefault(found[name].tobytes(), []).append(name)
    different = {names[0]: names for names in by_value.values()}
    graph = networkx.Graph()
    graph.add_nodes_from(different)
    graph.add_edges_from(
        (one, other) for one, other in combinations(different, 2) if similar(kind, found[one], found[other])[1]
    )
    of: dict[str, list[str]] = {}
    for component in networkx.connected_components(graph):
        left, centres = set(component), []
        while left:
            centre = min(left, key=lambda one: (-len(left & set(graph[one])), id_of(one)))
            centres.append(centre)
            left -= {centre, *graph[centre]}
        for name in component:
            near = [one for one in centres if one == name or one in graph[name]]
            best = name if name in centres else max(near, key=lambda one: similar(kind, found[name], found[one])[0])
            of.setdefault(best, []).extend(different[name])
    return {frozenset(names) for names in of.values() if len(names) > 1}


@pytest.mark.parametrize("kind", SETTINGS)
def test_members_of_a_cluster_are_like_one_of_them_and_chains_are_cut(tmp_path: Path, kind: Kind) -> None:
    found = items(kind)
    said, cut = searched(tmp_path, kind, found, 3)
    clusters = item_clusters(said)
    assert clusters == stars(kind, found)
    for members in clusters:
        assert any(all(similar(kind, found[one], found[other])[1] for other in members) for one in members)
    by_id = {id_of(name): name for name in found}
    for name, row in said.items():
        members = next((one for one in clusters if name in one), frozenset({name}))
        counted = row[find_kind(kind).counted]
        assert (row["size"], counted) == ([len(members)], [len({found[one].tobytes() for one in members})])
        assert row["cluster"] == [min(map(id_of, members))]
        if row["matched"] == [None]:
            assert len(members) == 1
            continue
        match = by_id[row["matched"][0]]
        likeness = {one: similar(kind, found[name], found[one])[0] for one in members - {name}}
        assert likeness[match] == pytest.approx(max(likeness.values()), abs=1e-3)
    assert (cut.chains, cut.members) == (5, 4 + 5 + 7 + 8 + 6)  # one of the chain of three is like both others


@pytest.mark.parametrize("kind", SETTINGS)
def test_shards_and_order_change_no_value(tmp_path: Path, kind: Kind) -> None:
    found = items(kind)
    one, counted = searched(tmp_path / "one", kind, found, 1)
    for seed, shards in ((1, 5), (2, 8)):
        mixed = dict(random.Random(seed).sample(list(found.items()), len(found)))
        assert searched(tmp_path / str(seed), kind, mixed, shards) == (one, counted)


@pytest.mark.processes
@pytest.mark.parametrize("kind", ["pdq", "video_embedding"])
def test_workers_change_no_value(tmp_path: Path, kind: Kind) -> None:
    found = items(kind)
    assert searched(tmp_path / "two", kind, found, 5, workers=2) == searched(tmp_path / "one", kind, found, 5)


def test_a_cluster_of_more_members_than_are_compared_stays_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = pdq.KIND.search
    assert isinstance(how, BlockSearch)
    assert how.chains is not None
    few = replace(pdq.KIND, search=replace(how, chains=replace(how.chains, most=7)))
    monkeypatch.setattr(pdq, "KIND", few)
    found = items("pdq")
    said, cut = searched(tmp_path, "pdq", found, 3)
    assert max(row["hashes"][0] for row in said.values()) == 8
    assert cut.chains == 4
