"""`--runner dataflow` from submission to the tree hash, against a service on loopback.

Beam's own client stages and submits; each job is run from what was staged, by an interpreter that has winnow from
nowhere else. What Google's workers do with it cannot be seen here.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from apache_beam.portability import common_urns
from apache_beam.portability.api.org.apache.beam.model.pipeline.v1 import beam_runner_api_pb2
from apache_beam.runners.pipeline_context import PipelineContext

from tests.faults.winnow import Done, run, tree_hash
from tests.runners.engines.dataflow.conftest import ACCELERATOR, PROJECT, write_recipe
from tests.runners.engines.dataflow.service import Job, Service, serving
from winnow import __version__

pytestmark = [pytest.mark.engines, pytest.mark.usefixtures("gcp")]

MOST_TRANSFORMS = 800  # the search for near duplicates has the most, whatever the store's size
MOST_GRAPH_BYTES = 1 << 20  # the service takes 10 MB
MOST_PAYLOAD_BYTES = 16 << 10  # of a function, as it is pickled


@dataclass(frozen=True)
class Ran:
    """A recipe that was run through the service, and by itself."""

    folder: Path
    service: Service
    done: Done

    @property
    def jobs(self) -> list[Job]:
        return self.service.jobs


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    folder = tmp_path_factory.mktemp("dataflow")
    write_recipe(folder, str(folder / "store"))
    (folder / "staging").mkdir()
    with serving(Service(folder)) as service:
        yield Ran(folder, service, run(folder, *submitted(folder, service), seconds=900))


def submitted(folder: Path, service: Service, *flags: str) -> tuple[str, ...]:
    return (
        *("run", "recipe.yaml", "--runner", "dataflow", "--", *PROJECT, *service.flags),
        *(f"--temp_location={folder / 'staging'}", *flags),
    )


def test_every_stage_goes_through_to_the_tree_hash_of_a_local_run(ran: Ran) -> None:
    assert ran.done.status == 0, ran.done.err + "\n".join(job.said for job in ran.jobs)
    local = ran.folder / "local"
    write_recipe(local, str(local / "store"))
    assert run(local, "run", "recipe.yaml", "--workers", "1").status == 0
    assert tree_hash(ran.folder) == tree_hash(local)
    assert mixture(ran.folder) == mixture(local)
    assert mixture(local)
    assert stages(ran) == ["ingest", "annotate-cpu", "dedupe-compare", "dedupe", "trace-mimic", "mix-tokens", "export"]


def test_a_second_run_finds_everything_and_submits_nothing(ran: Ran) -> None:
    before = len(ran.jobs)
    assert run(ran.folder, *submitted(ran.folder, ran.service)).status == 0
    assert len(ran.jobs) == before


def test_jobs_have_names_of_their_own_and_labels(ran: Ran) -> None:
    assert len({job.name for job in ran.jobs}) == len(ran.jobs)
    assert all(job.name.startswith(f"winnow-{stage}-2") for job, stage in zip(ran.jobs, stages(ran), strict=True))
    assert {job.request["labels"]["winnow-version"] for job in ran.jobs} == {__version__.replace(".", "-")}
    assert all(job.name in ran.done.out for job in ran.jobs)


def test_winnow_is_shipped_as_it_is_here_and_no_session_is(ran: Ran) -> None:
    assert {job.package for job in ran.jobs} == {f"winnow-{__version__}-py3-none-any.whl"}
    staged = [one["name"] for job in ran.jobs for one in job.request["environment"]["workerPools"][0]["packages"]]
    assert set(staged) == {f"winnow-{__version__}-py3-none-any.whl", "extra_packages.txt"}


def test_graphs_and_functions_are_small(ran: Ran) -> None:
    for job in ran.jobs:
        transforms = job.graph.components.transforms.values()
        assert len(transforms) <= MOST_TRANSFORMS
        assert job.graph.ByteSize() <= MOST_GRAPH_BYTES
        assert max(len(one.spec.payload) for one in transforms) <= MOST_PAYLOAD_BYTES


def test_tasks_are_data_and_no_constants_of_a_graph(ran: Ran) -> None:
    (ingest,) = [job for job in ran.jobs if "-ingest-" in job.name]
    assert b"1.jsonl" not in ingest.graph.SerializeToString()


def test_what_a_model_needs_is_asked_for_where_it_runs_and_nowhere_else(ran: Ran) -> None:
    asked = {
        (job.request["labels"]["winnow-stage"], step.unique_name)
        for job in ran.jobs
        for step in job.graph.components.transforms.values()
        if step.environment_id and hints(job, step.environment_id)
    }
    assert asked == {("trace-mimic", "trace.mimic/RunTask")}
    (trace,) = [job for job in ran.jobs if "-trace-mimic-" in job.name]
    assert [hints(trace, one) for one in trace.graph.components.environments if hints(trace, one)] == [
        {
            "beam:resources:accelerator:v1": ACCELERATOR.encode(),
            "beam:resources:min_ram_bytes:v1": str(2 << 30).encode(),
        }
    ]


def test_steps_have_names_of_their_own_without_line_numbers(ran: Ran) -> None:
    for job in ran.jobs:
        names = [one.unique_name for one in job.graph.components.transforms.values()]
        assert [name for name, count in Counter(names).items() if count > 1] == []
        assert [name for name in names if ".py:" in name and "core.py:" not in name] == []  # Beam's own


def test_nothing_is_read_by_splitting_and_nothing_keeps_state(ran: Ran) -> None:
    for job in ran.jobs:
        for payload in functions(job):
            assert not payload.restriction_coder_id
            assert not payload.state_specs
            assert not payload.timer_family_specs
        assert "beam:transform:read:v1" not in {one.spec.urn for one in job.graph.components.transforms.values()}


def test_what_is_shuffled_has_keys_of_one_encoding_and_values_that_are_not_pickled(ran: Ran) -> None:
    for job in ran.jobs:
        components = job.graph.components
        context = PipelineContext(components)
        for step in components.transforms.values():
            if step.spec.urn == common_urns.primitives.GROUP_BY_KEY.urn:
                (given,) = step.inputs.values()
                coder = context.coders[components.pcollections[given].coder_id]
                assert coder.key_coder().is_deterministic(), step.unique_name
                assert not pickles(coder.value_coder()), f"{step.unique_name}: {coder}"


def test_other_elements_are_not_pickled_either(ran: Ran) -> None:
    for job in ran.jobs:
        context = PipelineContext(job.graph.components)
        coders = {one.coder_id for one in job.graph.components.pcollections.values()}
        assert [repr(context.coders[one]) for one in sorted(coders) if pickles(context.coders[one])] == []


def mixture(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "mixture" / "data").rglob("*.parquet")}


def stages(ran: Ran) -> list[str]:
    return [job.request["labels"]["winnow-stage"] for job in ran.jobs]


def hints(job: Job, environment: str) -> dict[str, bytes]:
    return dict(job.graph.components.environments[environment].resource_hints)


def functions(job: Job) -> list[beam_runner_api_pb2.ParDoPayload]:
    steps = job.graph.components.transforms.values()
    pardo = common_urns.primitives.PAR_DO.urn
    return [beam_runner_api_pb2.ParDoPayload.FromString(one.spec.payload) for one in steps if one.spec.urn == pardo]


def pickles(coder: object) -> bool:
    """Whether a coder, or one inside it, pickles elements. A Reshuffle of Beam's pickles its own missing timestamps."""
    text = repr(coder).replace("NullableCoder[FastPrimitivesCoder], PaneInfoCoder", "")
    return "FastPrimitives" in text or "Pickle" in text or "Dill" in text
