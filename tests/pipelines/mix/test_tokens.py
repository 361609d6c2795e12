"""The layer of token counts: its values, when it is counted again, and how other stages keep it."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

from tests.filters.language.tokenizers.samples import byte_level, library_ids
from tests.messages import assert_refused
from tests.pipelines.store.commits import commits_of
from winnow.filters.language.tokenizers import load_tokenizer
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.tokens import TOKENS, TOKENS_LAYER
from winnow.pipelines.mix.tokens import STAGE, count_tokens
from winnow.pipelines.preflight.check import WholeRecipe, preflight
from winnow.pipelines.reading.text_edits import with_keys
from winnow.pipelines.running.ledger.worker_deaths import Position
from winnow.pipelines.running.shard_rows import Part
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store, open_store
from winnow.pipelines.store.integrity.sealed import put_record
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.location import open_location
from winnow.runners.commands.main import main
from winnow.runners.engines.engine import Engine
from winnow.runners.stages import store_stages as stages
from winnow.runners.stages.mixing import measure_tokens
from winnow.runners.stages.publishing import Outcome
from winnow.schemas.errors import RecipeError, StageError, StoreError
from winnow.schemas.recipe import Recipe, load_recipe

ONE = Engine("local", 1)
KEY = "sixteen-bytes-of-it"

RECIPE = """
version: 1
store: {{path: store, seed: 7, shard_rows: 4, task_bytes: 1 KiB}}
environment: {{PII_KEY: {{}}}}
sources:
  lines: {{root: lines, files: ["*.jsonl"], class: public, key: id}}
annotate: [{{text.pii: {{kinds: [email], where: "samples.url is null"}}}}, text.length]
edits: [{edit}]
{mix}
"""
PLACEHOLDER = "text.pii"
PSEUDONYM = "{text.pii: {replace: pseudonym, key: '${PII_KEY}'}}"

ROWS: tuple[tuple[str, str | None, str | None], ...] = (  # text, URL, text after edits
    ("Write to ann@wanderweg.de, or to bob@wanderweg.de.", None, "Write to <EMAIL>, or to <EMAIL>."),
    ("Österreich hat Berge", None, "Österreich hat Berge"),
    ("not looked at: eve@wanderweg.de", "https://a.example/", None),
    ("the cat sat on the mat </s> and stayed", None, "the cat sat on the mat </s> and stayed"),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two files with measured texts."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "lines").mkdir()
    for part in range(2):
        rows = [{"id": f"{part}-{row}", "text": text, "url": url} for row, (text, url, _) in enumerate(ROWS)]
        (folder / "lines" / f"{part}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    byte_level(folder / "t.json")
    shutil.copy(folder / "t.json", folder / "other.json")
    (folder / "other.json").write_text(json.dumps(json.loads((folder / "t.json").read_text()), indent=1))
    write(folder)
    with open(os.devnull, "w") as silent:
        stages.run_all(bind(load_recipe(folder / "recipe.yaml")), ONE, Console(file=silent))
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = tmp_path / "copy"
    shutil.copytree(whole, copy)
    monkeypatch.chdir(copy)
    return copy


def write(folder: Path, mix: str = "mix: {unit: tokens, tokenizer: t.json}", edit: str = PLACEHOLDER) -> Recipe:
    (folder / "recipe.yaml").write_text(RECIPE.format(mix=mix, edit=edit))
    return load_recipe(folder / "recipe.yaml")


def measured(recipe: Recipe, engine: Engine = ONE) -> Outcome:
    with open(os.devnull, "w") as silent:
        return measure_tokens(bind(recipe), engine, Console(file=silent))


def annotated(recipe: Recipe) -> Outcome:
    with open(os.devnull, "w") as silent:
        return stages.annotate(bind(recipe), ONE, Console(file=silent))


def rows_of(store: Store) -> dict[str, tuple[str, int | None, int | None]]:
    """Return the status, tokens and bytes of each record in the latest generation."""
    generation = store.require_latest()
    names, found = [], []
    for sample, row in zip(
        store.manifest(generation, layout.SAMPLES), store.manifest(generation, TOKENS_LAYER), strict=True
    ):
        for batch in store.batches(sample, ["source"]):
            names += [one["record"] for one in batch["source"].to_pylist()]
        for batch in store.batches(row):
            assert batch.schema == TOKENS
            found += list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    return dict(zip(names, found, strict=True))


def commits(store: Store) -> set[str]:
    return set(commits_of(store.objects, TOKENS_LAYER))


def row(edited: str | None, ids: list[int] | None) -> object:
    if edited is None:
        return ("edit_unmeasured", None, None)
    return ("ok", None if ids is None else len(ids), len(edited.encode()))


def expected(folder: Path, *, tokens: bool = True) -> dict[str, object]:
    ids = library_ids(folder / "t.json", [edited or "" for _, _, edited in ROWS])
    return {
        f"{part}-{number}": row(edited, ids[number] if tokens else None)
        for part in range(2)
        for number, (_, _, edited) in enumerate(ROWS)
    }


def test_lengths_are_those_of_the_edited_texts(folder: Path) -> None:
    recipe = write(folder)
    outcome = measured(recipe)
    found, wanted = rows_of(outcome.store), expected(folder)
    for part in range(2):
        # The library alone would read `</s>` as what ends a document; here it is four characters.
        status, count, size = found.pop(f"{part}-3")
        texts = ["the cat sat on the mat", " <", "/", "s", ">", " and stayed"]
        assert (status, count, size) == ("ok", sum(map(len, library_ids(folder / "t.json", texts))), 38)
        del wanted[f"{part}-3"]
    assert found == wanted


def test_a_text_that_cannot_be_counted_has_a_status_and_no_length() -> None:
    texts = pa.array(["abc", "de", None, "", None, "gone"], pa.large_string())
    which = np.arange(6)
    part = Part({"samples.text": texts}, which == 1, which == 5)
    counted = count_tokens(part, ["samples.text"], with_keys(()), load_tokenizer("bytes"))
    assert [tuple(row.values()) for row in counted.to_pylist()] == [
        ("ok", 3, 3),
        ("left_out", None, None),
        ("no_text", None, None),
        ("ok", 0, 0),
        ("no_text", None, None),
        ("forgotten", None, None),
    ]


def test_a_second_run_counts_nothing(folder: Path) -> None:
    recipe = write(folder)
    first = measured(recipe)
    assert first.new
    before = commits(first.store)
    second = measured(recipe)
    assert (second.new, second.generation) == (False, first.generation)
    assert commits(second.store) == before


def test_without_a_tokenizer_bytes_are_counted(folder: Path) -> None:
    assert rows_of(measured(write(folder, "mix: {unit: bytes}")).store) == expected(folder, tokens=False)
    found = rows_of(measured(write(folder, "mix: {unit: tokens, tokenizer: bytes}")).store)
    assert all(tokens == size for _, tokens, size in found.values())


def test_a_changed_tokenizer_or_edit_is_counted_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PII_KEY", KEY)
    seen = set()
    for mix, edit in (
        ("mix: {tokenizer: t.json}", PLACEHOLDER),
        ("mix: {tokenizer: other.json}", PLACEHOLDER),  # the same tokens, in another file
        ("mix: {tokenizer: bytes}", PLACEHOLDER),
        ("mix: {tokenizer: bytes}", PSEUDONYM),
        ("mix: {tokenizer: bytes}", "{text.pii: {placeholders: {email: MAIL}}}"),
    ):
        outcome = measured(write(folder, mix, edit))
        assert outcome.new
        seen.add(outcome.generation.layers[TOKENS_LAYER].keys["lines"])
    assert len(seen) == 5
    write(folder)
    (folder / "t.json").write_bytes((folder / "other.json").read_bytes())
    assert measured(write(folder, "mix: {tokenizer: t.json}")).generation.layers[TOKENS_LAYER].keys["lines"] in seen


def test_the_layers_key_contains_only_a_digest_of_the_pseudonym_key(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = write(folder, edit=PSEUDONYM)
    keys = []
    for key in (KEY, "another-key-of-16", KEY):
        monkeypatch.setenv("PII_KEY", key)
        layer = bind(recipe).tokens
        assert layer is not None
        keys.append(layer.settings)
        assert key not in repr(layer)
    assert keys[0] == keys[2] != keys[1]
    outcome = measured(recipe)
    assert rows_of(outcome.store)["0-0"][2] == len("Write to , or to .") + 2 * len("<EMAIL_0123456789ab>")
    monkeypatch.delenv("PII_KEY")
    with assert_refused(RecipeError, "environment variable", "PII_KEY"):
        measured(recipe)
    assert TOKENS_LAYER not in annotated(recipe).generation.layers  # without the key nobody can tell if it is true
    monkeypatch.setenv("PII_KEY", KEY)
    assert annotated(recipe).generation.layers == outcome.generation.layers


def test_other_stages_keep_the_layer_while_it_is_up_to_date(folder: Path) -> None:
    recipe = write(folder)
    counted = measured(recipe).generation
    assert annotated(recipe).generation == counted
    with open(os.devnull, "w") as silent:
        assert stages.ingest(bind(recipe), ONE, Console(file=silent)).generation == counted
    stale = annotated(write(folder, "mix: {tokenizer: other.json}")).generation
    assert TOKENS_LAYER not in stale.layers
    assert TOKENS_LAYER not in annotated(write(folder, "")).generation.layers
    again = annotated(recipe)
    assert again.generation.layers == counted.layers
    assert again.generation.tree_hash == counted.tree_hash


def test_only_new_rows_are_counted(folder: Path) -> None:
    recipe = write(folder)
    before = commits(measured(recipe).store)
    (folder / "lines" / "2.jsonl").write_text(json.dumps({"id": "2-0", "text": "more"}) + "\n")
    with open(os.devnull, "w") as silent:
        grown = stages.run_all(bind(recipe), ONE, Console(file=silent))
    assert TOKENS_LAYER not in grown.generation.layers  # it must have an object for every shard
    after = measured(recipe)
    assert len(commits(after.store)) == len(before) + 1
    assert before < commits(after.store)
    assert rows_of(after.store)["2-0"][2] == 4


def test_a_forgotten_row_has_no_length(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = write(folder)
    measured(recipe)
    store = open_store(open_location("store"))
    (sample, *_) = store.manifest(store.require_latest(), layout.SAMPLES)
    forgotten = next(store.batches(sample, ["id"]))["id"][0].as_py().hex()
    assert main(["forget", "recipe.yaml", "--id", forgotten]) == 0
    capsys.readouterr()
    hidden = rows_of(store)
    assert sum(one == ("forgotten", None, None) for one in hidden.values()) == 1
    for path in commits(store):
        store.objects.delete(path)
    recounted = measured(recipe)
    assert rows_of(recounted.store) == hidden
    kept = [
        batch
        for row in recounted.store.manifest(recounted.generation, TOKENS_LAYER)
        for batch in recounted.store.batches(row)
    ]
    assert sum(batch["status"].to_pylist().count("forgotten") for batch in kept) == 1


def test_a_row_that_kills_its_worker_is_left_out(folder: Path) -> None:
    store = open_store(open_location("store"))
    (sample, *_) = store.manifest(store.require_latest(), layout.SAMPLES)
    source = next(store.batches(sample, ["source"]))["source"][0].as_py()
    place = Position(source["path"], source["offset"], source["member"])
    put_record(store.objects, f"{layout.POISON}{STAGE}lines/one.json", place)
    found = rows_of(measured(write(folder)).store)
    assert found[source["record"]] == ("left_out", None, None)
    assert sum(one[0] == "left_out" for one in found.values()) == 1


def test_a_text_that_the_tokenizer_cannot_encode_has_only_bytes(folder: Path) -> None:
    letters = {"type": "WordLevel", "vocab": {"Österreich hat Berge": 0}, "unk_token": "?"}
    (folder / "few.json").write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": letters}))
    found = rows_of(measured(write(folder, "mix: {tokenizer: few.json}")).store)
    assert found["0-1"] == ("ok", 1, 21)
    assert found["0-0"] == ("unencodable", None, len(ROWS[0][2] or ""))


@pytest.mark.parametrize(
    ("mix", "said"),
    [
        ("mix: {tokenizer: none.json}", "mix.tokenizer … none.json"),
        ("mix: {tokenizer: lines}", "mix.tokenizer … lines:"),
        ("mix: {tokenizer: bad.json}", "mix.tokenizer … bad.json"),
        ("", "recipe.yaml … 'mix'"),
    ],
)
def test_faulty_settings_are_refused_in_one_line_before_counting(folder: Path, mix: str, said: str) -> None:
    (folder / "bad.json").write_text("{}")
    with assert_refused(RecipeError, said) as refused:
        recipe = write(folder, mix)
        preflight(WholeRecipe(recipe=bind(recipe)))  # as every command begins
        measured(recipe)
    assert len(str(refused.value).splitlines()) == 1


def test_a_worker_with_a_changed_tokenizer_file_stops(folder: Path) -> None:
    layer = bind(write(folder)).tokens
    assert layer is not None
    (folder / "t.json").write_bytes((folder / "other.json").read_bytes())
    with assert_refused(StageError, "t.json", "changed during"):
        layer.bound.open_tokenizer()


def test_a_missing_layer_of_edits_is_named(folder: Path) -> None:
    recipe = write(folder)
    (folder / "recipe.yaml").write_text((folder / "recipe.yaml").read_text().replace("[email]", "[email, ip]"))
    with assert_refused(StoreError, "text.pii", "winnow annotate"):
        measured(load_recipe(folder / "recipe.yaml"))
    assert measured(recipe).new


def test_rules_cannot_read_token_counts(folder: Path) -> None:
    rule = "\nkeep:\n- {drop: mix.tokens.tokens > 5, reason: long, when_null: keep}\n"
    recipe = write(folder, "mix: {tokenizer: bytes}" + rule)
    with pytest.raises(RecipeError, match=r"unknown column 'mix\.tokens\.tokens'"):
        measured(recipe)


def test_two_workers_write_the_same_tree(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = measured(write(folder)).generation.tree_hash
    copy = tmp_path / "two"
    shutil.copytree(folder, copy)
    for path in commits_of(LocalStore(copy / "store"), TOKENS_LAYER):
        (copy / "store" / path).unlink()
    monkeypatch.chdir(copy)
    again = measured(load_recipe("recipe.yaml"), Engine("local", 2))
    assert again.generation.tree_hash == one
    assert main(["audit", "recipe.yaml"]) == 0


def test_a_recipe_without_a_mixture_has_no_layer(folder: Path) -> None:
    assert bind(write(folder, "")).tokens is None
