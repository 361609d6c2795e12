"""The pipelines of every stage hold nothing that an engine would run badly: looked at as engines are given them."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability import common_urns
from apache_beam.portability.api.org.apache.beam.model.pipeline.v1 import beam_runner_api_pb2
from apache_beam.runners.portability.portable_runner import PortableRunner
from rich.console import Console

from tests.runners.engines.recipes import write_lines, write_recipe
from winnow.pipelines.binding.bound_recipe import bind
from winnow.runners.engines.backend import Build
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.recipe_run import run_recipe
from winnow.schemas.recipe import load_recipe

SCORE = """
score:
  mimic:
    task: next_byte
    buckets: 64
    reference: {train_on: "samples.source.name = 'lines'"}
"""


@dataclass(frozen=True, slots=True)
class Noting(Engine):
    """An engine that keeps what it runs, as a job server would get it."""

    graphs: list[beam_runner_api_pb2.Pipeline] = field(default_factory=list)

    def run(
        self, build: Build, marks: Path | None = None, *, stage: str = "pipeline", tasks: int | None = None
    ) -> None:
        def noting(pipeline: beam.Pipeline) -> None:
            here, pipeline.runner = pipeline.runner, PortableRunner()  # graphs that run inline lack steps
            build(pipeline)
            pipeline.runner = here
            options = PipelineOptions(["--environment_type=LOOPBACK"])
            self.graphs.append(PortableRunner.get_proto_pipeline(pipeline, options))

        Engine.run(self, noting, marks, stage=stage, tasks=tasks)


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> list[beam_runner_api_pb2.Pipeline]:
    folder = tmp_path_factory.mktemp("graphs")
    write_lines(folder)
    recipe = write_recipe(folder, "whole")
    recipe.write_text(recipe.read_text() + SCORE)
    engine = Noting("local", 1)
    run_recipe(bind(load_recipe(recipe)), engine, Console(quiet=True))
    return engine.graphs


def labels(graph: beam_runner_api_pb2.Pipeline) -> set[str]:
    return {name for one in graph.components.transforms.values() for name in one.unique_name.split("/") if name}


def test_every_stage_is_among_them(graphs: list[beam_runner_api_pb2.Pipeline]) -> None:
    found = set().union(*(labels(graph) for graph in graphs))
    stages = {"ingest", "annotate.cpu", "dedupe.compare", "trace.mimic", "mix.tokens", "export"}
    assert stages | {"Start", "Forests.near", "Exchange"} <= found, json.dumps(sorted(found))


def test_the_name_of_every_step_begins_with_its_stage(graphs: list[beam_runner_api_pb2.Pipeline]) -> None:
    for graph in graphs:
        (root,) = graph.root_transform_ids  # Beam's own
        assert len(graph.components.transforms[root].subtransforms) == 1


def test_no_function_keeps_state_sets_timers_or_splits(graphs: list[beam_runner_api_pb2.Pipeline]) -> None:
    for graph in graphs:
        for transform in graph.components.transforms.values():
            if transform.spec.urn != common_urns.primitives.PAR_DO.urn:
                continue
            payload = beam_runner_api_pb2.ParDoPayload.FromString(transform.spec.payload)
            assert not payload.state_specs, transform.unique_name
            assert not payload.timer_family_specs, transform.unique_name
            assert not payload.restriction_coder_id, transform.unique_name
            assert not payload.requires_time_sorted_input, transform.unique_name
            assert not payload.requires_stable_input, transform.unique_name


def test_nothing_is_read_by_a_source_of_beams(graphs: list[beam_runner_api_pb2.Pipeline]) -> None:
    for graph in graphs:
        found = {one.spec.urn for one in graph.components.transforms.values()}
        assert common_urns.deprecated_primitives.READ.urn not in found
        assert not {urn for urn in found if "sdf" in urn or "splittable" in urn}


def test_every_task_list_is_spread(graphs: list[beam_runner_api_pb2.Pipeline]) -> None:
    lists = 0
    for graph in graphs:
        transforms = graph.components.transforms
        for transform in transforms.values():
            if transform.unique_name.rpartition("/")[2] != "ReadTasks":
                continue
            lists += 1
            (output,) = transform.outputs.values()
            readers = [
                one
                for one in transforms.values()
                if output in one.inputs.values() and (not one.subtransforms or one.spec.urn == RESHUFFLE)
            ]
            assert readers, transform.unique_name
            for reader in readers:
                inside = reader.unique_name.partition("Spread")
                assert inside[1], f"{transform.unique_name} → {reader.unique_name}"
    assert lists


RESHUFFLE = common_urns.composites.RESHUFFLE.urn


def test_groups_are_made_inside_a_window(graphs: list[beam_runner_api_pb2.Pipeline]) -> None:
    groups = 0
    global_window = common_urns.global_windows.urn
    for graph in graphs:
        spread = [one.unique_name + "/" for one in graph.components.transforms.values() if one.spec.urn == RESHUFFLE]
        for transform in graph.components.transforms.values():
            if transform.spec.urn != common_urns.primitives.GROUP_BY_KEY.urn:
                continue
            if any(transform.unique_name.startswith(name) for name in spread):
                continue  # engines have their own way to reshuffle
            (taken,) = transform.inputs.values()
            maker = next(one for one in graph.components.transforms.values() if taken in one.outputs.values())
            if maker.spec.urn == common_urns.combine_components.COMBINE_PER_KEY_PRECOMBINE.urn:
                continue  # one small value of each bundle
            groups += 1
            strategy = graph.components.pcollections[taken].windowing_strategy_id
            windowing = graph.components.windowing_strategies[strategy]
            assert windowing.window_fn.urn != global_window, transform.unique_name
            assert windowing.merge_status == beam_runner_api_pb2.MergeStatus.NON_MERGING
    assert groups
