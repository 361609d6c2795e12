"""A task says how far it is: within each of its files, whatever their format and their number."""

import gzip
import json
from collections import Counter
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.sources import store_record
from winnow.pipelines.ingest.planning.stage import freeze_plans, plan_sources
from winnow.pipelines.ingest.task import run_task
from winnow.pipelines.store.generations import create_or_open
from winnow.pipelines.store.location import open_location
from winnow.schemas.recipe import recipe_from_text

RECIPE = "version: 1\nstore: {path: store}\nsources: {mixed: {root: data, files: ['*'], class: web}}\n"
ROWS = 200


def write(folder: Path, name: str) -> None:
    size = 600 if name.endswith(".gz") else 6  # compressed, more than is read at once
    texts = [" ".join(sha256(b"%d %d" % (row, word)).hexdigest() for word in range(size)) for row in range(ROWS)]
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    if name.endswith(".parquet"):
        pq.write_table(pa.table({"text": texts}), folder / name, row_group_size=20)
    else:
        (folder / name).write_bytes(gzip.compress(lines) if name.endswith(".gz") else lines)


@pytest.mark.parametrize("names", [["b.jsonl", "a.jsonl.gz", "c.parquet", "0.jsonl"], ["one.jsonl"], ["one.parquet"]])
def test_bytes_done_grow_within_each_file_and_end_at_those_of_the_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for name in names:
        write(tmp_path / "data", name)
    recipe = bind(recipe_from_text(RECIPE))
    store = create_or_open(open_location(recipe.store_address), store_record(recipe.config))
    context = recipe.ingest(store)
    plans = plan_sources(context, {"mixed": ["*"]})
    freeze_plans(context, plans)
    tasks = list(plans[0].intake.tasks)
    assert sum(task.bytes for task in tasks) == sum((tmp_path / "data" / name).stat().st_size for name in names)
    seen: Counter[str] = Counter()
    for task in tasks:
        beats: list[tuple[int, int, int]] = []
        run_task(context, task, lambda *beat, beats=beats: beats.append(beat))
        done = [size for _, _, size in beats]
        assert all(before <= after for before, after in pairwise(done))
        assert done[-1] == task.bytes
        begin = 0
        for file in task.files:
            end = begin + file.part.end - file.part.start
            seen[file.part.path] += len({size for size in done if begin < size < end})
            begin = end
    for path, sizes in seen.items():
        assert sizes >= (1 if path.endswith((".gz", ".parquet")) else 8), path
