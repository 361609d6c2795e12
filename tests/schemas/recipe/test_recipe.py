"""Recipes: what a whole one means, what is wrong with a broken one, and its form in full."""

import os
import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_told, assert_told_each
from tests.property_sizes import scaled
from winnow.pipelines.binding.duplicates import spelt_out
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe import (
    ColumnNames,
    Limits,
    Recipe,
    Rule,
    SourceConfig,
    StoreConfig,
    load_recipe,
    recipe_from_text,
    resolved_yaml,
)

ROOT = Path(__file__).parents[3]
GOLDEN = Path(__file__).parents[1] / "golden"

SMALL = """\
version: 1
store: {path: s}
sources: {crawl: {root: crawl, files: ["*.warc.gz"], class: web}}
"""


def refusal(text: str, env: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(RecipeError) as caught:
        recipe_from_text(text, "r.yaml", env or {})
    return str(caught.value).splitlines()


def test_a_small_recipe_has_every_default() -> None:
    assert recipe_from_text(SMALL) == Recipe(
        version=1,
        store=StoreConfig("s", 0, 65_536, 256 << 20, 16_384, 64 << 20, None),
        sources=(
            SourceConfig(
                "crawl", "crawl", ("*.warc.gz",), "auto", "unknown", None, ColumnNames(), (200, 203), source_class="web"
            ),
        ),
        text=("samples.text",),
        limits=Limits(64 << 20, 1 << 20, 16 << 30, 8 << 20),
    )


def test_a_whole_recipe() -> None:
    recipe = recipe_from_text(
        SMALL
        + """
extract: {main: {}, trafilatura: {where: "mime = 'text/html'", favour: recall}}
text: coalesce(extract.main.text, samples.text)
limits: {max_body_bytes: 1 MiB}
eligible:
  - {drop: "samples.modality <> 'text'", reason: not_text, when_null: keep}
keep:
  - {drop: length(samples.text) < 3, reason: short}
"""
    )
    assert recipe.text == ("extract.main.text", "samples.text")
    assert recipe.limits.max_body_bytes == 1 << 20
    assert [extractor.name for extractor in recipe.extract] == ["main", "trafilatura"]
    assert recipe.extractor("trafilatura").where == "mime = 'text/html'"
    assert recipe.extractor("trafilatura").options.plain() == {"favour": "recall"}
    place = recipe.eligible[0].place
    assert recipe.eligible == (Rule("samples.modality <> 'text'", "not_text", place, "keep"),)
    assert place.line == 9
    assert [rule.drop for rule in recipe.keep if isinstance(rule, Rule)] == ["length(samples.text) < 3"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("stor: {}", "r.yaml:4 … 'stor' … 'store'"),
        ("extend: base.yaml", "r.yaml:4 … 'extend' … 'extends'"),
        ("limits: {max_body: 1}", "r.yaml:4 … 'max_body' … 'max_body_bytes'"),
        ("limits: {batch_bytes: 1}", "r.yaml:4 … limits.batch_bytes … 1"),
        (
            "environment: {Data: {}}",
            "r.yaml:4 … 'Data' … DATA_",
        ),
        (
            "extract: {Fast: {}}\ntext: samples.text",
            "r.yaml:4 … 'Fast' … 1",
        ),
        (
            "extract: {main: {}}",
            "r.yaml:1 … 'text'",
        ),
        ("text: samples.txt", "r.yaml:4 … 'samples.txt' … 'samples.text'"),
        ("text: extract.main.text", "r.yaml:4 … 'extract.main.text'"),
        ("text: concat(samples.text)", "r.yaml:4 … 'concat(samples.text)'"),
        ("text: coalesce(samples.text", "r.yaml:4 … 'coalesce(samples.text'"),
        ("text: samples.text, samples.url", "r.yaml:4 … several columns"),
        (
            "keep: [{drop: a}]",
            "r.yaml:4 … keep[0] … 'reason'",
        ),
        ("keep: [{drop: '', reason: x}]", "r.yaml:4 … keep[0].drop"),
        ("keep: [{drop: a, reason: x, when_null: no}]", "r.yaml:4 … keep[0].when_null"),
        ("keep: [{presett: x}]", "r.yaml:4 … keep[0] … 'presett'"),
        ("keep: [{preset: X}]", "r.yaml:4 … keep[0].preset … 'X'"),
        ("keep: [{preset: x, rules: {a: of}}]", "r.yaml:4 … keep[0].rules.a"),
        (
            "keep: [{preset: x, rules: {a: {}}}]",
            "r.yaml:4 … keep[0].rules.a … 'drop'",
        ),
        ("keep: [{preset: x, rules: {a: {dropp: b}}}]", "r.yaml:4 … keep[0].rules.a … 'dropp'"),
        (
            "thresholds: {t: {file: x.csv}}",
            "r.yaml:4 … thresholds.t … 'file'",
        ),
        ("thresholds: {t: {by: x}}", "r.yaml:4 … thresholds.t … 'by'"),
        ("thresholds: {t: {cells: {x: 3}}}", "r.yaml:4 … thresholds.t.cells.x … integer 3"),
        (
            "keep:\n- {drop: a, reason: x}\n- {drop: b, reason: x}",
            "r.yaml:5 … rules 0 … 1",
        ),
    ],
)
def test_what_is_wrong_in_the_whole(change: str, message: str) -> None:
    (line,) = refusal(SMALL + change)
    assert_told(line, message)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{root: r, files: [x], clas: web}", "sources.a … 'clas' … 'class'"),
        (
            "{root: r, files: [x]}",
            "sources.a … 'class' … 1",
        ),
        (
            "{root: r, files: [x], class: Web}",
            "sources.a.class … 'Web' … 1",
        ),
        (
            "{root: r, files: x, class: web}",
            "sources.a.files … file pattern",
        ),
        ("{root: r, files: [], class: web}", "sources.a.files: must not be empty"),
        (
            "{root: r, files: [/x], class: web}",
            "sources.a.files[0] … '/x' … `ro",
        ),
        (
            "{root: r, files: [a/../b], class: web}",
            "sources.a.files[0] … 'a/../b' … `r",
        ),
        ("{root: r, files: [a//b], class: web}", "sources.a.files[0] … 'a//b' … `.`"),
        (
            "{root: r, files: ['[ab]'], class: web}",
            "sources.a.files[0] … '[ab]' … '['",
        ),
        ("{root: r, files: [a**], class: web}", "sources.a.files[0] … 'a**' … **"),
        ("{root: '', files: [x], class: web}", "sources.a.root … ''"),
        ('{root: "a\\nb", files: [x], class: web}', "sources.a.root … 'a\\nb'"),
        ("{root: r, files: [x], class: web, format: W}", "sources.a.format … 'W'"),
        (
            "{root: r, files: [x], class: web, accept_status: [7]}",
            "sources.a.accept_status[0] … 7",
        ),
        ("", "sources.a … found nothing"),
    ],
)
def test_what_is_wrong_in_a_source(source: str, message: str) -> None:
    (line,) = refusal(f"version: 1\nstore: {{path: s}}\nsources:\n  a: {source}\n")
    assert_told(line, "r.yaml:4", message)


def test_everything_wrong_is_reported_by_line_up_to_twenty() -> None:
    lines = refusal(SMALL + "".join(f"key{number}: 1\n" for number in range(30)))
    assert [line.split(": ")[0] for line in lines] == [f"r.yaml:{number}" for number in range(4, 24)] + [
        "… and 10 more"
    ]


def test_another_version_is_refused() -> None:
    assert_told_each(refusal(SMALL.replace("version: 1", "version: 2")), ("r.yaml:1", "expected 1", "integer 2"))


# Variables


def test_declared_variables_are_put_in() -> None:
    text = SMALL.replace("root: crawl", 'root: "${DATA_ROOT}/crawl"') + "environment: {DATA_ROOT: {default: ./data}}"
    assert recipe_from_text(text).source("crawl").root == "./data/crawl"
    assert recipe_from_text(text, env={"DATA_ROOT": "/mnt"}).source("crawl").root == "/mnt/crawl"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("${SECRET}", "'SECRET' … `environment`"),
        ("${DATA_ROT}", "'DATA_ROT' … `environment` … 'DATA_ROOT'"),
        ("${DATA_ROOT}", "variable DATA_ROOT"),
        ("${}", "${ … $${ … ${"),
        ("${DATA_ROOT", "${ … $${ … ${"),
    ],
)
def test_no_other_variable_is_read(path: str, message: str) -> None:
    text = SMALL.replace("path: s", f'path: "{path}"') + "environment: {DATA_ROOT: {}}"
    assert_told_each(refusal(text, {"SECRET": "x"}), ("r.yaml:2", "store.path", message))


def test_a_variable_is_text_and_is_not_looked_at_again() -> None:
    text = SMALL.replace("path: s", 'path: "${A}$${A}$A"') + "environment: {A: {}}"
    assert recipe_from_text(text, env={"A": "${A}"}).store.path == "${A}${A}$A"


def test_a_size_may_come_from_a_variable() -> None:
    text = SMALL + 'environment: {BIG: {}}\nlimits: {max_body_bytes: "${BIG}"}'
    assert recipe_from_text(text, env={"BIG": "2 MiB"}).limits.max_body_bytes == 2 << 20


def test_a_bomb_of_variables_is_stopped() -> None:
    text = SMALL.replace("path: s", f'path: "{"${A}" * 1000}"') + f"environment: {{A: {{default: {'x' * 10_000}}}}}"
    assert_told_each(refusal(text), ("r.yaml:2", "store.path", "1_048_576 characters"))


def test_a_variable_that_is_no_text_is_refused() -> None:
    text = SMALL.replace("path: s", 'path: "${A}"') + "environment: {A: {}}"
    assert_told_each(refusal(text, {"A": "\udc80"}), ("r.yaml:2", "store.path", "UTF-8"))


# Files


def test_a_recipe_extends_another(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(
        SMALL + "limits: {batch_bytes: 2 KiB, max_header_bytes: 3 KiB}\nkeep: [{drop: a, reason: a}]\n"
    )
    (tmp_path / "r.yaml").write_text(
        "extends: base.yaml\n"
        "store: {seed: 7}\n"
        "sources: {books: {root: b, files: [x], class: public}}\n"
        "limits: {batch_bytes: 4 KiB}\n"
        "keep: [{drop: b, reason: b}]\n"
    )
    recipe = load_recipe(tmp_path / "r.yaml")
    assert (recipe.store.path, recipe.store.seed) == ("s", 7)
    assert [source.name for source in recipe.sources] == ["crawl", "books"]
    assert (recipe.limits.batch_bytes, recipe.limits.max_header_bytes) == (4 << 10, 3 << 10)
    assert [rule.reason for rule in recipe.keep if isinstance(rule, Rule)] == ["b"]


def test_an_error_names_the_file_that_wrote_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/base.yaml").write_text(SMALL + "stor: 1\n")
    (tmp_path / "r.yaml").write_text("extends: shared/base.yaml\nkep: []\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecipeError) as caught:
        load_recipe("r.yaml")
    assert_told_each(
        str(caught.value).splitlines(), ("r.yaml:2", "'kep'", "'keep'"), ("shared/base.yaml:4", "'stor'", "'store'")
    )


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"r.yaml": "extends: r.yaml"}, "r.yaml:1 … r.yaml … ->"),
        (
            {"r.yaml": "\nextends: a.yaml", "a.yaml": "extends: ./r.yaml"},
            "a.yaml:1 … r.yaml … ->",
        ),
        (
            {"r.yaml": "extends: a.yaml"},
            "r.yaml:1 … 'a.yaml'",
        ),
        ({"r.yaml": "extends: /a.yaml"}, "r.yaml:1 … relative"),
        ({"r.yaml": "extends: [a.yaml]"}, "r.yaml:1 … expected"),
        ({"r.yaml": "extends: '.'"}, "YAML"),
        (
            {"r.yaml": "extends: 0.yaml", **{f"{n}.yaml": f"extends: {n + 1}.yaml" for n in range(9)}},
            "7.yaml:1 … 8 files",
        ),
    ],
)
def test_extending_ends(files: dict[str, str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecipeError) as caught:
        load_recipe("r.yaml")
    assert_told(str(caught.value), message, whole=True)


def test_files_that_are_no_recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("latin.yaml").write_bytes(b"version: 1\nstore: {path: caf\xe9}\n")
    Path("big.yaml").write_bytes(b"#" * (1 << 20) + b"\n")
    os.mkfifo("pipe.yaml")
    expected = {
        "missing.yaml": "missing.yaml: the file does not exist; check the path of the recipe",
        "latin.yaml": "latin.yaml:2: not UTF-8; save the file as UTF-8",
        "big.yaml": "big.yaml: larger than 1_048_576 bytes; a recipe is small",
        "pipe.yaml": "pipe.yaml: not a file; a recipe is one YAML file",
        ".": ".: not a file; a recipe is one YAML file",
    }
    for name, message in expected.items():
        with pytest.raises(RecipeError) as caught:
            load_recipe(name)
        assert str(caught.value) == message


def test_a_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_bytes(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode())
    assert load_recipe(tmp_path / "r.yaml") == recipe_from_text(SMALL)


def test_relative_paths_are_meant_from_the_recipes_folder() -> None:
    recipe = recipe_from_text(SMALL, "some/where/r.yaml")
    assert recipe.located(recipe.store.path) == "some/where/s"
    assert recipe.located("/mnt/crawl") == "/mnt/crawl"
    assert recipe.located("s3://bucket/crawl") == "s3://bucket/crawl"


# What other parts rely on


def test_a_recipe_travels_to_workers_and_serves_as_a_key() -> None:
    recipe = recipe_from_text(SMALL + "extract: {main: {a: [1]}}\ntext: samples.text")
    assert pickle.loads(pickle.dumps(recipe)) == recipe  # noqa: S301
    assert hash(recipe) == hash(recipe_from_text(resolved_yaml(recipe)))


# The recipe in full


@pytest.mark.parametrize("source", ["recipes/demo.yaml", "tests/schemas/golden/whole.yaml"])
def test_resolved_recipes_are_as_the_golden_files_say(source: str) -> None:
    golden = GOLDEN / f"{Path(source).stem}.resolved.yaml"
    recipe = spelt_out(load_recipe(ROOT / source, env={}))
    resolved = resolved_yaml(recipe)
    if os.environ.get("UPDATE_GOLDEN") == "1":
        golden.write_text(resolved, encoding="utf-8")
    assert resolved == golden.read_text(encoding="utf-8")
    assert recipe_from_text(resolved) == recipe


def test_a_resolved_recipe_shows_variables_not_their_values() -> None:
    text = SMALL.replace("path: s", 'path: "${STORE}/s"') + "environment: {STORE: {}}"
    env = {"STORE": "/mnt/secret"}
    resolved = resolved_yaml(recipe_from_text(text, env=env))
    assert "secret" not in resolved
    assert 'path: "${STORE}/s"' in resolved
    assert recipe_from_text(resolved, env=env) == recipe_from_text(text, env=env)


def test_a_resolved_recipe_shows_the_defaults_of_built_configs() -> None:
    recipe = recipe_from_text(SMALL + "extract: {main: {}}\ntext: samples.text")
    resolved = resolved_yaml(recipe, {"main": ColumnNames()})  # any config: here one that is at hand
    names = "text: text\n    url: url\n    fetched_at: null\n    media: null\n    captions: null\n"
    assert f"  main:\n    where: null\n    {names}" in resolved


WORDS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1, max_size=20)
SLUGS = st.from_regex(r"[a-z0-9_-]{1,10}", fullmatch=True)
PLACES = st.from_regex(r"[A-Za-z0-9 ./:'\"$#éß-]{1,20}", fullmatch=True).filter(
    lambda text: "${" not in text and text[0] != "$"  # a variable of a shell in its place is refused
)


def quoted(text: str) -> str:
    escaped = "".join(f"\\U{ord(character):08x}" for character in text.replace("${", "$${"))
    return f'"{escaped}"'


@st.composite
def recipes(draw: st.DrawFn) -> str:
    sources = draw(st.dictionaries(SLUGS, st.tuples(PLACES, SLUGS, WORDS, st.none() | WORDS), min_size=1, max_size=3))
    rules = draw(
        st.dictionaries(SLUGS, st.tuples(WORDS, st.sampled_from(["keep", "drop", "error", "null"])), max_size=3)
    )
    options = draw(st.dictionaries(WORDS.filter(lambda key: key not in ("where", "<<")), WORDS, max_size=3))
    lines = [
        "version: 1",
        f"store: {{path: {quoted(draw(PLACES))}, seed: {draw(st.integers(0, 2**63 - 1))}}}",
        "sources:",
    ]
    for name, (root, kind, licence, key) in sources.items():
        record = "null" if key is None else quoted(key)
        lines.append(
            f'  "{name}": {{root: {quoted(root)}, files: ["*"], class: "{kind}", '
            f"licence: {quoted(licence)}, key: {record}}}"
        )
    lines.append("keep:" if rules else "keep: []")
    lines += [f'  - {{drop: {quoted(c)}, reason: "{r}", when_null: {n}}}' for r, (c, n) in rules.items()]
    pairs = ", ".join(f"{quoted(key)}: {quoted(value)}" for key, value in options.items() if "${" not in key)
    lines += [f"extract: {{main: {{{pairs}}}}}", "text: samples.text"]
    return "\n".join(lines)


@given(recipes())
@settings(max_examples=scaled(100), deadline=None)
def test_a_resolved_recipe_loads_as_the_same_recipe(text: str) -> None:
    recipe = recipe_from_text(text)
    resolved = resolved_yaml(recipe)
    assert recipe_from_text(resolved) == recipe
    assert resolved_yaml(recipe_from_text(resolved)) == resolved


@given(st.data())
@settings(max_examples=scaled(150), deadline=None)
def test_a_damaged_recipe_is_a_recipe_or_clear_lines(data: st.DataObject) -> None:
    text = (ROOT / "recipes/demo.yaml").read_text(encoding="utf-8")
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    text = text[:start] + data.draw(st.text(max_size=5) | st.sampled_from("{}[]:,&*!|>'\"%@`-?#\n\t$")) + text[end:]
    try:
        recipe_from_text(text, "r.yaml")
    except RecipeError as error:
        assert all(line.startswith(("r.yaml:", "… and ")) for line in str(error).splitlines())  # noqa: PT017
