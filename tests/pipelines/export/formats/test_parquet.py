"""Parquet exports as Hugging Face's own reader sees them, and their pages as the format promises."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipelines.export.drawn_stores import BOOKS, WEB, Given, Rows, every, export, exports_of, make_draw, words
from tests.pipelines.export.formats.mixed_rows import HARD, batches, row
from tests.trainers import run_trainer
from winnow.pipelines.export.formats.columns import NO_BANDS
from winnow.pipelines.export.formats.parquet import FORMAT, ParquetConfig
from winnow.pipelines.export.formats.protocol import ShardName
from winnow.pipelines.store.local import LocalStore

READ = """
import json, sys
import torch
from datasets import load_dataset

whole = load_dataset(sys.argv[1])
shuffled = load_dataset(sys.argv[1], split="train", streaming=True).shuffle(seed=1, buffer_size=16)
loader = torch.utils.data.DataLoader(shuffled, batch_size=None, num_workers=2)
resumed = load_dataset(sys.argv[1], split="train", streaming=True)
first = [one["id"] for one in resumed.take(7)]
for number, one in enumerate(resumed):
    if number == 6:
        state = resumed.state_dict()
        break
again = load_dataset(sys.argv[1], split="train", streaming=True)
again.load_state_dict(state)
print(json.dumps({
    "splits": {name: split.num_rows for name, split in whole.items()},
    "features": {name: str(kind.dtype) for name, kind in whole["train"].features.items()},
    "rows": whole["train"].to_list(),
    "streamed": sorted([one["id"], one["copy"]] for one in loader),
    "resumed": first + [one["id"] for one in again],
}))
"""


@pytest.mark.readers
def test_datasets_reads_every_sample_in_order_streams_them_with_workers_and_resumes(tmp_path: Path) -> None:
    shards = {"a": every(words(60)), "b": Rows(words(9, 60), [Given(2, copies=3), Given(5, output=1)])}
    store, draw = make_draw(LocalStore(tmp_path / "store"), shards, [[WEB], [BOOKS]], ["train", "validation"])
    export(store, draw, exports_of(tmp_path, "parquet: {path: out, shard_bytes: 9000}"))
    script = tmp_path / "read.py"
    script.write_text(READ)
    read = json.loads(run_trainer(script, [tmp_path / "out"]).splitlines()[-1])
    files = sorted((tmp_path / "out/data").glob("train-*"))
    rows = [one for file in files for one in pq.ParquetFile(file).read().to_pylist()]
    assert len(files) > 3
    assert read["splits"] == {"train": 63, "validation": 1}
    assert read["rows"] == rows
    assert read["features"] == {name: "int32" if name == "copy" else "string" for name in rows[0]}
    assert read["streamed"] == sorted([one["id"], one["copy"]] for one in rows)
    assert read["resumed"] == [one["id"] for one in rows]


def test_rows_are_written_as_they_are(tmp_path: Path) -> None:
    made = FORMAT.write(ParquetConfig(), tmp_path, ShardName("train", 0, 1), batches(HARD, 3))
    assert made.files == ("data/train-00000-of-00001.parquet",)
    assert made.samples == len(HARD)
    rows = pq.read_table(tmp_path / made.files[0]).to_pylist()
    for written, given in zip(rows, HARD, strict=True):
        assert written == {
            "id": given["id"].hex(),  # type: ignore[attr-defined]
            "text": given["text"],
            "source": given["source"],
            "class": given["source_class"],
            "language": given["language"],
            "family": given["family"],
            "band": given["band"] or None,
            "licence": given["licence"],
            "url": given["url"],
            "metadata": given["metadata"],
            "copy": given["copy"],
        }


def test_there_is_no_column_of_bands_where_the_plan_has_none(tmp_path: Path) -> None:
    without = (batch.replace_schema_metadata(NO_BANDS) for batch in batches(HARD, 4))
    made = FORMAT.write(ParquetConfig(), tmp_path, ShardName("train", 0, 1), without)
    assert "band" not in pq.read_schema(tmp_path / made.files[0]).names


def test_row_groups_are_bounded_in_rows_and_bytes_and_pages_have_checksums(tmp_path: Path) -> None:
    rows = [row(number, text="x" * (1 if number < 50 else 20_000)) for number in range(60)]
    config = ParquetConfig(row_group_rows=20, row_group_bytes=65_536)
    made = FORMAT.write(config, tmp_path, ShardName("train", 0, 1), batches(rows, 2))
    file = pq.ParquetFile(tmp_path / made.files[0], page_checksum_verification=True)
    groups = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    assert groups == [20, 20, 14, 4, 2]
    assert file.read().num_rows == 60
    raw = bytearray((tmp_path / made.files[0]).read_bytes())
    raw[60] ^= 1
    with pytest.raises(OSError, match="CRC"):
        pq.ParquetFile(pa.BufferReader(bytes(raw)), page_checksum_verification=True).read()


def test_how_rows_come_in_batches_does_not_show(tmp_path: Path) -> None:
    for size in (1, 10):
        (tmp_path / str(size)).mkdir()
        FORMAT.write(ParquetConfig(), tmp_path / str(size), ShardName("train", 0, 1), batches(HARD, size))
    first, second = (next((tmp_path / str(size) / "data").iterdir()).read_bytes() for size in (1, 10))
    assert first == second
