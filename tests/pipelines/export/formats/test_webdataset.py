"""WebDataset shards: their bytes, what they refuse, and what webdataset and Hugging Face's datasets read from them."""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused, assert_told, assert_told_each
from tests.pipelines.export.formats.mixed_rows import HARD, batches, export, row
from tests.property_sizes import scaled
from tests.trainers import run_trainer
from winnow.pipelines.export.formats import find_format
from winnow.pipelines.export.formats.protocol import About, ShardName, WrittenShard
from winnow.pipelines.export.formats.webdataset import FORMAT, WebDatasetConfig
from winnow.schemas.errors import ExportError
from winnow.schemas.problems import Place
from winnow.schemas.recipe.build import build_config
from winnow.schemas.recipe.nodes import MapNode

Rows = list[dict[str, Any]]

PLAIN = WebDatasetConfig()
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
JPEG = b"\xff\xd8\xff\xe0" + bytes(40)


def medium(mime: str, raw: bytes) -> dict[str, object]:
    return {"mime": mime, "sha256": None, "bytes": raw}


def expected(one: dict[str, Any]) -> dict[str, Any]:
    """What a reader must give back of a row."""
    return {
        "__key__": f"{one['id'].hex()}-{one['copy']}",
        "txt": one["text"] or "",
        "json": {
            "band": one["band"],
            "captions": orjson.dumps(one["captions"]).decode(),
            "copy": one["copy"],
            "family": one["family"],
            "id": one["id"].hex(),
            "language": one["language"],
            "licence": one["licence"],
            "metadata": one["metadata"],
            "mime": one["mime"] or "",
            "modality": one["modality"],
            "source": one["source"],
            "source_class": one["source_class"],
            "url": one["url"] or "",
        },
    }


def only_shard(folder: Path, rows: Rows, config: WebDatasetConfig = PLAIN, batch: int = 3) -> Path:
    made = FORMAT.write(config, folder, ShardName("train", 0, 1), batches(rows, batch))
    assert made.samples == len(rows)
    return folder / made.files[0]


def members(path: Path) -> list[tuple[str, bytes]]:
    with tarfile.open(path) as archive:
        return [(one.name, archive.extractfile(one).read()) for one in archive]  # type: ignore[union-attr]


def by_tarfile(contents: list[tuple[str, bytes]]) -> bytes:
    """The archive as Python's tarfile writes it."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, raw in contents:
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(raw), 0o644
            archive.addfile(info, io.BytesIO(raw))
    return held.getvalue()


def test_it_is_found_by_its_name() -> None:
    assert find_format("webdataset") is FORMAT


def test_a_sample_is_a_json_and_a_text_under_one_key(tmp_path: Path) -> None:
    found = members(only_shard(tmp_path, HARD))
    flat = []
    for one in map(expected, HARD):
        flat += [(f"{one['__key__']}.json", orjson.dumps(one["json"])), (f"{one['__key__']}.txt", one["txt"].encode())]
    assert found == flat


def test_the_bytes_are_those_of_pythons_tarfile(tmp_path: Path) -> None:
    path = only_shard(tmp_path, HARD)
    assert path.read_bytes() == by_tarfile(members(path))


@settings(max_examples=scaled(40), deadline=None)
@given(
    texts=st.lists(st.none() | st.text(max_size=40) | st.sampled_from(["a" * 511, "b" * 512, "ß" * 5000])),
    size=st.integers(1, 5),
)
def test_the_bytes_are_those_of_pythons_tarfile_whatever_the_texts(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str | None], size: int
) -> None:
    rows = [row(number, text=text) for number, text in enumerate(texts)]
    path = only_shard(tmp_path_factory.mktemp("tar"), rows, batch=size)
    assert path.read_bytes() == by_tarfile(members(path))
    assert [raw.decode() for name, raw in members(path) if name.endswith(".txt")] == [text or "" for text in texts]


def test_the_bytes_do_not_depend_on_how_the_rows_come(tmp_path: Path) -> None:
    made = set()
    for size in (1, 4, 100):
        folder = tmp_path / str(size)
        folder.mkdir()
        made.add(only_shard(folder, HARD, batch=size).read_bytes())
    assert len(made) == 1


def test_keys_may_be_positions(tmp_path: Path) -> None:
    path = only_shard(tmp_path, HARD[:4], WebDatasetConfig(key="position"))
    names = [name for name, _ in members(path) if name.endswith(".txt")]
    assert names == [f"train-00000-0000000{number}.txt" for number in range(4)]


def test_two_samples_of_one_key_are_refused_by_name(tmp_path: Path) -> None:
    twice = [row(0), row(1), row(2), row(3, id=(1).to_bytes(16, "big"))]
    with assert_refused(ExportError, "1", "https://example.org/3", "samples 1", "3") as error:
        only_shard(tmp_path, twice)
    assert "-0; a copy must come once" in str(error.value)


def test_each_sample_has_its_one_medium(tmp_path: Path) -> None:
    rows = [row(number, text=None, media=[medium("image/jpeg", JPEG + bytes([number]))]) for number in range(5)]
    found = members(only_shard(tmp_path, rows, WebDatasetConfig(media="jpg")))
    assert [name[33:] for name, _ in found[:3]] == ["0.jpg", "0.json", "0.txt"]
    assert [raw for name, raw in found if name.endswith(".jpg")] == [JPEG + bytes([number]) for number in range(5)]


def test_pictures_of_several_types_share_a_name_that_readers_do_not_go_by(tmp_path: Path) -> None:
    rows = [row(0, media=[medium("image/png", PNG)]), row(1, media=[medium("image/jpeg", JPEG)])]
    found = members(only_shard(tmp_path, rows, WebDatasetConfig(media="image")))
    assert [raw for name, raw in found if name.endswith(".jpg")] == [PNG, JPEG]


@pytest.mark.parametrize(
    ("media", "complaint"),
    [
        ([], "has 0 media"),
        ([medium("image/jpeg", JPEG)] * 2, "has 2 media"),
        ([medium("image/png", PNG)], "has a medium of type image/png"),
    ],
)
def test_a_sample_with_other_media_is_refused_by_name(tmp_path: Path, media: list[object], complaint: str) -> None:
    rows = [row(0, media=[medium("image/jpeg", JPEG)]), row(1, media=media)]
    with pytest.raises(ExportError) as error:
        only_shard(tmp_path, rows, WebDatasetConfig(media="jpg"))
    assert_told(
        str(error.value),
        f"{1:032x}",
        "https://example.org/1",
        complaint,
        "image/jpeg",
        "'mix'",
        '"array_length(samples.media)',
        whole=True,
    )


def test_media_that_are_not_asked_for_are_counted(tmp_path: Path) -> None:
    rows = [row(0, media=[medium("image/jpeg", JPEG)] * 2), row(1)]
    made = FORMAT.write(WebDatasetConfig(), tmp_path, ShardName("train", 0, 1), batches(rows, 1))
    assert made.facts == {"media_left_out": 2}


def test_samples_with_neither_text_nor_caption_are_counted_and_noted(tmp_path: Path) -> None:
    config = WebDatasetConfig(caption="first")
    said = [{"text": "A cat", "origin": "alt", "language": None}]
    rows = [row(0, text=None), row(1, text=None, captions=said), row(2), row(3, text=None)]
    made = FORMAT.write(config, tmp_path, ShardName("train", 0, 1), batches(rows, 1))
    assert made.facts == {"without_text": 2}
    shards = [WrittenShard(ShardName("train", 0, 1), made.samples, (), made.facts)]
    assert_told_each(FORMAT.notes(config, shards), ("train:", "2 of 4"))
    assert FORMAT.notes(config, [WrittenShard(ShardName("train", 0, 1), 4, (), {})]) == []


def test_a_caption_stands_in_for_a_text_where_that_is_asked(tmp_path: Path) -> None:
    said = [{"text": one, "origin": "alt", "language": None} for one in ("A cat", "Un chat")]
    rows = [
        row(0, text=None, captions=said),
        row(1, captions=said),
        row(2, text=None),
        row(3, text=None, captions=said[1:]),
    ]
    found = members(only_shard(tmp_path, rows, WebDatasetConfig(caption="first")))
    assert [raw for name, raw in found if name.endswith(".txt")] == [b"A cat", b"Text 1.", b"", b"Un chat"]


def test_large_texts_are_written_block_by_block(tmp_path: Path) -> None:
    rows = [row(number, text=chr(97 + number) * (20 << 20)) for number in range(3)]
    found = members(only_shard(tmp_path, rows, batch=3))
    assert [(len(raw), raw[:1]) for name, raw in found if name.endswith(".txt")] == [
        (20 << 20, b"a"),
        (20 << 20, b"b"),
        (20 << 20, b"c"),
    ]


def test_energon_finds_each_sample_where_the_index_says(tmp_path: Path) -> None:
    export(FORMAT, WebDatasetConfig(energon=True), tmp_path, {"train": [HARD[:4], HARD[4:]], "validation": [[row(20)]]})
    path = tmp_path / "train-00001-of-00002.tar"
    starts = np.fromfile(f"{path}.idx", "<u8").tolist()
    with tarfile.open(path) as archive:
        firsts = [one.offset for one in archive if one.name.endswith(".json")]
        assert starts == [*firsts, archive.offset]
    meta = tmp_path / ".nv-meta"
    assert json.loads((meta / ".info.json").read_text()) == {
        "shard_counts": {
            "train-00000-of-00002.tar": 4,
            "train-00001-of-00002.tar": 6,
            "validation-00000-of-00001.tar": 1,
        }
    }
    assert yaml.safe_load((meta / "split.yaml").read_text())["split_parts"] == {
        "train": ["train-00000-of-00002.tar", "train-00001-of-00002.tar"],
        "val": ["validation-00000-of-00001.tar"],
    }
    assert yaml.safe_load((meta / "dataset.yaml").read_text()) == {
        "sample_type": {"__module__": "megatron.energon", "__class__": "TextSample"},
        "field_map": {"text": "txt"},
    }


@pytest.mark.parametrize(
    ("media", "dataset"),
    [
        (
            "image",
            {
                "sample_type": {"__module__": "megatron.energon", "__class__": "CaptioningSample"},
                "field_map": {"image": "jpg", "caption": "txt"},
            },
        ),
        ("flac", {"__module__": "megatron.energon", "__class__": "CrudeWebdataset"}),
    ],
)
def test_energon_is_told_what_the_samples_are(media: Any, dataset: object) -> None:
    about = About("demo", "0" * 16, "samples", ("train",), {})
    made = FORMAT.finish(WebDatasetConfig(media=media, energon=True), [], about)
    assert yaml.safe_load(made[".nv-meta/dataset.yaml"]) == dataset


def test_energon_wants_keys_that_are_ids() -> None:
    options = MapNode((), Place("recipe.yaml", 3))
    assert build_config(WebDatasetConfig, options, "export.webdataset") == WebDatasetConfig()
    with pytest.raises(ValueError, match="write 'key: id'"):
        WebDatasetConfig(key="position", energon=True)


READER = """
import itertools, json, random, sys
import torch, webdataset

shards, folder = json.loads(sys.argv[1]), sys.argv[2]

def plain(samples):
    return [{name: one[name] for name in ("__key__", "txt", "json")} for one in samples]

def loader():
    samples = webdataset.WebDataset(shards, shardshuffle=100, detshuffle=True, seed=5).decode()
    samples = samples.shuffle(4, initial=4, rng=random.Random(5))
    return torch.utils.data.DataLoader(samples, batch_size=None, num_workers=2)

found = {"sequential": plain(webdataset.WebDataset(shards, shardshuffle=False).decode())}
found["shuffled"] = plain(loader())
before, after = itertools.islice(loader(), 5), itertools.islice(loader(), 5, None)
found["resumed"] = plain(before) + plain(after)

import datasets  # after the workers' forks: it starts threads

data = {"data_files": {"train": shards}, "split": "train"}
found["huggingface"] = plain(datasets.load_dataset("webdataset", **data, cache_dir=folder))
found["streamed"] = plain(datasets.load_dataset("webdataset", **data, streaming=True))
print(json.dumps(found))
"""


@pytest.mark.readers
def test_webdataset_and_hugging_face_read_it_sample_for_sample(tmp_path: Path) -> None:
    rows = HARD + [row(number, copy=1, url=None) for number in range(30, 37)]
    cuts = [rows[:6], rows[6:9], rows[9:13], rows[13:]]
    written = export(FORMAT, WebDatasetConfig(), tmp_path / "export", {"train": cuts})
    shards = [str(tmp_path / "export" / one.files[0].path) for one in written]
    script = tmp_path / "reader.py"
    script.write_text(READER)
    found = json.loads(run_trainer(script, [json.dumps(shards), tmp_path / "cache"], seconds=120).splitlines()[-1])
    given = [expected(one) for one in rows]
    assert found["sequential"] == given
    assert found["huggingface"] == given
    assert found["streamed"] == given
    assert found["shuffled"] != given
    assert sorted(found["shuffled"], key=lambda one: str(one["__key__"])) == sorted(
        given, key=lambda one: str(one["__key__"])
    )
    assert found["resumed"] == found["shuffled"]


PICTURES = """
import io, json, sys
import datasets, webdataset
from PIL import Image

shard, folder = sys.argv[1:]
found = {
    "webdataset": webdataset.WebDataset(shard, shardshuffle=False).decode("pil"),
    "huggingface": datasets.load_dataset("webdataset", data_files=[shard], cache_dir=folder, split="train"),
}
print(json.dumps({name: [one["jpg"].convert("RGB").getpixel((0, 0)) for one in read] for name, read in found.items()}))
"""

RED_PNG = bytes.fromhex(  # one pixel
    "89504e470d0a1a0a0000000d49484452000000010000000108020000"
    "00907753de0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
RED_GIF = bytes.fromhex("474946383961010001008000 00ff0000ffffff2c00000000010001000002024401003b".replace(" ", ""))


@pytest.mark.readers
def test_readers_see_pictures_of_every_type(tmp_path: Path) -> None:
    rows = [row(0, media=[medium("image/png", RED_PNG)]), row(1, media=[medium("image/gif", RED_GIF)])]
    shard = only_shard(tmp_path, rows, WebDatasetConfig(media="image"))
    script = tmp_path / "reader.py"
    script.write_text(PICTURES)
    found = json.loads(run_trainer(script, [shard, tmp_path / "cache"], seconds=120).splitlines()[-1])
    assert found == {"webdataset": [[255, 0, 0]] * 2, "huggingface": [[255, 0, 0]] * 2}
