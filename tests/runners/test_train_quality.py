"""`winnow train-quality`: from files and from a store to a model that the next run of the recipe uses."""

import json
from pathlib import Path

import pytest

from tests.faults.winnow import assert_clean, run_here
from tests.filters.models.training.declarations import paragraphs
from tests.messages import assert_told
from winnow.filters.models.card import read_card
from winnow.pipelines.store.generations import open_store
from winnow.pipelines.store.location import open_location
from winnow.runners.commands.main import main
from winnow.schemas.errors import WinnowError

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  lines: {root: lines, files: ["*.jsonl"], class: public, key: id}
annotate:
  - {text.unigram: {language: en, wordlist: small}}
"""
SMALL = ["--dimension", "8", "--buckets", "2000", "--epochs", "30"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe whose store holds two files of texts, measured."""
    folder = tmp_path_factory.mktemp("train")
    (folder / "lines").mkdir()
    for code in ("eng", "deu"):
        rows = [{"id": f"{code}-{number}", "text": text} for number, text in enumerate(paragraphs(code))]
        (folder / "lines" / f"{code}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "fra.txt").write_text("\n".join(text.replace("\n", " ") for text in paragraphs("fra")))
    (folder / "recipe.yaml").write_text(RECIPE)
    done = run_here(folder, "run", "recipe.yaml", "--workers", "1")
    assert done.status == 0, done.err
    return folder


def trained(*arguments: str) -> int:
    return main(["--debug", "train-quality", *SMALL, *arguments])


def refused(*arguments: str) -> str:
    with pytest.raises(WinnowError) as caught:
        trained(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_rules_over_samples_and_layers_choose_the_texts(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = place / "by-rule.bin"
    status = trained(
        str(place / "recipe.yaml"),
        "--positives=text.unigram.unknown < 0.3 and samples.source.path = 'eng.jsonl'",
        "--negatives=samples.source.path = 'deu.jsonl'",
        f"--output={output}",
    )
    assert status == 0
    shown = capsys.readouterr().out
    assert "Held out: AUC" in shown
    assert "unknown" in shown  # no layer says the language
    card = read_card(str(output))
    assert card is not None
    texts = card.training["texts"]
    assert isinstance(texts, dict)
    assert texts["negative"]["given"] == len(paragraphs("deu"))
    assert not [path for path in place.iterdir() if path.name.startswith(("winnow-train-", "."))]


def test_a_model_of_files_and_rules_scores_the_store(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = place / "mixed.bin"
    arguments = [str(place / "recipe.yaml"), f"--positives={place}/fra.txt", f"--output={output}"]
    trained(*arguments, "--negatives=samples.source.name = 'lines'")
    assert f"annotate: [{{text.classifier: {{model: {output}}}}}]" in capsys.readouterr().out
    (place / "recipe.yaml").write_text(f"{RECIPE}  - {{text.classifier: {{model: {output}}}}}\n")
    done = run_here(place, "run", "recipe.yaml", "--workers", "1")
    assert done.status == 0, done.err
    assert_clean(place)
    store = open_store(open_location(str(place / "store")))
    batches = [
        batch for row in store.manifest(store.require_latest(), "text.classifier") for batch in store.batches(row)
    ]
    labels = [label for batch in batches for label in batch.column("label").to_pylist()]
    assert labels.count("__label__cc") > 0.95 * len(labels)


def test_labels_in_tables_are_the_two_sides_too(place: Path, tmp_path: Path) -> None:
    """By text, without a store, and by key in the store: the same texts and sides give the same model."""
    sides = {"eng": 1, "deu": 0}
    rows = [(f"{code}-{at}", text, side) for code, side in sides.items() for at, text in enumerate(paragraphs(code))]
    texts = [json.dumps({"text": text, "label": bool(side)}) + "\n" for _, text, side in rows]
    (tmp_path / "texts.jsonl").write_text("".join(texts))
    (tmp_path / "keys.csv").write_text("key,good\n" + "".join(f"{key},{side}\n" for key, _, side in rows))
    for code in sides:
        (tmp_path / f"{code}.txt").write_text("\n".join(text.replace("\n", " ") for text in paragraphs(code)))
    trained(f"--labels={tmp_path}/texts.jsonl", f"--output={tmp_path}/a.bin")
    keys = (f"--labels={tmp_path}/keys.csv", "--label-column=good")
    trained(str(place / "recipe.yaml"), *keys, f"--output={tmp_path}/b.bin")
    trained(f"--positives={tmp_path}/eng.txt", f"--negatives={tmp_path}/deu.txt", f"--output={tmp_path}/c.bin")
    first, second, third = ((tmp_path / f"{name}.bin").read_bytes() for name in "abc")
    assert first == second == third
    assert "RECIPE is missing" in refused(*keys, f"--output={tmp_path}/d.bin")
    assert "expected --positives and --negatives, or --labels" in refused(f"--output={tmp_path}/d.bin")
    assert "--output is missing" in refused(*keys)


def test_what_cannot_be_done_is_said_in_a_line(place: Path, tmp_path: Path) -> None:
    recipe, files = str(place / "recipe.yaml"), f"{place}/fra.txt"
    model = f"--output={tmp_path}/m.bin"
    both = ["--positives", files, "--negatives", files]
    assert "both need some" in refused(*both, model)
    assert_told(refused(*both, "--output=model.json"), "expected a name")
    assert_told(refused(*both, f"--output={tmp_path}/none/m.bin"), "create it first")
    assert "--epochs 0: expected 1 to 1_000" in refused(*both, model, "--epochs=0", "--seed=1")
    assert "expected __label__ and a name" in refused(*both, model, "--positive-label=good")
    rule = ["--positives", files, "--negatives"]
    assert "a rule needs RECIPE" in refused(*rule, "samples.id is null", model)
    assert "has a column 'text.gopher.words'" in refused(recipe, *rule, "text.gopher.words > 3", model)
    assert "did you mean 'text.unigram.words'?" in refused(recipe, *rule, "text.unigram.wrds > 3", model)
    assert "not a SQL expression" in refused(recipe, *rule, "text.unigram.words >", model)
    assert not list(tmp_path.iterdir())
