"""The preset `multilingual`: clean text is kept, English is decided as by FineWeb, the rest as by FineWeb-2."""

import json
import lzma
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from winnow.filters.operators import find_operator
from winnow.filters.presets import find_preset, find_table
from winnow.pipelines.assets import AssetFiles
from winnow.schemas.rules.thresholds import lookup as look_up

UDHR: dict[str, Any] = json.loads(lzma.decompress(Path("runners/demo/udhr.json.xz").read_bytes()))
CLEAN = (
    *("eng", "deu", "fra", "spa", "rus", "pol", "tur", "fin", "ell", "kat"),
    *("arb", "heb", "hin", "ben", "tha", "jpn", "cmn-Hans", "cmn-Hant", "kor"),
)
LAYERS = ("fineweb", "fineweb2", "gopher")
TABLES = ("multilingual", "fineweb2", "winnow_scores")


pytestmark = pytest.mark.usefixtures("lid_model")


def struct(columns: dict[str, pa.Array]) -> pa.StructArray:
    return pa.StructArray.from_arrays(list(columns.values()), list(columns))


def measured(texts: Sequence[str], model: str = "lid.176", **statuses: str) -> pa.Table:
    """What rules read of texts; `statuses` takes the place of the statuses of `text.fineweb2`, by language."""
    language = find_operator("text.language")
    config = language.config(model=model, second_opinion=False, max_paragraphs=0)
    columns = pa.record_batch([pa.array(texts, pa.large_string())], ["text"])
    found = language.load(config, AssetFiles())(columns)
    codes = found["code"]
    columns = columns.append_column("text.language.code", codes)
    layers = {"language": found.to_struct_array()}
    for name in LAYERS:
        operator = find_operator(f"text.{name}")
        settings = operator.config()
        values = operator.load(settings, AssetFiles())(columns.select(list(operator.inputs(settings))))
        if name == "fineweb2" and statuses:
            missing = pa.array([code in statuses for code in codes.to_pylist()])
            arrays = {
                column: pa.compute.if_else(missing, pa.scalar(None, values.schema.field(column).type), values[column])
                for column in values.schema.names
            }
            arrays["status"] = pa.array([statuses.get(code, "ok") for code in codes.to_pylist()])
            layers[name] = struct(arrays)
        else:
            layers[name] = values.to_struct_array()
    tables = {name: find_table(name) for name in TABLES}
    thresholds = {
        name: struct({column: look_up(table, codes, column) for column in table.columns})
        for name, table in tables.items()
        if table is not None
    }
    return pa.table({"text": struct(layers), "thresholds": struct(thresholds)})


def reasons(rows: pa.Table, *presets: str, off: Sequence[str] = ()) -> list[str | None]:
    """The first reason of each row, by the engine that runs rules."""
    rules = [rule for name in presets for rule in find_preset(name).rules if rule.reason not in off]
    cases = " ".join(f"WHEN {rule.drop} THEN '{rule.reason}'" for rule in rules)
    with duckdb.connect() as engine:
        answer = engine.from_arrow(rows).query("rows", f"SELECT CASE {cases} END FROM rows")
        assert answer is not None
        return [reason for (reason,) in answer.fetchall()]


def running_text(language: str) -> list[str]:
    """Texts of five articles of the Declaration each."""
    articles = ["\n".join(article) for article in UDHR[language]["articles"]]
    return ["\n\n".join(articles[at : at + 5]) for at in range(0, len(articles) - 4, 2)]


@pytest.mark.parametrize(("model", "preset"), [("lid.176", "multilingual"), ("winnow", "multilingual@winnow")])
@pytest.mark.parametrize("language", CLEAN)
def test_clean_running_text_is_kept(language: str, model: str, preset: str) -> None:
    found = reasons(measured(running_text(language), model), preset)
    assert found.count(None) >= 0.9 * len(found), found


def test_the_own_model_changes_the_threshold_of_the_score_alone() -> None:
    ours, theirs = find_preset("multilingual@winnow"), find_preset("multilingual")
    differing = [one.reason for one, other in zip(ours.rules, theirs.rules, strict=True) if one != other]
    assert differing == ["language_score"]
    assert {**ours.operators, "text.language": {"model": "lid.176"}} == theirs.operators


def test_noise_and_languages_written_in_other_letters_are_dropped_by_the_own_model() -> None:
    code = "for (int i = 0; i < size; i++) { table[i] = (uint8_t *) malloc(width * sizeof(*table)); }\n" * 20
    hindi = "Mujhe nahi pata ki kal kya hoga lekin main koshish karunga ki sab theek ho jaye. " * 12
    assert set(reasons(measured([code, hindi], "winnow"), "multilingual@winnow")) <= {"no_thresholds", "language_score"}


def in_latin_letters(serbian: str) -> str:
    letters = "абвгдђежзијклљмнњопрстћуфхцчџш"
    latin = [*"abvgdđežzijkl", "lj", "m", "n", "nj", *"oprstćufhcč", "dž", "š"]
    table = dict(zip(letters, latin, strict=True))
    table |= {letter.upper(): written.capitalize() for letter, written in table.items()}
    return serbian.translate(str.maketrans(table))


def test_a_language_that_the_model_divides_its_score_among_is_kept() -> None:
    rows = measured([in_latin_letters(text) for text in running_text("srp")])
    scores = [row["language"]["score"] for row in rows["text"].to_pylist()]
    assert sum(score < 0.65 for score in scores) >= 0.4 * len(scores)
    found = reasons(rows, "multilingual")
    assert found.count(None) >= 0.9 * len(found), found


@pytest.mark.parametrize("language", ["jpn", "cmn-Hans", "cmn-Hant", "kor", "tha"])
def test_a_language_whose_package_is_missing_is_judged_by_estimates(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow.filters.text.fineweb2.package_segmenter", lambda _name: None)
    texts = running_text(language)
    line = texts[0].replace("\n", "")
    bad = ["\n".join([line] * 9), line[:40], "\n".join(f"{line[:5]} {number}." for number in range(99))]
    found = reasons(measured([*texts, *bad]), "multilingual")
    assert found[: len(texts)].count(None) >= 0.9 * len(texts)
    assert None not in found[len(texts) :]


@pytest.mark.parametrize("status", ["needs_jieba", "package_failed", "no_language"])
def test_a_text_without_words_is_not_kept_in_silence(status: str) -> None:
    (found,) = reasons(measured(running_text("cmn-Hans")[:1], cmn_Hani=status), "multilingual")
    assert found == "unmeasured"


def test_an_end_mark_before_a_quotation_mark_ends_no_line_as_in_fineweb2() -> None:
    (text, *_) = running_text("cmn-Hans")
    line = text.replace("\n", "").rstrip("。")
    rows = measured([f"“{line}。”", f"“{line}”。"])
    assert reasons(rows, "multilingual") == ["line_punct_ratio", None]
    assert reasons(rows, "fineweb2", off=("language_score",)) == ["line_punct_ratio", None]


@pytest.mark.parametrize(
    ("language", "least"), [("arb", 0.5), ("tam", 0.5), ("rus", 0.5), ("jpn", 0.3), ("cmn-Hant", 0.3), ("kor", 0.35)]
)
def test_a_page_mostly_in_another_script_is_dropped(language: str, least: float) -> None:
    (text, *_) = running_text(language)
    english = " ".join(running_text("eng"))
    letters = sum(map(str.isalpha, text))
    found = []
    for share in (least + 0.05, least - 0.05):
        other, latin = "", int(letters * (1 - share) / share)
        for letter in english:
            latin -= letter.isalpha()
            other += letter
            if latin <= 0:
                break
        found.append(f"{text}\n{other}.")
    first = [reasons(measured([page]), "multilingual", off=("language_score",))[0] for page in found]
    assert first[1] == "other_scripts"
    assert first[0] != "other_scripts"


def test_a_text_in_no_language_with_thresholds_is_dropped_for_that() -> None:
    cherokee = "ᏂᎦᏓ ᎠᏂᏴᏫ ᏂᎨᎫᏓᎸᎾ ᎠᎴ ᎤᏂᏠᏱ ᎤᎾᏕᎿ ᏚᏳᎧᏛ ᎨᏒᎢ. " * 20
    assert reasons(measured([cherokee, "1 2 3 " * 80]), "multilingual") == ["no_thresholds", "unmeasured"]


def pages(language: str) -> list[str]:
    """Pages of a language that reach most rules: repeated lines, paragraphs and words, lists, numbers, short texts."""
    chance = random.Random(language)
    words = " ".join(" ".join(article) for article in UDHR[language]["articles"]).split()
    found = []
    for _ in range(120):
        few = words if chance.random() < 0.5 else chance.choices(words, k=chance.choice((8, 40, 200)))
        width = chance.choice((4, 12, 40))
        start = chance.randrange(len(few))
        running = (few * 8)[start : start + chance.choice((30, 150, 400))]
        lines = [" ".join(running[at : at + width]) for at in range(0, len(running), width)]
        lines += chance.choices(lines, k=chance.choice((0, 0, 1, len(lines) // 3)))
        first, last = chance.choice(("", "", "", "- ", "#")), chance.choice(("", ".", ".", ".", " …", " 1 2 3"))
        found.append(chance.choice(("\n", "\n\n")).join(f"{first}{line}{last}" for line in lines))
    return found


def test_in_english_it_decides_as_fineweb() -> None:
    rows = measured([*running_text("eng"), *pages("eng")])
    language = ("script_mismatch", "no_thresholds", "language_score", "other_scripts", "unmeasured")
    ours = reasons(rows, "multilingual", off=language)
    theirs = reasons(rows, "gopher@datatrove", "fineweb")
    assert [reason is None for reason in ours] == [reason is None for reason in theirs]
    assert set(ours) >= {None, "dup_para_frac", "gopher_short_doc", "char_dup_ratio", "line_punct_ratio"}


@pytest.mark.parametrize("language", ["deu", "rus", "hin"])
def test_in_other_languages_it_decides_as_fineweb2(language: str) -> None:
    rows = measured([*running_text(language), *pages(language)])
    ours = reasons(rows, "multilingual", off=("language_score",))
    assert ours == reasons(rows, "fineweb2", off=("language_score",))
    assert len(set(ours)) > 6


def test_no_threshold_of_a_language_score_is_above_that_of_the_default_model() -> None:
    table, theirs = find_table("multilingual"), find_table("fineweb2")
    assert table is not None
    assert theirs is not None
    ours = dict(zip(table.keys, table.columns["language_score"], strict=True))
    assert ours.pop("eng_Latn") == 0.65
    assert ours == {
        key: None if value is None else min(value, 0.65)
        for key, value in zip(theirs.keys, theirs.columns["language_score"], strict=True)
    }
    assert (ours["dan_Latn"], ours["jpn_Jpan"]) == (0.3, 0.65)
