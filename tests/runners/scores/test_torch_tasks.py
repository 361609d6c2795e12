"""Scores by networks, through the whole stage: trained, traced by several workers, kept by votes."""

import io
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tests.runners.scores.stores import BROKEN, CLEAN, ONE, make_store, scored, table
from tests.scoring.torch_models.samples import plain
from winnow.pipelines.binding.bound_recipe import bind
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.scoring import score
from winnow.runners.stages.store_stages import ingest
from winnow.schemas.errors import StageError
from winnow.schemas.recipe import Recipe, load_recipe

pytest.importorskip("torch", reason="needs the extra `torch`")

pytestmark = pytest.mark.torch

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: 32}
sources:
  web: {root: web, files: ["*.jsonl"], class: web, key: id}
  books: {root: books, files: ["*.jsonl"], class: public, key: id}
annotate: [text.length]
score:
  lm:
    task: language_model
    network: {width: 16, layers: 1, heads: 2}
    max_tokens: 64
    reference: {train_on: "samples.source.name = 'books'", training: {epochs: 6, learning_rate: 0.01, batch: 8}}
    trajectory: {checkpoints: 2, training: {epochs: 1, learning_rate: 0.003, batch: 16}}
"""

EDITED_NETWORK = """
import torch

def made():
    with open(__file__, "a") as code:
        code.write("# edited")
    return torch.nn.Sequential(torch.nn.Embedding(300, 8), torch.nn.Linear(8, 300))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("torch")
    make_store(made)
    return made


def recipe_of(folder: Path, text: str = RECIPE) -> Recipe:
    (folder / "lm.yaml").write_text(text)
    return load_recipe(folder / "lm.yaml")


def test_a_language_model_scores_the_same_by_one_worker_or_two_and_clean_texts_highest(folder: Path) -> None:
    recipe = recipe_of(folder)
    outcome = scored(recipe)
    trace = table(outcome, "trace.lm")
    assert trace.column_names == ["status", "m1", "m2", "loss1", "loss2", "reference_loss"]
    assert set(trace["status"].to_pylist()) == {"ok"}
    scores, texts = table(outcome, "score.lm")["score"].to_numpy(), table(outcome, "samples")["text"].to_pylist()
    broken = np.array([" the " not in text and " and " not in text for text in texts])
    assert broken.sum() >= BROKEN - 2
    assert (scores[~broken][:, None] > scores[broken][None, :]).mean() > 0.8
    for layer in ("trace.lm", "score.lm"):
        for file in (folder / "store/commits" / layer).rglob("*.json"):
            file.unlink()
    again = scored(recipe, Engine("local", 2))
    assert table(again, "trace.lm").equals(trace)


TARGET = RECIPE.replace(
    "    max_tokens",
    "    target: {rows: samples.source.name = 'books', max_samples: 12}\n    token_rho: 0.6\n    max_tokens",
)


def test_a_target_and_tokens_are_measured_on_request_and_change_nothing_else(folder: Path) -> None:
    plain = scored(recipe_of(folder))
    outcome = scored(recipe_of(folder, TARGET.replace("reference:", "filter: {of: target}\n    reference:")))
    trace, decided = table(outcome, "trace.lm"), table(outcome, "score.lm")
    assert trace.column_names[6:] == ["target1", "target2", "token_rho1", "token_rho2"]
    assert trace.select(range(6)).equals(table(plain, "trace.lm"))
    assert decided.column_names[-2:] == ["target", "token_rho"]
    for name in ("target", "token_rho"):
        numbers = np.mean([trace[f"{name}{step}"].to_numpy() for step in (1, 2)], axis=0)
        np.testing.assert_allclose(decided[name].to_numpy(), numbers, rtol=1e-12)
    assert decided["score"].equals(decided["target"])
    assert (decided["token_rho"].to_numpy() > decided["rho"].to_numpy()).all()  # of the tokens with the largest
    texts = table(outcome, "samples")["text"].to_pylist()
    broken = np.array([" the " not in text and " and " not in text for text in texts])
    scores = decided["target"].to_numpy()
    assert (scores[~broken][:, None] > scores[broken][None, :]).mean() > 0.5
    for layer in ("trace.lm", "score.lm"):
        for file in (folder / "store/commits" / layer).rglob("*.json"):
            file.unlink()
    again = scored(recipe_of(folder, TARGET), Engine("local", 2))
    assert table(again, "trace.lm").equals(trace)


def test_a_part_of_the_parameters_is_another_score_with_the_same_weights(folder: Path) -> None:
    whole = scored(recipe_of(folder))
    weights = sorted((folder / "store/weights/lm").iterdir())
    part = scored(recipe_of(folder, RECIPE.replace("    max_tokens", "    parameters: [norm]\n    max_tokens")))
    assert not table(part, "trace.lm")["m1"].equals(table(whole, "trace.lm")["m1"])
    assert table(part, "trace.lm")["reference_loss"].equals(table(whole, "trace.lm")["reference_loss"])
    assert set(weights) <= set((folder / "store/weights/lm").iterdir())


def test_pairs_without_images_have_no_score_and_say_so(folder: Path) -> None:
    encoders = folder / "towers.safetensors"
    said = io.StringIO()
    text = RECIPE[: RECIPE.index("score:")] + (
        "score:\n  aligned: {task: alignment, encoders: 'tests.scoring.torch_models.samples:user_pair', size: 16, "
        f"max_tokens: 12, weights: {encoders.name}, filter: {{binarise: top, top: 0.3}}}}\n"
    )
    weights_of_encoders(encoders)
    score(bind(recipe_of(folder, text)), ONE, Console(markup=False, soft_wrap=True, file=said, width=200))
    assert "score.aligned  no votes" in said.getvalue()
    outcome = scored(recipe_of(folder, text))
    assert table(outcome, "trace.aligned").column_names == ["status", "m1"]
    assert table(outcome, "trace.aligned")["status"].to_pylist() == ["no_input"] * (CLEAN + BROKEN + 40)
    assert table(outcome, "score.aligned")["keep"].null_count == CLEAN + BROKEN + 40
    assert table(outcome, "score.aligned")["rank"].null_count == CLEAN + BROKEN + 40


def weights_of_encoders(path: Path) -> None:
    from tests.scoring.torch_models.samples import user_pair
    from winnow.filters.models.tensors import tensors_bytes

    arrays = {name: value.detach().numpy() for name, value in user_pair().state_dict().items()}
    path.write_bytes(tensors_bytes(arrays, {}))


def test_code_that_changes_while_rows_are_scored_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trace's key has a hash of the user's code, so rows that were scored before the change do not count."""
    (folder / "edited_network.py").write_text(EDITED_NETWORK)
    monkeypatch.syspath_prepend(folder)
    text = RECIPE.replace("network: {width", "architecture: 'edited_network:made' #").replace("epochs: 6", "epochs: 1")
    recipe = bind(recipe_of(folder, text))
    with pytest.raises(StageError) as raised:
        score(recipe, ONE, Console(quiet=True))
    assert str(raised.value) == (
        "trace.lm: its code or packages changed while rows were scored, so these scores do not count; leave them "
        f"unchanged and run again: winnow score {recipe.file}"
    )


PAIRS = """
version: 1
store: {path: STORE, seed: 7, shard_rows: ROWS}
sources: {web: {root: ROOT, files: ["*.tar"], class: web}}
score:
  pairs:
    task: pairs
    caption: samples.captions
    network: {width: 8, layers: 1, heads: 2}
    size: 16
    patch: 8
    max_tokens: 12
    batch: 8
    reference:
      train_on: "samples.captions[1].text < 'caption 2'"
      training: {epochs: 2, learning_rate: 0.01, batch: 8}
    trajectory: {checkpoints: 2, training: {epochs: 1, learning_rate: 0.01, batch: 8}}
    filter: {of: alignment, binarise: top, top: 0.3}
"""


def test_neither_the_order_of_pairs_nor_the_size_of_shards_changes_their_scores(tmp_path: Path) -> None:
    """Captions are sorted in one store, so that each shard has its own kind, and shuffled in the other."""
    found = []
    for name, order in (("sorted", np.arange(40)), ("shuffled", np.random.default_rng(1).permutation(40))):
        (tmp_path / name).mkdir()
        with tarfile.open(tmp_path / name / "0.tar", "w") as archive:
            for number in order.tolist():
                # A missing picture, and a caption that several pictures have.
                picture = b"" if number == 5 else plain((6 * number, number // 10 * 80, 90), 16)
                for ending, content in (("png", picture), ("txt", f"caption {number // 2 * 2}".encode())):
                    entry = tarfile.TarInfo(f"{number:03d}.{ending}")
                    entry.size = len(content)
                    archive.addfile(entry, io.BytesIO(content))
        text = PAIRS.replace("STORE", f"store-{name}").replace("ROOT", name)
        (tmp_path / "recipe.yaml").write_text(text.replace("ROWS", "7" if name == "sorted" else "16"))
        recipe = load_recipe(tmp_path / "recipe.yaml")
        with open(os.devnull, "w") as silent:
            ingest(bind(recipe), ONE, Console(file=silent))
        outcome = scored(recipe, Engine("local", 1 if name == "sorted" else 2))
        ids = table(outcome, "samples")["id"].to_pylist()
        trace, decided = table(outcome, "trace.pairs"), table(outcome, "score.pairs")
        assert decided["score"].equals(trace["alignment"])
        assert decided["alignment"].equals(trace["alignment"])
        assert decided["loss"].equals(trace["reference_loss"])
        assert decided["votes"].drop_null().to_numpy().sum() == 12  # of 39, one vote each
        found.append(dict(zip(ids, trace.to_pylist(), strict=True)))
    assert found[0].keys() == found[1].keys()
    assert sum(row["status"] == "ok" for row in found[0].values()) == 39
    for key, row in found[0].items():
        other = found[1][key]
        assert (other.pop("status"), other.keys()) == (row.pop("status"), row.keys())
        assert list(other.values()) == pytest.approx(list(row.values()), rel=1e-4, abs=1e-7)
