"""Pictures in tables, shards and folders, read back by each format's own reader."""

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from tests.pipelines.export.formats.mixed_rows import export, row
from tests.trainers import run_trainer, short_temporary
from winnow.pipelines.export.formats import find_format
from winnow.pipelines.export.formats.arrayrecord import ArrayRecordConfig
from winnow.pipelines.export.formats.columns import blocks
from winnow.pipelines.export.formats.folder import FolderConfig
from winnow.pipelines.export.formats.mds import MdsConfig
from winnow.pipelines.export.formats.parquet import ParquetConfig
from winnow.pipelines.export.formats.wanted_media import MediaOptions, filled_texts, large_apart
from winnow.pipelines.export.formats.webdataset import WebDatasetConfig
from winnow.schemas.rows.draws import MIXED

CAPTIONS = [
    {"text": "Ein Hund", "origin": "alt", "language": "deu"},
    {"text": "a dog in the snow", "origin": "txt", "language": "eng"},
    {"text": "snow", "origin": "txt", "language": "eng"},
]


def picture(number: int) -> bytes:
    """Noise, of a size of its own."""
    noise = np.random.default_rng(number).integers(0, 256, (20 + number, 30, 3), np.uint8)
    held = io.BytesIO()
    Image.fromarray(noise).save(held, "PNG" if number % 3 == 0 else "JPEG")
    return held.getvalue()


def medium(number: int) -> dict[str, Any]:
    raw = picture(number)
    mime = "image/png" if number % 3 == 0 else "image/jpeg"
    return {"mime": mime, "sha256": hashlib.sha256(raw).hexdigest(), "bytes": raw, "width": 30, "height": 20 + number}


def rows(several: bool) -> list[dict[str, Any]]:
    """Seven samples of one picture, or of one to three."""
    found: list[dict[str, Any]] = []
    for number in range(7):
        media = [medium(number + 10 * place) for place in range(1 + (number % 3 if several else 0))]
        found.append(row(number, text=None, captions=CAPTIONS, media=media, modality="image"))
    return found


def hashes(several: bool) -> dict[str, list[str]]:
    """The pictures of each sample, as decoded."""

    def decoded(one: dict[str, Any]) -> str:
        with Image.open(io.BytesIO(one["bytes"])) as found:
            return hashlib.sha256(found.convert("RGB").tobytes()).hexdigest()

    return {one["id"].hex(): [decoded(item) for item in one["media"]] for one in rows(several)}


READ = """
import hashlib, json, sys
from pathlib import Path
folder = Path(sys.argv[1])

def digest(picture):
    return hashlib.sha256(picture.convert("RGB").tobytes()).hexdigest()

found = {}
from datasets import load_dataset as load
def load_dataset(kind, **given):
    return load(kind, **given, split="train", cache_dir=sys.argv[2])
for name in ("parquet", "parquets"):
    held = load_dataset("parquet", data_files=str(folder / name / "data" / "*.parquet"))
    pictures = lambda one: one["images"] if name == "parquets" else [one["image"]]
    found[name] = {one["id"]: [digest(picture) for picture in pictures(one)] for one in held}
    found[name + " text"] = held[0]["text"]
for name in ("folder", "folders"):
    held = load_dataset("imagefolder", data_dir=str(folder / name))
    pictures = lambda one: one["images"] if name == "folders" else [one["image"]]
    found[name] = {one["id"]: [digest(picture) for picture in pictures(one)] for one in held}
    found[name + " text"] = held[0]["text"]
held = load_dataset("webdataset", data_files=str(folder / "webdataset" / "*.tar"))
found["webdataset"] = {one["json"]["id"]: [digest(one["0.jpg"]), digest(one["1.jpg"])] for one in held}
import webdataset
tars = sorted(map(str, (folder / "webdataset").glob("*.tar")))
decoded = webdataset.WebDataset(tars, shardshuffle=False).decode("pil")
found["webdataset's own"] = {one["json"]["id"]: [digest(one["0.jpg"]), digest(one["1.jpg"])] for one in decoded}
from streaming import StreamingDataset
for name in ("mds", "mdss"):
    held = StreamingDataset(local=str(folder / name / "train"), shuffle=False, batch_size=1)
    pictures = lambda one: one["images"] if name == "mdss" else [one["image"]]
    found[name] = {one["id"]: [digest(picture) for picture in pictures(one)] for one in held}
    found[name + " text"] = held[0]["text"]
print(json.dumps(found))
"""


@pytest.mark.readers
def test_each_formats_own_reader_gives_the_pictures_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configs: dict[str, MediaOptions] = {
        "parquet": ParquetConfig(media="image"),
        "folder": FolderConfig(),
        "mds": MdsConfig(media="image"),
    }
    configs |= {
        "parquets": ParquetConfig(media="images"),
        "folders": FolderConfig(media="images", caption="longest"),
        "mdss": MdsConfig(media="images", caption_languages=("eng",)),
    }
    for name, config in configs.items():
        several = name.endswith("s") and name != "mds"
        export(
            find_format(name.removesuffix("s") if several else name),
            config,
            tmp_path / name,
            {"train": [rows(several)]},
        )
    pairs = [one | {"media": [medium(number), medium(number + 10)]} for number, one in enumerate(rows(False))]
    export(find_format("webdataset"), WebDatasetConfig(media="images"), tmp_path / "webdataset", {"train": [pairs]})
    (tmp_path / "read.py").write_text(READ)
    with short_temporary(monkeypatch):
        found = json.loads(run_trainer(tmp_path / "read.py", [tmp_path, tmp_path / "cache"]).splitlines()[-1])
    for name in configs:
        assert found[name] == hashes(name.endswith("s") and name != "mds"), name
    assert {name: found[f"{name} text"] for name in configs} == {
        "parquet": "Ein Hund",
        "folder": "Ein Hund",
        "mds": "Ein Hund",
        "parquets": "Ein Hund",
        "folders": "a dog in the snow",
        "mdss": "a dog in the snow",
    }
    both = {one["id"].hex(): [hashes(False)[one["id"].hex()][0]] for one in rows(False)}
    assert {key: value[:1] for key, value in found["webdataset"].items()} == both
    assert found["webdataset"] == found["webdataset's own"]


@pytest.mark.parametrize("several", [False, True])
def test_records_hold_the_bytes_of_pictures(tmp_path: Path, several: bool) -> None:
    from array_record.python import array_record_module

    config = ArrayRecordConfig(media="images" if several else "image")
    export(find_format("arrayrecord"), config, tmp_path, {"train": [rows(several)]})
    (path,) = tmp_path.rglob("*.array_record-*")
    reader = array_record_module.ArrayRecordReader(str(path))
    for raw, one in zip(reader.read_all(), rows(several), strict=True):
        found = values_of(raw)
        assert found["images" if several else "image"] == [item["bytes"] for item in one["media"]]
        assert found["text"] == [b"Ein Hund"]
        assert json.loads(found["captions"][0]) == CAPTIONS
    reader.close()


def values_of(raw: bytes) -> dict[str, list[bytes]]:
    """The features of bytes of a tf.train.Example, by a reader that shares nothing with the writer."""

    def fields(raw: bytes) -> list[tuple[int, bytes]]:
        found, at = [], 0

        def varint() -> int:
            nonlocal at
            value = shift = 0
            while True:
                byte = raw[at]
                at += 1
                value |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    return value

        while at < len(raw):
            key = varint()
            assert key & 7 == 2
            length = varint()
            found.append((key >> 3, raw[at : at + length]))
            at += length
        return found

    ((_, features),) = fields(raw)
    found: dict[str, list[bytes]] = {}
    for _, entry in fields(features):
        (_, name), (_, feature) = fields(entry)
        ((kind, values),) = fields(feature)
        if kind == 1:
            found[name.decode()] = [value for _, value in fields(values)]
    return found


def test_row_groups_are_bounded_by_the_bytes_of_pictures(tmp_path: Path) -> None:
    config = ParquetConfig(media="image", row_group_bytes=1 << 16)
    many = [one | {"media": [{"mime": "image/jpeg", "bytes": bytes(20_000)}]} for one in rows(False)]
    export(find_format("parquet"), config, tmp_path, {"train": [many]}, batch=1)
    (path,) = tmp_path.glob("data/*.parquet")
    file = pq.ParquetFile(path)
    assert [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)] == [4, 3]


def test_large_media_are_read_one_at_a_time() -> None:
    given = rows(False)
    for number in (0, 3, 4):
        given[number]["media"] = [given[number]["media"][0] | {"bytes": None, "file": "large"}]
    batch = pa.RecordBatch.from_pylist(given, schema=MIXED)
    assert [len(part) for part in blocks(batch)] == [1, 2, 1, 1, 2]
    assert [len(part) for part in large_apart(batch)] == [1, 2, 1, 1, 2]
    assert [len(part) for part in large_apart(batch.slice(5))] == [2]


@pytest.mark.parametrize("name", ["parquet", "mds", "folder", "arrayrecord"])
def test_large_media_are_read_from_their_files(tmp_path: Path, name: str) -> None:
    config = find_format(name).config(media="image")
    held, by_file = rows(False), rows(False)
    for number, one in enumerate(by_file):
        if number % 2:
            (tmp_path / f"{number}").write_bytes(one["media"][0]["bytes"])
            one["media"] = [one["media"][0] | {"bytes": None, "file": str(tmp_path / f"{number}")}]
    written: list[dict[str, bytes]] = []
    for number, some in enumerate((held, by_file)):
        folder = tmp_path / f"export-{number}"
        export(find_format(name), config, folder, {"train": [some]}, batch=2)
        files = [path for path in folder.rglob("*.*") if path.is_file()]
        written.append({str(path.relative_to(folder)): path.read_bytes() for path in files})
    assert written[0] == written[1] != {}


@pytest.mark.parametrize(
    ("rule", "languages", "expected"),
    [
        ("first", (), "Ein Hund"),
        ("longest", (), "a dog in the snow"),
        ("shortest", (), "snow"),
        ("first", ("eng", "deu"), "a dog in the snow"),
        ("shortest", ("deu",), "Ein Hund"),
        ("longest", ("fra",), "a dog in the snow"),
        ("none", (), None),
    ],
)
def test_the_caption_that_stands_for_a_text_follows_the_rule(rule: Any, languages: Any, expected: str | None) -> None:
    import pyarrow as pa

    batch = pa.Table.from_pylist([row(0, text=None, captions=CAPTIONS)], MIXED).to_batches()[0]
    options = MediaOptions(media="image", caption=rule, caption_languages=languages)
    assert filled_texts(batch, options).to_pylist() == [expected]


def test_a_folder_without_media_is_refused() -> None:
    with pytest.raises(ValueError, match="leave out 'media: none'"):
        FolderConfig(media="none")
