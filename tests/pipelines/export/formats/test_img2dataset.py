"""img2dataset's layout: its three files, the caption that is chosen, and what other readers find."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.messages import assert_refused
from tests.pipelines.export.formats.mixed_rows import export, row
from tests.pipelines.export.formats.test_webdataset import RED_PNG, medium
from tests.trainers import run_trainer
from winnow.pipelines.export.formats.img2dataset import FORMAT, Img2datasetConfig
from winnow.schemas.errors import ExportError

CAPTIONS = [
    {"text": "All our cats", "origin": "page_title", "language": "en"},
    {"text": "Ein Kater", "origin": "alt", "language": "de"},
    {"text": "A tomcat", "origin": "alt", "language": "en"},
    {"text": "Unser Kater", "origin": "figcaption", "language": "de"},
]


def pair(number: int, captions: list[dict[str, Any]] | None = None, **fields: Any) -> dict[str, Any]:
    found = CAPTIONS if captions is None else captions
    return row(number, text=None, captions=found, media=[medium("image/png", RED_PNG)], **fields)


def written(folder: Path, rows: list[dict[str, Any]], **options: Any) -> dict[str, bytes]:
    """The members of the only tar."""
    export(FORMAT, Img2datasetConfig(**options), folder, {"train": [rows]})
    with tarfile.open(folder / "train" / "00000.tar") as archive:
        return {one.name: archive.extractfile(one).read() for one in archive}  # type: ignore[union-attr]


def test_a_shard_is_a_tar_a_table_of_its_samples_and_statistics(tmp_path: Path) -> None:
    found = written(tmp_path, [pair(0), pair(1, url=None), pair(2, [])])
    assert list(found) == [f"0000000{number:02d}.{suffix}" for number in range(3) for suffix in ("jpg", "json", "txt")]
    assert (found["000000000.jpg"], found["000000000.txt"].decode()) == (RED_PNG, "All our cats")
    rows = pq.read_table(tmp_path / "train" / "00000.parquet").to_pylist()
    assert [json.loads(found[f"{one['key']}.json"]) for one in rows] == rows
    assert [rows[0][name] for name in ("url", "caption", "status", "id", "copy")] == [
        "https://example.org/0", "All our cats", "success", "0" * 32, 0,
    ]  # fmt: skip
    assert rows[0]["captions"] == CAPTIONS  # every origin and language
    assert (rows[1]["url"], rows[2]["caption"], found["000000002.txt"]) == (None, None, b"")
    statistics = json.loads((tmp_path / "train" / "00000_stats.json").read_text())
    assert (statistics["count"], statistics["successes"], statistics["status_dict"]) == (3, 3, {"success": 3})
    for suffix in (".tar", ".parquet", "_stats.json"):
        assert [one.samples for one in FORMAT.count(tmp_path, f"train/00000{suffix}")] == [3]


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ({}, "All our cats"),
        ({"caption_origins": ("alt",)}, "Ein Kater"),
        ({"caption_origins": ("alt", "figcaption"), "caption_languages": ("en",)}, "A tomcat"),
        ({"caption_origins": ("figcaption", "alt"), "caption_languages": ("en",)}, "Unser Kater"),
        ({"caption_origins": ("title", "figcaption")}, "Unser Kater"),
        ({"caption_origins": ("context",)}, ""),
    ],
)
def test_the_earliest_origin_is_chosen_before_languages(tmp_path: Path, options: dict[str, Any], chosen: str) -> None:
    assert written(tmp_path, [pair(0)], **options)["000000000.txt"].decode() == chosen


def test_samples_without_a_caption_are_told_and_other_media_refused(tmp_path: Path) -> None:
    shards = export(FORMAT, Img2datasetConfig(caption_origins=("alt",)), tmp_path, {"train": [[pair(0), pair(1, [])]]})
    assert FORMAT.notes(Img2datasetConfig(), shards) == [
        "train: neither a text nor a caption, and so an empty .txt, in 1 of 2 samples"
    ]
    for other in ("images", "video", "none"):
        with assert_refused(ValueError, f"media: {other}"):
            Img2datasetConfig(media=other)
    with assert_refused(ExportError, "media: png"):
        rows = [row(0, media=[medium("image/jpeg", RED_PNG)])]
        export(FORMAT, Img2datasetConfig(media="png"), tmp_path / "png", {"train": [rows]})


READER = """
import json, sys
import webdataset

samples = webdataset.WebDataset(sys.argv[1], shardshuffle=False).decode("rgb8").to_tuple("jpg", "txt", "json")
print(json.dumps([[list(picture.shape), text, said["key"]] for picture, text, said in samples]))
"""


@pytest.mark.readers
def test_webdataset_reads_pairs(tmp_path: Path) -> None:
    written(tmp_path, [pair(0), pair(1)], caption_origins=("alt",))
    (tmp_path / "reader.py").write_text(READER)
    found = json.loads(run_trainer(tmp_path / "reader.py", [str(tmp_path / "train" / "00000.tar")]).splitlines()[-1])
    assert found == [[[1, 1, 3], "Ein Kater", f"00000000{number}"] for number in range(2)]
