"""The benchmark of engines: its loops without Beam do what stages do, and its figures follow from its runs."""

import unicodedata
from collections.abc import Iterable
from pathlib import Path

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from benchmarks.engines.__main__ import FEW_ROWS, KERNELS, STAGES, Cell, Found, rates_lines
from benchmarks.engines.loops import Kernels, Tasks, difference, pending_annotation, pending_ingest
from benchmarks.measuring.reporting import Measured
from winnow.pipelines.binding.bound_recipe import bind
from winnow.runners.engines.engine import Engine
from winnow.runners.stages import store_stages as stages
from winnow.schemas.recipe import Recipe, load_recipe

RECIPE = """\
version: 1
store: {path: store}
sources:
  pages: {root: pages, files: ["*.parquet"], class: web, key: id}
annotate: [text.language, text.length, text.gopher, text.pii]
"""
ONE = Engine("local", 1)
QUIET = Console(quiet=True)


@pytest.fixture
def recipe(lid_model: None, tmp_path: Path) -> Recipe:
    (tmp_path / "pages").mkdir()
    decomposed = unicodedata.normalize("NFD", "Änderungen über Größe an jürgen.möller@example.com")
    rows = {"id": ["a", "b", "c", "d"], "text": ["one", "one and two", decomposed, "one, two and three"]}
    pq.write_table(pa.table(rows), tmp_path / "pages" / "0.parquet")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return load_recipe(tmp_path / "recipe.yaml")


@pytest.fixture
def bare(recipe: Recipe, tmp_path: Path) -> Path:
    """What the bare kernels wrote of a store that is annotated."""
    stages.ingest(bind(recipe), ONE, QUIET)
    stages.annotate(bind(recipe), ONE, QUIET)
    (shard,) = (tmp_path / "store" / "samples").glob("*.parquet")
    Kernels(bind(recipe).operators, tmp_path / "bare")(str(shard))
    return tmp_path / "bare"


def test_bare_kernels_find_what_the_store_holds(recipe: Recipe, bare: Path) -> None:
    assert {folder.name for folder in bare.iterdir()} == {"text.language", "text.length", "text.gopher", "text.pii"}
    assert difference(recipe, bare) is None


def test_another_value_is_a_difference(recipe: Recipe, bare: Path) -> None:
    (file,) = (bare / "text.length").glob("*.parquet")
    table = pq.read_table(file)
    pq.write_table(table.set_column(0, table.field(0), pc.add(table.column(0), 1)), file)
    assert str(difference(recipe, bare)).startswith("text.length of shard ")


def test_tasks_run_without_an_engine_leave_none_for_one(recipe: Recipe) -> None:
    assert ran(pending_ingest(recipe)) == 1
    stages.ingest(bind(recipe), ONE, QUIET)
    assert ran(pending_annotation(recipe)) == 1
    assert ran(pending_annotation(recipe)) == 0


def test_what_starting_takes_is_in_no_rate_after_it() -> None:
    cell = Cell("annotate", "spark", FEW_ROWS + 1000, took(30, cpu=50), took(10, cpu=10))
    assert cell.rate == 40
    assert cell.steady == 50
    assert cell.cpu_micros == 40_000


def test_overheads_are_the_times_of_all_stages_over_local_after_starting() -> None:
    found = Found(FEW_ROWS + 1000, runs={"local": 5.0, "spark": 25.0})
    for number, stage in enumerate(STAGES):
        found.cells[stage, "local"] = Cell(stage, "local", found.rows, took(11 + number), took(1 + number))
        found.cells[stage, "spark"] = Cell(stage, "spark", found.rows, took(22 + number), took(10 + number))
    found.cells["annotate", KERNELS] = Cell("annotate", KERNELS, found.rows, took(10), took(2))
    assert rates_lines(found, ["local", "spark"]) == [
        "engines:",
        "  local: {work: 1.00, start_seconds: 1.0, measured: true}",
        "  spark: {work: 1.20, start_seconds: 5.0, measured: true}",
    ]
    assert found.share(found.cells["annotate", "spark"], KERNELS) == pytest.approx(8 / 12)
    assert found.share(found.cells["ingest", "spark"], KERNELS) is None


def ran(passes: Iterable[tuple[beam.DoFn, list[bytes]]]) -> int:
    """Runs what is pending; how many tasks that was."""
    count = 0
    for worker, elements in passes:
        for element in elements:
            Tasks(worker)(element)
            count += 1
    return count


def took(wall: float, cpu: float = 0.0) -> Measured:
    return Measured(wall, cpu, 0, 0, "")
