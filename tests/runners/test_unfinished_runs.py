"""`winnow run` reports whatever stage fails: what the stages before it did is on the page, and the error comes last.

A stage fails for real: a file is where it would make its folder.
"""

import json
import re
from pathlib import Path

import pytest

from winnow.runners.commands.main import main

RECIPE = """\
version: 1
store: {path: store}
sources: {lines: {root: ., files: ["*.jsonl"], class: web, licence: CC0-1.0}}
annotate: [text.length]
dedupe: {exact: {}}
keep: [{drop: text.length.characters < 20, reason: short, when_null: drop}]
mix: {unit: tokens, tokenizer: bytes}
export: [{jsonl: {path: out}}]
"""
BLOCKED = {
    "store/layers/text.length": "samples|20|",
    "store/layers/dedupe.exact": "samples|20|",
    "store/layers/mix.tokens": "kept|15|",
    "store/plans": "kept|15|",
    "store/outputs": "drawn|15|",
}
"""The place that is taken in each run, and what the page says then. A run goes on where the one before it failed."""


def test_a_run_reports_whatever_stage_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [f"The text of line {number} is long enough." for number in range(15)] + [f"short {at}" for at in range(5)]
    (tmp_path / "lines.jsonl").write_text("".join(f"{json.dumps({'text': text})}\n" for text in texts))
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    assert main(["ingest", "recipe.yaml", "--workers", "1"]) == 0
    for place, expected in BLOCKED.items():
        taken = tmp_path / place
        taken.parent.mkdir(exist_ok=True)
        taken.write_text("not a folder")
        capsys.readouterr()
        assert main(["run", "recipe.yaml", "--workers", "1"]) == 1, place
        shown = capsys.readouterr()
        assert shown.out.splitlines()[-1] == "report  store/report.html", place
        assert shown.err.splitlines()[-1].startswith("winnow: "), place
        assert expected in head(tmp_path / "store" / "report.html"), place
        taken.unlink()
    assert main(["run", "recipe.yaml", "--workers", "1"]) == 0
    assert "drawn|15|" in head(tmp_path / "store" / "report.html")


def test_a_run_that_reads_nothing_says_that_there_is_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "lines.jsonl").write_text("{\n")
    assert main(["run", "recipe.yaml", "--workers", "1"]) == 1
    assert "report  none: nothing is ingested yet" in capsys.readouterr().out.splitlines()


def test_the_demo_reports_too_if_a_stage_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / ".winnow-demo").touch()  # a folder of the demo's, with another recipe
    (folder / "demo.yaml").write_text(RECIPE)
    (folder / "lines.jsonl").write_text('{"text": "A text that is long enough."}\n')
    (folder / "store").mkdir()
    (folder / "store" / "outputs").write_text("not a folder")
    assert main(["demo", "--into", "demo", "--workers", "1"]) == 1
    shown = capsys.readouterr()
    assert shown.out.splitlines()[-1] == "report  demo/store/report.html"
    assert shown.err.splitlines()[-1].startswith("winnow: ")
    assert "kept|1|" in head(folder / "store" / "report.html")


def head(report: Path) -> str:
    """The funnel, its parts divided by bars."""
    funnel = report.read_text().partition('<ol class="funnel">')[2].partition("</ol>")[0]
    return re.sub(r"(\s*<[^>]*>\s*)+", "|", funnel)
