"""Lines of JSON are read by `datasets`, whatever shape metadata are of, and wherever the first value is no null."""

import json
from pathlib import Path

import pytest

from tests.pipelines.export.formats.mixed_rows import batches, row
from tests.trainers import run_trainer
from winnow.pipelines.export.formats.columns import NO_BANDS
from winnow.pipelines.export.formats.jsonl import FORMAT, JsonlConfig
from winnow.pipelines.export.formats.protocol import ShardName

READ = """
import json, sys
from datasets import load_dataset

whole = load_dataset(sys.argv[1], split="train", cache_dir=sys.argv[2])
streamed = load_dataset(sys.argv[1], split="train", streaming=True, cache_dir=sys.argv[2])
print(json.dumps([[len(rows), rows[0], rows[-1]] for rows in (whole.to_list(), list(streamed))]))
"""


@pytest.mark.readers
@pytest.mark.large
def test_datasets_reads_rows_that_are_unlike_those_of_the_first_ten_megabytes(tmp_path: Path) -> None:
    plain = [row(number, text="t" * 3000, url=None, metadata='{"a":1}') for number in range(4000)]
    rows = [*plain, row(4000, text=None, url="https://a.example/", metadata='{"a":{"b":["c",1]},"d":null}')]
    folder = tmp_path / "out"
    folder.mkdir()
    given = (batch.replace_schema_metadata(NO_BANDS) for batch in batches(rows, 1000))
    made = FORMAT.write(JsonlConfig(), folder, ShardName("train", 0, 1), given)
    declared = made.facts["dtypes"]
    assert isinstance(declared, list)
    features = [f"  - {{name: {name}, dtype: {dtype}}}" for name, dtype in declared]
    files = "configs: [{config_name: default, data_files: [{split: train, path: train-*.jsonl.zst}]}]"
    card = ["---", files, "dataset_info:", "  features:", *features, "---", ""]
    (folder / "README.md").write_text("\n".join(card))
    script = tmp_path / "read.py"
    script.write_text(READ)
    for count, first, last in json.loads(run_trainer(script, [folder, tmp_path / "cache"]).splitlines()[-1]):
        assert count == 4001
        assert (first["text"], first["url"], first["metadata"]) == ("t" * 3000, None, {"a": 1})
        assert (last["text"], last["url"]) == (None, "https://a.example/")
        assert last["metadata"] == {"a": {"b": ["c", 1]}, "d": None}
