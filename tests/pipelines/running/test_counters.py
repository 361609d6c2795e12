"""Beam's metrics of a run say what its commits say, under names that begin with the stage."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.metrics.metric import MetricsFilter
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from rich.console import Console

from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.running.counters import NAMESPACE
from winnow.pipelines.store.location import open_store_at
from winnow.runners.engines.backend import Build
from winnow.runners.engines.engine import Engine
from winnow.runners.engines.flags import beam_options
from winnow.runners.stages.deduplication import HERE_VARIABLE
from winnow.runners.stages.recipe_run import run_recipe
from winnow.schemas.recipe import load_recipe

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: 40}
sources: {lines: {root: lines, files: ["*.jsonl"], class: public, key: id}}
annotate: [text.length, text.gopher]
dedupe: {exact: {}}
"""


@dataclass(frozen=True, slots=True)
class Metered(Engine):
    """An engine that keeps what was counted in each step."""

    counted: Counter[tuple[str, str]] = field(default_factory=Counter)  # by stage and name
    times: Counter[str] = field(default_factory=Counter)  # how often each distribution was updated

    def run(
        self, build: Build, marks: Path | None = None, *, stage: str = "pipeline", tasks: int | None = None
    ) -> None:
        pipeline = beam.Pipeline(runner=FnApiRunner(), options=beam_options(()))
        build(pipeline)
        result = pipeline.run()
        result.wait_until_finish()
        found = result.metrics().query(MetricsFilter().with_namespace(NAMESPACE))
        for one in found["counters"]:
            assert one.key.step.startswith(f"{stage}/")
            self.counted[stage, one.key.metric.name] += one.result
        for one in found["distributions"]:
            self.times[one.key.metric.name] += one.result.count


@pytest.mark.processes
def test_what_is_counted_is_what_was_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(HERE_VARIABLE, "0")
    Path("lines").mkdir()
    rows = [json.dumps({"id": str(number), "text": f"Some words, number {number // 2}."}) for number in range(100)]
    Path("lines/0.jsonl").write_text("\n".join([*rows, "no JSON", json.dumps({"id": "7", "text": "again"})]) + "\n")
    Path("recipe.yaml").write_text(RECIPE)
    engine = Metered("local", 1)
    run_recipe(bind(load_recipe("recipe.yaml")), engine, Console(quiet=True))
    store = open_store_at("store")
    generation = store.require_latest()
    commits = list(store.tasks(generation))
    counted = engine.counted
    assert counted["ingest", "rows"] == sum(one.kept for one in commits) == 100
    assert counted["ingest", "bytes_read"] == sum(one.input_bytes for one in commits)
    quarantined = {key[1]: number for key, number in counted.items() if key[1].startswith("quarantined.")}
    reasons: Counter[str] = Counter()
    for one in commits:
        reasons.update(one.quarantined_by_reason)
    assert quarantined == {f"quarantined.{reason}": number for reason, number in reasons.items()}
    assert sum(reasons.values()) == 2
    assert counted["annotate.cpu", "rows"] == 100
    measured = [layer for layer in generation.layers if layer.startswith("text.")]  # also what is compared
    assert {"text.length", "text.gopher"} < {*measured}
    layers = [store.manifest(generation, layer) for layer in measured]
    assert counted["annotate.cpu", "bytes_written"] == sum(row.bytes for rows in layers for row in rows)
    assert engine.times == {f"milliseconds.{layer}": len(layers[0]) for layer in measured}
    assert counted["dedupe.compare", "parts"] > 0
