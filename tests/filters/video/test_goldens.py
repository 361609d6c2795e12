"""Values of operators that watch videos do not change under a version: `UPDATE_GOLDEN=1` writes them anew.

The videos are encoded anew each time, with the pinned PyAV; sound without loss, as Opus differs by processor.
"""

import io
import json
import os
from pathlib import Path

import pytest

from tests.filters.video.films import Film
from tests.filters.video.test_subtitles import SAID, subtitled
from winnow.filters.operators import find_operator
from winnow.filters.video.decode.opening import VideoLimits
from winnow.filters.video.decode.operator import VideoOperator
from winnow.filters.video.decode.watching import VideoPass
from winnow.pipelines.assets import AssetFiles

FOLDER = Path(__file__).parent / "golden"

FILMS = (
    ("video/mp4", Film("mp4", "libx264", frames=40, reordered=2, rotation=90, sound=0.4, sound_codec="flac")),
    ("video/mp4", Film(times=[0, 1, 2, 10, 11, 12, 13, 30, 31, 40, 41, 42], gop=4)),
    ("video/matroska", Film("matroska", "ffv1", sound=0.2, sound_codec="pcm_s16le", seed=8)),
)


@pytest.mark.parametrize("name", ["streams", "shots", "static", "audio", "clarity", "motion", "subtitles"])
def test_values_are_those_of_the_version(name: str) -> None:
    operator = find_operator(f"video.{name}")
    config = operator.config()
    assert isinstance(operator, VideoOperator)
    make, rows = operator.load(config, AssetFiles()), []
    films = [(mime, film.encoded()) for mime, film in FILMS]
    if name == "subtitles":
        films.append(("video/matroska", subtitled("matroska", [("deu", "subrip", SAID)])))
    for mime, content in films:
        video = VideoPass(io.BytesIO(content), mime, sorted(operator.wants(config), key=repr), VideoLimits())
        watcher = make()
        for signal, batch in video.signals():
            watcher.see(signal, batch)
        rows += watcher.end(video.facts).to_pylist()
    golden = {"operator": operator.name, "version": operator.version, "rows": rows}
    path = FOLDER / f"{name}.json"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")
    assert golden == json.loads(path.read_text(encoding="utf-8"))
