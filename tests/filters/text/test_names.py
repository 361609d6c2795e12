"""The operator `text.names`: a model of another package, which pip installed, and models that misbehave."""

import json
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.text.hostile_texts import HOSTILE
from tests.filters.text.lines.line_rules import Files
from tests.messages import assert_refused
from tests.property_sizes import scaled
from winnow.filters.private.names import find_model
from winnow.filters.text.names import OPERATOR, Config
from winnow.schemas.errors import RecipeError

WORST = None  # it needs a model
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "winnow_gazetteer"
GOLDEN = Path(__file__).parent / "golden" / "names.json"
SAID = "gazetteer (winnow-gazetteer 1.0)"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that pip installed the package into."""
    folder = tmp_path_factory.mktemp("packages")
    shutil.copytree(EXAMPLE, folder / "tree")  # a copy, as building leaves things behind
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, f"--target={folder / 'site'}", str(folder / "tree")], check=True, capture_output=True)
    return folder / "site"


@pytest.fixture(autouse=True)
def gazetteer(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(site))
    find_model.cache_clear()
    yield
    find_model.cache_clear()


def measured(texts: list[tuple[str | None, str]], **config: Any) -> list[dict[str, Any]]:
    """The rows of these texts, each with its language."""
    settings = Config(**{"model": "gazetteer", **config})
    codes = pa.array([code for code, _ in texts], pa.string())
    columns = [pa.array([text for _, text in texts], pa.large_string()), codes]
    batch = pa.RecordBatch.from_arrays(columns, names=["text", "text.language.code"])
    found = OPERATOR.load(settings, Files())(batch)
    assert found.schema == OPERATOR.writes(settings)
    found.validate(full=True)
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows


def unmeasured(status: str) -> dict[str, Any]:
    return {"status": status, "model": None, "names": None, "addresses": None, "spans": None}


def test_names_and_addresses_are_spans_of_bytes() -> None:
    text = "Grüße an Jürgen Groß, Hauptstraße 7!"
    (row,) = measured([("deu_Latn", text)])
    assert [(text.encode()[one["start"] : one["end"]].decode(), one["kind"]) for one in row.pop("spans")] == [
        ("Jürgen Groß", "name"),
        ("Hauptstraße 7", "address"),
    ]
    assert row == {"status": "ok", "model": SAID, "names": 1, "addresses": 1}


def test_languages_that_the_model_does_not_know_are_not_measured() -> None:
    rows = measured([("fra_Latn", "Ada Lovelace"), (None, "Ada Lovelace"), ("eng_Latn", "Ada Lovelace")])
    assert rows[:2] == [unmeasured("no_detector"), unmeasured("no_language")]
    assert rows[2]["names"] == 1


def test_a_longer_text_is_not_measured() -> None:
    assert measured([("eng_Latn", "Ada x")], max_characters=4) == [unmeasured("too_long")]


def test_a_longer_text_is_never_decoded() -> None:
    batch = pa.RecordBatch.from_pydict(
        {"text": pa.array(["\U0001f600" + "." * (8 << 20)], pa.large_string()), "text.language.code": ["eng_Latn"]}
    )
    kernel = OPERATOR.load(Config(model="gazetteer"), Files())
    tracemalloc.start()
    try:
        assert kernel(batch).column("status").to_pylist() == ["too_long"]
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_it_covers_the_languages_of_its_model_and_feeds_what_that_looks_for() -> None:
    assert OPERATOR.languages(Config(model="gazetteer")) == frozenset({"deu", "ell", "jpn", "eng"})
    assert OPERATOR.languages(Config()) == frozenset()
    assert OPERATOR.detects(Config(model="gazetteer")) == {"names": "personal.name", "addresses": "personal.address"}
    assert OPERATOR.detects(Config(model=f"{__name__}:only_names")) == {"names": "personal.name"}


def test_without_a_model_it_says_what_to_install() -> None:
    with assert_refused(RecipeError, "`model`", "'winnow[names]'") as caught:
        measured([], model="")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("gazeteer", "'gazeteer' … 'gazetteer'"),
        ("nowhere:Model", "ModuleNotFoundError … 'nowhere'"),
        ("json:Nothing", "cannot be loaded: AttributeError"),
        ("json:dumps", "model of names"),
        (f"{__name__}:Raising", "cannot be loaded"),
    ],
)
def test_a_model_that_is_none_is_one_line(model: str, message: str) -> None:
    with assert_refused(RecipeError, message) as caught:
        measured([], model=model)
    assert "\n" not in str(caught.value)


class Said:
    """A model that says what it was made to say."""

    languages = None

    def __init__(self, say: Callable[[str], Any], kinds: Iterable[str] = ("name", "address")) -> None:
        self.say, self.kinds = say, frozenset(kinds)

    def __call__(self, texts: list[str], language: str) -> Any:
        return [self.say(text) for text in texts]


class Raising:
    """A model without its weights."""

    languages, kinds = None, frozenset({"name"})

    def __init__(self) -> None:
        raise OSError("no weights")


def _fails_at_b(text: str) -> list[tuple[int, int, str]]:
    if "b" in text:
        raise ValueError("b")
    return [(0, 1, "name")]


class Short(Said):
    """A model that forgets a text."""

    def __call__(self, texts: list[str], language: str) -> Any:
        return super().__call__(texts, language)[1:]


only_names = Said(lambda text: [(0, 1, "name")], ["name"])
fails = Said(_fails_at_b)
lies = Said(lambda text: [(0, 2, "name"), (1, 3, "name")] if "b" in text else [(0, 1, "name")])
nothing = Said(lambda text: None)
short = Short(lambda text: [])


def test_a_kind_that_the_model_does_not_look_for_is_null() -> None:
    (row,) = measured([(None, "ab")], model=f"{__name__}:only_names")
    assert (row["names"], row["addresses"]) == (1, None)


@pytest.mark.parametrize(("model", "status"), [("fails", "model_failed"), ("lies", "wrong_spans")])
def test_a_text_for_which_the_model_fails_is_not_measured_and_the_others_are(model: str, status: str) -> None:
    rows = measured([("eng_Latn", "aaa"), ("eng_Latn", "bbb"), ("eng_Latn", "ccc")], model=f"{__name__}:{model}")
    assert [row["status"] for row in rows] == ["ok", status, "ok"]
    assert rows[1] == unmeasured(status)


def test_a_model_that_gives_no_lists_measures_nothing() -> None:
    assert measured([("eng_Latn", "aaa")] * 2, model=f"{__name__}:nothing") == [unmeasured("model_failed")] * 2


def test_a_model_that_forgets_a_text_is_an_error() -> None:
    with assert_refused(RecipeError, "1 lists", "2 texts"):
        measured([("eng_Latn", "aaa")] * 2, model=f"{__name__}:short")


ROWS = st.tuples(
    st.sampled_from([None, "deu_Latn", "ell_Grek", "jpn_Jpan", "fra_Latn"]),
    st.lists(
        st.sampled_from(["Jürgen Groß ", "Ελένη Γ ", "山田太郎", "Hauptstraße 7 ", "😀", "é ", "\n"]), max_size=6
    ).map("".join),
)


@settings(max_examples=scaled(50), deadline=None)
@given(st.lists(ROWS, max_size=8), st.integers(1, 3))
def test_a_row_depends_on_itself_alone(texts: list[tuple[str | None, str]], batch_texts: int) -> None:
    assert measured(texts, batch_texts=batch_texts) == [measured([one])[0] for one in texts]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_is_too_odd(name: str) -> None:
    assert measured([("eng_Latn", HOSTILE[name])], max_characters=1_000_000)[0]["names"] == 0


def test_what_version_1_gives_never_changes() -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden["version"] == OPERATOR.version
    rows = measured([(code, text) for code, text, _, _ in golden["texts"]])
    assert [[row["status"], [list(one.values()) for one in row["spans"] or []]] for row in rows] == [
        [status, spans] for _, _, status, spans in golden["texts"]
    ]
