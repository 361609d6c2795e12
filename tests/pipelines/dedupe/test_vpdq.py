"""Videos by their frames over a store: the clusters and best matches of comparing all with all, for any shards."""

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from tests.filters.duplicates.perceptual.test_frames import matched
from tests.filters.duplicates.perceptual.test_hamming import changed
from tests.pipelines.dedupe.search import item_clusters, search_items
from winnow.filters.duplicates.kind import AskedKind, find_kind
from winnow.filters.duplicates.kinds.vpdq import VpdqConfig
from winnow.pipelines.dedupe.search import Search

LAYER = pa.schema(
    [
        pa.field("status", pa.string()),
        pa.field("items", pa.list_(pa.string())),
        pa.field("hash", pa.list_(pa.list_(pa.binary(32)))),
        pa.field("quality", pa.list_(pa.list_(pa.int16()))),
    ]
)


@dataclass(frozen=True)
class Video:
    """A name, the hashes of its frames, and those of them that are flat."""

    name: str
    frames: NDArray[np.uint64]
    flat: frozenset[int] = frozenset()

    def row(self) -> dict[str, Any]:
        """What the operator writes of a row with this video alone."""
        quality = [10 if number in self.flat else 90 for number in range(len(self.frames))]
        return {
            "status": "ok",
            "items": ["ok"],
            "hash": [[frame.astype("<u8").tobytes() for frame in self.frames]],
            "quality": [quality],
        }


def videos() -> list[Video]:
    """Copies, excerpts, equal and near-equal ones, and strangers with a title, black frames, or a part in common."""
    random = np.random.default_rng(11)

    def frames(count: int) -> NDArray[np.uint64]:
        return random.integers(0, 2**64, (count, 4), dtype=np.uint64)

    title, black = frames(1), frames(1)
    found = []
    for number in range(6):
        film = frames(10)
        found += [
            Video(f"film{number}", film),
            Video(f"film{number}.same", film),
            Video(f"film{number}.recompressed", changed(film, 14, random)),
            Video(f"film{number}.trimmed", changed(film[1:], 8, random)),
            Video(f"film{number}.excerpt", film[3:7]),
        ]
    for number in range(12):  # mostly a title that stands still; mostly black; a third of a film
        still = changed(title.repeat(8, 0), 5, random)
        found.append(Video(f"titled{number}", np.concatenate([still, frames(3)])))
        found.append(Video(f"black{number}", np.concatenate([black.repeat(9, 0), frames(3)]), frozenset(range(9))))
        found.append(Video(f"quoting{number}", np.concatenate([found[0].frames[:3], frames(6)])))
    found.append(Video("short", title))
    found.append(Video("short.same", changed(title, 4, random)))
    found.append(Video("dark", black, frozenset({0})))
    return found


def searched(folder: Path, found: list[Video], shards: int, config: VpdqConfig) -> dict[str, dict[str, Any]]:
    """What the layer says of each video."""
    rows = {one.name: one.row() for one in found}
    asked = AskedKind(find_kind("vpdq"), config)
    return search_items(
        folder,
        lambda store, listed: Search(store, listed, "scratch/dedupe/test", {"vpdq": asked}),
        LAYER,
        rows,
        shards,
    )


def true_clusters(found: list[Video], config: VpdqConfig) -> set[frozenset[str]]:
    """By vPDQ's definition, each video compared with each."""
    graph = networkx.Graph()
    kept = {}
    for one in found:
        clear = [frame for number, frame in enumerate(one.frames) if number not in one.flat]
        different: list[NDArray[np.uint64]] = []
        for frame in clear:
            if not matched(np.array([frame]), np.array(different).reshape(-1, 4), config.still_radius):
                different.append(frame)
        kept[one.name] = np.array(different).reshape(-1, 4)
    for left, right in combinations((name for name in kept if len(kept[name])), 2):
        shares = (matched(kept[a], kept[b], config.radius) for a, b in ((left, right), (right, left)))
        high, low = sorted(zip(shares, (len(kept[left]), len(kept[right])), strict=True), reverse=True)
        enough = high[1] >= config.min_frames or low[0] >= config.min_share
        if high[0] >= config.min_share and low[0] >= config.min_other_share and enough:
            graph.add_edge(left, right)
    return {frozenset(members) for members in networkx.connected_components(graph)}


def test_copies_and_excerpts_form_clusters_and_strangers_do_not(tmp_path: Path) -> None:
    config, found = VpdqConfig(), videos()
    rows = searched(tmp_path, found, 1, config)
    films = {
        frozenset({f"film{number}{what}" for what in ("", ".same", ".recompressed", ".trimmed", ".excerpt")})
        for number in range(6)
    }
    assert item_clusters(rows) == true_clusters(found, config) == films | {frozenset({"short", "short.same"})}
    assert rows["film3.same"]["own_share"] == [1.0]
    trimmed = rows["film0.trimmed"]
    assert trimmed["videos"] == [4]
    assert (trimmed["size"], trimmed["own_share"], trimmed["other_share"]) == ([5], [1.0], [0.9])
    assert rows["film0.excerpt"]["other_share"] == [4 / 9]  # of the trimmed one
    assert rows["titled0"]["status"] == "unmatched"
    assert (rows["dark"]["status"], rows["dark"]["items"]) == ("low_quality", ["low_quality"])


def test_any_number_of_shards_gives_the_same_rows(tmp_path: Path) -> None:
    config, found = VpdqConfig(min_other_share=0.5), videos()
    one = searched(tmp_path / "one", found, 1, config)
    five = searched(tmp_path / "five", found, 5, config)
    assert five == one
    assert item_clusters(one) == true_clusters(found, config)


@pytest.mark.parametrize("config", [VpdqConfig(still_radius=0, min_frames=1), VpdqConfig(min_share=0.3)])
def test_looser_settings_join_what_they_say(tmp_path: Path, config: VpdqConfig) -> None:
    found = videos()
    assert item_clusters(searched(tmp_path, found, 3, config)) == true_clusters(found, config)
