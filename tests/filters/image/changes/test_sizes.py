"""Sizes of resized pictures are img2dataset's, for every mode."""

import json
from pathlib import Path

from winnow.filters.image.changes.options import Resize
from winnow.filters.image.changes.pixels import layout_of

ORACLE = Path(__file__).parent / "img2dataset_sizes.json"  # made by the package's own Resizer; the file names versions


def test_every_size_is_that_of_img2dataset() -> None:
    rows = json.loads(ORACLE.read_text())["rows"]
    differing = []
    for height, width, mode, side, only_if_bigger, new_height, new_width in rows:
        found = layout_of(height, width, Resize(mode, side, only_if_bigger)).final
        if found != (new_height, new_width):
            differing.append((height, width, mode, side, only_if_bigger, found, (new_height, new_width)))
    assert len(rows) == 450
    assert differing == []
