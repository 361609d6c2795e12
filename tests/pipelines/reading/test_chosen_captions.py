"""Captions are those of the first column that has any; a video without subtitles has none."""

import pyarrow as pa

from winnow.pipelines.reading.chosen_captions import chosen_captions
from winnow.schemas.rows.samples import CAPTION, SAMPLES


def caption(text: str) -> dict[str, str | None]:
    return {"text": text, "origin": "subtitles", "language": None}


def test_elements_that_are_null_are_no_captions() -> None:
    own = pa.array([[], [caption("own")], [], [], None], SAMPLES.field("captions").type)
    of_videos = [[None, caption("b")], [caption("c")], None, [None], [caption("d"), None, caption("e")]]
    subtitles = pa.array([[caption("sliced off")], *of_videos], pa.list_(CAPTION)).slice(1)
    chosen = chosen_captions([own, subtitles]).to_pylist()
    assert chosen == [[caption("b")], [caption("own")], [], [], [caption("d"), caption("e")]]
    assert chosen_captions([subtitles, own]).to_pylist()[1:4] == [[caption("c")], [], []]
