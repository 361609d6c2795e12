"""Real images through `winnow score`: from files of a source and from rows that name them, with labels and captions."""

import json
import os
import shutil
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from rich.console import Console

from tests.runners.scores.stores import ONE, scored, table
from winnow.pipelines.binding.bound_recipe import bind
from winnow.runners.commands.main import main
from winnow.runners.engines.engine import Engine
from winnow.runners.stages import store_stages as stages
from winnow.runners.stages.publishing import Outcome
from winnow.schemas.recipe import load_recipe

pytest.importorskip("torch", reason="needs the extra `torch`")

pytestmark = pytest.mark.torch
digits = pytest.importorskip("sklearn.datasets", reason="needs scikit-learn, for its handwritten digits")

COUNT = 60
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
LEARNING = "training: {epochs: 1, learning_rate: 0.01, batch: 16}"
RECIPE = f"""
version: 1
store: {{path: store, seed: 7, shard_rows: 16}}
sources:
  files: {{root: digits, files: ["pictures/**/*.png"], class: scans}}
  lines: {{root: digits, files: ["metadata.jsonl"], class: scans, columns: {{media: file_name, captions: text}}}}
  rows: {{root: digits, files: ["tables/*.parquet"], class: scans, columns: {{media: image, captions: says}}}}
score:
  folders:
    task: image_classifier
    where: samples.source.name = 'files'
    label: samples.source.path
    label_folder: true
    labels: [{", ".join(f"'{digit}'" for digit in range(9))}]
    size: 16
    network: {{width: 8}}
    reference: {{train_on: "samples.source.name = 'files'", {LEARNING}}}
    trajectory: {{checkpoints: 2, {LEARNING}}}
  keys:
    task: image_classifier
    where: samples.source.name = 'lines'
    label: samples.metadata
    label_key: digit
    labels: [{", ".join(str(digit) for digit in range(10))}]
    size: 16
    network: {{width: 8}}
    reference: {{train_on: "samples.source.name = 'lines'", {LEARNING}}}
    trajectory: {{checkpoints: 1, {LEARNING}}}
  pairs:
    task: pairs
    caption: samples.captions
    size: 16
    patch: 8
    network: {{width: 16, layers: 1, heads: 2}}
    max_tokens: 16
    batch: 8
    reference: {{train_on: "samples.source.name = 'rows'", {LEARNING}}}
    trajectory: {{checkpoints: 1, {LEARNING}}}
  aligned:
    task: alignment
    caption: samples.captions
    encoders: tests.scoring.torch_models.samples:user_pair
    weights: towers.safetensors
    size: 16
    max_tokens: 12
    filter: {{binarise: top, top: 0.3}}
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty digits in folders by what they are; half of them are named by lines, the others by rows of a table."""
    from tests.runners.scores.test_torch_tasks import weights_of_encoders

    folder = tmp_path_factory.mktemp("digits")
    found = digits.load_digits()
    says = []
    for number in range(COUNT):
        digit = int(found.target[number])
        path = f"pictures/{digit}/{number:03d}.png"
        file = folder / "digits" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((found.images[number] * 15).astype("uint8")).save(file)
        says.append((path, f"a handwritten {WORDS[digit]}", digit))
    lines = [{"file_name": path, "text": said, "digit": digit} for path, said, digit in says[: COUNT // 2]]
    (folder / "digits/metadata.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "digits/tables").mkdir()
    rest = says[COUNT // 2 :]
    columns = {"image": [f"../{path}" for path, _, _ in rest], "says": [[said, "a digit"] for _, said, _ in rest]}
    pq.write_table(pa.table(columns), folder / "digits/tables/a.parquet")
    weights_of_encoders(folder / "towers.safetensors")
    (folder / "recipe.yaml").write_text(RECIPE)
    with open(os.devnull, "w") as silent:
        stages.ingest(bind(load_recipe(folder / "recipe.yaml")), ONE, Console(file=silent))
    return folder


@pytest.fixture(scope="module")
def one(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    copy = tmp_path_factory.mktemp("one") / "copy"
    shutil.copytree(whole, copy)
    return scored(load_recipe(copy / "recipe.yaml"))


def statuses(outcome: Outcome, score: str) -> Counter[tuple[str, str]]:
    names = [one["name"] for one in table(outcome, "samples")["source"].to_pylist()]
    return Counter(zip(names, table(outcome, f"trace.{score}")["status"].to_pylist(), strict=True))


def test_rows_that_name_an_image_have_it_with_its_captions(one: Outcome) -> None:
    rows = table(one, "samples").to_pylist()
    by_source = {name: [row for row in rows if row["source"]["name"] == name] for name in ("files", "lines", "rows")}
    assert [len(found) for found in by_source.values()] == [COUNT, COUNT // 2, COUNT // 2]
    assert {(row["modality"], row["mime"], row["text"]) for row in rows} == {("image", "image/png", None)}
    line = by_source["lines"][0]
    assert line["captions"] == [{"text": "a handwritten zero", "origin": "source", "language": None}]
    assert line["metadata"] == '{"digit":0}'
    assert line["media"][0]["ref"]["path"] == "pictures/0/000.png"
    assert [said["text"] for said in by_source["rows"][0]["captions"]] == ["a handwritten zero", "a digit"]


def test_every_image_has_a_score_by_its_folder_its_key_and_its_caption(one: Outcome) -> None:
    nines = sum(row["source"]["path"].startswith("pictures/9/") for row in table(one, "samples").to_pylist())
    assert nines
    assert statuses(one, "folders") == {
        ("files", "ok"): COUNT - nines,
        ("files", "unknown_label"): nines,  # the recipe lists the others
        ("lines", "not_selected"): COUNT // 2,
        ("rows", "not_selected"): COUNT // 2,
    }
    assert statuses(one, "keys")[("lines", "ok")] == COUNT // 2
    for score in ("pairs", "aligned"):
        assert statuses(one, score) == {
            ("files", "no_input"): COUNT,  # they have no captions
            ("lines", "ok"): COUNT // 2,
            ("rows", "ok"): COUNT // 2,
        }
    assert table(one, "score.pairs")["score"].null_count == COUNT


def test_two_workers_give_the_same_tree_as_one(whole: Path, one: Outcome, tmp_path: Path) -> None:
    copy = tmp_path / "two"
    shutil.copytree(whole, copy)
    two = scored(load_recipe(copy / "recipe.yaml"), Engine("local", 2))
    for score in ("folders", "keys", "pairs", "aligned"):
        assert table(two, f"trace.{score}").equals(table(one, f"trace.{score}"))
    assert two.generation.tree_hash == one.generation.tree_hash


def test_an_image_that_was_deleted_is_missing_and_a_root_that_is_gone_is_one_line(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(whole, copy)
    recipe = copy / "recipe.yaml"
    recipe.write_text(RECIPE[: RECIPE.index("  folders:")] + RECIPE[RECIPE.index("  aligned:") :])
    root = copy / "digits"
    root.rename(copy / "elsewhere")
    for unmounted, expected in ((False, f"no folder {root}"), (True, f"its root {root} is missing or empty; mount")):
        if unmounted:
            root.mkdir()
        assert main(["score", str(recipe), "--workers", "1"]) != 0
        said = capsys.readouterr().err
        assert said.startswith("winnow: ")
        assert expected in said
        assert said.count("\n") == 1
    root.rmdir()
    (copy / "elsewhere").rename(root)
    (copy / "digits/pictures/0/000.png").unlink()
    assert main(["score", str(recipe), "--workers", "1"]) == 0
    outcome = scored(load_recipe(recipe))
    assert statuses(outcome, "aligned") == {
        ("files", "no_input"): COUNT - 1,
        ("files", "image_missing"): 1,
        ("lines", "ok"): COUNT // 2 - 1,
        ("lines", "image_missing"): 1,
        ("rows", "ok"): COUNT // 2,
    }
