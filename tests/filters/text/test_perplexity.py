"""The operator `text.perplexity`: a trigram model of real text, hostile rows, and files that are no models."""

import gzip
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.language.perplexity.ngrams import arpa
from tests.filters.models.training.declarations import paragraphs
from tests.filters.text.hostile_texts import HOSTILE
from tests.messages import assert_told
from tests.property_sizes import scaled
from winnow.filters.language.perplexity.spelling import spelling_of
from winnow.filters.operators import find_operator
from winnow.filters.text.perplexity import _MARKS_ALONE, OPERATOR, PerplexityConfig
from winnow.schemas.errors import RecipeError

WORST = None  # it needs a model
GOLDEN = Path(__file__).parent / "golden" / "perplexity.json"
SENTENCE = "Everyone has the right to life, liberty and security of person."


class Files:
    def path(self, name: str) -> str:
        return name


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ngrams") / "eng.arpa.gz"
    text = arpa([spelling_of("ccnet")(paragraph) for paragraph in paragraphs("eng")])
    path.write_bytes(gzip.compress(text.encode()))
    return path


def batch_of(texts: Sequence[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"text": pa.array(texts, pa.large_string())})


def measured(model: Path, texts: Sequence[str], **config: Any) -> list[dict[str, Any]]:
    made = PerplexityConfig(model=str(model), **config)
    found = OPERATOR.load(made, Files())(batch_of(texts))
    assert found.schema.equals(OPERATOR.writes(made))
    found.validate(full=True)
    return list(found.to_pylist())


def refusal(**config: Any) -> str:
    with pytest.raises(RecipeError) as caught:
        OPERATOR.load(PerplexityConfig(**config), Files())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_operator_is_found_by_its_name() -> None:
    assert find_operator("text.perplexity") is OPERATOR
    with pytest.raises(RecipeError, match="`model` is not set"):
        OPERATOR.assets(PerplexityConfig())
    assert OPERATOR.assets(PerplexityConfig(model="models/en.arpa")) == ("models/en.arpa",)


def test_the_perplexity_is_that_of_kenlm(model: Path) -> None:
    # KenLM 0.3.0 on this model: model.perplexity(SENTENCE.lower()) is 4.570033473949198.
    (row,) = measured(model, [SENTENCE])
    assert (row["status"], row["perplexity"], row["tokens"], row["unknown"]) == ("ok", 4.6, 12, 0.0)
    assert 10 ** -row["log10_prob"] == pytest.approx(4.570033473949198, abs=1e-6)


def test_shuffled_words_and_other_languages_surprise_more(model: Path) -> None:
    shuffled = " ".join(sorted(SENTENCE.split(), key=len))
    fluent, mixed, german = measured(model, [SENTENCE, shuffled, paragraphs("deu")[0]])
    assert fluent["perplexity"] < mixed["perplexity"] < german["perplexity"]
    assert german["unknown"] > 0.9


def test_each_line_is_a_sentence(model: Path) -> None:
    one, two = measured(model, [SENTENCE, f"{SENTENCE}\n\n{SENTENCE}\n"])
    assert two["tokens"] == 2 * one["tokens"]
    assert two["log10_prob"] == pytest.approx(one["log10_prob"], abs=1e-12)


def test_text_is_spelt_as_the_model_was_trained(model: Path) -> None:
    (ccnet,), (as_is,) = measured(model, [SENTENCE]), measured(model, [SENTENCE], wording="none")
    assert ccnet["unknown"] == 0
    assert as_is["unknown"] == pytest.approx(1 / 11)


def test_words_that_a_model_without_unk_does_not_know_cost_what_is_set(tmp_path: Path) -> None:
    text = "\\data\\\nngram 1=3\n\n\\1-grams:\n-1\ta\n-99\t<s>\n-1\t</s>\n\n\\end\\\n"
    (tmp_path / "one.arpa").write_text(text)
    (cheap,) = measured(tmp_path / "one.arpa", ["b"], unknown_log10=-3)
    (dear,) = measured(tmp_path / "one.arpa", ["b"], unknown_log10=-100)
    assert (cheap["log10_prob"], cheap["perplexity"]) == (-2, 100)
    assert dear["perplexity"] == pytest.approx(10**50.5)


def test_text_without_words_has_no_perplexity(model: Path) -> None:
    for text in ("", "\n\n", " \t "):
        (row,) = measured(model, [text])
        assert row == {"status": "no_words", "perplexity": None, "log10_prob": None, "tokens": None, "unknown": None}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_measured(model: Path, name: str) -> None:
    (row,) = measured(model, [HOSTILE[name]])
    if row["status"] == "ok":
        assert row["perplexity"] >= 1
        assert 0 <= row["unknown"] <= 1
    else:
        assert row["status"] == "no_words"


def test_settings_that_cannot_be_are_refused_in_a_line(tmp_path: Path, model: Path) -> None:
    assert_told(refusal(), "text.perplexity", "`model`", "ARPA")
    assert "No such file" in refusal(model=str(tmp_path / "none.arpa"))
    (tmp_path / "text.arpa").write_text("not a model\n")
    assert_told(refusal(model=str(tmp_path / "text.arpa")), "ARPA", "KenLM")
    (tmp_path / "short.arpa.gz").write_bytes(model.read_bytes()[:200])
    assert "cannot be read" in refusal(model=str(tmp_path / "short.arpa.gz"))
    assert_told(refusal(model=str(model), max_ngrams=10), "most 10", "`max_ngrams`")


@pytest.mark.skipif(find_spec("kenlm") is not None, reason="KenLM is installed here")
def test_a_kenlm_binary_needs_kenlm(tmp_path: Path) -> None:
    path = tmp_path / "en.bin"
    path.write_bytes(b"mmap lm http://kheafield.com/code format version 5\n\0" + bytes(200))
    assert "run: pip install kenlm" in refusal(model=str(path))


@pytest.mark.skipif(find_spec("kenlm") is None, reason="KenLM, which is under the LGPL, is not installed here")
def test_a_kenlm_binary_that_is_cut_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "en.bin"
    path.write_bytes(b"mmap lm http://kheafield.com/code format version 5\n\0" + bytes(200))
    assert "KenLM cannot load this model" in refusal(model=str(path))


@settings(max_examples=scaled(30), deadline=None)
@given(st.data())
def test_rows_do_not_see_each_other(model: Path, data: st.DataObject) -> None:
    words = st.sampled_from(["the", "right", "to", "life,", "\n", "zxqv", "é", "</s>", "\0", "of", "person."])
    texts = data.draw(st.lists(st.lists(words, max_size=8).map(" ".join), max_size=8))
    kernel = OPERATOR.load(PerplexityConfig(model=str(model)), Files())
    rows = kernel(batch_of(texts)).to_pylist()
    order = data.draw(st.permutations(range(len(texts))))
    assert kernel(batch_of([texts[at] for at in order])).to_pylist() == [rows[at] for at in order]
    cut = data.draw(st.integers(0, len(texts)))
    whole = batch_of(texts)
    assert kernel(whole.slice(0, cut)).to_pylist() + kernel(whole.slice(cut)).to_pylist() == rows


def test_values_are_those_of_the_golden_file(model: Path) -> None:
    golden = json.loads(GOLDEN.read_text())
    assert golden["version"] == OPERATOR.version
    assert measured(model, [case["text"] for case in golden["cases"]]) == [case["row"] for case in golden["cases"]]


LONG = ["a ", "ab cd ", "\U0001f600 a ", "a\n"]


@pytest.mark.parametrize("piece", LONG)
def test_a_long_text_takes_no_more_memory_than_the_operator_says(model: Path, piece: str) -> None:
    kernel, size = OPERATOR.load(PerplexityConfig(model=str(model)), Files()), 1 << 20
    batch = batch_of([piece * (size // len(piece.encode()))])
    tracemalloc.start()
    try:
        kernel(batch)
        assert tracemalloc.get_traced_memory()[1] <= OPERATOR.memory * size
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("piece", LONG)
def test_a_long_text_takes_no_more_memory_with_kenlm(tmp_path: Path, piece: str) -> None:
    pytest.importorskip("kenlm")
    path = tmp_path / "model.arpa"
    path.write_text(arpa(paragraphs("eng")))
    command = [sys.executable, "-c", KENLM, str(path), piece, str(OPERATOR.memory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


KENLM = """
import resource, sys
import pyarrow as pa
from winnow.filters.text.perplexity import PerplexityConfig, _kenlm, measure_perplexity

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

score, size = _kenlm(sys.argv[1]), 4 << 20  # KenLM reads an ARPA file as it does a binary

def measure(text):
    batch = pa.RecordBatch.from_pydict({"text": pa.array([text], pa.large_string())})
    measure_perplexity(batch, PerplexityConfig(model="x").wording, score)

measure("a b")
before = peak()
measure(sys.argv[2] * (size // len(sys.argv[2].encode())))
assert peak() - before <= int(sys.argv[3]) * size + (16 << 20), (peak() - before) / size
"""


def test_kenlm_is_given_marks_as_unknown_words() -> None:
    line = b"<s> a</s> \t</s> b\xc2\xa0<unk> <unk>"
    assert _MARKS_ALONE.sub(b"<unk>", line) == b"<unk> a</s> \t<unk> b\xc2\xa0<unk> <unk>"
