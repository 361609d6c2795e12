import pyarrow as pa
import pytest

from winnow.pipelines.conditions import evaluate
from winnow.pipelines.ingest.checking import check_conditions
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe import recipe_from_text

RECIPE = """
version: 1
store: {{path: store}}
sources:
  crawl: {{root: crawl, files: ["*.warc"], class: web}}
extract: {{fast: {{where: "{where}"}}}}
text: extract.fast.text
keep: [{{drop: "{drop}", reason: r, when_null: keep}}]
"""


@pytest.mark.parametrize("where", ["mime = 'text/html'", "samples.mime = 'text/html'", "source.name = 'crawl'"])
def test_a_where_reads_the_samples(where: str) -> None:
    check_conditions(recipe_from_text(RECIPE.format(where=where, drop="extract.fast.title is null")))


@pytest.mark.parametrize(
    ("where", "drop", "complaint"),
    [
        ("mine = 'x'", "samples.text is null", "unknown column 'mine' (did you mean 'mime'?)"),
        ("mime = 'x'", "extract.fats.text is null", "unknown column 'extract.fats.text'"),
        ("mime = 'x'", "read_csv('/etc/passwd') is null", "keep[0]"),
    ],
)
def test_a_condition_that_cannot_run_is_a_line_of_the_recipe(where: str, drop: str, complaint: str) -> None:
    with pytest.raises(RecipeError) as raised:
        check_conditions(recipe_from_text(RECIPE.format(where=where, drop=drop)))
    assert complaint in str(raised.value)
    assert str(raised.value).startswith("recipe.yaml:")


def test_conditions_are_evaluated_with_null_as_no() -> None:
    batch = pa.RecordBatch.from_pylist([{"mime": "text/html"}, {"mime": None}, {"mime": "image/png"}])
    assert evaluate("mime = 'text/html'", batch) == [True, False, False]
    assert evaluate("samples.mime like 'image/%'", batch) == [False, False, True]


def test_a_condition_reaches_no_file() -> None:
    batch = pa.RecordBatch.from_pylist([{"mime": "text/html"}])
    with pytest.raises(RecipeError, match="condition"):
        evaluate("exists(select * from read_text('/etc/hostname'))", batch)
