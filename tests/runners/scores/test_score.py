"""`winnow score`: what it writes, what makes it new, and what it refuses."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

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
from winnow.pipelines.score.binding import bind_scores
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.local import LocalStore
from winnow.runners import stages
from winnow.runners.cli import main
from winnow.runners.engines import Engine
from winnow.schemas.errors import RecipeError, ScoreError, StoreError
from winnow.schemas.recipe import Recipe, load_recipe


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of clean and of broken texts, some without any, and of texts to trust."""
    folder = tmp_path_factory.mktemp("whole")
    make_store(folder)
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = tmp_path / "copy"
    shutil.copytree(whole, copy)
    monkeypatch.chdir(copy)
    return copy


def test_every_row_has_its_scores_or_says_why_not(folder: Path) -> None:
    outcome = scored(write(folder, TRAINED + "    where: samples.source.name = 'web'\n"))
    trace, said = table(outcome, "trace.mimic"), table(outcome, "score.mimic")
    assert trace.column_names == ["status", "m1", "m2", "loss1", "loss2", "reference_loss"]
    assert said.column_names == ["status", "score", "keep", "votes", "checkpoints", "rank", "random"]
    status = np.array(said["status"].to_pylist())
    assert sorted(set(status)) == ["not_selected", "ok"]
    assert (status == "not_selected").sum() == 40
    for column in said.column_names[1:]:
        assert (np.asarray(said[column].is_null()) == (status == "not_selected")).all(), column
    mean = np.nanmean(np.stack([trace[name].to_numpy() for name in ("m1", "m2")]), axis=0)
    np.testing.assert_allclose(said["score"].to_numpy(), mean)


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
    (bound,) = bind_scores(recipe)
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
    with pytest.raises(ScoreError, match="direction"):
        scored(write(folder, given % "b.safetensors"))


def test_weights_of_another_model_are_refused_by_name(folder: Path) -> None:
    (folder / "a.safetensors").write_bytes(tensors_bytes({"other": np.zeros(3, np.float32)}, {}))
    weights(folder / "b.safetensors", 1)
    recipe = write(folder, "    reference: {weights: a.safetensors}\n    trajectory: {weights: [b.safetensors]}\n")
    with pytest.raises(ScoreError, match="other"):
        scored(recipe)
    (folder / "a.safetensors").write_bytes(b"\x80\x04pickle")
    with pytest.raises(RecipeError, match=r"a\.safetensors: no safetensors file"):
        scored(recipe)


def test_what_cannot_be_trained_is_one_line(folder: Path) -> None:
    nobody = TRAINED.replace("'books'", "'nobody'")
    with pytest.raises(ScoreError, match="nothing to train the reference on"):
        scored(write(folder, nobody))
    with pytest.raises(RecipeError, match=r"unknown task 'next_bite' .*next_byte"):
        bind_scores(load_changed(folder, "next_byte", "next_bite"))
    with pytest.raises(RecipeError, match="'reference' is missing"):
        bind_scores(write(folder, ""))
    with pytest.raises(RecipeError, match=r"unknown column 'samples.sauce"):
        bind_scores(write(folder, TRAINED.replace("samples.source.name =", "samples.sauce =")))


def test_a_reference_may_begin_where_the_trajectory_ends(folder: Path) -> None:
    on = TRAINED.replace("reference: {", "reference: {begin: trajectory, ")
    apart, adapted = scored(write(folder)), scored(write(folder, on))
    assert table(apart, "trace.mimic")["loss2"] != table(adapted, "trace.mimic")["loss2"]  # weighed, and not weighed
    scores, texts = table(adapted, "score.mimic")["score"].to_numpy(), table(adapted, "samples")["text"].to_pylist()
    clean = np.array([text in CLEAN_TEXTS for text in texts])
    broken = np.array([" the " not in text and " and " not in text for text in texts])
    assert (scores[clean][:, None] > scores[broken][None, :]).mean() > 0.9
    with pytest.raises(RecipeError, match="rho weighs by the reference, which begins where the trajectory ends"):
        bind_scores(write(folder, on.replace("checkpoints: 2", "checkpoints: 2, method: rho")))


def test_layers_that_a_score_is_made_of_must_stand(folder: Path) -> None:
    recipe = write(folder, TRAINED + "    where: text.length.characters > 5\n")
    shutil.rmtree(folder / "store")
    with open(os.devnull, "w") as silent:
        stages.ingest(recipe, ONE, Console(file=silent))
    with pytest.raises(StoreError, match="winnow annotate"):
        scored(recipe)


def test_a_training_that_was_stopped_goes_on_and_ends_the_same(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    whole = weights_of(scored(write(folder)).store)
    monkeypatch.chdir(other)
    put = LocalStore.put

    def full(self: LocalStore, path: str, content: bytes | Path) -> None:
        if path.endswith("0003.safetensors"):
            raise OSError(28, "No space left on device", path)
        put(self, path, content)

    recipe = write(other)
    with monkeypatch.context() as patched:
        patched.setattr(LocalStore, "put", full)
        with pytest.raises(OSError, match="No space"):
            scored(recipe)
    assert list((other / "store" / layout.SCRATCH / "score").rglob("*.safetensors"))
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


def test_weights_go_with_the_last_generation_that_has_their_score(folder: Path) -> None:
    scored(write(folder))
    without = (folder / "recipe.yaml").read_text()
    (folder / "recipe.yaml").write_text(without[: without.index("score:")])
    recipe = load_recipe(folder / "recipe.yaml")
    with open(os.devnull, "w") as silent:
        stages.annotate(recipe, ONE, Console(file=silent))
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
    (bound,) = bind_scores(load_recipe("recipe.yaml"))
    arrays = {
        name: np.zeros_like(array) if seed is None else chance.standard_normal(array.shape).astype(array.dtype)
        for name, array in bound.task().initial(0).items()
    }
    path.write_bytes(tensors_bytes(arrays, {}))


def weights_of(store: Store) -> dict[str, bytes]:
    root = Path(store.root) / layout.WEIGHTS
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
