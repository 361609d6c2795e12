"""The presets on evaluation sets: what of two texts each drops, with rules as a plan applies them."""

import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from winnow.filters.presets import find_preset, preset_names
from winnow.filters.text.contamination import OPERATOR, ContaminationConfig
from winnow.pipelines.assets import AssetFiles
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.reading.conditions import nested
from winnow.schemas.recipe import recipe_from_text

RECIPE = """
version: 1
store: {{path: store}}
sources: {{pages: {{root: ., files: ["*"], class: web}}}}
annotate: [{{text.contamination: {{preset: {name}, sets: {{quiz: {{file: {file}, answer: [answer]}}}}}}}}]
keep: [{{preset: {name}}}]
"""
QUESTION = (
    "A farmer has twelve cows and buys seven more cows at the market on a cold Tuesday morning in May; how many now?"
)
ANSWER = "The farmer has nineteen cows now, as twelve and seven are nineteen, and so many cows need a larger barn."
HALF = " ".join(QUESTION.split()[:14])
WHOLE, PART, ANSWERED = QUESTION, f"Once upon a time: {HALF}", f"{' '.join(QUESTION.split()[-8:])} {ANSWER}"
DROPS = {
    "contamination@afm-2024": (True, True, True),
    "contamination@datatrove": (False, False, True),
    "contamination@dclm-like": (True, False, True),
    "contamination@llama-2-like": (True, False, False),
    "contamination@dolma-like": (True, False, True),
    "contamination@decon-like": (True, False, False),
}


def test_every_preset_is_tried() -> None:
    assert DROPS.keys() == {name for name in preset_names() if name.startswith("contamination@")}


@pytest.mark.parametrize("name", DROPS)
def test_what_it_drops(tmp_path: Path, name: str) -> None:
    file = tmp_path / "quiz.jsonl"
    file.write_text(json.dumps({"question": QUESTION, "answer": ANSWER}))
    recipe = bind(recipe_from_text(RECIPE.format(name=name, file=file)))
    (rule,) = recipe.rules.rules
    config = recipe.operators[0].config
    assert isinstance(config, ContaminationConfig)
    texts = pa.array([WHOLE, PART, ANSWERED, "Something else that nobody asked for."], pa.large_string())
    layer = OPERATOR.load(config, AssetFiles())(pa.RecordBatch.from_pydict({"text": texts}))
    rows = {f"text.contamination.{column}": layer.column(column) for column in layer.schema.names}
    connection = duckdb.connect()
    connection.register("rows", pa.Table.from_batches([nested(rows, len(texts))]))
    dropped = connection.execute(f"SELECT coalesce({rule.rule.drop}, false) FROM rows").fetchall()
    assert tuple(one for (one,) in dropped) == (*DROPS[name], False)
    assert find_preset(name).operators.keys() == {"text.contamination"}
