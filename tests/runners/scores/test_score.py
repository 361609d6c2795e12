"""`winnow score`: what it writes, what makes it new, and what it refuses."""

import json
import os
import shutil
from pathlib import Path

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

from tests.messages import assert_refused
from tests.pipelines.store.commits import commits_of
from tests.runners.scores.stores import (
    BROKEN,
    CLEAN,
    CLEAN_TEXTS,
    ONE,
    TRAINED,
    make_store,
    objects,
    scored,
    table,
    write,
)
from winnow.filters.models.tensors import read_tensors, tensors_bytes
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.running.run_tasks import RunTasks
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store, open_store
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.location import open_location
from winnow.runners.commands.main import main
from winnow.runners.engines.engine import Engine
from winnow.runners.stages import store_stages as stages
from winnow.schemas.errors import RecipeError, ScoreError, StoreError
from winnow.schemas.recipe import Recipe, load_recipe

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of clean and of broken texts, some without any, and of texts to trust."""
    folder = tmp_path_factory.mktemp("whole")
    make_store(folder)
    return folder


def test_every_row_has_its_scores_or_says_why_not(folder: Path) -> None:
    outcome = scored(write(folder, TRAINED + "    where: samples.source.name = 'web'\n"))
    trace, said = table(outcome, "trace.mimic"), table(outcome, "score.mimic")
    assert trace.column_names == ["status", "m1", "m2", "loss1", "loss2", "reference_loss"]
    decided = ["status", "score", "keep", "votes", "checkpoints", "rank", "random"]
    assert said.column_names == [*decided, "mimic", "rho", "loss", "alignment"]
    status = np.array(said["status"].to_pylist())
    assert sorted(set(status)) == ["not_selected", "ok"]
    assert (status == "not_selected").sum() == 40
    assert said["alignment"].null_count == len(said)  # pairs alone have it
    for column in said.column_names[1:-1]:
        assert (np.asarray(said[column].is_null()) == (status == "not_selected")).all(), column
    mean = np.mean(np.stack([trace[name].to_numpy() for name in ("m1", "m2")]), axis=0)
    np.testing.assert_allclose(said["score"].to_numpy(), mean)


@pytest.mark.parametrize("of", ["mimic", "rho", "loss"])
def test_measures_stand_side_by_side_whichever_the_filter_uses(folder: Path, of: str) -> None:
    more = f"    where: samples.source.name = 'web'\n    filter: {{of: {of}}}\n"
    rules = "keep: [{drop: score.mimic.rho > 0.1 and score.mimic.loss > 1, reason: unlike, when_null: keep}]\n"
    outcome = scored(write(folder, TRAINED + more, rules))
    trace, said = table(outcome, "trace.mimic"), table(outcome, "score.mimic")
    columns = {name: trace[name].to_numpy() for name in trace.column_names[1:]}
    rho = (columns["loss1"] + columns["loss2"]) / 2 - columns["reference_loss"]
    expected = {"mimic": (columns["m1"] + columns["m2"]) / 2, "rho": rho, "loss": columns["reference_loss"]}
    for name, values in expected.items():
        np.testing.assert_allclose(said[name].to_numpy(), values, rtol=1e-12)
    assert np.isnan(said["rho"].to_numpy()).sum() == 40  # not selected
    judged = -said[of].to_numpy() if of == "loss" else said[of].to_numpy()
    np.testing.assert_array_equal(said["score"].to_numpy(), judged)
    ranked = np.argsort(said["rank"].to_numpy()[np.isfinite(judged)])
    assert (np.diff(judged[np.isfinite(judged)][ranked]) <= 0).all()


def test_a_target_is_compared_by_gradients(folder: Path) -> None:
    target = "    target: {rows: samples.source.name = 'books', max_samples: 20}\n"
    plain, outcome = scored(write(folder)), scored(write(folder, TRAINED + target))
    trace, said = table(outcome, "trace.mimic"), table(outcome, "score.mimic")
    assert trace.column_names[-2:] == ["target1", "target2"]
    assert said.column_names[:-1] == table(plain, "score.mimic").column_names
    assert said.select(range(11)).equals(table(plain, "score.mimic"))
    numbers = np.mean([trace[name].to_numpy() for name in ("target1", "target2")], axis=0)
    np.testing.assert_allclose(said["target"].to_numpy(), numbers, rtol=1e-12)
    assert objects(scored(write(folder)), "score.mimic") == objects(plain, "score.mimic")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("    filter: {of: target}\n", "target is measured on request; write the key 'target' beside 'filter'"),
        ("    token_rho: 0.6\n", "next_byte has no losses of tokens; remove 'token_rho'"),
        ("    token_rho: 2\n", "token_rho: 2.0 is out of range; expected from 1e-06 to 1"),
        ("    target: {max_samples: 3}\n", "rows"),
        ("    target: {rows: samples.sourc.name = 'books'}\n", "samples.sourc.name"),
    ],
)
def test_measures_on_request_that_cannot_be_are_refused(folder: Path, more: str, message: str) -> None:
    with pytest.raises(RecipeError) as error:
        _ = bind(write(folder, TRAINED + more)).scores
    assert message in str(error.value)


def test_a_target_without_samples_is_one_line(folder: Path) -> None:
    with pytest.raises(ScoreError) as error:
        scored(write(folder, TRAINED + "    target: {rows: samples.source.name = 'nowhere'}\n"))
    assert "nothing to train the target on: no row of" in str(error.value)


def test_clean_texts_score_above_broken_ones(folder: Path) -> None:
    outcome = scored(write(folder))
    scores = table(outcome, "score.mimic")["score"].to_numpy()
    rows = table(outcome, "samples")
    web = np.array([one["name"] == "web" for one in rows["source"].to_pylist()]) & np.isfinite(scores)
    clean = np.array([bool(text) and text in CLEAN_TEXTS for text in rows["text"].to_pylist()])
    assert (clean & web).sum() == CLEAN
    above = (scores[web & clean][:, None] > scores[web & ~clean][None, :]).mean()
    assert above > 0.9


def test_a_score_is_what_the_task_says_of_the_row_with_the_weights_that_are_kept(folder: Path) -> None:
    recipe = write(folder)
    outcome = scored(recipe)
    (bound,) = bind(recipe).scores
    task = bound.task()
    root = Path(outcome.store.root)
    records = [json.loads(path.read_bytes()) for path in sorted((root / "weights/mimic").glob("*.json"))]
    reference = next(one for one in records if len(one["objects"]) == 1)
    trajectory = next(one for one in records if len(one["objects"]) == 2)
    texts = table(outcome, "samples")["text"].cast(pa.large_string()).combine_chunks()
    encoded = task.encode(pa.RecordBatch.from_arrays([texts], ["text"]))
    trace = table(outcome, "trace.mimic")
    there = np.flatnonzero(encoded.status == "ok")
    towards = read_tensors(str(root / reference["objects"][0])).arrays
    for number, path in enumerate(trajectory["objects"], start=1):
        found = task.scorer(read_tensors(str(root / path)).arrays, towards, ("*",))(encoded.examples)
        np.testing.assert_array_equal(trace[f"m{number}"].to_numpy()[there], found.score)
        np.testing.assert_array_equal(trace[f"loss{number}"].to_numpy()[there], found.loss)
    np.testing.assert_array_equal(trace["reference_loss"].to_numpy()[there], task.losses(towards, encoded.examples))


@pytest.mark.large  # the demo's conformance run, which scores, compares workers in every pass of .ci/run
def test_one_or_two_workers_give_the_same_store(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    one = scored(write(folder)).generation.tree_hash
    monkeypatch.chdir(other)
    assert scored(write(other), Engine("local", 2)).generation.tree_hash == one


def test_a_second_run_changes_nothing_and_another_filter_reads_traces_alone(folder: Path) -> None:
    first = scored(write(folder))
    again = scored(write(folder))
    assert not again.new
    shutil.rmtree(Path(first.store.root) / "weights")  # a filter needs none
    refitted = scored(write(folder, TRAINED + "    filter: {binarise: top, top: 0.25}\n"))
    assert refitted.new
    assert objects(refitted, "trace.mimic") == objects(first, "trace.mimic")
    keep = table(refitted, "score.mimic")["keep"].to_pylist()
    assert sum(one is not None and one >= 0.5 for one in keep) == pytest.approx(0.25 * (CLEAN + BROKEN + 40), abs=8)


def test_a_filter_may_judge_by_losses_and_reads_the_same_traces(folder: Path) -> None:
    mimic, rho = scored(write(folder)), scored(write(folder, TRAINED + "    filter: {of: rho}\n"))
    assert objects(rho, "trace.mimic") == objects(mimic, "trace.mimic")
    trace = table(rho, "trace.mimic")
    above = [trace[name].to_numpy() - trace["reference_loss"].to_numpy() for name in ("loss1", "loss2")]
    np.testing.assert_allclose(table(rho, "score.mimic")["score"].to_numpy(), np.mean(above, axis=0))


def test_a_value_of_by_is_fitted_by_itself(folder: Path) -> None:
    outcome = scored(write(folder, TRAINED + "    filter: {binarise: top, top: 0.5, by: samples.source.name}\n"))
    said = table(outcome, "score.mimic")
    sources = [one["name"] for one in table(outcome, "samples")["source"].to_pylist()]
    for source, rows in (("web", CLEAN + BROKEN), ("books", 40)):
        ranks = sorted(
            rank
            for rank, name in zip(said["rank"].to_pylist(), sources, strict=True)
            if name == source and rank is not None
        )
        assert ranks == pytest.approx([(place + 0.5) / rows for place in range(rows)])


def test_rules_keep_by_scores_and_eligible_may_not_read_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule = "{drop: score.mimic.keep < 0.5, reason: mimic, when_null: keep}"
    scored(write(folder, more=f"keep:\n  - {rule}\n"))
    assert main(["plan", "recipe.yaml"]) == 0
    assert "mimic" in capsys.readouterr().out
    write(folder, more=f"eligible:\n  - {rule}\n")
    assert main(["plan", "recipe.yaml"]) == 1
    assert "score.mimic.keep" in capsys.readouterr().err


def test_a_rule_over_scores_of_other_settings_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule = "keep:\n  - {drop: score.mimic.keep < 0.5, reason: mimic, when_null: keep}\n"
    scored(write(folder, more=rule))
    write(folder, TRAINED + "    filter: {binarise: kmeans}\n", more=rule)
    assert main(["plan", "recipe.yaml"]) == 1
    assert "winnow score recipe.yaml" in capsys.readouterr().err


def test_weights_are_given_and_a_direction_of_zero_is_refused(folder: Path) -> None:
    weights(folder / "a.safetensors", 0)
    weights(folder / "b.safetensors", 1)
    given = "    reference: {weights: %s}\n    trajectory: {weights: [b.safetensors]}\n"
    outcome = scored(write(folder, given % "a.safetensors"))
    assert table(outcome, "trace.mimic").column_names == ["status", "m1", "loss1", "reference_loss"]
    with pytest.raises(ScoreError, match=r"score\.mimic: checkpoint 1, .*b\.safetensors: .*no direction"):
        scored(write(folder, given % "b.safetensors"))


def test_weights_of_another_model_are_refused_by_name(folder: Path) -> None:
    (folder / "a.safetensors").write_bytes(tensors_bytes({"other": np.zeros(3, np.float32)}, {}))
    weights(folder / "b.safetensors", 1)
    recipe = write(folder, "    reference: {weights: a.safetensors}\n    trajectory: {weights: [b.safetensors]}\n")
    with pytest.raises(ScoreError, match="other"):
        scored(recipe)
    (folder / "a.safetensors").write_bytes(b"\x80\x04pickle")
    with pytest.raises(RecipeError, match=r"a\.safetensors: not a safetensors file"):
        scored(recipe)


def test_what_cannot_be_trained_is_one_line(folder: Path) -> None:
    nobody = TRAINED.replace("'books'", "'nobody'")
    with assert_refused(ScoreError, "train the reference"):
        scored(write(folder, nobody))
    with pytest.raises(RecipeError, match=r"unknown task 'next_bite' .*next_byte"):
        _ = bind(load_changed(folder, "next_byte", "next_bite")).scores
    with pytest.raises(RecipeError, match="'reference' is missing"):
        _ = bind(write(folder, "")).scores
    with pytest.raises(RecipeError, match=r"unknown column 'samples.sauce"):
        _ = bind(write(folder, TRAINED.replace("samples.source.name =", "samples.sauce ="))).scores


def test_a_reference_may_begin_where_the_trajectory_ends(folder: Path) -> None:
    on = TRAINED.replace("reference: {", "reference: {begin: trajectory, ")
    apart, adapted = scored(write(folder)), scored(write(folder, on))
    assert table(apart, "trace.mimic")["loss2"] != table(adapted, "trace.mimic")["loss2"]  # weighed, and not weighed
    scores, texts = table(adapted, "score.mimic")["score"].to_numpy(), table(adapted, "samples")["text"].to_pylist()
    clean = np.array([text in CLEAN_TEXTS for text in texts])
    broken = np.array([" the " not in text and " and " not in text for text in texts])
    assert (scores[clean][:, None] > scores[broken][None, :]).mean() > 0.9
    with assert_refused(RecipeError, "whose training starts"):
        _ = bind(write(folder, on.replace("checkpoints: 2", "checkpoints: 2, method: rho"))).scores


@pytest.mark.parametrize("epochs", [1, 2, 5])
def test_checkpoints_are_even_over_the_steps_of_a_small_store(folder: Path, epochs: int) -> None:
    few = f"""
    where: samples.source.name = 'books'
    reference: {{train_on: "samples.source.name = 'books'", training: {{epochs: 2, batch: 8}}}}
    trajectory: {{checkpoints: 3, training: {{epochs: {epochs}, batch: 16}}}}
"""
    outcome = scored(write(folder, few))  # 3 steps an epoch
    assert table(outcome, "trace.mimic").column_names[1:4] == ["m1", "m2", "m3"]
    for path in commits_of(LocalStore(folder / "store"), "trace.mimic"):
        (folder / "store" / path).unlink()
    assert table(scored(write(folder, few)), "trace.mimic").equals(table(outcome, "trace.mimic"))
    with assert_refused(ScoreError, "1 steps", "3 checkpoints", "'checkpoints'"):
        scored(write(folder, few.replace("batch: 16", "batch: 64").replace(f"epochs: {epochs}", "epochs: 1")))


def test_what_was_forgotten_is_in_no_training_and_scores_are_made_anew(folder: Path) -> None:
    before = scored(write(folder))
    first = table(before, "samples")["id"][0].as_py().hex()
    assert main(["forget", "recipe.yaml", "--id", first]) == 0
    after = scored(write(folder))
    said = table(after, "score.mimic")
    assert said["status"].to_pylist().count("forgotten") == 1
    ranks = sorted(one for one in said["rank"].to_pylist() if one is not None)
    rows = CLEAN + BROKEN + 40 - 1
    assert ranks == pytest.approx([(place + 0.5) / rows for place in range(rows)])
    assert not scored(write(folder)).new


def test_rules_refuse_a_score_of_a_layer_that_has_changed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule = "keep:\n  - {drop: score.mimic.keep < 0.5, reason: mimic, when_null: keep}\n"
    recipe = write(folder, TRAINED + "    where: text.length.characters > 5\n", more=rule)
    scored(recipe)
    assert main(["plan", "recipe.yaml"]) == 0
    file = folder / "recipe.yaml"
    file.write_text(file.read_text().replace("[text.length]", "[{text.length: {where: samples.text is not null}}]"))
    assert main(["plan", "recipe.yaml"]) == 1
    assert "score.mimic" in capsys.readouterr().err


def test_a_glob_that_matches_nothing_is_told_of_before_training(folder: Path) -> None:
    with assert_refused(RecipeError, "recipe.yaml", "score.mimic", "'nothing.*'"):
        scored(write(folder, TRAINED + "    parameters: ['nothing.*']\n"))
    assert not (folder / "store/weights").exists()


def test_columns_that_tell_no_groups_apart_and_files_named_twice_are_refused(folder: Path) -> None:
    with pytest.raises(RecipeError, match=r"filter\.by: samples\.media is list"):
        _ = bind(write(folder, TRAINED + "    filter: {by: samples.media}\n")).scores
    write(folder)
    weights(folder / "a.safetensors", 0)
    weights(folder / "c.safetensors", 1)
    shutil.copy(folder / "a.safetensors", folder / "b.safetensors")
    with pytest.raises(RecipeError, match="two files are the same"):
        _ = bind(write(folder, "    reference: {merge: [a.safetensors, b.safetensors]}\n")).scores
    given = "    reference: {weights: c.safetensors}\n    trajectory: {weights: [a.safetensors, b.safetensors]}\n"
    with assert_refused(RecipeError, "trajectory.weights", "a.safetensors"):
        _ = bind(write(folder, given)).scores


def test_columns_of_types_that_a_task_does_not_read_are_told_of_before_training(folder: Path) -> None:
    write(folder)
    head = "linear_head\n    label: text.length.characters\n    labels: [a, b]\n    label_key: kind"
    with assert_refused(RecipeError, "recipe.yaml", "score.mimic", "text.length.characters", "int64"):
        scored(load_changed(folder, "next_byte\n    buckets: 1024", head))
    assert not (folder / "store/weights").exists()


OWN_COLUMNS = """
version: 1
store: {path: store}
sources:
  web: {root: web, files: ["*.jsonl"], class: web}
  books: {root: books, files: ["*.jsonl"], class: public}
score:
  own:
    task: linear_head
    features: columns
    column: samples.metadata
    column_key: at
    width: 2
    label: samples.metadata
    label_key: kind
    labels: [a, b]
    reference: {train_on: "samples.source.name = 'books'", training: {learning_rate: 0.1}}
    where: samples.source.name = 'web'
"""


def test_labels_and_embeddings_of_columns_of_ones_own_are_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    right = [{"text": "x", "at": [n % 2, 1 - n % 2], "kind": "ab"[n % 2]} for n in range(40)]
    wrong = [{"text": "x", "at": [1, 0], "kind": "a"}] * 4
    short = [{"text": "x", "at": [1], "kind": "a"}]
    for source, rows in (("web", right + wrong + short), ("books", right)):
        (tmp_path / source).mkdir()
        (tmp_path / source / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "recipe.yaml").write_text(OWN_COLUMNS)
    with open(os.devnull, "w") as silent:
        stages.run_all(bind(load_recipe("recipe.yaml")), ONE, Console(file=silent))
    said = table(scored(load_recipe("recipe.yaml")), "score.own").slice(40)
    assert said["status"].to_pylist() == ["ok"] * 44 + ["unreadable"]
    assert min(said["score"].to_pylist()[:40]) > max(said["score"].to_pylist()[40:44])


def test_checkpoints_that_are_the_same_look_as_often(folder: Path) -> None:
    weights(folder / "a.safetensors", 0)
    weights(folder / "b.safetensors", 1)
    (folder / "c.safetensors").write_bytes(tensors_bytes(read_tensors("b.safetensors").arrays, {"step": "2"}))
    given = "    reference: {weights: a.safetensors}\n    trajectory: {weights: [b.safetensors, c.safetensors]}\n"
    trace = table(scored(write(folder, given)), "trace.mimic")
    assert trace["m1"].null_count == 0
    assert trace["m1"] == trace["m2"]


def test_weights_of_traces_that_no_generation_has_are_garbage(folder: Path) -> None:
    scored(write(folder))
    old = weights_of(open_store(open_location("store")))
    outcome = scored(write(folder, TRAINED.replace("epochs: 3", "epochs: 4")))
    assert main(["gc", "recipe.yaml", "--keep", "1"]) == 0
    left = weights_of(outcome.store)
    assert not any(path.endswith(".safetensors") and path in left for path in old)
    assert sum(path.endswith(".safetensors") for path in left) == 3
    assert not scored(write(folder, TRAINED.replace("epochs: 3", "epochs: 4"))).new


def test_workers_ask_for_what_the_recipe_says(folder: Path) -> None:
    gpu = "type:nvidia-tesla-t4;count:1;install-nvidia-driver"
    recipe = write(folder, TRAINED + f"    accelerator: {gpu}\n    min_ram_bytes: 2 GiB\n")
    (entry,) = recipe.score
    pipeline = beam.Pipeline()
    _ = pipeline | RunTasks(LocalStore(folder / "store"), "tasks", beam.DoFn(), entry.hints)
    hints = {
        name.split(":")[2]: value
        for environment in pipeline.to_runner_api().components.environments.values()
        for name, value in environment.resource_hints.items()
    }
    assert hints == {"accelerator": gpu.encode(), "min_ram_bytes": b"2147483648"}


def test_what_is_asked_of_workers_changes_no_value(folder: Path) -> None:
    gpu = "type:nvidia-tesla-t4;count:1;install-nvidia-driver"
    recipe = write(folder, TRAINED + f"    accelerator: {gpu}\n    min_ram_bytes: 2 GiB\n")
    assert scored(recipe, Engine("local", 2)).generation.tree_hash == scored(write(folder)).generation.tree_hash


def test_layers_that_a_score_is_made_of_must_stand(folder: Path) -> None:
    recipe = write(folder, TRAINED + "    where: text.length.characters > 5\n")
    shutil.rmtree(folder / "store")
    with open(os.devnull, "w") as silent:
        stages.ingest(bind(recipe), ONE, Console(file=silent))
    with pytest.raises(StoreError, match="winnow annotate"):
        scored(recipe)


@pytest.mark.parametrize("damaged", [False, True], ids=["whole", "with a damaged checkpoint"])
def test_a_training_that_was_stopped_goes_on_and_ends_the_same(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: bool
) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    whole = weights_of(scored(write(folder)).store)
    monkeypatch.chdir(other)
    put = LocalStore.put

    def full(self: LocalStore, path: str, content: bytes | Path) -> None:
        if "/0003." in path:
            raise OSError(28, "No space left on device", path)
        put(self, path, content)

    recipe = write(other)
    with monkeypatch.context() as patched:
        patched.setattr(LocalStore, "put", full)
        with pytest.raises(OSError, match="No space"):
            scored(recipe)
    (*_, last) = sorted((other / "store" / layout.SCRATCH / "score").rglob("*.safetensors"))
    if damaged:
        raw = bytearray(last.read_bytes())
        raw[-1] ^= 1
        last.write_bytes(raw)
    done = scored(write(other))
    assert weights_of(done.store) == whole
    assert not list((other / "store" / layout.SCRATCH).rglob("*.safetensors"))


def test_a_reference_is_trained_alone_and_merged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder)
    assert main(["reference", "train", "recipe.yaml", "--output", "one.safetensors"]) == 0
    assert "trained on 40 samples" in capsys.readouterr().out
    one = read_tensors("one.safetensors").arrays
    weights(folder / "zero.safetensors", None)
    assert main(["reference", "merge", "one.safetensors", "zero.safetensors", "--output", "half.safetensors"]) == 0
    half = read_tensors("half.safetensors").arrays
    for name, array in one.items():
        np.testing.assert_allclose(half[name].astype(float), array.astype(float) / 2)
    capsys.readouterr()
    assert main(["reference", "merge", "one.safetensors", "gone.safetensors", "--output", "x"]) == 1
    assert "gone.safetensors" in capsys.readouterr().err
    before = Path("one.safetensors").read_bytes()
    assert main(["reference", "merge", "one.safetensors", "zero.safetensors", "--output", "./one.safetensors"]) == 1
    assert "one of the input files" in capsys.readouterr().err
    assert Path("one.safetensors").read_bytes() == before


def test_weights_go_with_the_last_generation_that_has_their_score(folder: Path) -> None:
    scored(write(folder))
    without = (folder / "recipe.yaml").read_text()
    (folder / "recipe.yaml").write_text(without[: without.index("score:")])
    recipe = load_recipe(folder / "recipe.yaml")
    with open(os.devnull, "w") as silent:
        stages.annotate(bind(recipe), ONE, Console(file=silent))
    assert list((folder / "store/weights").rglob("*.safetensors"))
    assert main(["gc", "recipe.yaml", "--keep", "1"]) == 0
    assert not list((folder / "store/weights").rglob("*.safetensors"))


def load_changed(folder: Path, old: str, new: str) -> Recipe:
    write(folder)
    file = folder / "recipe.yaml"
    file.write_text(file.read_text().replace(old, new))
    return load_recipe(file)


def weights(path: Path, seed: int | None) -> None:
    """A file of weights of the recipe's model; zeros without a seed."""
    chance = np.random.default_rng(seed)
    (bound,) = bind(load_recipe("recipe.yaml")).scores
    arrays = {
        name: np.zeros_like(array) if seed is None else chance.standard_normal(array.shape).astype(array.dtype)
        for name, array in bound.task().initial(0).items()
    }
    path.write_bytes(tensors_bytes(arrays, {}))


def weights_of(store: Store) -> dict[str, bytes]:
    root = Path(store.root) / layout.WEIGHTS
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
