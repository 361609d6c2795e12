"""`winnow train-quality --method` on a store: prompts, labels, a head, and the layer of the next run."""

import csv
import json
import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest

pytest.importorskip("tokenizers", reason="needs the extra `embeddings`")

from tests.faults.winnow import assert_clean, run_here, tree_hash
from tests.filters.models.static_models import VECTORS, write_model
from tests.messages import assert_told
from winnow.pipelines.store.generations import open_store
from winnow.pipelines.store.location import open_location
from winnow.runners.commands.main import main
from winnow.schemas.errors import WinnowError

RECIPE = """
version: 1
store: {{path: {store}, seed: 7, shard_rows: 128}}
sources:
  lines: {{root: lines, files: ["*.jsonl"], class: public, key: id}}
annotate:
  - {{text.embedding: {{model: model.safetensors, tokenizer: tokenizer.json}}}}
"""
HEADS = """  - {text.head: {heads: {edu: {file: edu.safetensors}, hq: {file: hq.safetensors}}, language: ""}}
score:
  edu: {task: column, column: text.head.edu_score, filter: {binarise: top, top: 0.1, by: samples.source.path}}
keep:
  - {drop: score.edu.keep < 0.5, reason: quality, when_null: drop}
"""
ROWS = 400


def words(number: int) -> list[str]:
    """A text's words: the more of them are `kind`, the better it is."""
    chance = random.Random(number)
    return [chance.choice(("you", "kind", "kind", "rude", "are")) for _ in range(20)]


def grade(number: int) -> int:
    return min(5, round(words(number).count("kind") / 3))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe whose store holds measured texts, and tables of their labels."""
    folder = tmp_path_factory.mktemp("heads")
    write_model(folder)
    (folder / "lines").mkdir()
    for name, numbers in (("a", range(0, ROWS, 2)), ("b", range(1, ROWS, 2))):
        rows = [{"id": f"t{number}", "text": " ".join(words(number))} for number in numbers]
        (folder / "lines" / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "recipe.yaml").write_text(RECIPE.format(store="store"))
    labels = "".join(f"t{number},{grade(number)}\n" for number in range(ROWS))
    (folder / "labels.csv").write_text(f"key,label\n{labels}unknown,3\nt0,9\n")
    done = run_here(folder, "run", "recipe.yaml", "--workers", "1")
    assert done.status == 0, done.err
    return folder


def trained(place: Path, method: str, *arguments: str) -> int:
    return main(["--debug", "train-quality", str(place / "recipe.yaml"), "--method", method, *arguments])


def refused(place: Path, method: str, *arguments: str) -> str:
    with pytest.raises(WinnowError) as caught:
        trained(place, method, *arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.processes)])
def test_labels_become_heads_that_the_next_run_uses_on_any_number_of_workers(
    place: Path, capsys: pytest.CaptureFixture[str], workers: int
) -> None:
    assert trained(place, "fineweb-edu", f"--labels={place}/labels.csv", f"--output={place}/edu.safetensors") == 0
    shown = capsys.readouterr().out
    assert_told(shown, "not from 0 to 5", "1")
    assert_told(shown, "not in the store", "1")
    assert f"annotate: [{{text.head: {{heads: {{edu: {{file: {place}/edu.safetensors}}}}}}}}]" in shown
    rules = [
        f"--{side}=samples.text {like} '%kind kind kind%'"
        for side, like in (("positives", "LIKE"), ("negatives", "NOT LIKE"))
    ]
    assert trained(place, "fineweb2-hq", *rules, f"--output={place}/hq.safetensors") == 0
    hashes = set()
    for name, used, order in (("store", 1, "ab"), ("store2", workers, "ba")):
        recipe = RECIPE.format(store=name).replace('"*.jsonl"', ", ".join(f'"{file}.jsonl"' for file in order))
        (place / f"{name}.yaml").write_text(recipe + HEADS)
        done = run_here(place, "run", f"{name}.yaml", "--workers", str(used))
        assert done.status == 0, done.err
        hashes.add(tree_hash(place, name))
    assert_clean(place)
    assert len(hashes) == 1
    (place / "other").mkdir()
    write_model(place / "other", {"embeddings": VECTORS[::-1].copy()})
    other = (place / "store.yaml").read_text().replace("model: model.safetensors", "model: other/model.safetensors")
    (place / "other.yaml").write_text(other)
    done = run_here(place, "run", "other.yaml")
    assert done.status == 1
    assert_told(done.err, "head edu", "another model than text.embedding", "train it again")
    store = open_store(open_location(str(place / "store2")))
    generation = store.require_latest()
    found: dict[str, list[tuple[float, float]]] = {}
    for row in store.manifest(generation, "text.head"):
        for batch in store.batches(row):
            assert set(batch.schema.names) == {"status", "edu", "edu_score", "hq", "hq_score"}
            for name in ("edu", "hq"):
                values = zip(batch.column(name).to_pylist(), batch.column(f"{name}_score").to_pylist(), strict=True)
                found.setdefault(name, []).extend(values)
    assert len(found["edu"]) == ROWS
    assert all(0 <= answer <= 5 for answer, _ in found["edu"])
    assert all(0 <= answer <= 1 for answer, _ in found["hq"])
    kept = sum(
        (batch.column("keep").to_numpy() > 0.5).sum()
        for row in store.manifest(generation, "score.edu")
        for batch in store.batches(row)
    )
    assert kept == ROWS // 10


def test_prompts_are_written_and_answers_read_back(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("p.jsonl", "p.csv", "p.parquet"):
        assert trained(place, "fineweb-edu", f"--write-prompts={place}/{name}", "--prompts=300") == 0
    rows = [json.loads(line) for line in (place / "p.jsonl").read_text().splitlines()]
    assert rows == pq.read_table(place / "p.parquet").to_pylist()
    with open(place / "p.csv", newline="") as stream:
        assert rows == list(csv.DictReader(stream))
    assert len(rows) == 300
    assert list(rows[0]) == ["id", "language", "prompt"]
    answers = []
    for number, row in enumerate(rows):
        told = row["prompt"].partition("<<<<<<<<\n")[2].partition("\n>>>>>>>>")[0].split()
        said = "I cannot say." if number < 10 else f"Fine.\nGrade: {min(5, round(told.count('kind') / 3))}"
        answers.append(json.dumps({"id": row["id"], "answer": said}) + "\n")
    (place / "answers.jsonl").write_text("".join(answers))
    capsys.readouterr()
    assert (
        trained(place, "jql", f"--answers={place}/answers.jsonl", f"--output={place}/jql.safetensors", "--hidden=8")
        == 0
    )
    shown = capsys.readouterr().out
    assert_told(shown, "unparsable answer", "10")
    assert_told(shown, "Held out, wanted from 3")


def test_what_cannot_be_done_is_said_in_a_line(place: Path, tmp_path: Path) -> None:
    labels, output = f"--labels={place}/labels.csv", f"--output={tmp_path}/edu.safetensors"
    assert_told(refused(place, "jql", labels), "--output is missing")
    assert_told(refused(place, "jql", labels, "--output=edu.bin"), ".safetensors")
    assert_told(refused(place, "jql", output), "expected --labels or --answers")
    assert_told(refused(place, "jql", output, labels, f"--answers={place}/labels.csv"), "labels, answers")
    assert_told(refused(place, "jql", output, "--positives=true", "--negatives=true"), "jql wants grades")
    assert_told(refused(place, "fineweb2-hq", output, f"--answers={place}/labels.csv"), "--answers", "fineweb2-hq")
    assert_told(refused(place, "fineweb2-hq", output, "--positives=a.jsonl", "--negatives=true"), "no embedding")
    assert_told(refused(place, "fineweb2-hq", output, "--positives=true", "--negatives=true"), "no labelled sample")
    assert_told(refused(place, "jql", labels, output, "--hidden=-1"), "--hidden -1")
    assert_told(refused(place, "jql", labels, output, "--threshold=7"), "--threshold 7")
    assert_told(
        refused(place, "jql", labels, output, "--embedding=text.other"), "no layer 'text.other'", "winnow annotate"
    )
    assert_told(refused(place, "jql", f"--write-prompts={tmp_path}/p.txt"), "--write-prompts", ".parquet")
    (tmp_path / "rubric.txt").write_text("Grade this.")
    rubric = (f"--write-prompts={tmp_path}/p.csv", f"--rubric={tmp_path}/rubric.txt")
    assert_told(refused(place, "jql", *rubric), "rubric.txt", "{text}")
    assert_told(refused(place, "jql", f"--write-prompts={tmp_path}/p.csv", "--where=false"), "no row has a text")
    (tmp_path / "few.csv").write_text("key,label\nt1,1\nt2,4\nt3,3\n")
    assert_told(refused(place, "jql", f"--labels={tmp_path}/few.csv", output), "more labels")
    (tmp_path / "unknown.csv").write_text("key,label\nx,1\ny,4\n")
    assert_told(refused(place, "jql", f"--labels={tmp_path}/unknown.csv", output), "belong together")
    assert not list(tmp_path.glob("*.safetensors"))
