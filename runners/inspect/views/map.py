"""The map: some rows of a layer of embeddings in two dimensions, in clusters named by their words."""

from dataclasses import dataclass
from hashlib import sha256
from sys import getsizeof
from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.processes.cancelling import check_cancelled
from winnow.pipelines.query.vector_map import (
    MOST,
    VectorMap,
    cluster_words,
    map_vectors,
    read_vectors,
    sampled_texts,
    spread_rows,
)
from winnow.runners.inspect.asking import choice_of, number_of
from winnow.runners.inspect.choosing import chosen_rows
from winnow.runners.inspect.frame import Frame, Rows, frame_of
from winnow.runners.inspect.listing import text_columns
from winnow.runners.inspect.measures import frame_layers
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import Answer, Asked, UnavailableError, View

VECTOR: Final = "vector"

_POINTER: Final = 8  # bytes by which a list knows each of its texts


@dataclass(frozen=True)
class _Mapped:
    """A map of some rows, and what is said of them."""

    rows: Rows
    items: Rows
    found: VectorMap
    names: list[str]
    ids: list[str]

    @property
    def nbytes(self) -> int:
        """Its arrays and texts."""
        arrays = (self.rows, self.items, self.found.points, self.found.clusters)
        texts = sum(getsizeof(one) + _POINTER for one in (*self.ids, *self.names))
        return sum(array.nbytes for array in arrays) + texts


def answer(opened: Opened, asked: Asked) -> Answer:
    """The points of at most 50,000 rows, spread over those that a filter leaves.

    Asked: `layer`, by default the first with vectors, `filter`, and `most` rows. Points are lists of the same length:
    `x` and `y` from -1 to 1, `cluster`, `id`, `item` and `row`, the number by which other views know the row.
    """
    layers = embedding_layers(opened)
    if not layers:
        raise UnavailableError(
            "no embeddings are measured; list text.embedding or image.embedding under annotate and run: winnow "
            "annotate RECIPE"
        )
    layer = choice_of(asked, "layer", layers, layers[0])
    frame = frame_of(opened)
    marks = chosen_rows(opened, frame, asked.get("filter"))
    rows = spread_rows(np.flatnonzero(marks), number_of(asked, "most", MOST, 1, MOST))
    key = "map", layer, sha256(rows.tobytes()).digest()
    mapped = opened.kept.get(key, lambda: _mapped(opened, frame, layer, rows), newest_of="map")
    points, clusters = mapped.found.points, mapped.found.clusters
    return {
        "layer": layer,
        "layers": layers,
        "sampled": len(rows),
        "of": int(marks.sum()),
        "without_vector": len(rows) - len(np.unique(mapped.rows)),
        "points": {
            "x": np.round(points[:, 0].astype(float), 4).tolist(),
            "y": np.round(points[:, 1].astype(float), 4).tolist(),
            "cluster": clusters.tolist(),
            "id": mapped.ids,
            "item": mapped.items.tolist(),
            "row": mapped.rows.tolist(),
        },
        "clusters": [
            {"cluster": number, "words": name, "points": size, **_middle(points[clusters == number])}
            for number, (name, size) in enumerate(zip(mapped.names, mapped.found.sizes, strict=True))
        ],
    }


def embedding_layers(opened: Opened) -> list[str]:
    """The layers with vectors that all shards have, those of texts first."""
    there = [layer for layer in frame_layers(opened) if VECTOR in opened.tables.layers[layer].names]
    return sorted(there, key=lambda layer: (not layer.startswith("text."), layer))


def _mapped(opened: Opened, frame: Frame, layer: str, rows: Rows) -> _Mapped:
    sampled = read_vectors(opened.store, opened.generation, layer, frame.starts, rows, MOST)
    check_cancelled()
    found = map_vectors(sampled.vectors)
    check_cancelled()
    texts = sampled_texts(opened.store, opened.generation, text_columns(opened), frame.starts, sampled.rows)
    names = cluster_words([one.text for one in texts], found.clusters)
    return _Mapped(sampled.rows, sampled.items, found, names, [one.id for one in texts])


def _middle(points: NDArray[np.float32]) -> dict[str, float]:
    """Where a cluster's name goes."""
    x, y = np.median(points.astype(float), axis=0).round(4).tolist()
    return {"x": x, "y": y}


VIEW = View(answer)
