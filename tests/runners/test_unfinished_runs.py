"""`winnow run` reports whatever stage fails: what the stages before it did is on the page, and the error comes last.

A stage fails for real: a file is where it would make its folder.
"""

import json
import os
import re
import signal
import time
from html import unescape
from pathlib import Path

import pytest

from winnow.runners.commands.main import main
from winnow.schemas.environment.temporary_root import RUN_FOLDER_VARIABLE

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
    "store/layers/text.length": ("annotate", "samples|20|"),
    "store/layers/dedupe.exact": ("dedupe", "samples|20|"),
    "store/layers/mix.tokens": ("mix", "kept|15|"),
    "store/plans": ("mix", "kept|15|"),
    "store/outputs": ("export", "drawn|15|"),
}
"""The place that is taken in each run, the stage that fails then, and what the page says. A run goes on where the one
before it failed."""


def test_a_run_reports_whatever_stage_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [f"The text of line {number} is long enough." for number in range(15)] + [f"short {at}" for at in range(5)]
    (tmp_path / "lines.jsonl").write_text("".join(f"{json.dumps({'text': text})}\n" for text in texts))
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    assert main(["ingest", "recipe.yaml", "--workers", "1"]) == 0
    for place, (stage, expected) in BLOCKED.items():
        taken = tmp_path / place
        taken.parent.mkdir(exist_ok=True)
        taken.write_text("not a folder")
        capsys.readouterr()
        assert main(["run", "recipe.yaml", "--workers", "1"]) == 1, place
        shown = capsys.readouterr()
        assert shown.out.splitlines()[-1] == "report  store/report.html", place
        assert expected in head(tmp_path / "store" / "report.html"), place
        error = shown.err.splitlines()[-1]
        assert error.startswith("winnow: "), place
        assert f"The run stopped in {stage}: {error.removeprefix('winnow: ')}" in words(tmp_path), place
        taken.unlink()
    assert main(["run", "recipe.yaml", "--workers", "1"]) == 0
    assert "drawn|15|" in head(tmp_path / "store" / "report.html")
    assert "did not finish" not in words(tmp_path)

    rules_only = RECIPE.replace("text.length.characters < 20", "samples.domain = 'a.org'").partition("mix:")[0]
    (tmp_path / "recipe.yaml").write_text(rules_only.replace("when_null: drop", "when_null: error"))
    capsys.readouterr()
    assert main(["run", "recipe.yaml", "--workers", "1"]) == 1
    error = capsys.readouterr().err.splitlines()[-1].removeprefix("winnow: ")
    assert error.startswith("recipe.yaml:6: keep[0]: the condition of 'short' is null for the sample ")
    assert f"The run stopped in rules: {error}" in words(tmp_path)
    assert f"What the rules keep is not known: {error}" in words(tmp_path)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_stopped_by_a_signal_reports(
    number: signal.Signals,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines.jsonl").write_text('{"text": "A text that is long enough."}\n')
    (tmp_path / "recipe.yaml").write_text(RECIPE)

    def stopped(*_: object, **__: object) -> None:
        os.kill(os.getpid(), number)
        time.sleep(60)

    monkeypatch.setattr("winnow.runners.stages.store_stages.measure", stopped)
    assert main(["run", "recipe.yaml", "--workers", "1"]) == status
    shown = capsys.readouterr()
    assert shown.out.splitlines()[-1] == "report  store/report.html"
    assert shown.err.splitlines()[-1].endswith("committed work is kept, run the same command again to continue")
    page = words(tmp_path)
    assert "The run stopped in annotate: it was interrupted" in page
    assert "Stages done before: ingest." in page
    assert "samples|1|" in head(tmp_path / "store" / "report.html")


def test_a_run_whose_store_takes_no_page_puts_it_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv(RUN_FOLDER_VARIABLE, raising=False)
    (tmp_path / "lines.jsonl").write_text('{"text": "A text that is long enough."}\n')
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    assert main(["ingest", "recipe.yaml", "--workers", "1"]) == 0
    (tmp_path / "store" / "layers").write_text("not a folder")
    (tmp_path / "store" / "report.html").mkdir()
    capsys.readouterr()
    assert main(["run", "recipe.yaml", "--workers", "1"]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    place = Path(last.removeprefix("report  ").partition(", as the store takes none: ")[0])
    assert place.is_relative_to(tmp_path), last
    assert "The run stopped in annotate: " in place.read_text()


@pytest.mark.parametrize(
    ("lost", "head_says", "page_says"),
    [
        ("samples/*.parquet", "samples|20|", "Without rules and examples: the store cannot be read."),
        ("generations/*.json", "", "Without counts: the store cannot be read."),
    ],
)
def test_a_run_whose_store_is_damaged_reports_what_records_say(
    lost: str,
    head_says: str,
    page_says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [f"The text of line {number} is long enough." for number in range(20)]
    (tmp_path / "lines.jsonl").write_text("".join(f"{json.dumps({'text': text})}\n" for text in texts))
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    assert main(["ingest", "recipe.yaml", "--workers", "1"]) == 0
    for found in (tmp_path / "store").glob(lost):
        found.chmod(0o644)
        found.write_bytes(b"damaged")
    capsys.readouterr()
    assert main(["run", "recipe.yaml", "--workers", "1"]) == 1
    shown = capsys.readouterr()
    assert shown.out.splitlines()[-1] == "report  store/report.html"
    assert shown.err.startswith("winnow: ")
    assert shown.err.count("\n") == 1
    assert head_says in head(tmp_path / "store" / "report.html")
    assert page_says in words(tmp_path)
    assert shown.err.strip().removeprefix("winnow: ") in words(tmp_path)


def test_a_run_that_reads_nothing_has_a_page_that_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "lines.jsonl").write_text("{\n")
    assert main(["run", "recipe.yaml", "--workers", "1"]) == 1
    shown = capsys.readouterr()
    assert shown.out.splitlines()[-1] == "report  store/report.html"
    page = words(tmp_path)
    assert f"The run stopped in ingest: {shown.err.splitlines()[-1].removeprefix('winnow: ')}" in page
    assert "Nothing is ingested yet" in page


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


def words(folder: Path) -> str:
    """The report without its markup."""
    return unescape(re.sub("<[^>]*>", "", (folder / "store" / "report.html").read_text()))


def head(report: Path) -> str:
    """The funnel, its parts divided by bars."""
    funnel = report.read_text().partition('<ol class="funnel">')[2].partition("</ol>")[0]
    return re.sub(r"(\s*<[^>]*>\s*)+", "|", funnel)
