"""Models in ARPA's format: read as written, asked as the definition says, refused in a line when broken."""

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.messages import assert_told
from tests.property_sizes import scaled
from winnow.filters.language.perplexity.arpa import NgramModel, load_arpa
from winnow.filters.language.perplexity.backoff import Sums
from winnow.schemas.errors import RecipeError

# A bigram without its trigram's parts, a context without a weight, no weight at all: what pruned models look like.
SMALL = """
\\data\\
ngram 1=7
ngram 2=5
ngram 3=3

\\1-grams:
-99\t<s>\t-0.3
-1.5\t</s>
-2.25\t<unk>\t-0.125
-0.5\tthe\t-0.5
-1.25\tcat\t-0.25
-1.75\tsat\t-0.75
-2\tété

\\2-grams:
-0.25\t<s> the\t-0.125
-0.5\tthe cat\t-0.0625
-0.375\tcat sat
-0.75\tsat </s>
-1\t<unk> cat\t-0.5

\\3-grams:
-0.1\t<s> the cat
-0.2\tthe cat sat
-0.3\tété été été

\\end\\
"""

# What KenLM 0.3.0 answers (`sum(prob for prob, _, _ in model.full_scores(line))`) for the model above, less the line of
# three times "été", whose lower orders KenLM has to make up.
KENLM = {
    "the cat sat": -1.3000000044703484,
    "the the cat": -3.6875,
    "sat": -2.799999952316284,
    "dog cat dog": -8.174999952316284,
    "cat the sat été": -8.799999952316284,
}


def written(folder: Path, content: str | bytes) -> str:
    path = folder / "model.arpa"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def scored(model: NgramModel, *texts: str, unknown: float = -100.0) -> Sums:
    raw = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, raw)], dtype=np.int64)
    return model.score(np.frombuffer(b"".join(raw), np.uint8), offsets, unknown)


def complaint(folder: Path, content: str | bytes, max_ngrams: int = 1000) -> str:
    path = written(folder, content)
    with pytest.raises(RecipeError) as caught:
        load_arpa(path, max_ngrams)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(path)


def test_probabilities_are_those_of_kenlm(tmp_path: Path) -> None:
    model = load_arpa(written(tmp_path, SMALL), 1000)
    for text, log10_prob in KENLM.items():
        assert scored(model, text).log10_prob[0] == pytest.approx(log10_prob, abs=1e-6)


def test_each_line_is_a_sentence_and_blank_lines_are_none(tmp_path: Path) -> None:
    model = load_arpa(written(tmp_path, SMALL), 1000)
    found = scored(model, "the cat sat\n \n\tsat\r\n", "", "\n", "<s> the dog </s> <unk>")
    assert found.log10_prob[0] == pytest.approx(KENLM["the cat sat"] + KENLM["sat"])
    assert found.words.tolist() == [4, 0, 0, 5]
    assert found.lines.tolist() == [2, 0, 0, 1]
    assert found.unknown.tolist() == [0, 0, 0, 4]  # what a page writes like a mark is no mark


def test_a_model_without_unk_gives_unknown_words_what_it_is_told(tmp_path: Path) -> None:
    without = "\n".join(line for line in SMALL.splitlines() if "<unk>" not in line)
    model = load_arpa(written(tmp_path, without.replace("1=7", "1=6").replace("2=5", "2=4")), 1000)
    assert scored(model, "dog", unknown=-7).log10_prob[0] == pytest.approx(-0.3 - 7 - 1.5)


def test_a_compressed_model_is_the_same(tmp_path: Path) -> None:
    plain = load_arpa(written(tmp_path, SMALL), 1000)
    packed = load_arpa(written(tmp_path, gzip.compress(SMALL.encode())), 1000)
    assert scored(packed, *KENLM).log10_prob.tolist() == scored(plain, *KENLM).log10_prob.tolist()


@pytest.mark.parametrize("number", ["-1.5", "-1.50000000000000000000001", "-15e-1", "-0.15E+1", "-.15e1", "-0001.5"])
def test_numbers_may_be_written_as_they_like(tmp_path: Path, number: str) -> None:
    model = load_arpa(written(tmp_path, SMALL.replace("-1.5\t</s>", f"{number}\t</s>")), 1000)
    assert (
        scored(model, "the cat sat").log10_prob.tolist()
        == scored(load_arpa(written(tmp_path, SMALL), 1000), "the cat sat").log10_prob.tolist()
    )


WORDS = ("<unk>", "<s>", "</s>", "a", "b", "é")
Table = dict[tuple[str, ...], tuple[float, float]]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Any model of up to three words: whatever n-grams, with or without their lower orders."""
    weight = st.integers(-64, 64).map(lambda value: value / 16)
    prob = st.integers(-64, 0).map(lambda value: value / 16)
    table: Table = {(word,): (draw(prob), draw(weight)) for word in WORDS[draw(st.integers(0, 1)) :]}
    known = st.sampled_from([gram[0] for gram in table])
    for size in (2, 3):
        for gram in draw(st.lists(st.tuples(*[known] * size), max_size=8, unique=True)):
            table[gram] = (draw(prob), draw(weight) if size < 3 else 0.0)
    return table


def arpa(table: Table) -> str:
    lines = ["\\data\\"]
    orders = [[gram for gram in table if len(gram) == size] for size in (1, 2, 3)]
    lines += [f"ngram {size}={len(grams)}" for size, grams in enumerate(orders, 1)]
    for size, grams in enumerate(orders, 1):
        lines += ["", f"\\{size}-grams:"]
        for gram in grams:
            prob, weight = table[gram]
            lines.append(f"{prob}\t{' '.join(gram)}" + (f"\t{weight}" if size < 3 else ""))
    return "\n".join([*lines, "", "\\end\\", ""])


def defined(table: Table, context: tuple[str, ...], word: str, unknown: float) -> float:
    """The textbook's recursion."""
    if (*context, word) in table:
        return table[*context, word][0]
    if not context:
        return unknown
    return table.get(context, (0.0, 0.0))[1] + defined(table, context[1:], word, unknown)


@settings(max_examples=scaled(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables(), st.lists(st.sampled_from(["a", "b", "é", "strange", "\n"]), max_size=12))
def test_back_off_is_what_its_definition_says(tmp_path: Path, table: Table, words: list[str]) -> None:
    model = load_arpa(written(tmp_path, arpa(table)), 1000)
    expected, lines = 0.0, 0
    for line in " ".join(words).split("\n"):
        if not line.split():
            continue
        lines += 1
        sentence = ["<s>", *(word if (word,) in table else "<unk>" for word in line.split()), "</s>"]
        for at in range(1, len(sentence)):
            expected += defined(table, tuple(sentence[max(0, at - 2) : at]), sentence[at], -50.0)
    found = scored(model, " ".join(words), unknown=-50.0)
    assert found.log10_prob[0] == expected  # sixteenths: no sum is rounded
    assert found.lines[0] == lines


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("\\data\\", "\\dota\\"), "no \\data\\"),
        (("ngram 2=5", "ngram 3=5"), ":4 … ARPA … 'ngram 3=5'"),
        (("ngram 1=7", "ngram 1=0"), "and some 1-grams"),
        (("ngram 2=5", "ngram 2=6"), "its 2-grams end after 5 of 6"),
        (("ngram 2=5", "ngram 2=4"), "expected '\\\\3-grams:'"),
        (("ngram 3=3", "ngram 3=4"), "its 3-grams end after 3 of 4"),
        (("ngram 3=3", "ngram 3=999999999999"), "most 1,000 … `max_ngrams`"),
        (("\\end\\", ""), "ends without"),
        (("-0.5\tthe", "nan\tthe"), ":11 … ARPA"),
        (("-0.5\tthe", "inf\tthe"), "number"),
        (("-0.5\tthe", "0.5\tthe"), "a log-probability above 0"),
        (("-0.5\tthe", "-1e9\tthe"), "outside -1000 to 1000"),
        (("the\t-0.5", "the\t1e300"), "outside -1000 to 1000"),
        (("the\t-0.5", "the\tx"), "the wrong number of words"),
        (("the cat sat", "the cat"), "the wrong number of words"),
        (("cat sat", "dog sat"), "word … 1-gram"),
        (("-0.375\tcat sat", "-0.375\tthe cat"), "2-grams … occurs twice"),
        (("<s>", "<S>"), "no <s> among its 1-grams"),
    ],
)
def test_a_broken_model_is_refused_in_a_line(tmp_path: Path, change: tuple[str, str], expected: str) -> None:
    assert_told(complaint(tmp_path, SMALL.replace(*change)), expected)


def test_a_model_that_ends_early_is_refused_wherever_it_ends(tmp_path: Path) -> None:
    raw = SMALL.encode()
    for size in range(0, raw.index(b"\\end\\") + 4, 7):
        assert "not a valid ARPA model" in complaint(tmp_path, raw[:size])
        assert "cannot be read" in complaint(tmp_path, gzip.compress(raw)[: size // 2 + 18])


def test_lines_and_preambles_without_end_are_refused(tmp_path: Path) -> None:
    assert "a line of more than 65,536 bytes" in complaint(tmp_path, b"x" * 100_000)
    assert_told(complaint(tmp_path, b"\n" * 100_000), "\\data\\", "first lines")
    long = SMALL[: SMALL.index("-0.5\tthe")] + "x" * (9 << 20)
    assert "a line of more than 65,536 bytes" in complaint(tmp_path, gzip.compress(long.encode()))


def test_no_value_is_lost_to_rounding(tmp_path: Path) -> None:
    values = [-math.exp(-power) for power in range(0, 60, 3)]
    for value in values:
        model = load_arpa(written(tmp_path, SMALL.replace("-1.5\t</s>", f"{value!r}\t</s>")), 1000)
        assert model.grams.log10_prob[:7].tolist().count(np.float32(value)) >= 1
