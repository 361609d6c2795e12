"""Maps of embeddings: the rows that stand for others on one, and those that a part of it holds.

A map is of the rows that a filter leaves, so who names a part of it says which rows the map was drawn of. Equal rows
give equal maps, and so a part that is kept in an address holds the same rows whenever it is opened.
"""

from collections.abc import Callable, Mapping
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
from winnow.runners.inspect.frame import Frame, Marks, Rows
from winnow.runners.inspect.listing import text_columns
from winnow.runners.inspect.measures import frame_layers
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import Asked, AskedError, UnavailableError

VECTOR: Final = "vector"
PART: Final = ("layer", "box", "cluster", "among")

_POINTER: Final = 8  # bytes by which a list knows each of its texts
_DIGITS: Final = 4  # of a point's place


@dataclass(frozen=True)
class Mapped:
    """A map of some rows, and what is said of them."""

    rows: Rows
    items: Rows
    found: VectorMap
    names: list[str]
    ids: list[str]

    @property
    def places(self) -> NDArray[np.float64]:
        """Two numbers a point, as the page is told them."""
        return np.round(self.found.points.astype(float), _DIGITS)

    @property
    def nbytes(self) -> int:
        """Its arrays and texts."""
        arrays = (self.rows, self.items, self.found.points, self.found.clusters)
        texts = sum(getsizeof(one) + _POINTER for one in (*self.ids, *self.names))
        return sum(array.nbytes for array in arrays) + texts


def embedding_layers(opened: Opened) -> list[str]:
    """The layers with vectors that all shards have, those of texts first; UnavailableError if there are none."""
    there = [layer for layer in frame_layers(opened) if VECTOR in opened.tables.layers[layer].names]
    if not there:
        raise UnavailableError(
            "no embeddings are measured; list text.embedding or image.embedding under annotate and run: winnow "
            "annotate RECIPE"
        )
    return sorted(there, key=lambda layer: (not layer.startswith("text."), layer))


def map_of(opened: Opened, frame: Frame, layer: str, rows: Rows) -> Mapped:
    """The map of these rows, drawn when it is first asked for."""
    key = "map", layer, sha256(rows.tobytes()).digest()
    return opened.kept.get(key, lambda: _mapped(opened, frame, layer, rows))


def sampled_rows(marks: Marks, most: int = MOST) -> Rows:
    """The rows that stand for the marked ones on a map."""
    return spread_rows(np.flatnonzero(marks), most)


def rows_of_part(opened: Opened, frame: Frame, part: object, chosen: Callable[[object], Marks]) -> Marks:
    """The rows whose points lie in a part of a map.

    `part`: the `layer`, the filter that the map's rows are `among`, and a `box`, the least and greatest x and the least
    and greatest y, or the number of a `cluster`. `chosen`: which rows a filter leaves.
    """
    if not isinstance(part, Mapping) or set(part) - set(PART) or ("box" in part) == ("cluster" in part):
        raise AskedError(f"filter.map: expected {', '.join(PART)}, and one of box and cluster, found {part!r}")
    among = part.get("among")
    if isinstance(among, Mapping) and "map" in among:
        raise AskedError("filter.map.among: a map of a part of a map is not drawn")
    layers = embedding_layers(opened)
    found = map_of(opened, frame, choice_of(part, "layer", layers, layers[0]), sampled_rows(chosen(among)))
    inside = _in_box(found, part["box"]) if "box" in part else _in_cluster(found, part)
    marks = np.zeros(frame.rows, np.bool_)
    marks[found.rows[inside]] = True
    return marks


def _in_cluster(found: Mapped, part: Asked) -> Marks:
    marks: Marks = found.found.clusters == number_of(part, "cluster", 0, most=(1 << 15) - 1)
    return marks


def _in_box(found: Mapped, box: object) -> Marks:
    numbers = isinstance(box, list) and all(type(one) in (int, float) and abs(one) < 1 << 30 for one in box)
    if not isinstance(box, list) or len(box) != 4 or not numbers:
        raise AskedError(f"filter.map.box: expected four numbers, found {box!r}")
    x, y = found.places[:, 0], found.places[:, 1]
    marks: Marks = (x >= box[0]) & (x <= box[1]) & (y >= box[2]) & (y <= box[3])
    return marks


def _mapped(opened: Opened, frame: Frame, layer: str, rows: Rows) -> Mapped:
    sampled = read_vectors(opened.store, opened.generation, layer, frame.starts, rows, MOST)
    check_cancelled()
    found = map_vectors(sampled.vectors)
    check_cancelled()
    texts = sampled_texts(opened.store, opened.generation, text_columns(opened), frame.starts, sampled.rows)
    names = cluster_words([one.text for one in texts], found.clusters)
    return Mapped(sampled.rows, sampled.items, found, names, [one.id for one in texts])
