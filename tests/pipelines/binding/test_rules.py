"""Rules are checked against the columns of a recipe's layers before a row is read; messages name the line."""

from pathlib import Path

import pyarrow as pa
import pytest

from tests.messages import assert_refused, assert_told, assert_told_each
from tests.pipelines.rules.stores import columns_of
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.rules import RuleProgram, rule_program
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe import recipe_from_text

RECIPE = """\
version: 1
store: {path: s}
sources: {crawl: {root: crawl, files: ["*.warc.gz"], class: web}}
extract: {main: {}}
text: extract.main.text
annotate: [{text.fineweb: {preset: fineweb}}]
"""
TABLE = "language,least,most\ndeu_Latn,1.5,9\nfra_Latn,,7\n"
LAYERS = {
    "text.some": pa.schema([pa.field("words", pa.int64()), pa.field("code", pa.string())]),
    "dedupe.near": pa.schema([pa.field("size", pa.int64(), nullable=False)]),
}


def problems_of(text: str, folder: Path = Path()) -> list[str]:
    with pytest.raises(RecipeError) as caught:
        _ = bind(recipe_from_text(RECIPE + text, str(folder / "r.yaml"))).rules
    return [line.removeprefix(f"{folder}/") for line in str(caught.value).splitlines()]


def program_over_layers(text: str, folder: Path) -> RuleProgram:
    last, info = list(columns_of(LAYERS, "keep").items())[-1]
    columns = columns_of({"text.some": LAYERS["text.some"]}) | {last: info}
    return rule_program(recipe_from_text(RECIPE.partition("extract")[0] + text, str(folder / "r.yaml")), columns)


def test_a_program_lists_all_that_it_reads() -> None:
    program = bind(
        recipe_from_text(
            RECIPE + "eligible: [{drop: extract.main.status <> 'ok', reason: page}]\nkeep: [{preset: fineweb}]"
        )
    ).rules
    assert program.eligible == 1
    assert program.reasons[:2] == ("page", "no_lines")
    assert program.layers == ("extract.main", "text.fineweb")
    assert [column.name for column in program.languages] == ["extract.main.language"]
    assert program.only_eligible().layers == ("extract.main",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "keep: [{drop: text.fineweb.lins > 1, reason: x, when_null: keep}]",
            "r.yaml:7 … keep[0] … 'text.fineweb.lins'",
        ),
        (
            "keep: [{drop: text.fineweb.lines > 1, reason: x}]",
            "r.yaml:7 … keep[0] … text.fineweb.lines",
        ),
        (
            "keep: [{drop: text.fineweb.lines LIKE 'x', reason: x, when_null: keep}]",
            "r.yaml:7 … keep[0]",
        ),
        (
            "keep:\n- {preset: fineweb, rules: {no_lines: {drop: text.fineweb.lins = 0}}}",
            "r.yaml:8 … keep[0].rules.no_lines … 'text.fineweb.lins'",
        ),
        (
            "keep: [{preset: fineweb, layer: text.finweb}]",
            "r.yaml:7 … keep[0] … 'text.finweb'",
        ),
        (
            "keep: [{drop: \"regexp_matches(samples.text, '(')\", reason: x, when_null: keep}]",
            "r.yaml:7 … keep[0]",
        ),
        (
            "loss_alarms: {expected: [shrt]}\nkeep: [{drop: text.fineweb.lines > 1, reason: short, when_null: keep}]",
            "r.yaml:7 … loss_alarms.expected … 'shrt'",
        ),
        (
            "keep: [{drop: text.c4.lines > 1, reason: x, when_null: keep}]",
            "r.yaml:7 … keep[0] … text.c4",
        ),
        (
            "keep: [{drop: text.fineweb.lines = NULL, reason: x, when_null: keep}]",
            "r.yaml:7 … keep[0] … NULL",
        ),
        (
            "keep: [{drop: dedupe.near.size > 1, reason: x, when_null: keep}]",
            "r.yaml:7 … keep[0] … 'dedupe.near.size'",
        ),
        (
            "keep: [{drop: score.worth.keep < 1, reason: x, when_null: keep}]",
            "r.yaml:7 … keep[0] … 'score.worth.keep'",
        ),
        (
            "keep: [{drop: page.mine.a < 1, reason: x, when_null: keep}]",
            "r.yaml:7 … keep[0] … 'page.mine.a'",
        ),
        (
            "keep: [{drop: text.fineweb.lines < thresholds.mine.a, reason: x, when_null: keep}]",
            "r.yaml:7 … keep[0] … 'mine'",
        ),
        (
            "thresholds: {mine: {cells: {deu_Latn: {a: 1}}}}",
            "r.yaml:7 … thresholds.mine",
        ),
        (
            "thresholds: {mine: {file: none.csv, key: text.some.code}}\n"
            "keep: [{drop: thresholds.mine.least > 1, reason: x, when_null: keep}]",
            "r.yaml:7 … thresholds.mine … 'none.csv'",
        ),
    ],
)
def test_a_faulty_rule_is_refused_with_its_line(text: str, message: str) -> None:
    lines = problems_of(text)
    assert len(lines) == 1
    assert_told(lines[0], message)


def test_a_preset_without_its_operator_says_what_to_add() -> None:
    text = RECIPE.replace("annotate: [{text.fineweb: {preset: fineweb}}]", "") + "keep: [{preset: fineweb}]"
    with pytest.raises(RecipeError) as caught:
        _ = bind(recipe_from_text(text)).rules
    assert_told_each(
        [line.partition(" ")[2] for line in str(caught.value).splitlines()],  # once, not for each of its rules
        ("keep[0]", "text.fineweb", "`text.fineweb: {preset: fineweb}`", "'annotate'"),
    )


def test_rules_of_eligible_cannot_read_layers_computed_later(tmp_path: Path) -> None:
    assert program_over_layers("keep: [{drop: dedupe.near.size > 1, reason: x}]", tmp_path).layers == ("dedupe.near",)
    with assert_refused(RecipeError, "eligible[0]", "dedupe.near.size", "`eligible`"):
        program_over_layers("eligible: [{drop: dedupe.near.size > 1, reason: x}]", tmp_path)


@pytest.mark.parametrize(
    ("file", "key", "message"),
    [
        (
            "table.csv",
            "text.some.cod",
            "thresholds.mine … text.some.cod",
        ),
        (
            "table.csv",
            "text.some.words",
            "thresholds.mine … text.some.words … int64",
        ),
        ("table.csv, by: lang", "text.some.code", "thresholds.mine … table.csv … 'lang'"),
        ("words.csv", "text.some.code", "words.csv:3 … 'many'"),
        ("twice.jsonl", "text.some.code", "thresholds.mine … twice.jsonl:2 … 'a'"),
        ("odd.jsonl", "text.some.code", "thresholds.mine: odd.jsonl:1: not JSON: "),
        ("ragged.csv", "text.some.code", "thresholds.mine … ragged.csv:2 … 2 cells"),
    ],
)
def test_a_faulty_table_is_refused_with_its_line(file: str, key: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "words.csv").write_text("key,least\na,1\nb,many\n")
    (tmp_path / "twice.jsonl").write_text('{"k": "a", "least": 1}\n{"k": "a", "least": 2}\n')
    (tmp_path / "odd.jsonl").write_text("{")
    (tmp_path / "ragged.csv").write_text("key,least\na\n")
    text = f"thresholds: {{mine: {{file: {file}, key: {key}}}}}\n"
    text += "keep: [{drop: text.some.words < thresholds.mine.least, reason: x, when_null: keep}]"
    with pytest.raises(RecipeError) as caught:
        program_over_layers(text, tmp_path)
    assert_told(str(caught.value), message)
    assert len(str(caught.value).splitlines()) == 1


def test_a_recipes_own_table_and_its_cells(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(TABLE)
    text = (
        "thresholds: {mine: {file: table.csv, key: text.some.code, cells: {deu_Latn: {most: null}, new: {least: 3}}}}"
    )
    rule = "\nkeep: [{drop: text.some.words < thresholds.mine.least, reason: x, when_null: keep}]"
    (table,) = program_over_layers(text + rule, tmp_path).tables
    assert (table.keys, dict(table.columns)) == (("deu_Latn", "fra_Latn", "new"), {"least": (1.5, None, 3.0)})
    assert program_over_layers(text, tmp_path).tables == ()
    with assert_refused(RecipeError, "thresholds.mine.cells.deu_Latn", "'mots'"):
        program_over_layers(text.replace("most: null", "mots: null"), tmp_path)
    with pytest.raises(RecipeError, match=r"thresholds\.mine\.cells\.deu_Latn\.most: expected a number or null"):
        program_over_layers(text.replace("most: null", "most: many"), tmp_path)
