"""The safety benchmark from end to end, and the floors below which no change of a list or a rule may fall."""

import json
from pathlib import Path

import pytest

from benchmarks.parity.documents import Document
from benchmarks.safety_parity.__main__ import main
from benchmarks.safety_parity.known import DECLARATION, Known, bundled
from benchmarks.safety_parity.measuring import joined, measured
from benchmarks.safety_parity.planting import all_planters
from tests.benchmarks.safety_parity.test_planting import needs_pii, needs_words
from winnow.pipelines.assets import AssetError, AssetFiles

pytestmark = pytest.mark.processes


def has_sites() -> bool:
    try:
        AssetFiles().path("ut1-adult")
    except AssetError:
        return False
    return True


needs_sites = pytest.mark.skipif(not has_sites(), reason="winnow assets fetch ut1-adult")


def passages_and_some_declarations() -> list[Known]:
    return [one for one in bundled() if one.topic != DECLARATION or one.document.id.endswith(" 0")]


@needs_words
@needs_pii
@needs_sites
def test_the_preset_drops_no_clean_text_that_comes_with_winnow() -> None:
    found = measured(joined(["safety"]), passages_and_some_declarations(), all_planters(), per_language=0, examples=9)
    assert {key: hits.examples for key, hits in found.dropped.items() if hits.hit} == {}
    assert sum(hits.texts for hits in found.clean.values()) > 180


@needs_words
@needs_pii
@needs_sites
def test_what_is_planted_plainly_is_found_in_every_language() -> None:
    found = measured(joined(["safety"]), passages_and_some_declarations(), all_planters(), per_language=1)
    wanted = {("personal.email", "plain"), ("personal.email", "zero-width"), ("personal.phone", "international"),
              ("personal.iban", "plain"), ("personal.card", "plain"), ("personal.ip", "v4"), ("personal.ip", "v6"),
              ("personal.crypto_address", "plain"), ("secrets.credential", "token"), ("sexual.adult_site", "plain"),
              ("spam.gambling", "in a text"), ("sexual.spam", "in a text"), ("language.vulgar", "plain"),
              ("personal.national_id", "announced")}  # fmt: skip
    planted = {(name, variant) for _, name, variant in found.recall}
    assert wanted <= planted
    missed = {key: one for key, one in found.recall.items() if key[1:] in wanted and one.found < one.texts}
    assert missed == {}


@needs_words
@needs_pii
@needs_sites
def test_pages_of_nothing_else_are_dropped() -> None:
    found = measured(joined(["safety"]), passages_and_some_declarations(), all_planters(), per_language=1)
    kept = {key for key, one in found.recall.items() if key[2] in ("nothing else", "a list") and not one.dropped}
    assert kept == set()


def written(folder: Path) -> str:
    rows = [
        {"id": "a", "text": "Alle Menschen sind frei und gleich.", "language": "de"},
        {"id": "b", "text": "Online Casino: Freispiele, Willkommensbonus, Sportwetten, Poker online, Roulette, Jackpot",
         "language": "de"},
    ]  # fmt: skip
    path = folder / "clean.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_a_users_own_texts_as_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([written(tmp_path), "--preset", "spam", "--examples", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "Clean texts that spam drops, by language" in lines
    assert next(line.split() for line in lines if line.startswith("deu_Latn")) == [
        "deu_Latn", "2", "1", "50.0", "%", "gambling_spam", "50.0", "%",
    ]  # fmt: skip
    assert [line.split() for line in lines if line.endswith(" b")] == [["deu_Latn", "gambling_spam", "1", "b"]]


def test_as_one_json_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([written(tmp_path), "--preset", "spam", "--planted", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["preset"] == "spam"
    assert found["clean"] == {"deu_Latn": {"texts": 2, "hit": 1}}
    assert {(one["subcategory"], one["variant"], one["found"]) for one in found["recall"]} == {
        ("spam.gambling", "in a text", 1),
        ("spam.gambling", "nothing else", 1),
        ("sexual.spam", "in a text", 1),
        ("sexual.spam", "nothing else", 1),
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--planted", "-1"], "--planted -1: expected 0 or more"),
        (["--limit", "0"], "--limit 0: expected 1 or more"),
        (["--preset", "spma"], "unknown preset 'spma' (did you mean 'spam'?)"),
        (["nowhere.jsonl"], "nowhere.jsonl: no such file"),
        (["--text", "body"], "no document has a text in the column 'body'; nothing was measured"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    data = [] if arguments[0] == "nowhere.jsonl" else [written(tmp_path)]
    preset = [] if "--preset" in arguments else ["--preset", "spam"]
    assert main([*data, *preset, *arguments]) != 0
    line = capsys.readouterr().err.strip().splitlines()[-1]
    assert said in line


@needs_words
def test_naive_filters_stand_beside_it() -> None:
    known = [Known(Document("a", "The pussy willow in Scunthorpe.", "eng"), "plain")]
    found = measured(joined(["wordlists"]), known, all_planters(), per_language=0, naive=True)
    assert (found.clean["eng_Latn"].hit, found.naive["eng_Latn"].words, found.naive["eng_Latn"].anywhere) == (0, 1, 1)
