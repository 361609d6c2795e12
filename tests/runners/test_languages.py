"""A crawl in several languages: a recipe made for English says what it loses, and the default keeps every language."""

import json
import lzma
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.messages import assert_told
from winnow.filters.language.words.packages import PACKAGES
from winnow.runners.commands.main import main

UDHR: dict[str, Any] = json.loads(lzma.decompress(Path("runners/demo/udhr.json.xz").read_bytes()))
ENGLISH_ALONE = """\
version: 1
store: {path: store}
sources: {crawl: {root: crawl, files: ["*.jsonl"], class: web, key: id}}
annotate: [text.language, {text.gopher: {preset: gopher@datatrove}}]
keep: [{preset: gopher@datatrove}]
mix: {unit: samples}
"""
NO_RULES = """\
version: 1
store: {path: store}
sources: {crawl: {root: crawl, files: ["*.jsonl"], class: web, key: id}}
annotate: [text.language]
mix: {unit: samples}
"""
DEFAULT = """\
version: 1
store: {path: store}
sources: {crawl: {root: crawl, files: ["*.jsonl"], class: web, key: id}}
annotate: [text.language, text.fineweb, text.fineweb2]
keep: [{preset: multilingual}]
mix: {unit: samples}
"""
PAGES = {"eng": 23, "deu": 22, "jpn": 24}
LOSSES = [  # of pages that are all of five articles
    "LOSS  gopher_above_avg_threshold drops 100 % of Japanese (24)",
    "LOSS  gopher_below_alpha_threshold drops 100 % of Japanese (24)",
    "LOSS  gopher_enough_stop_words drops 100 % of Japanese (24)",
    "LOSS  gopher_short_doc drops 100 % of Japanese (24)",
    "LOSS  gopher_enough_stop_words drops 100 % of German (22)",
]
OUTSIDE = (
    "gopher@datatrove was made for English, but 46 of 71 samples are in other languages (Japanese 24, German 22), and "
    "its rules fire for 46 of them; the preset multilingual has thresholds for every language"
)
UNDETERMINED = (
    "2 samples are in no known language: und_Ethi 2; where the script of the letters ruled out what the model "
    "said, text.language.mismatch holds its guess"
)


@pytest.fixture(scope="module")
def folder(lid_model: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recipes for pages of English, German and Japanese, and two whose script no guess of the model is written in."""
    folder = tmp_path_factory.mktemp("languages")
    (folder / "crawl").mkdir()
    rows = []
    for language, count in PAGES.items():
        articles = ["\n".join(article) for article in UDHR[language]["articles"]]
        rows += [{"id": f"{language}{at}", "text": "\n\n".join(articles[at : at + 5])} for at in range(count)]
    amharic = UDHR["amh"]["articles"][0][-1]  # in old writing, without spaces: the model takes it for Russian
    rows += [{"id": f"amh{at}", "text": amharic} for at in range(2)]
    (folder / "crawl" / "pages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, text in (("english", ENGLISH_ALONE), ("default", DEFAULT), ("bare", NO_RULES)):
        (folder / f"{name}.yaml").write_text(text)
    return folder


def printed(capsys: pytest.CaptureFixture[str], *command: str | Path, code: int = 0) -> list[str]:
    assert main([*map(str, command)]) == code
    return capsys.readouterr().out.splitlines()


def test_what_a_recipe_loses_is_printed_by_plan_run_and_report(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = folder / "english.yaml"
    remark = f"note      {recipe}:5: keep[0]: gopher@datatrove was made for English; the preset multilingual has"
    assert any(line.startswith(remark) for line in printed(capsys, "plan", recipe))  # nothing is known of the data yet
    expected = [*LOSSES, f"note  {OUTSIDE}", f"note  {UNDETERMINED}"]
    for command in (("run", recipe, "--workers", "1"), ("plan", recipe), ("report", recipe)):
        lines = printed(capsys, *command)
        assert [line for line in lines if line.startswith(("LOSS", "note "))] == expected, command
    page = (folder / "store" / "report.html").read_text("utf-8")
    for line in (*LOSSES, OUTSIDE, UNDETERMINED):
        assert line.removeprefix("LOSS  ") in page
    assert "rus_Ethi" in page  # what the model said
    found = json.loads("\n".join(printed(capsys, "plan", recipe, "--json")))["rules"]
    assert [(one["reason"], one["name"], one["lost"]) for one in found["losses"][:1]] == [
        ("gopher_above_avg_threshold", "jpn_Jpan", 24)
    ]
    assert found["undetermined"] == {"und_Ethi": 2}

    accepted = folder / "accepted.yaml"
    reasons = ", ".join(sorted({line.split()[1] for line in LOSSES}))
    accepted.write_text(f"{ENGLISH_ALONE}loss_alarms: {{expected: [{reasons}]}}\n")
    assert not any(line.startswith("LOSS") for line in printed(capsys, "plan", accepted))


def test_a_run_that_fails_reports_what_is_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nothing = folder / "nothing.yaml"
    everything = "keep: [{preset: gopher@datatrove}, {drop: samples.id IS NOT NULL, reason: all, when_null: keep}]\n"
    nothing.write_text(ENGLISH_ALONE.replace("keep: [{preset: gopher@datatrove}]\n", everything))
    page = folder / "store" / "report.html"
    page.unlink(missing_ok=True)
    assert main(["run", str(nothing), "--workers", "1"]) == 1
    said = capsys.readouterr()
    assert_told(said.err, "71 samples", "winnow plan")
    lines = said.out.splitlines()
    assert {line for line in lines if line.startswith("LOSS")} >= set(LOSSES)
    assert lines[-1] == f"report  {folder}/store/report.html"
    assert "all drops 100 % of English (23)" in page.read_text("utf-8")


def test_the_default_keeps_every_language(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = folder / "default.yaml"
    lines = printed(capsys, "run", recipe, "--workers", "1")
    assert not any(line.startswith("LOSS") for line in lines)
    groups = json.loads("\n".join(printed(capsys, "plan", recipe, "--json")))["rules"]["groups"]
    kept = {group["language"]: group["kept"]["rows"] for group in groups}
    assert kept.pop("und_Ethi") == 0
    assert kept == {"eng_Latn": 23, "deu_Latn": 22, "jpn_Jpan": 24}


NORWEGIAN = {
    "nob": "Alle mennesker er født frie og med samme menneskeverd, og bør handle mot hverandre i brorskapets ånd.",
    "nno": "Eg veit ikkje kva dei skal gjere når dei kjem heim frå skulen i dag, for eg trur ikkje at dei vil det.",
}


def test_languages_that_the_own_model_mixes_up_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "crawl").mkdir()
    rows = [json.dumps({"id": code, "text": text}) for code, text in NORWEGIAN.items()]
    (tmp_path / "crawl" / "pages.jsonl").write_text("\n".join(rows))
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(NO_RULES.replace("[text.language]", "[{text.language: {model: winnow}}]"))
    (told,) = [line for line in printed(capsys, "run", recipe, "--workers", "1") if "mixes up" in line]
    assert "nno_Latn as nob_Latn (4%)" in told
    assert told.removeprefix("note    ") in (tmp_path / "store" / "report.html").read_text("utf-8")
    recipe.write_text(NO_RULES)
    assert not any("mixes up" in line for line in printed(capsys, "run", recipe, "--workers", "1"))


def test_what_is_measured_without_packages_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = folder / "estimated.yaml"
    recipe.write_text(DEFAULT.replace("store: {path: store}", "store: {path: store-estimated}"))
    with monkeypatch.context() as without:
        without.setitem(PACKAGES, "sudachipy", replace(PACKAGES["sudachipy"], distributions=("no-such-package",)))
        warning = (
            "the words of 24 samples are estimated from characters (Japanese 24), as packages that find them are not "
            "installed; for FineWeb-2's own words run: pip install sudachipy==0.7.0 sudachidict_core==20261015"
        )
        for command in (("run", recipe, "--workers", "1"), ("plan", recipe)):
            assert [line for line in printed(capsys, *command) if line.startswith("WARN")] == [f"WARN  {warning}"]
        assert warning in (folder / "store-estimated" / "report.html").read_text("utf-8").replace("&#x27;", "'")
        assert json.loads("\n".join(printed(capsys, "plan", recipe, "--json")))["rules"]["estimated"] == {
            "jpn_Jpan": 24
        }
    assert main(["diff", str(recipe), str(recipe)]) == 1
    said = capsys.readouterr().err
    assert "the layer text.fineweb2 of generation" in said
    assert "was made with other packages" in said


def test_a_stratum_in_no_known_language_is_noted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "run", folder / "bare.yaml", "--workers", "1")
    assert_told(lines, "und_Ethi", "2")
