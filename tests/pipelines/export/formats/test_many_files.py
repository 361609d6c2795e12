"""Sets of more than 99,999 files: their names have more digits, and each format's readers find them all."""

import re
from pathlib import Path

import pytest

from tests.pipelines.export.formats.mixed_rows import batches, row
from winnow.pipelines.export.formats import formats
from winnow.pipelines.export.formats.protocol import About, FileRecord, ShardName, WrittenShard

OF = 150_000
PATHS = {
    "arrayrecord": "mixture/1.0.0/mixture-train.array_record-123456-of-150000",
    "jsonl": "train-123456-of-150000.jsonl.zst",
    "mds": "train/shard.123456.mds",
    "megatron": "train_123456_of_150000_text_document.idx",
    "parquet": "data/train-123456-of-150000.parquet",
    "webdataset": "train-123456-of-150000.tar",
}
OPTIONS: dict[str, dict[str, object]] = {
    "megatron": {"tokenizer": "bytes", "end_token": 256},
    "webdataset": {"energon": True},
}


@pytest.mark.parametrize("of", [1, 99_999, 100_000, 150_000, 1_000_000])
def test_names_are_distinct_and_their_order_is_that_of_numbers(of: int) -> None:
    numbers = range(0, of, max(1, of // 100_001))
    stems = [ShardName("train", number, of).stem() for number in numbers]
    assert len(set(stems)) == len(numbers)
    assert sorted(stems) == stems
    assert {len(stem) for stem in stems} == {len(stems[0])}


def test_names_of_fewer_files_stay_as_they_were() -> None:
    assert ShardName("train", 0, 12).stem() == "train-00000-of-00012"
    assert ShardName("train", 99_998, 99_999).stem("_") == "train_99998_of_99999"
    assert ShardName("train", 7, 100_000).stem() == "train-000007-of-100000"


def test_one_range_in_braces_names_every_tar() -> None:
    """webdataset expands `train-{000000..149999}-of-150000.tar`, all numbers in as many digits as the first."""
    expanded = {f"train-{number:0{len('000000')}d}-of-150000" for number in range(OF)}
    assert {ShardName("train", number, OF).stem() for number in range(OF)} == expanded


@pytest.mark.parametrize("name", PATHS)
def test_a_file_of_a_large_set_is_counted_and_listed(tmp_path: Path, name: str) -> None:
    form = formats()[name]
    config = form.config(**OPTIONS.get(name, {}))
    shard = ShardName("train", 123_456, OF)
    made = form.write(config, tmp_path, shard, batches([row(0), row(1)], 2))
    assert PATHS[name] in made.files
    assert sum(one.samples for one in form.count(tmp_path, PATHS[name])) == 2
    assert {one.output for one in form.count(tmp_path, PATHS[name])} == {"train"}
    if name == "arrayrecord":
        return  # it would write an empty file for each of the other 149,999
    files = tuple(FileRecord(path, (tmp_path / path).stat().st_size, "") for path in made.files)
    listed = form.finish(
        config, [WrittenShard(shard, 2, files, made.facts)], About("s", "p", "samples", ("train",), {})
    )
    listing = {"mds": "shard.123456.mds", "megatron": "train_123456_of_150000", "webdataset": PATHS["webdataset"]}
    if name in listing:
        assert any(re.search(re.escape(listing[name]), raw.decode()) for raw in listed.values())
