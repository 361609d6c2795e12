"""The operator `text.fineweb2` and the preset `fineweb2`, against datatrove and hand-made texts."""

import json
import lzma
import random
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import winnow.filters.text.fineweb2 as fineweb2_module
from benchmarks.measuring.environments import PEERS
from tests.property_sizes import scaled
from winnow.filters.language.thresholds.fineweb2 import fineweb2_published, fineweb2_stop_words
from winnow.filters.language.words.packages import PACKAGES, Segmenter
from winnow.filters.operators import Assets, Operator, find_operator
from winnow.filters.presets import find_preset, find_table
from winnow.filters.text.fineweb2 import OPERATOR, Config
from winnow.schemas.rules.conditions import columns_read

WORST = "a b c\n"  # takes most of the memory of its kernel
HERE = Path(__file__).parent
GOLDEN = HERE / "golden" / "fineweb2.json"
MEASURES = OPERATOR.writes(Config()).names[3:]
OF_FINEWEB = {"dup_line_char_ratio", "dup_paragraph_ratio", "dup_paragraph_char_ratio"}  # FineWeb-2 has no rule on them

UDHR = {
    **{
        "amh": "amh_Ethi",
        "arb": "arb_Arab",
        "ben": "ben_Beng",
        "deu": "deu_Latn",
        "fin": "fin_Latn",
        "hau": "hau_Latn",
    },
    **{
        "heb": "heb_Hebr",
        "hin": "hin_Deva",
        "ita": "ita_Latn",
        "kat": "kat_Geor",
        "nld": "nld_Latn",
        "pes": "fas_Arab",
    },
    **{
        "pol": "pol_Latn",
        "por": "por_Latn",
        "rus": "rus_Cyrl",
        "spa": "spa_Latn",
        "swe": "swe_Latn",
        "swh": "swh_Latn",
    },
    **{"tam": "tam_Taml", "tel": "tel_Telu", "ukr": "ukr_Cyrl", "urd": "urd_Arab", "yor": "yor_Latn"},
}
"""Languages of the Universal Declaration of Human Rights whose words need no package."""

PIECES = (
    *("a", "der", "und", "Ähre", "語", "e\u0301", "ความ", "नमस्ते।", "😀", "#", "…", "...", "-", "•", "1,2", "don't"),
    *(
        " ",
        " ",
        " ",
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        "\x85",
        "\xa0",
        "\u2028",
        "\u200b",
        "\u202e",
        "\0",
        "\ufffd",
        "\U000e0fff",
    ),
    *("one two three four five six", "\nthe same line again\n"),
)
CODES = ("deu_Latn", "aai_Latn", "hin_Deva", "urd_Arab", "bel_Cyrl", "bod_Tibt", "eng_Latn", "", "x" * 99, None)
ROWS = st.lists(
    st.tuples(st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.sampled_from(CODES)), max_size=12
)


class NoAssets(Assets):
    def path(self, name: str) -> str:
        raise AssertionError(name)


def batch(rows: Sequence[tuple[str, str | None]]) -> pa.RecordBatch:
    texts = pa.array([text for text, _ in rows], pa.large_string())
    codes = pa.array([code for _, code in rows], pa.string())
    return pa.RecordBatch.from_arrays([texts, codes], names=["text", "text.language.code"])


def measured(rows: Sequence[tuple[str, str | None]], **config: Any) -> list[dict[str, Any]]:
    found = OPERATOR.load(Config(**config), NoAssets())(batch(rows))
    assert found.schema == OPERATOR.writes(Config(**config))
    found.validate(full=True)
    answer: list[dict[str, Any]] = found.to_pylist()
    return answer


def declarations() -> dict[str, list[str]]:
    """The articles of the Declaration by the code of their language."""
    read = json.loads(lzma.decompress(Path("runners/demo/udhr.json.xz").read_bytes()))
    return {code: ["\n".join(article) for article in read[key]["articles"]] for key, code in UDHR.items()}


def documents() -> list[tuple[str, str]]:
    """Texts in many languages that touch every rule: articles, and pages made of their words."""
    chance = random.Random(7)
    found = []
    for code, articles in declarations().items():
        words = " ".join(articles).split()
        found += [(articles[0], code), ("\n\n".join(articles), code), (" ".join(articles[:9]), code)]
        for _ in range(8):
            few = chance.choices(words, k=chance.choice((4, 20, 200)))
            width = chance.choice((3, 30))
            lines = [
                " ".join(chance.choices(few, k=chance.randrange(1, width))) for _ in range(chance.randrange(2, 40))
            ]
            lines += chance.choices(lines, k=chance.choice((0, 0, 4)))
            first, last = (
                chance.choice(("", "", "", "- ", "• ", "#", "7 ")),
                chance.choice(("", ".", ".", " …", "...", " 1 2 3")),
            )
            found.append(("\n".join(f"{first}{line}{last}" for line in lines), code))
        found += [("1 , 2 ." * 60, code), (" \n\t", code), ("\n\n", code), ("x" * 5_000, code)]
    return found


def published(code: str) -> dict[str, Any]:
    """A language's configuration as datatrove's filters take it."""
    table = fineweb2_published()
    place = table.keys.index(code)
    values = {column: values[place] for column, values in table.columns.items()}
    return {
        "dup_line_frac": values["dup_line_frac"] or 0,
        "top_n_grams": [(n, values[f"top_{n}gram"]) for n in (2, 3, 4)],
        "dup_n_grams": [(n, values[f"dup_{n}gram"]) for n in range(5, 11)],
        "line_punct_thr": -1 if values["line_punct_thr"] is None else values["line_punct_thr"],
        "new_line_ratio": values["new_line_ratio"],
        "max_avg_word_length": values["max_avg_word_length"],
        "min_avg_word_length": values["min_avg_word_length"],
        "max_non_alpha_words_ratio": values["min_alpha_word_ratio"],
        "stopwords": fineweb2_stop_words()[code],
    }


def run(operator: Operator, rows: pa.RecordBatch) -> pa.StructArray:
    config = operator.config()
    found = operator.load(config, NoAssets())(rows.select(list(operator.inputs(config))))
    return found.to_struct_array()


def verdicts(rows: Sequence[tuple[str, str]], preset: str, score: float = 1.0) -> list[str | None]:
    """The first reason of each row, by the engine that runs rules."""
    both = batch(rows)
    keys = [code for _, code in rows]
    found = find_preset(preset)
    table = find_table(preset.replace("@", "_"))
    assert table is not None
    cells = {
        name: [dict(zip(table.keys, values, strict=True)).get(key) for key in keys]
        for name, values in table.columns.items()
    }
    thresholds = pa.StructArray.from_arrays([pa.array(values, pa.float64()) for values in cells.values()], list(cells))
    language = pa.StructArray.from_arrays([pa.array([score] * len(rows))], ["score"])
    text = {
        "language": language,
        **{name: run(find_operator(f"text.{name}"), both) for name in ("fineweb", "fineweb2")},
    }
    columns = {
        "text": pa.StructArray.from_arrays(list(text.values()), list(text)),
        "thresholds": pa.StructArray.from_arrays([thresholds], [table.name]),
    }
    cases = " ".join(f"WHEN {rule.drop} THEN '{rule.reason}'" for rule in found.rules)
    with duckdb.connect() as engine:
        answer = engine.from_arrow(pa.table(columns)).query("rows", f"SELECT CASE {cases} END FROM rows")
        assert answer is not None
        return [reason for (reason,) in answer.fetchall()]


def of_datatrove(rows: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    packages = {path.name for path in (PEERS / "datatrove").glob("lib/python*/site-packages/*")}
    if not {"datatrove", "spacy", "indicnlp"} <= packages:
        pytest.skip("the peer datatrove and its segmenters are not installed (see `python -m benchmarks.parity`)")
    said = subprocess.run(
        [PEERS / "datatrove" / "bin" / "python", HERE / "oracles" / "fineweb2_peer.py"],
        input="".join(json.dumps([code, text, published(code)]) + "\n" for text, code in rows),
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    return [json.loads(line) for line in said.stdout.splitlines()]


@pytest.mark.peers
def test_datatrove_measures_and_drops_the_same() -> None:
    rows = documents()
    answers = of_datatrove(rows)
    for (text, code), row, answer in zip(rows, measured(rows), answers, strict=True):
        assert {name: row[name] for name in answer["values"]} == answer["values"], (code, text[:80])
    assert set(answers[0]["values"]) == set(MEASURES) - OF_FINEWEB
    reasons = [answer["reason"] for answer in answers]
    assert verdicts(rows, "fineweb2@published") == reasons
    assert len(set(reasons)) > 12  # the texts reach more than half of the rules


def test_a_text_without_words_is_dropped_where_datatrove_stops() -> None:
    """datatrove divides by the words of a text that holds nothing but characters that no tokenizer returns."""
    (row,) = measured([("\n\n", "deu_Latn")])
    assert (row["words"], row["newline_ratio"], row["mean_word_length"], row["top_2gram"]) == (0, 2.0, 0.0, 0.0)
    assert verdicts([("\n\n", "deu_Latn")], "fineweb2@published") == ["dup_line_frac"]  # two empty lines


def test_rules_before_words_are_read() -> None:
    rows = [("ein Text", "deu_Latn"), ("a text", "eng_Latn"), ("བོད་ཡིག", "bod_Tibt")]
    assert verdicts(rows, "fineweb2", score=0.82) == ["language_score", "no_thresholds", "unmeasured"]
    assert verdicts(rows, "fineweb2", score=0.821) == ["top_2_gram", "no_thresholds", "unmeasured"]


def test_clamped_thresholds_drop_what_the_published_ones_keep() -> None:
    """Xhosa's longest mean word is published as 3141 characters, and used as 100."""
    text = " ".join("abcdefghij"[number % 10] * 3 + str(number) * 60 for number in range(100, 160)) + "."
    assert verdicts([(text, "xho_Latn")], "fineweb2@published") == ["gopher_enough_stop_words"]
    assert verdicts([(text, "xho_Latn")], "fineweb2") == ["gopher_above_avg_threshold"]


def test_the_word_of_a_language_decides() -> None:
    hindi, urdu, german = measured([("राम।श्याम", "hin_Deva"), ("رام۔شام", "urd_Arab"), ("z.B. heute", "deu_Latn")])
    assert [row["words"] for row in (hindi, urdu, german)] == [3, 3, 2]
    assert [row["segmentation"] for row in (hindi, urdu, german)] == ["indic", "indic_ur", "spacy_de"]


def test_stop_words_are_those_of_the_language() -> None:
    german, finnish = measured([("der und der", "deu_Latn"), ("der und der", "fin_Latn")])
    assert (german["stop_words"], german["stop_word_occurrences"]) == (2, 3)
    assert (finnish["stop_words"], finnish["stop_word_occurrences"]) == (0, 0)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (None, "no_language"),
        ("und_Latn", "unknown_language"),
        ("zz", "unknown_language"),
        ("bod_Tibt", "no_segmentation"),
    ],
)
def test_what_cannot_be_measured_says_why(code: str | None, status: str) -> None:
    (row,) = measured([("a text", code)])
    assert row.pop("status") == status
    assert status in OPERATOR.reasons
    assert set(row.values()) == {None}


def test_english_is_measured_as_gopher_in_datatroves_style() -> None:
    chance = random.Random(3)
    words = Path("runners/demo/prose_en.txt").read_text("utf-8").split()
    texts = ["", "\n\n\n", "- one\n- one\n\n- one\n", " ".join(words[:4000])]
    for _ in range(40):
        few = chance.choices(words, k=chance.choice((4, 40, 400)))
        lines = [" ".join(chance.choices(few, k=chance.randrange(1, 20))) for _ in range(chance.randrange(1, 20))]
        texts.append(
            "".join(
                f"{line}{chance.choice(('.', '…', ' #', ''))}\n{chance.choice(('', chr(10)))}" for line in lines * 2
            )
        )
    gopher = find_operator("text.gopher")
    theirs = gopher.load(gopher.config(), NoAssets())(batch([(text, None) for text in texts])).to_pylist()
    ours = measured([(text, "eng_Latn") for text in texts])
    both = set(ours[0]) & set(theirs[0])
    assert both == {*MEASURES} - {"stop_word_occurrences", "newline_ratio"}
    for own, other in zip(ours, theirs, strict=True):
        assert {name: own[name] for name in both} == {name: other[name] for name in both}


@pytest.mark.parametrize(("code", "old"), [("hbs_Latn", "hrv_Latn"), ("que_Latn", "quz_Latn")])
def test_a_macrolanguage_of_the_default_model_has_the_row_of_a_member(code: str, old: str) -> None:
    assert measured([("dan i noć.", code)]) == measured([("dan i noć.", old)])


def test_a_code_that_iso_renamed_has_the_row_of_the_old_one() -> None:
    renamed, old = measured([("e al à in dal.", "egl_Latn"), ("e al à in dal.", "eml_Latn")])
    assert renamed == old
    assert renamed["status"] == "ok"
    assert renamed["stop_words"] > 1


def test_substitutes_are_said_and_may_be_refused() -> None:
    belarusian, german = measured([("Усе людзі", "bel_Cyrl"), ("Alle Menschen", "deu_Latn")])
    assert (belarusian["segmentation"], belarusian["substituted"]) == ("spacy_xx", True)
    assert (german["segmentation"], german["substituted"]) == ("spacy_de", False)
    (refused,) = measured([("Усе людзі", "bel_Cyrl")], substitutes=False)
    assert refused["status"] == "substitute_refused"


def test_words_of_a_missing_package_are_estimated_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fineweb2_module, "package_segmenter", lambda _name: None)
    texts = [("人人生而自由", "cmn_Hani"), ("人は自由", "jpn_Jpan"), ("Tous les hommes", "fra_Latn")]
    rows = measured(texts)
    assert [(row["status"], row["segmentation"]) for row in rows] == [
        ("ok", "estimated"),
        ("ok", "estimated"),
        ("ok", "spacy_xx"),
    ]
    assert [row["words"] for row in rows] == [4, 2, 3]
    refused = measured(texts, substitutes=False)
    assert [row["status"] for row in refused] == ["needs_jieba", "needs_sudachipy", "substitute_refused"]
    assert [row["words"] for row in refused] == [None] * 3
    (french,) = measured([("Tous les hommes", "fra_Latn")], packages="all")
    assert french["status"] == "needs_spacy"


def test_installing_a_package_makes_another_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    config = Config()
    before = OPERATOR.depends(config)
    assert any(found.startswith("jieba ") for found in before)
    assert not any(found.startswith("spacy ") for found in before)
    assert {before, (), ("jieba 0.42.1", "pyvi 0.1.1")} <= {*OPERATOR.elsewhere(config)}
    jieba = replace(PACKAGES["jieba"], distributions=("no-such-package",))
    monkeypatch.setattr(fineweb2_module, "PACKAGES", {**PACKAGES, "jieba": jieba})
    assert set(before) - set(OPERATOR.depends(config)) == {"jieba 0.42.1"}
    (remark,) = OPERATOR.remarks(config, NoAssets())
    assert "Chinese" in remark
    assert "pip install jieba==0.42.1" in remark
    assert "estimated" in remark


def test_a_package_fails_at_a_text_and_not_at_its_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    def segmenter(text: str) -> list[str]:
        if "!" in text:
            raise IndexError("list index out of range")
        return list(text)

    def found(_name: str) -> Segmenter:
        return segmenter

    monkeypatch.setattr(fineweb2_module, "package_segmenter", found)
    rows = measured([("人人", "cmn_Hani"), ("人!", "cmn_Hani"), ("人" * 40, "cmn_Hani")], max_string_bytes=100)
    assert [row["status"] for row in rows] == ["ok", "package_failed", "too_large"]
    assert [row["words"] for row in rows] == [2, None, None]


@settings(max_examples=scaled(40), deadline=None)
@given(ROWS, st.randoms(use_true_random=False))
def test_a_row_depends_on_itself_alone(rows: list[tuple[str, str | None]], chance: random.Random) -> None:
    together = measured(rows)
    assert [measured([row])[0] for row in rows] == together
    order = list(range(len(rows)))
    chance.shuffle(order)
    assert measured([rows[place] for place in order]) == [together[place] for place in order]


def test_a_slice_of_a_larger_batch_is_measured_alike() -> None:
    rows = [("eins zwei", "deu_Latn"), ("der und\nder und", "deu_Latn"), ("सब।", "hin_Deva"), ("la", "spa_Latn")]
    kernel = OPERATOR.load(Config(), NoAssets())
    assert kernel(batch(rows).slice(1, 2)).to_pylist() == measured(rows)[1:3]


@pytest.mark.parametrize("code", ["deu_Latn", "aai_Latn", "hin_Deva", "urd_Arab"])
def test_hostile_texts(code: str) -> None:
    texts = [
        *("", " \n\t\u2028", "\0" * 1_000, "\ufffd" * 1_000, "🙂" * 1_000, "\u202e\u2066מילה\u2069" * 200),
        *("\U000e0fff\u0378" * 500, "a" * 300_000, "." * 300_000, "1 , " * 100_000, "a " * 150_000, "a\n" * 150_000),
        *("http://a" * 40_000, "-" * 300_000, "·(" * 100_000),
    ]
    for row in measured([(text, code) for text in texts]):
        assert row["status"] == "ok"
        values = [row[name] for name in MEASURES]
        assert all(value == value and abs(value) < 1e9 for value in values)


def test_values_are_pinned() -> None:
    """The version of the operator goes up where this file must change."""
    golden = json.loads(GOLDEN.read_text("utf-8"))
    assert golden["version"] == OPERATOR.version
    rows = [(row["text"], row["code"]) for row in golden["rows"]]
    assert measured(rows) == [row["values"] for row in golden["rows"]]


def test_the_preset_reads_what_the_operators_write() -> None:
    lines = find_operator("text.fineweb")
    columns = {
        *(f"text.fineweb2.{name}" for name in OPERATOR.writes(Config()).names),
        *(f"text.fineweb.{name}" for name in lines.writes(lines.config()).names),
        "text.language.score",
    }
    for name in ("fineweb2", "fineweb2@published"):
        table = find_table(name.replace("@", "_"))
        assert table is not None
        known = columns | {table.column_name(column) for column in table.columns}
        for rule in find_preset(name).rules:
            assert set(columns_read(rule.drop)) <= known
