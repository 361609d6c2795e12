"""Short rows are the same whatever their number, and what is wanted of their growth follows from the sizes."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.growth_rows import RECIPE, STAGES, Run, limits_of
from benchmarks.inputs import short_rows
from benchmarks.inputs.passages import Passages, Pool
from benchmarks.inputs.short_rows import cached_short_rows
from benchmarks.measuring.reporting import Measured
from winnow.pipelines.binding.bound_recipe import bind
from winnow.schemas.recipe import recipe_from_text

WORDS = Pool(np.array([0, 3, 5]), pa.array(["one ", "two ", "three ", "eins ", "zwei "], pa.large_string()))
PASSAGES = Passages(("de", "en"), WORDS, WORDS)


def test_more_rows_begin_with_those_of_fewer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_rows, "BLOCK_ROWS", 20)
    monkeypatch.setattr(short_rows, "FILE_BLOCKS", 2)
    folders = [cached_short_rows(rows, tmp_path, PASSAGES) for rows in (30, 90)]
    few, many = (pa.concat_tables(map(pq.read_table, sorted(folder.glob("*.parquet")))) for folder in folders)
    assert many["id"].to_pylist() == list(range(90))
    assert many.slice(0, 30).equals(few)
    assert len(list(folders[1].glob("*.parquet"))) == 3
    texts = many["text"].to_pylist()
    assert all(texts[row] == texts[row - 1] for row in range(9, 90, 10))
    english, german = {"one", "two", "three"}, {"eins", "zwei"}
    assert all(set(text.split()) <= english or set(text.split()) <= german for text in texts)


def test_ten_times_the_rows_may_take_ten_and_a_half_times_the_time() -> None:
    seconds = {1_000: 10.0, 10_000: 104.0, 1_000_000: 12_000.0}
    runs = [
        Run(stage, rows, Measured(0, total / len(STAGES), 1 << 30, 0, ""))
        for rows, total in seconds.items()
        for stage in STAGES
    ]
    limits = limits_of(runs)
    assert [(round(one.value, 1), round(one.allowed, 1), one.kept) for one in limits[:2]] == [
        (10.4, 10.5, True),
        (115.4, 110.2, False),
    ]
    assert all(one.kept for one in limits[2:])


def test_the_recipe_is_a_recipe() -> None:
    bound = bind(recipe_from_text(RECIPE.format(folder="/tmp/x", root="/tmp/y", budget=100), "recipe.yaml"))
    assert bound.rules.reasons == ("short", "duplicate_exact", "duplicate_near")
    assert bound.tokens is not None
