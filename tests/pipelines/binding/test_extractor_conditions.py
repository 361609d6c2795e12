import pyarrow as pa
import pytest

from tests.messages import assert_told
from winnow.pipelines.binding.sources import check_conditions
from winnow.pipelines.reading.conditions import evaluate
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe import recipe_from_text

RECIPE = """
version: 1
store: {{path: store}}
sources:
  crawl: {{root: crawl, files: ["*.warc"], class: web}}
extract: {{main: {{where: "{where}"}}}}
text: extract.main.text
"""


@pytest.mark.parametrize("where", ["mime = 'text/html'", "samples.mime = 'text/html'", "source.name = 'crawl'"])
def test_a_where_reads_the_samples(where: str) -> None:
    check_conditions(recipe_from_text(RECIPE.format(where=where)))


@pytest.mark.parametrize(
    ("where", "complaint"),
    [
        ("mine = 'x'", "'mine' … 'mime'"),
        ("read_csv('/etc/passwd') is null", "extract.main.where"),
    ],
)
def test_a_faulty_condition_is_refused_with_its_line(where: str, complaint: str) -> None:
    with pytest.raises(RecipeError) as raised:
        check_conditions(recipe_from_text(RECIPE.format(where=where)))
    assert_told(str(raised.value), complaint)
    assert str(raised.value).startswith("recipe.yaml:")


def test_a_null_condition_counts_as_false() -> None:
    batch = pa.RecordBatch.from_pylist([{"mime": "text/html"}, {"mime": None}, {"mime": "image/png"}])
    assert evaluate("mime = 'text/html'", batch) == [True, False, False]
    assert evaluate("samples.mime like 'image/%'", batch) == [False, False, True]


def test_a_condition_cannot_read_files() -> None:
    batch = pa.RecordBatch.from_pylist([{"mime": "text/html"}])
    with pytest.raises(RecipeError, match="condition"):
        evaluate("exists(select * from read_text('/etc/hostname'))", batch)
