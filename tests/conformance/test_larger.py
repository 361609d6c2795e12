"""Conformance on more rows than any engine takes in one go: 200,000 texts out of Parquet, on local, Spark and Flink."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conformance.test_one_tree_hash import Made, made_in
from tests.conformance.ways import require_job_server
from tests.faults.winnow import run

pytestmark = pytest.mark.engines

ROWS, FILES, SEED = 200_000, 8, 7
RECIPE = """\
version: 1
store: {{path: {engine}/store, seed: 7, shard_rows: 8192}}
sources:
  pages: {{root: pages, files: ["*.parquet"], class: web, licence: CC0-1.0, key: id}}
annotate: [text.length, {{text.gopher: {{preset: gopher@datatrove}}}}]
dedupe: {{exact: {{}}, near: {{preset: fineweb, min_similarity: 0.75}}}}
keep:
  - {{drop: text.length.characters < 120, reason: short, when_null: drop}}
mix: {{unit: samples, budget: 120_000, split: {{validation: 0.01}}}}
export: [{{parquet: {{path: {engine}/parquet, shard_bytes: 8 MiB}}}}]
"""


def batches() -> Iterator[pa.Table]:
    """Texts of words of Zipf's law; every tenth is another one's copy, and every tenth of those differs by a word."""
    chance = np.random.default_rng(SEED)
    words = np.array([f"w{number:x}" for number in range(20_000)], object)
    own: list[str] = []
    for part in range(FILES):
        texts: list[str] = []
        for row in range(ROWS // FILES):
            if row % 10 == 9:
                text = own[int(chance.integers(len(own)))]
                texts.append(text + " changed" if row % 100 == 99 else text)
            else:
                count = int(chance.integers(15, 60))
                texts.append(" ".join(words[np.minimum(chance.zipf(1.2, count), len(words)) - 1]))
                own.append(texts[-1])
        ids = [f"{part}-{row}" for row in range(len(texts))]
        yield pa.table({"id": ids, "text": texts})


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("larger")
    (folder / "pages").mkdir()
    for part, table in enumerate(batches()):
        pq.write_table(table, folder / "pages" / f"{part}.parquet", row_group_size=4096)
    return folder


@pytest.fixture(scope="module")
def expected(pages: Path) -> Made:
    return made(pages, "local")


def made(folder: Path, engine: str) -> Made:
    recipe = folder / f"{engine}.yaml"
    recipe.write_text(RECIPE.format(engine=engine))
    done = run(folder, "run", recipe.name, "--runner", engine, "--workers", "2", seconds=1500)
    assert done.status == 0, done.out + done.err
    return made_in(str(folder / engine / "store"), str(folder / engine / "parquet"))


@pytest.mark.parametrize("engine", ["spark", "flink"])
def test_200_000_rows_have_one_tree_hash(engine: Literal["spark", "flink"], pages: Path, expected: Made) -> None:
    require_job_server(engine)
    found = made(pages, engine)
    assert found.tree_hash == expected.tree_hash
    assert found.exports == expected.exports
