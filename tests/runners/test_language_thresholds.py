"""`winnow language-thresholds`: a table that a recipe can name, from labelled texts; and what it refuses."""

import csv
import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from tests.messages import assert_told
from winnow.pipelines.binding.bound_recipe import bind
from winnow.runners.commands.main import main
from winnow.schemas.recipe import load_recipe

UDHR: dict[str, Any] = json.loads(lzma.decompress(Path("runners/demo/udhr.json.xz").read_bytes()))
KEYS = {"deu": "deu", "no": "nob", "swe_Latn": "swe", "rus": "rus", "zho_Hans": "cmn-Hans"}
CODES = {"deu": "deu_Latn", "no": "nob_Latn", "swe_Latn": "swe_Latn", "rus": "rus_Cyrl", "zho_Hans": "cmn_Hani"}


def labelled(folder: Path) -> Path:
    """Paragraphs of the Declaration with labels as people write them, and rows that are not texts in a language."""
    rows = [
        {"text": text, "language": label}
        for label, key in KEYS.items()
        for _, *paragraphs in UDHR[key]["articles"]
        for text in paragraphs
    ]
    rows += [{"text": "123", "language": "deu"}, {"text": "Hallo"}, {"text": "Hallo", "language": "klartext"}]
    (folder / "labelled.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder / "labelled.jsonl"


@pytest.mark.parametrize("more", [(), ("--macrolanguages",)])
def test_a_table_for_rules(more: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "languages.csv"
    texts = labelled(tmp_path)
    assert main(["language-thresholds", str(texts), "--model", "winnow", "--output", str(table), *more]) == 0
    told = capsys.readouterr().out
    assert all(reason in told for reason in ("no_letters", "no_language_given", "not_a_language"))
    rows = {row["code"]: row for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines())}
    assert rows.keys() >= set(CODES.values())
    assert all(0.3 <= float(rows[code]["score"]) <= 0.9 for code in CODES.values())
    assert float(rows["rus_Cyrl"]["precision"]) == 1
    column = "macrolanguage_score" if more else "score"
    (tmp_path / "recipe.yaml").write_text(
        "version: 1\nstore: {path: store}\nsources: {web: {root: ., files: [a], class: web}}\n"
        "annotate: [{text.language: {model: winnow}}]\n"
        "thresholds: {languages: {file: languages.csv, key: text.language.code}}\n"
        f"keep: [{{drop: text.language.{column} < thresholds.languages.score, reason: a, when_null: keep}}]\n"
    )
    assert f"text.language.{column} < thresholds.languages.score" in told
    assert bind(load_recipe(tmp_path / "recipe.yaml")).rules.rules


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing/*.jsonl", "--output", "a.csv"], "nothing/*.jsonl … no such file"),
        (["a.jsonl", "--output", "a.txt"], "--output … .csv"),
        (["a.jsonl", "--output", "missing/a.csv"], "--output … missing"),
        (["a.jsonl", "--output", "a.csv", "--beta", "0"], "--beta … 0.01 to 100"),
        (["a.jsonl", "--output", "a.csv", "--least-kept", "2"], "--least-kept … 0 to 1"),
        (["a.jsonl", "--output", "a.csv", "--least-texts", "0"], "--least-texts … at least 1"),
        (["a.jsonl", "--output", "a.csv"], "no language has 20 texts … 'language'"),
    ],
)
def test_what_is_refused(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"text": "Guten Morgen, liebe Leute", "language": "de"}\n')
    assert main(["language-thresholds", *arguments, "--model", "winnow"]) == 1
    assert_told(capsys.readouterr().err, said)
