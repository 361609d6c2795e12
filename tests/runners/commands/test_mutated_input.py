"""Recipes and command lines with mistakes: each ends as success or as clear lines, never as a traceback."""

import contextlib
import copy
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.made_once import made_once
from tests.property_sizes import scaled
from winnow.runners.commands.main import main

Tree: TypeAlias = Any  # of YAML

RECIPE = """\
version: 1
store: {path: store, seed: 1, shard_rows: 100}
sources:
  texts: {root: texts, files: ["*.jsonl"], class: web, licence: CC0-1.0, key: id, columns: {text: body}}
  album: {root: album, files: ["*"], format: image_folder, class: own}
extract: {main: {where: "mime = 'text/html'"}}
text: coalesce(extract.main.text, samples.text)
annotate:
  - text.length
  - {text.gopher: {preset: gopher@datatrove, where: "samples.text IS NOT NULL"}}
  - {text.pii: {kinds: [email, ip]}}
  - {url.canonical: {as: url.other}}
  - image.geometry
eligible: [{drop: "text.length.characters < 10", reason: short, when_null: keep}]
dedupe:
  {exact: {}, url: {canonical: {www: false}}, near: {preset: fineweb, min_similarity: 0.75, max_cluster: 100},
   representative: [source, longest, id]}
keep:
  - {preset: gopher@datatrove, rules: {gopher_short_doc: off}}
  - {drop: "dedupe.near.size > 3 AND samples.source.name = 'texts'", reason: many, when_null: keep}
items: [{drop: "image.geometry.width < 64", reason: small, when_null: keep}]
edits: [{text.pii: {replace: placeholder}}]
mix:
  {unit: tokens, tokenizer: bytes, sources: {texts: 0.9, album: 0.1}, split: {validation: 0.05},
   families: {unimax: 3}, max_epochs: 4, stages: {first: {budget: 1000}, second: {budget: 2000}}}
export: [{parquet: {path: out/hf}}, {jsonl: {path: out/lines, compression: zstd}}]
limits: {max_text_bytes: 1MiB}
loss_alarms: {max_loss: 0.9}
"""
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000010000000100802000000909168360000001a4944415478da63fcffff3f03298089814430aa61"
    "54c3d0d10000556d031df787d4620000000049454e44ae426082"
)
JUNK: tuple[Tree, ...] = (
    *(None, True, False, 0, -1, 3, 0.5, 1e308, 10**30, "", " ", "x", "text", "a.b.c", "image.geometry.width", "0.5"),
    *("..", "no/such/file", "${HOME}", "${", "it's", "\u202e\x1b[31m", "x" * 3000, "1e9", "12GB", "10%", "'", "NULL"),
    *("samples.text > 3", "list_max(image.geometry.width) > 1 OR", "regexp_matches(samples.url, '(')", "1=1; DROP x"),
    *([], {}, [[]], [None], {"": ""}, {"x": {"y": []}}, ["x", 1, None], {"drop": "true", "reason": "r"}),
)
"""What may stand where something else is expected. No path of it leads out of the folder."""

KEYS = ("x", "", "path", "root", "where", "preset", "as", "kinds", "share", "storre", "1", "\n", "a.b")


def places(tree: Tree, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value below the root."""
    below = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in below:
        yield (*path, key)
        yield from places(value, (*path, key))


def parent_of(tree: Tree, path: tuple[Any, ...]) -> Tree:
    for key in path[:-1]:
        tree = tree[key]
    return tree


@st.composite
def mutated_recipes(draw: st.DrawFn) -> str:
    """The recipe after some mistakes."""
    tree = yaml.safe_load(RECIPE)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(places(tree))))
        parent, key = parent_of(tree, path), path[-1]
        what = draw(st.sampled_from(("value", "value", "value", "another", "name", "remove", "twice")))
        if what == "value":
            parent[key] = copy.deepcopy(draw(st.sampled_from(JUNK)))  # later mistakes are made in it
        elif what == "another":
            other = draw(st.sampled_from(list(places(tree))))
            parent[key] = copy.deepcopy(parent_of(tree, other)[other[-1]])
        elif what == "remove":
            del parent[key]
        elif isinstance(parent, list):
            parent.insert(key, copy.deepcopy(parent[key]))
        else:
            name = draw(st.sampled_from(KEYS)) if what == "name" else f"{key}s"
            parent[name] = parent.pop(key)
        if not tree:
            break
    return json.dumps(tree)


def said_by(*arguments: str) -> tuple[int, str]:
    """The exit status of a command, and what it says on stderr; an exception ends the test."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
        try:
            status = main(arguments)
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 0
    return status, errors.getvalue()


def require_clear(status: int, said: str) -> None:
    """What failed says why in lines of its own."""
    assert status in (0, 1, 2, 3), said
    assert "Traceback" not in said
    if status in (1, 2):
        lines = said.splitlines()
        assert lines
        assert any(line.startswith("winnow: ") for line in lines), said
        assert all(len(line) < 2000 for line in lines), said


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sources of the recipe, and a store of them."""

    def make(at: Path) -> None:
        (at / "texts").mkdir()
        (at / "album").mkdir()
        rows = [
            {"id": str(number), "body": f"The text of row {number}, which is not long.", "url": "http://a.example/"}
            for number in range(20)
        ]
        (at / "texts/rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (at / "album/white.png").write_bytes(PICTURE)
        (at / "recipe.yaml").write_text(RECIPE)

    return made_once(tmp_path_factory, "mutated-input", make)


def test_the_recipe_itself_has_no_mistake(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert said_by("plan", "recipe.yaml") == (0, "")


@settings(max_examples=scaled(300), deadline=None)
@given(recipe=mutated_recipes())
def test_a_mistaken_recipe_is_planned_or_refused_in_clear_lines(folder: Path, recipe: str) -> None:
    file = folder / "mutated.yaml"
    file.write_text(recipe)
    require_clear(*said_by("plan", str(file)))
