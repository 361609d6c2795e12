"""Formats of documents: what they write, and what trainers' own readers get of it."""

import base64
import json
import tarfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.messages import assert_refused
from tests.pipelines.export.formats.mixed_rows import export, row
from tests.pipelines.export.formats.test_webdataset import RED_PNG, medium
from tests.trainers import require_trainer_package, run_trainer
from winnow.pipelines.export.formats import documents, interleaved, mmc4, obelics
from winnow.pipelines.export.formats.protocol import ExportFormat

TEXT = "Größe. Zwei."


def text(start: int, end: int) -> dict[str, Any]:
    return {"kind": "text", "start": start, "end": end, "item": None, "url": None, "alt": None}


def picture(item: int, alt: str | None = None) -> dict[str, Any]:
    return {"kind": "image", "start": None, "end": None, "item": item, "url": f"https://e.org/{item}.png", "alt": alt}


def document(number: int, nodes: list[dict[str, Any]], pictures: int = 0) -> dict[str, Any]:
    return row(number, text=TEXT, nodes=nodes, media=[medium("image/png", RED_PNG)] * pictures)


FIRST, LAST = text(0, 8), text(9, 14)
ROWS = [
    document(0, [picture(1, "Eins"), FIRST, picture(0), LAST, picture(1)], 2),
    document(1, [FIRST]),
    document(2, [picture(0)], 1),
]
NAMES = [f"{number:032x}-0" for number in range(3)]


def test_tars_have_each_picture_once_and_the_document_by_the_names_of_members(tmp_path: Path) -> None:
    made = export(interleaved.FORMAT, interleaved.InterleavedConfig(energon=True), tmp_path, {"train": [ROWS]})
    (path,) = tmp_path.glob("*.tar")
    with tarfile.open(path) as archive:
        members = {one.name: archive.extractfile(one).read() for one in archive}  # type: ignore[union-attr]
    assert list(members) == [
        f"{NAMES[0]}.0.jpg", f"{NAMES[0]}.1.jpg", f"{NAMES[0]}.json", f"{NAMES[1]}.json",
        f"{NAMES[2]}.0.jpg", f"{NAMES[2]}.json",
    ]  # fmt: skip
    assert members[f"{NAMES[2]}.0.jpg"] == RED_PNG
    said = json.loads(members[f"{NAMES[0]}.json"])
    assert said["sequence"] == [
        {"image": "1.jpg", "url": "https://e.org/1.png", "alt": "Eins"},
        {"text": "Größe."},
        {"image": "0.jpg", "url": "https://e.org/0.png", "alt": ""},
        {"text": "Zwei."},
        {"image": "1.jpg", "url": "https://e.org/1.png", "alt": ""},
    ]
    assert (said["id"], said["url"], len(said["sha256"])) == (NAMES[0][:-2], "https://example.org/0", 2)
    assert made[0].samples == 3
    for file in ("train-00000-of-00001.tar", "train-00000-of-00001.tar.idx", ".nv-meta/.info.json"):
        assert [one.samples for one in interleaved.FORMAT.count(tmp_path, file)] == [3]


def test_obelics_has_lists_of_pictures_and_texts_of_equal_length(tmp_path: Path) -> None:
    export(obelics.FORMAT, obelics.ObelicsConfig(), tmp_path, {"train": [ROWS]})
    (path,) = tmp_path.rglob("*.parquet")
    first, second, third = pq.read_table(path).to_pylist()
    assert list(first) == ["images", "metadata", "general_metadata", "texts", "pictures"]
    assert first["texts"] == [None, "Größe.", None, "Zwei.", None]
    assert first["images"] == ["https://e.org/1.png", None, "https://e.org/0.png", None, "https://e.org/1.png"]
    assert first["pictures"] == [RED_PNG, None, RED_PNG, None, RED_PNG]
    known = json.loads(first["metadata"])
    assert [one is None for one in known] == [False, True, False, True, False]
    assert [known[0][name] for name in ("document_url", "src", "alt_text", "format")] == [
        "https://example.org/0", "https://e.org/1.png", "Eins", "png",
    ]  # fmt: skip
    assert json.loads(first["general_metadata"])["url"] == "https://example.org/0"
    assert (second["images"], second["texts"], third["texts"]) == ([None], ["Größe."], [None])
    assert [one.samples for one in obelics.FORMAT.count(tmp_path, str(path.relative_to(tmp_path)))] == [3]


def test_mmc4_says_which_text_follows_each_picture(tmp_path: Path) -> None:
    export(mmc4.FORMAT, mmc4.Mmc4Config(), tmp_path, {"train": [ROWS]})
    (path,) = tmp_path.glob("*.jsonl")
    first, second, third = map(json.loads, path.read_text().splitlines())
    assert list(first) == ["url", "text_list", "image_info", "similarity_matrix"]
    assert first["text_list"] == ["Größe.", "Zwei."]
    assert [one["matched_text_index"] for one in first["image_info"]] == [0, 1, 1]
    assert first["similarity_matrix"] == [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    assert base64.b64decode(first["image_info"][0]["image_base64"]) == RED_PNG
    assert (second["image_info"], third["text_list"], third["similarity_matrix"]) == ([], [], [[]])
    assert [one.samples for one in mmc4.FORMAT.count(tmp_path, path.name)] == [3]


def test_a_document_that_repeats_a_large_picture_is_copied_with_each_picture_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MOST_SHOWN_BYTES", 3 * len(RED_PNG))
    at_most, beyond = (
        [picture(0), FIRST, picture(1), picture(0)],
        [picture(0), FIRST, picture(0), picture(1), picture(0)],
    )
    rows = [document(0, at_most, 2), document(1, beyond, 2)]
    export(obelics.FORMAT, obelics.ObelicsConfig(), tmp_path / "obelics", {"train": [rows]})
    export(mmc4.FORMAT, mmc4.Mmc4Config(), tmp_path / "mmc4", {"train": [rows]})
    export(obelics.FORMAT, obelics.ObelicsConfig(media="none"), tmp_path / "none", {"train": [rows]})
    first, second = pq.read_table(next((tmp_path / "obelics").rglob("*.parquet"))).to_pylist()
    assert first["pictures"] == [RED_PNG, None, RED_PNG, RED_PNG]
    assert (second["pictures"], second["texts"]) == ([RED_PNG, None, RED_PNG], [None, "Größe.", None])
    told = [json.loads(line) for line in next((tmp_path / "mmc4").glob("*.jsonl")).read_text().splitlines()]
    assert [len(one["image_info"]) for one in told] == [3, 2]
    addresses = pq.read_table(next((tmp_path / "none").rglob("*.parquet")))["images"].to_pylist()
    assert [len(one) for one in addresses] == [4, 5]


@pytest.mark.parametrize(
    ("made_by", "config"),
    [
        (interleaved.FORMAT, interleaved.InterleavedConfig),
        (obelics.FORMAT, obelics.ObelicsConfig),
        (mmc4.FORMAT, mmc4.Mmc4Config),
    ],
)
def test_without_media_pictures_are_addresses_and_other_media_are_refused(
    made_by: ExportFormat, config: type[Any], tmp_path: Path
) -> None:
    rows = [one | {"media": []} for one in ROWS]
    (made,) = export(made_by, config(media="none"), tmp_path, {"train": [rows]})
    content = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert made.samples == 3
    assert RED_PNG not in content
    with assert_refused(ValueError, "media: video"):
        config(media="video")


ENERGON = """
import json, sys
from megatron.energon import WorkerConfig, get_loader, get_train_dataset

if __name__ == "__main__":
    alone = WorkerConfig(rank=0, world_size=1, num_workers=0)
    options = {"batch_size": 1, "shuffle_buffer_size": None, "max_samples_per_sequence": None, "repeat": False}
    samples = get_loader(get_train_dataset(sys.argv[1], worker_config=alone, **options))
    found = {
        one.__key__[0]: [part if isinstance(part, str) else list(part.shape) for part in one.sequence[0]]
        for one in samples
    }
    print(json.dumps(found))
"""

WEBDATASET = """
import json, sys
import webdataset

samples = webdataset.WebDataset(sys.argv[1], shardshuffle=False).decode("rgb8")
print(json.dumps({
    one["__key__"]: [
        list(one[part["image"]].shape) if "image" in part else part["text"] for part in one["json"]["sequence"]
    ]
    for one in samples
}))
"""

OBELICS = """
import json, sys
from datasets import load_dataset

rows = load_dataset("parquet", data_files=sys.argv[1], split="train")
nodes = [[text or bool(image) for text, image in zip(one["texts"], one["images"])] for one in rows]
print(json.dumps([[rows.column_names, one] for one in nodes]))
"""


def by(script: str, argument: Path, tmp_path: Path) -> Any:
    (tmp_path / "reader.py").write_text(script)
    return json.loads(run_trainer(tmp_path / "reader.py", [str(argument)], seconds=200).splitlines()[-1])


@pytest.mark.readers
def test_energon_and_webdataset_read_documents_in_order(tmp_path: Path) -> None:
    require_trainer_package("megatron.energon", "megatron-energon")
    export(interleaved.FORMAT, interleaved.InterleavedConfig(energon=True), tmp_path / "out", {"train": [ROWS]})
    shape = [[3, 1, 1], [1, 1, 3]]
    for script, argument, seen in (
        (ENERGON, tmp_path / "out", shape[0]),
        (WEBDATASET, tmp_path / "out" / "train-00000-of-00001.tar", shape[1]),
    ):
        assert by(script, argument, tmp_path) == {
            NAMES[0]: [seen, "Größe.", seen, "Zwei.", seen],
            NAMES[1]: ["Größe."],
            NAMES[2]: [seen],
        }


@pytest.mark.readers
def test_hugging_faces_reader_gets_obelics_columns(tmp_path: Path) -> None:
    export(obelics.FORMAT, obelics.ObelicsConfig(media="none"), tmp_path, {"train": [ROWS]})
    (path,) = tmp_path.rglob("*.parquet")
    columns = ["images", "metadata", "general_metadata", "texts"]
    assert by(OBELICS, path, tmp_path) == [
        [columns, [True, "Größe.", True, "Zwei.", True]], [columns, ["Größe."]], [columns, [True]]
    ]  # fmt: skip


def test_a_document_without_text_ends_with_its_caption_if_one_is_asked_for(tmp_path: Path) -> None:
    captions = [
        {"text": "Title", "origin": "title", "language": None},
        {"text": "Alt", "origin": "alt", "language": None},
    ]
    rows = [document(0, [picture(0)], 1) | {"text": None, "captions": captions}, document(1, [picture(0), FIRST], 1)]
    cases: list[tuple[dict[str, Any], str | None]] = [
        ({}, None),
        ({"caption": "first"}, "Title"),
        ({"caption_origins": ("alt",)}, "Alt"),
    ]
    for number, (options, expected) in enumerate(cases):
        folder = tmp_path / str(number)
        export(mmc4.FORMAT, mmc4.Mmc4Config(media="none", **options), folder, {"train": [rows]})
        (path,) = folder.glob("*.jsonl")
        texts = [json.loads(line)["text_list"] for line in path.read_text().splitlines()]
        assert texts == [[] if expected is None else [expected], ["Größe."]]
