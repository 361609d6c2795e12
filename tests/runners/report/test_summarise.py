"""What a report shows of a store beside its numbers: the first ranges of each reason, and no more read than that."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console

from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.forgetting.ranges import ForgottenRanges
from winnow.pipelines.store.generations import Store
from winnow.runners.engines.engine import Engine
from winnow.runners.stages import store_stages as stages
from winnow.runners.stages.reports.summarise import OF_A_REASON, example_ranges, summarise
from winnow.schemas.recipe import load_recipe
from winnow.schemas.records import TaskCommit

NO_JSON, NO_TEXT = "{", '{"id": "x"}'
GOOD = '{"id": "%d", "text": "a line"}'
ALSO = "on_schema_mismatch: quarantine"  # half of the rows share a key
RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
"""


def ingested(folder: Path, sources: dict[str, list[str]]) -> Store:
    """A store of sources with these lines, a task each."""
    recipe = RECIPE
    for name, lines in sources.items():
        (folder / name).mkdir()
        (folder / name / "a.jsonl").write_text("".join(f"{line}\n" for line in lines))
        recipe += (
            f'  {name}: {{root: {name}, files: ["*.jsonl"], class: web, key: id, on_schema_mismatch: quarantine}}\n'
        )
    (folder / "recipe.yaml").write_text(recipe)
    return stages.ingest(bind(load_recipe(folder / "recipe.yaml")), Engine("local", 1), Console(quiet=True)).store


def shown_of(store: Store) -> list[tuple[str, str, int]]:
    found = tuple(example_ranges(store, store.require_latest()))
    return [(one.source, one.reason, one.offset) for one in found]


def test_the_first_ranges_of_each_reason_are_shown(tmp_path: Path) -> None:
    store = ingested(
        tmp_path,
        {
            "a": [GOOD % 1, NO_JSON, NO_TEXT, NO_JSON, GOOD % 2],
            "b": [*[NO_JSON] * 5, GOOD % 3, *[NO_TEXT] * 5],
            "c": [NO_TEXT, NO_JSON, GOOD % 4],
        },
    )
    generation = store.require_latest()
    forgotten, shown, expected = ForgottenRanges.of(store, store.require_record()), Counter[str](), []
    for task in store.tasks(generation):
        for batch in forgotten.read(task):
            for row in batch.to_pylist():
                shown[row["reason"]] += 1
                if shown[row["reason"]] <= OF_A_REASON:
                    expected.append((row["source"], row["reason"], row["offset"]))
    assert len(shown) == 2
    assert sorted(shown.values()) == [7, 8]
    assert shown_of(store) == expected


def test_tasks_with_nothing_more_to_show_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ingested(
        tmp_path,
        {
            name: [*bad, GOOD % 1]
            for name, bad in (("a", [NO_JSON] * 4), ("b", [NO_JSON] * 4), ("c", [NO_JSON, NO_TEXT]))
        },
    )
    read = ForgottenRanges.read
    asked: list[str] = []

    def noted(self: ForgottenRanges, task: TaskCommit) -> Iterator[pa.RecordBatch]:
        asked.append(task.source)
        return read(self, task)

    monkeypatch.setattr(ForgottenRanges, "read", noted)
    assert [source for source, *_ in shown_of(store)] == ["a", "a", "a", "c"]
    assert asked == ["a", "c"]


def test_modalities_are_counted_by_source(tmp_path: Path) -> None:
    store = ingested(tmp_path, {"a": [GOOD % number for number in range(3)], "b": [GOOD % 0], "c": [""]})
    sources = json.loads(summarise(store, store.require_latest()).to_json())["sources"]
    assert {one["name"]: one["by_modality"] for one in sources} == {"a": {"text": 3}, "b": {"text": 1}, "c": {}}
