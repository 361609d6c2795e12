"""MDS shards: byte for byte those of streaming's own writer, and what StreamingDataset reads from them."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.messages import assert_refused
from tests.pipelines.export.formats.mixed_rows import HARD, batches, export, row
from tests.trainers import run_trainer, short_temporary
from winnow.pipelines.export.formats import find_format, mds
from winnow.pipelines.export.formats.mds import FORMAT, MdsConfig
from winnow.pipelines.export.formats.protocol import ShardName
from winnow.pipelines.export.formats.wanted_media import MediaKind
from winnow.schemas.errors import ExportError, RecipeError

COLUMNS = ("band", "copy", "family", "id", "language", "licence", "metadata", "source", "source_class", "text", "url")
MANY = [row(number, copy=number % 3, text=f"Nr. {number} – {'é' * (number * 37 % 500)}") for number in range(64)]


def expected(one: dict[str, Any]) -> dict[str, Any]:
    """What a reader must give back of a row."""
    given = {name: "" if one[name] is None else one[name] for name in COLUMNS}
    return given | {"id": one["id"].hex()}


def test_it_is_found_by_its_name() -> None:
    assert find_format("mds") is FORMAT


@pytest.mark.parametrize(
    ("version", "media", "is_refused"),
    [("0.11.0", "images", True), ("0.11.0", "image", False), ("0.12.0", "images", False), ("1.0", "images", False)],
)
def test_lists_of_pictures_are_refused_to_a_reader_that_has_none(
    version: str, media: MediaKind, is_refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / f"mosaicml_streaming-{version}.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(f"Metadata-Version: 2.1\nName: mosaicml-streaming\nVersion: {version}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    config = MdsConfig(media=media)
    if is_refused:
        with assert_refused(RecipeError, "list[jpeg]", "0.11"):
            FORMAT.check(config)
    else:
        FORMAT.check(config)


def test_an_output_is_a_folder_with_an_index(tmp_path: Path) -> None:
    export(FORMAT, MdsConfig(), tmp_path, {"train": [HARD[:4], HARD[4:]], "validation": [[row(20)]]})
    found = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert found == [
        "train/index.json",
        "train/shard.00000.mds",
        "train/shard.00001.mds",
        "validation/index.json",
        "validation/shard.00000.mds",
    ]
    index = json.loads((tmp_path / "train/index.json").read_text())
    assert [shard["samples"] for shard in index["shards"]] == [4, 6]
    raw = (tmp_path / "train/shard.00001.mds").read_bytes()
    sha1 = hashlib.sha1(raw, usedforsecurity=False).hexdigest()
    assert index["shards"][1]["raw_data"] == {
        "basename": "shard.00001.mds",
        "bytes": len(raw),
        "hashes": {"sha1": sha1},
    }


def test_a_compressed_shard_holds_the_same_samples(tmp_path: Path) -> None:
    export(FORMAT, MdsConfig(), tmp_path / "plain", {"train": [HARD]})
    export(FORMAT, MdsConfig(compression="zstd", hashes=("sha256", "md5")), tmp_path / "zstd", {"train": [HARD]})
    entry = json.loads((tmp_path / "zstd/train/index.json").read_text())["shards"][0]
    packed = (tmp_path / "zstd/train/shard.00000.mds.zstd").read_bytes()
    raw = zstandard.ZstdDecompressor().decompress(packed)
    for name, held in (("raw_data", raw), ("zip_data", packed)):
        assert entry[name]["bytes"] == len(held)
        assert entry[name]["hashes"] == {one: hashlib.new(one, held).hexdigest() for one in ("md5", "sha256")}
    plain = (tmp_path / "plain/train/shard.00000.mds").read_bytes()
    assert raw.split(b'"version": 2}')[1] == plain.split(b'"version": 2}')[1]


def test_the_bytes_do_not_depend_on_how_the_rows_come(tmp_path: Path) -> None:
    made = set()
    for size in (1, 7, 100):
        export(FORMAT, MdsConfig(compression="zstd"), tmp_path / str(size), {"train": [MANY]}, batch=size)
        made.add((tmp_path / str(size) / "train/shard.00000.mds.zstd").read_bytes())
    assert len(made) == 1


def test_a_shard_that_its_offsets_cannot_reach_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mds, "MAX_BYTES", 10_000)
    with assert_refused(ExportError, "train:", "shard 3", "shard_bytes"):
        FORMAT.write(MdsConfig(), tmp_path, ShardName("train", 3, 4), batches(HARD, 3))
    assert not list(tmp_path.iterdir())


def test_media_are_counted_as_left_out(tmp_path: Path) -> None:
    picture = {"mime": "image/png", "sha256": None, "bytes": b"\x89PNG"}
    made = FORMAT.write(MdsConfig(), tmp_path, ShardName("train", 0, 1), batches([row(0, media=[picture]), row(1)], 1))
    assert made.facts["media_left_out"] == 1


def test_a_hash_is_named_once() -> None:
    with pytest.raises(ValueError, match="'hashes' lists a hash twice"):
        MdsConfig(hashes=("sha1", "sha1"))


def test_the_identity_holds_what_the_bytes_depend_on() -> None:
    same = [MdsConfig(), MdsConfig(level=9), MdsConfig(compression="zstd", hashes=("md5", "sha1"))]
    assert FORMAT.identity(same[0]) == FORMAT.identity(same[1])  # nothing is compressed
    assert FORMAT.identity(same[2]) == FORMAT.identity(MdsConfig(compression="zstd", hashes=("sha1", "md5")))
    assert FORMAT.identity(same[0]) != FORMAT.identity(same[2])


WRITER = """
import json, sys
from streaming import MDSWriter

columns = {name: "int" if name == "copy" else "str" for name in json.loads(sys.argv[3])}
for compression in (None, "zstd"):
    out = f"{sys.argv[2]}/{compression}"
    with MDSWriter(out=out, columns=columns, compression=compression, hashes=["sha1"], size_limit=None) as writer:
        for shard in json.load(open(sys.argv[1])):
            for sample in shard:
                writer.write(sample)
            writer.flush_shard()
            writer._reset_cache()
"""


@pytest.mark.readers
def test_the_bytes_are_those_of_streamings_own_writer(tmp_path: Path) -> None:
    cuts = [HARD[:1], HARD[1:6], HARD[6:], MANY]
    (tmp_path / "samples.json").write_text(json.dumps([[expected(one) for one in cut] for cut in cuts]))
    script = tmp_path / "writer.py"
    script.write_text(WRITER)
    run_trainer(script, [tmp_path / "samples.json", tmp_path / "theirs", json.dumps(COLUMNS)], seconds=120)

    export(FORMAT, MdsConfig(), tmp_path / "ours", {"train": cuts})
    theirs = {path.name: path.read_bytes() for path in (tmp_path / "theirs/None").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "ours/train").iterdir()} == theirs

    export(FORMAT, MdsConfig(compression="zstd"), tmp_path / "packed", {"train": cuts})
    unpack = zstandard.ZstdDecompressor().decompress  # two releases of zstd may compress differently
    for path in (tmp_path / "theirs/zstd").glob("*.zstd"):
        assert unpack((tmp_path / "packed/train" / path.name).read_bytes()) == unpack(path.read_bytes())


READER = """
import itertools, json, sys
from streaming import StreamingDataLoader, StreamingDataset
from streaming.base.util import clean_stale_shared_memory

export, scratch = sys.argv[1:]

def open_at(name, shuffle=True):
    # From afar, as one would: shards are fetched, checked and unpacked into a folder of the reader's own.
    return StreamingDataset(
        remote=f"{export}/{name}/train", local=f"{scratch}/{name}", batch_size=4, shuffle=shuffle, shuffle_seed=3,
        shuffle_block_size=64, num_canonical_nodes=1, validate_hash="sha1",
    )

def loader(dataset):
    return StreamingDataLoader(dataset, batch_size=4, num_workers=2)

def ids(batches):
    return [[f"{one}-{copy}" for one, copy in zip(batch["id"], batch["copy"].tolist())] for batch in batches]

clean_stale_shared_memory()
found = {}
for name in ("plain", "packed"):
    dataset = open_at(name, shuffle=False)
    found[name] = [dataset[number] for number in range(len(dataset))]
    del dataset
whole = loader(open_at("plain"))
found["whole"] = ids(whole)
del whole
first = loader(open_at("plain"))
found["resumed"] = ids(itertools.islice(first, 7))
state = first.state_dict()
del first
second = loader(open_at("plain"))
second.load_state_dict(state)
found["resumed"] += ids(second)
del second
clean_stale_shared_memory()
print(json.dumps(found))
"""


@pytest.mark.large  # the bytes are those of its own writer
def test_streaming_reads_it_sample_for_sample_and_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = HARD + MANY[10:]
    cuts = [rows[:16], rows[16:32], rows[32:48], rows[48:]]
    export(FORMAT, MdsConfig(), tmp_path / "export/plain", {"train": cuts})
    export(FORMAT, MdsConfig(compression="zstd"), tmp_path / "export/packed", {"train": cuts})
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "export").rglob("*")}
    script = tmp_path / "reader.py"
    script.write_text(READER)
    with short_temporary(monkeypatch):  # streaming leaves folders there
        said = run_trainer(script, [tmp_path / "export", tmp_path / "scratch"], seconds=120)
    found = json.loads(said.splitlines()[-1])
    given = [expected(one) for one in rows]
    names = [f"{one['id']}-{one['copy']}" for one in given]
    assert found["plain"] == given
    assert found["packed"] == given
    whole = [name for batch in found["whole"] for name in batch]
    assert sorted(whole) == sorted(names)
    assert whole != names
    assert found["resumed"] == found["whole"]
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "export").rglob("*")} == before
