"""Hashes of frames: those that were seen, in order, whatever batches they came in."""

import itertools
import json
import os
from pathlib import Path

import pyarrow as pa
import pytest

from tests.filters.duplicates.perceptual.test_pdq import made
from tests.filters.video.watched import watched
from winnow.filters.duplicates.perceptual.pdq import pdq
from winnow.filters.operators import find_operator
from winnow.filters.video.decode.signals import SCHEMAS
from winnow.filters.video.vpdq import HASHES, FrameHashes

GOLDEN = Path(__file__).parent / "golden" / "vpdq.json"


def seen() -> pa.RecordBatch:
    frames = [pdq(made(kind, 64, 64)) for kind in ("waves", "steps", "waves")]
    rows = [
        {"ticks": 1000 * at, "seconds": float(at), "hash": one.bits, "quality": one.quality}
        for at, one in enumerate(frames)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMAS["hashes"])


@pytest.mark.parametrize("bounds", [(0, 3), (0, 1, 3), (0, 0, 2, 3)])
def test_hashes_are_listed_in_order_however_they_arrive(bounds: tuple[int, ...]) -> None:
    batches = [seen().slice(begin, end - begin) for begin, end in itertools.pairwise(bounds)]
    row = watched(FrameHashes(), HASHES, batches)
    assert row == {name: seen()[name].to_pylist() for name in ("hash", "quality", "seconds")}


def test_a_video_without_frames_has_empty_lists() -> None:
    assert watched(FrameHashes(), HASHES, []) == {"hash": [], "quality": [], "seconds": []}


def test_values_are_those_of_the_version() -> None:
    row = watched(FrameHashes(), HASHES, [seen()])
    row["hash"] = [one.hex() for one in seen()["hash"].to_pylist()]
    found = {"operator": "video.vpdq", "version": find_operator("video.vpdq").version, "rows": [row]}
    if os.environ.get("UPDATE_GOLDEN") == "1":
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    assert found == json.loads(GOLDEN.read_text(encoding="utf-8"))
