"""Copies of videos from the command line: other containers, codecs, sizes and qualities, trimmed ones and excerpts."""

import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.faults.winnow import ended, run_here, tree_hash
from tests.runners.test_annotate import table

pytestmark = pytest.mark.processes

av = pytest.importorskip("av", reason="needs the extra `video`")
Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: SHARD_ROWS}
sources:
  films: {root: ../films, files: ["**/*"], class: public}
dedupe: {vpdq: {}, representative: [longest]}
mix: {unit: samples}
"""
RATE = 8  # frames a second
WIDTH, HEIGHT = 192, 144

Frames = NDArray[np.uint8]


def scene(number: int, seconds: int) -> list[Frames]:
    """A camera that moves slowly over a landscape with detail at every scale: no two numbers alike."""
    random = np.random.default_rng(number)
    wide = np.full((2 * HEIGHT, 2 * WIDTH, 3), 127.0)
    for cells, strength in ((4, 60), (8, 45), (16, 35), (32, 25), (64, 12)):
        grid = random.integers(0, 256, (cells, cells, 3), dtype=np.uint8)
        layer = Image.fromarray(grid).resize((2 * WIDTH, 2 * HEIGHT), Image.Resampling.BICUBIC)
        wide += (np.asarray(layer) - 127.5) / 127.5 * strength
    wide = np.clip(wide, 0, 255).astype(np.uint8)
    return [wide[at : at + HEIGHT, at : at + WIDTH] for at in range(seconds * RATE)]


def film(*numbers: int) -> list[Frames]:
    """Scenes of two seconds each."""
    return [frame for number in numbers for frame in scene(number, 2)]


def still(number: int, seconds: int) -> list[Frames]:
    return scene(number, 1)[:1] * (seconds * RATE)


BLACK = np.zeros((HEIGHT, WIDTH, 3), np.uint8)


def write(
    path: Path,
    frames: list[Frames],
    codec: str = "mpeg4",
    scale: float = 1.0,
    rate: int = RATE,
    bits: int = 2_000_000,
    **options: str,
) -> None:
    """A file with these frames; its container is that of its ending."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate, options={"threads": "1", **options})
        stream.width, stream.height, stream.pix_fmt = round(WIDTH * scale), round(HEIGHT * scale), "yuv420p"
        stream.bit_rate = bits
        stream.codec_context.time_base = Fraction(1, rate)
        for number, pixels in enumerate(frames):
            picture = Image.fromarray(pixels).resize((stream.width, stream.height), Image.Resampling.BICUBIC)
            frame = av.VideoFrame.from_ndarray(np.asarray(picture), "rgb24").reformat(format="yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, rate)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


COPIES = {
    "original.mp4",
    "container.mkv",
    "container.avi",
    "container.mpg",
    "other.webm",
    "low.mp4",
    "small.mp4",
    "trimmed.mp4",
    "half-a-second.mp4",
    "between.mp4",
    "excerpt.mp4",
    "slower.mp4",
    "same.mp4",
}


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A film with its copies; and strangers that have a title, a black opening or a scene in common with it."""
    whole = tmp_path_factory.mktemp("video-copies")
    folder = whole / "films"
    folder.mkdir()
    frames = film(1, 2, 3, 4, 5)
    write(folder / "original.mp4", frames)
    write(folder / "container.mkv", frames)
    write(folder / "container.avi", frames)
    write(folder / "container.mpg", [frame for frame in frames for _ in range(3)], "mpeg2video", rate=24)
    write(folder / "other.webm", frames, "libvpx-vp9", bits=200_000, deadline="realtime")
    write(folder / "low.mp4", frames, qmin="16")
    write(folder / "small.mp4", frames, scale=0.5)
    write(folder / "trimmed.mp4", frames[RATE:])
    write(folder / "half-a-second.mp4", frames[RATE // 2 :])
    write(folder / "between.mp4", frames[3:])  # half way between two hashes of the original
    write(folder / "excerpt.mp4", frames[2 * RATE : 7 * RATE])
    write(folder / "slower.mp4", frames[::2], rate=RATE // 2)
    shutil.copy(folder / "original.mp4", folder / "same.mp4")
    for number in (20, 30, 40):
        write(folder / f"titled-{number}.mp4", [*still(99, 6), *film(number, number + 1)])
        write(folder / f"black-{number}.mp4", [*[BLACK] * (8 * RATE), *film(number + 2, number + 3)])
    write(folder / "quoting.mp4", [*film(1), *film(50, 51, 52, 53)])
    write(folder / "dark.mp4", [BLACK] * (3 * RATE))
    return whole


def searched(films: Path, name: str, shard_rows: int) -> Path:
    folder = films / name
    folder.mkdir()
    (folder / "recipe.yaml").write_text(RECIPE.replace("SHARD_ROWS", str(shard_rows)))
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    return folder


def rows(folder: Path) -> dict[str, dict[str, Any]]:
    """What the layer says of each file's one item."""
    samples, found = table(folder, "samples"), table(folder, "dedupe.vpdq")
    names = [source["path"] for source in samples["source"].to_pylist()]
    lists = {name: column for name, column in found.to_pydict().items() if name not in ("status", "share")}
    return {name: {key: (values[at] or [None])[0] for key, values in lists.items()} for at, name in enumerate(names)}


def clusters(folder: Path) -> set[frozenset[str]]:
    members: dict[bytes, set[str]] = {}
    for name, row in rows(folder).items():
        if row["items"] == "ok":
            members.setdefault(row["cluster"], set()).add(name)
    return {frozenset(one) for one in members.values()}


@pytest.fixture(scope="module")
def store(films: Path) -> Path:
    return searched(films, "four", 4)


@pytest.mark.large
def test_every_copy_is_found_and_no_stranger(store: Path) -> None:
    assert clusters(store) == {frozenset(COPIES)}
    found = rows(store)
    assert found["dark.mp4"]["items"] == "low_quality"
    assert {found[f"{what}-{number}.mp4"]["items"] for what in ("titled", "black") for number in (20, 30)} == {
        "unmatched"
    }
    assert (found["excerpt.mp4"]["own_share"], found["same.mp4"]["own_share"]) == (1.0, 1.0)
    assert found["excerpt.mp4"]["other_share"] < 0.8


@pytest.mark.large
def test_one_copy_stays(store: Path) -> None:
    shown = ended(run_here(store, "plan", "recipe.yaml"))
    assert f"{len(COPIES) - 1}" in next(line for line in shown.splitlines() if "duplicate_vpdq" in line)


@pytest.mark.large
def test_a_copy_is_shown_with_those_that_resemble_it(store: Path) -> None:
    samples = table(store, "samples")
    names = [source["path"] for source in samples["source"].to_pylist()]
    identity = samples["id"][names.index("excerpt.mp4")].as_py().hex()
    shown = ended(run_here(store, "duplicates", "show", "recipe.yaml", identity))
    assert f"of {len(COPIES)} videos" in shown
    assert "frames" in shown


@pytest.mark.large
def test_other_shards_give_the_same_values(films: Path, store: Path) -> None:
    other = searched(films, "all", 64)
    assert rows(other) == rows(store)
    again = tree_hash(store)
    ended(run_here(store, "run", "recipe.yaml", "--workers", "1"))
    assert tree_hash(store) == again
