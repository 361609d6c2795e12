"""The operator `text.head`: several heads in one pass, fastText beside them, and files that do not fit."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.models.heads.made_heads import HIDDEN, write
from tests.filters.models.training.declarations import train
from tests.messages import assert_told
from tests.property_sizes import scaled
from winnow.filters.operators import TEXT, TextOperator
from winnow.filters.text.classifier import OPERATOR as CLASSIFIER
from winnow.filters.text.classifier import ClassifierConfig
from winnow.filters.text.head import OPERATOR, HeadConfig, HeadFile
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import Place
from winnow.schemas.recipe.build import build_config
from winnow.schemas.recipe.nodes import MapNode, located

WORST = None  # it needs a model
GOLDEN = json.loads((Path(__file__).parent / "golden" / "head.json").read_text("utf-8"))
ENGLISH = "Everyone has the right to life, liberty and security of person."
GERMAN = "Jeder hat das Recht auf Leben, Freiheit und Sicherheit der Person."


class Files:
    def path(self, name: str) -> str:
        return name


@pytest.fixture
def config(tmp_path: Path) -> HeadConfig:
    """Two heads over vectors of three numbers."""
    edu, own = write(tmp_path / "edu.safetensors"), write(tmp_path / "own.safetensors", HIDDEN)
    return HeadConfig((HeadFile("edu", edu), HeadFile("own", own)))


def batch_of(vectors: Sequence[Any], languages: Sequence[str | None], texts: Sequence[str] = ()) -> pa.RecordBatch:
    columns = {"text.embedding.vector": pa.array(vectors, pa.list_(pa.float32()))}
    columns |= {"text.language.code": pa.array(languages, pa.string())}
    return pa.RecordBatch.from_pydict(columns | ({TEXT: pa.array(texts, pa.large_string())} if texts else {}))


def measured(config: HeadConfig, batch: pa.RecordBatch) -> list[dict[str, Any]]:
    found = OPERATOR.load(config, Files())(batch)
    assert found.schema.equals(OPERATOR.writes(config))
    found.validate(full=True)
    return list(found.to_pylist())


def test_what_version_1_gives_never_changes(config: HeadConfig) -> None:
    assert GOLDEN["version"] == OPERATOR.version
    rows = GOLDEN["rows"]
    batch = batch_of([row["vector"] for row in rows], [row["language"] for row in rows])
    assert measured(config, batch) == [row["values"] for row in rows]


def test_a_vector_that_is_not_finite_has_no_score(config: HeadConfig) -> None:
    found = measured(config, batch_of([[float("nan"), 0, 0], [1, 0, float("inf")], [1, 0, 0]], [None] * 3))
    assert [row["status"] for row in found] == ["no_embedding", "no_embedding", "ok"]
    assert [row["edu"] for row in found] == [None, None, 4]


def test_without_a_column_of_languages_all_share_a_calibration(config: HeadConfig) -> None:
    shared = HeadConfig(config.heads, language="")
    assert OPERATOR.reads(shared) == ("text.embedding.vector",)
    (row,) = measured(shared, batch_of([[0, 1, 0]], ["deu_Latn"]))
    assert row["edu"] == 0


def test_fasttext_answers_beside_heads_as_it_does_alone(config: HeadConfig, tmp_path: Path) -> None:
    train(tmp_path / "hq.bin", tmp_path / "scratch")
    model = str(tmp_path / "hq.bin")
    both = HeadConfig((*config.heads, HeadFile("hq", model)))
    configured = OPERATOR.configured(both)
    assert isinstance(configured, TextOperator)
    assert (configured.needs, OPERATOR.needs) == ((TEXT,), ())
    assert OPERATOR.reads(both) == (TEXT, "text.embedding.vector", "text.language.code")
    batch = batch_of([[1, 0, 0], None], [None, None], [ENGLISH, GERMAN])
    alone = CLASSIFIER.load(ClassifierConfig(model=model, decimals=6), Files())(batch).column("score").to_pylist()
    found = measured(both, batch)
    assert [row["hq"] for row in found] == [row["hq_score"] for row in found] == alone
    assert [(row["status"], row["edu"]) for row in found] == [("ok", 4), ("ok", None)]
    only = HeadConfig((HeadFile("hq", model),))
    assert OPERATOR.reads(only) == (TEXT,)


def test_no_rows_have_no_answers(config: HeadConfig) -> None:
    assert measured(config, batch_of([], [])) == []


@settings(max_examples=scaled(25), deadline=None)
@given(st.lists(st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=3) | st.none(), max_size=8), st.randoms())
def test_rows_do_not_see_each_other(tmp_path_factory: pytest.TempPathFactory, vectors: list[Any], chance: Any) -> None:
    path = write(tmp_path_factory.mktemp("heads") / "edu.safetensors")
    config = HeadConfig((HeadFile("edu", path),), language="")
    found = measured(config, batch_of(vectors, [None] * len(vectors)))
    order = chance.sample(range(len(vectors)), len(vectors))
    again = measured(config, batch_of([vectors[at] for at in order], [None] * len(vectors)))
    assert again == [found[at] for at in order]


def test_a_head_for_other_vectors_is_refused(config: HeadConfig) -> None:
    with pytest.raises(RecipeError) as caught:
        measured(config, batch_of([[1, 0, 0, 0]], [None]))
    assert_told(str(caught.value), "edu.safetensors", "vectors of 3 numbers", "has 4", "the encoder")


def test_settings_that_cannot_be_are_refused_in_a_line() -> None:
    with pytest.raises(RecipeError) as caught:
        OPERATOR.assets(HeadConfig())
    assert_told(str(caught.value), "text.head", "`heads` is not set")

    def refusal(heads: dict[str, Any]) -> str:
        node = located({"heads": heads}, Place("recipe.yaml", 3))
        assert isinstance(node, MapNode)
        with pytest.raises(RecipeError) as caught:
            build_config(HeadConfig, node, "annotate[0].text.head")
        return str(caught.value)

    assert_told(refusal({"Edu": {"file": "a"}}), "recipe.yaml:3", "Edu", "a column's name")
    assert_told(refusal({"edu": {}}), "the key 'file' is missing")
    assert_told(refusal({"edu": {"file": "a"}, "edu_score": {"file": "b"}}), "two columns")
    assert_told(refusal({"status": {"file": "a"}}), "rename a head")
