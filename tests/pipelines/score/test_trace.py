"""Rows without a finite value say why; a video's values are those of its frames, however many passes there are."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from winnow.pipelines.score.trace import Tracer, of_frames, score_rows
from winnow.schemas.recipe.score import VideoFrames
from winnow.schemas.rows.scores import trace_schema
from winnow.scoring.protocol import ALONE, NOT_FINITE, Encoded, Floats

SCHEMA = trace_schema(2)  # m1, m2, loss1, loss2, reference_loss
VALUES = st.lists(st.floats(-1e3, 1e3), min_size=5, max_size=5)
FRAMES = st.lists(st.one_of(VALUES, st.sampled_from(["not_finite", "alone"])), min_size=1, max_size=4)


@dataclass(frozen=True)
class Numbers:
    """The values of examples are the examples."""

    reason: str

    def unscored(self, values: Floats) -> NDArray[np.object_]:
        return np.full(len(values), self.reason, object)

    def values(self, examples: Any) -> Floats:
        return np.array(examples, float)


@pytest.mark.parametrize("unscored", [NOT_FINITE, ALONE])
def test_only_examples_with_finite_values_have_a_score(unscored: str) -> None:
    examples = [[1, 2, 3], [np.inf, 2, 3], [4, 5, 6], [7, 8, np.nan]]
    status = np.array(["no_input", "ok", "ok", "left_out", "ok", "ok"], object)
    found = score_rows(trace_schema(1), cast(Tracer, Numbers(unscored)), status, Encoded(status, examples, 4))
    assert found.to_pydict() == {
        "status": ["no_input", "ok", unscored, "left_out", "ok", unscored],
        "m1": [None, 1, None, None, 4, None],
        "loss1": [None, 2, None, None, 5, None],
        "reference_loss": [None, 3, None, None, 6, None],
    }


def passes_of(videos: list[list[Any]], number: int) -> list[pa.RecordBatch]:
    """The trace in each pass: a video with fewer frames shows them again."""
    found = []
    for at in range(number):
        frames = [video[at % len(video)] for video in videos]
        rows = [
            {"status": one} if isinstance(one, str) else dict(zip(SCHEMA.names, ["ok", *one], strict=True))
            for one in frames
        ]
        found.append(pa.RecordBatch.from_pylist(rows, SCHEMA))
    return found


@given(videos=st.lists(FRAMES, min_size=1, max_size=6))
def test_each_row_is_what_its_frames_give_one_by_one(videos: list[list[Any]]) -> None:
    counts = np.array([len(video) for video in videos])
    passes = passes_of(videos, 4)
    means = of_frames(passes, counts, 2, VideoFrames("mean", 4)).to_pylist()
    worst = of_frames(passes, counts, 2, VideoFrames("worst", 4)).to_pylist()
    for video, mean, lowest in zip(videos, means, worst, strict=True):
        bad = [frame for frame in video if isinstance(frame, str)]
        if bad:
            assert mean == lowest == dict.fromkeys(SCHEMA.names) | {"status": bad[0]}
            continue
        assert (mean["status"], lowest["status"]) == ("ok", "ok")
        np.testing.assert_allclose(list(mean.values())[1:], np.mean(video, axis=0), rtol=1e-12, atol=1e-9)
        assert list(lowest.values())[1:] == min(video, key=lambda frame: (frame[0] + frame[1]) / 2)


def test_a_row_without_a_picture_keeps_its_status() -> None:
    nothing = pa.RecordBatch.from_pylist([{"status": "no_input"}], SCHEMA)
    assert of_frames([nothing, nothing], np.array([0]), 2, VideoFrames()).to_pylist() == nothing.to_pylist()
