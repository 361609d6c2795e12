"""The benchmark of scores from samples on: both sides read the same texts."""

import pyarrow as pa

from benchmarks.mimic.samples import CHECKPOINTS, CLASSES, FORWARD, compared
from winnow.scoring.protocol import TEXT


def test_scores_and_losses_of_the_same_texts_are_timed() -> None:
    texts = pa.array([f"number {number} of some texts" for number in range(CLASSES)], pa.large_string())
    one, each = compared("hashed", pa.record_batch({TEXT: texts, "label": pa.array(range(CLASSES))}), turns=1)
    assert one.peers == each.peers
    assert one.peers[FORWARD] > 0
    assert one.ours > 0
    assert each.ours > 0
    assert [one.name.rpartition(", ")[2], each.name.rpartition(", ")[2]] == [
        "one checkpoint",
        f"each of {CHECKPOINTS} checkpoints",
    ]
