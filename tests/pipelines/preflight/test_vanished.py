"""Files that are gone from a source, told when new ones come."""

from pathlib import Path

from rich.console import Console

from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.sources import store_record
from winnow.pipelines.ingest.planning.stage import plan_sources
from winnow.pipelines.preflight.check import NewInput, findings
from winnow.pipelines.store.generations import create_or_open
from winnow.pipelines.store.location import open_location
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.store_stages import ingest
from winnow.schemas.recipe import load_recipe


def told(folder: Path, root: str) -> list[str]:
    """What is found before the sources under this root are read, which then are."""
    (folder / root).mkdir(exist_ok=True)
    file = folder / "recipe.yaml"
    file.write_text(
        f"version: 1\nstore: {{path: {folder}/store}}\n"
        f"sources: {{web: {{root: {root}, files: ['*.txt'], class: web}}}}\n"
    )
    recipe = bind(load_recipe(file))
    store = create_or_open(open_location(recipe.store_address), store_record(recipe.config))
    context = recipe.ingest(store)
    plans = plan_sources(context, {"web": ("*.txt",)})
    about = NewInput(recipe=recipe, context=context, plans=plans)
    found = [str(said) for name, said in findings(about) if name == "vanished-files"]
    ingest(recipe, Engine("local", 1), Console(quiet=True))
    return found


def test_new_files_beside_rows_of_files_that_are_gone_are_told(tmp_path: Path) -> None:
    for root in ("a", "b"):
        (tmp_path / root).mkdir()
        (tmp_path / root / f"{root}.txt").write_text(f"the text of {root}")
    assert told(tmp_path, "a") == []
    (said,) = told(tmp_path, "b")
    assert "source web" in said
    assert "1 file " in said
    assert "a.txt" in said
    assert told(tmp_path, "b") == []  # nothing is new now: the plan's table has it


def test_new_files_beside_those_that_are_still_there_are_no_surprise(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.txt").write_text("one")
    told(tmp_path, "a")
    (tmp_path / "a" / "two.txt").write_text("two")
    assert told(tmp_path, "a") == []
