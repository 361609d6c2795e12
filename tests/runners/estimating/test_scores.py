"""What `winnow plan` says of scores: what each needs, whether it stands, and what is left to read for it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.messages import assert_told_each
from tests.runners.scores.stores import TRAINED, make_store, scored, write
from winnow.pipelines.store import layout
from winnow.pipelines.store.location import open_store_at
from winnow.runners.commands.main import main
from winnow.runners.estimating.run_log import read_runs

RATES = """
engines: {local: {start_seconds: 0}}
rates: {score.next_byte: {mb_per_second: 0.001, written: 0.5}, text.length: {written: 2}}
"""
BY_LENGTH = f'{TRAINED.rstrip()}\n    where: "text.length.lines > 0"\n'
MORE_CHECKPOINTS = TRAINED.replace("checkpoints: 2", "checkpoints: 3")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that nothing is scored in."""
    folder = tmp_path_factory.mktemp("whole")
    make_store(folder)
    (folder / "rates.yaml").write_text(RATES)
    return folder


@pytest.fixture
def folder(whole: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(whole)
    return whole


def planned(capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, object], dict[str, dict[str, Any]]]:
    """The first score of the recipe at hand, and the estimate of each stage."""
    capsys.readouterr()
    assert main(["plan", "recipe.yaml", "--rates", "rates.yaml", "--workers", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    return found["scores"][0], {stage["stage"]: stage for stage in found["estimate"]["stages"]}


def sizes(folder: Path) -> dict[str, tuple[int, int]]:
    """Bytes and shards of each layer that stands."""
    layers = open_store_at(folder / "store").require_latest().layers
    return {name: (entry.bytes, entry.shards) for name, entry in layers.items()}


def test_a_score_is_planned_with_what_it_needs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, BY_LENGTH + '    accelerator: "type:nvidia-l4;count:1"\n    min_ram_bytes: 16 GiB\n')
    shards = sizes(folder)[layout.SAMPLES][1]
    assert main(["plan", "recipe.yaml"]) == 0
    printed = capsys.readouterr().out.partition("\nscore   ")[2].partition("\n\nestimate")[0]
    assert_told_each(
        printed.splitlines(),
        ("mimic:", "next_byte", "2 checkpoints", str(shards)),
        "  reads      samples, text.length",
        "  where      text.length.lines > 0",
        ("samples.source.name", "'books'"),
        ("2 checkpoints", "text.length.lines", "0"),
        "  requests   type:nvidia-l4;count:1",
        ("16.0 GiB", "memory per"),
    )


def test_what_is_read_for_a_score_is_the_layers_that_it_reads(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder)
    score, stages = planned(capsys)
    samples, shards = sizes(folder)[layout.SAMPLES]
    assert (score["name"], score["task"], score["current"], score["reads"]) == (
        "mimic",
        "next_byte",
        False,
        ["samples"],
    )
    assert list(stages) == ["score", "command"]
    assert stages["score"] | {"vcpu_hours": 0} == {
        "stage": "score",
        "tasks": shards,
        "read": samples,
        "shuffled": 0,
        "written": round(3 * samples / 2),  # at two checkpoints and under the reference
        "vcpu_hours": 0,
    }
    write(folder, BY_LENGTH)
    assert planned(capsys)[1]["score"]["read"] == samples + sizes(folder)["text.length"][0]


@pytest.mark.parametrize(
    ("head", "times"),
    [
        ("", 4 / 3),
        ("label: samples.url\n    labels: [a, b]\n    buckets", 1),
    ],  # of a head's score reading takes the time
)
def test_each_checkpoint_of_a_score_is_paid_for(
    folder: Path, head: str, times: float, capsys: pytest.CaptureFixture[str]
) -> None:
    hours = []
    for score in (TRAINED, MORE_CHECKPOINTS):
        recipe = write(folder, score).file
        if head:
            text = Path(recipe).read_text().replace("next_byte", "linear_head").replace("buckets", head)
            Path(recipe).write_text(text)
        hours.append(planned(capsys)[1]["score"]["vcpu_hours"]["local"])
    assert hours[1] / hours[0] == pytest.approx(times, rel=1e-6)


def test_before_ingest_what_a_score_reads_follows_from_the_rates(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for source in ("web", "books"):
        (tmp_path / source).symlink_to(whole / source)
    (tmp_path / "rates.yaml").write_text(RATES)
    write(tmp_path, BY_LENGTH)
    monkeypatch.chdir(tmp_path)
    score, stages = planned(capsys)
    assert not score["current"]
    assert list(stages) == ["ingest", "annotate.cpu", "score", "command"]
    written = stages["ingest"]["written"]
    assert isinstance(written, int)
    assert stages["score"]["read"] == 3 * written  # the texts, and their lengths, of which the rates say twice as much


def test_a_score_that_stands_costs_nothing_until_it_is_asked_for_otherwise(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scored(write(folder))
    (ran,) = [run for run in read_runs(open_store_at(folder / "store").objects) if run.stage == "score"]
    assert ran.parts["score.next_byte"].read == 3 * ran.read  # as it is estimated: two checkpoints and the reference
    score, stages = planned(capsys)
    assert score["current"]
    assert stages == {}
    write(folder, MORE_CHECKPOINTS)
    score, stages = planned(capsys)
    assert not score["current"]
    assert stages["score"]["read"] == sizes(folder)[layout.SAMPLES][0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("    reference: {weights: gone.safetensors}\n", "gone.safetensors: no such file"),
        ("    reference: {train_on: \"samples.sauce.name = 'books'\"}\n", "unknown column 'samples.sauce.name'"),
    ],
)
def test_what_a_score_lacks_is_one_line(folder: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, text)
    assert main(["plan", "recipe.yaml"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_of_a_score_with_given_weights_only_new_rows_are_pending(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scored(write(folder))
    made = sorted(folder.glob("store/weights/**/*.safetensors"))
    for number, file in enumerate(made):
        shutil.copy(file, folder / f"{number}.safetensors")
    names = [f"{number}.safetensors" for number in range(len(made))]
    given = f"    reference: {{weights: {names[0]}}}\n    trajectory: {{weights: [{', '.join(names[1:])}]}}\n"
    scored(write(folder, given))
    (folder / "web" / "new.jsonl").write_text('{"id": "new", "text": "a line of text that is new"}\n')
    score, stages = planned(capsys)
    assert score["current"]
    assert stages["score"]["read"] == stages["ingest"]["written"]
