"""The map: some rows of a layer of embeddings in two dimensions, in clusters named by their words."""

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.query.vector_map import MOST
from winnow.runners.inspect.asking import choice_of, number_of
from winnow.runners.inspect.choosing import chosen_rows
from winnow.runners.inspect.frame import frame_of
from winnow.runners.inspect.mapped import embedding_layers, map_of, sampled_rows
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import Answer, Asked, View


def answer(opened: Opened, asked: Asked) -> Answer:
    """The points of at most 50,000 rows, spread over those that a filter leaves.

    Asked: `layer`, by default the first with vectors, `filter`, and `most` rows. Points are lists of the same length:
    `x` and `y` from -1 to 1, `cluster`, `id`, `item` and `row`, the number by which other views know the row.
    """
    layers = embedding_layers(opened)
    layer = choice_of(asked, "layer", layers, layers[0])
    frame = frame_of(opened)
    marks = chosen_rows(opened, frame, asked.get("filter"))
    rows = sampled_rows(marks, number_of(asked, "most", MOST, 1, MOST))
    mapped = map_of(opened, frame, layer, rows)
    places, clusters = mapped.places, mapped.found.clusters
    return {
        "layer": layer,
        "layers": layers,
        "sampled": len(rows),
        "of": int(marks.sum()),
        "without_vector": len(rows) - len(np.unique(mapped.rows)),
        "points": {
            "x": places[:, 0].tolist(),
            "y": places[:, 1].tolist(),
            "cluster": clusters.tolist(),
            "id": mapped.ids,
            "item": mapped.items.tolist(),
            "row": mapped.rows.tolist(),
        },
        "clusters": [
            {"cluster": number, "words": name, "points": size, **_middle(places[clusters == number])}
            for number, (name, size) in enumerate(zip(mapped.names, mapped.found.sizes, strict=True))
        ],
    }


def _middle(places: NDArray[np.float64]) -> dict[str, float]:
    """Where a cluster's name goes."""
    x, y = np.median(places, axis=0).round(4).tolist()
    return {"x": x, "y": y}


VIEW = View(answer)
