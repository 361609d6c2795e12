"""`winnow run` reports whatever stage fails: what the stages before it did is on the page, and the error comes last.

A stage fails for real: a file is where it would make its folder.
"""

import json
import os
import re
import signal
import time
from contextlib import suppress
from html import unescape
from pathlib import Path

import pytest

from tests.faults.winnow import ended, run
from tests.messages import assert_told
from tests.small_disks import small_disk_at
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


@pytest.mark.processes
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
    assert_told(shown.err.splitlines()[-1], "same command again")
    page = words(tmp_path)
    assert_told(page, "stopped in annotate")
    assert "Stages done before: ingest." in page
    assert "samples|1|" in head(tmp_path / "store" / "report.html")


def test_a_run_leaves_an_export_of_another_mixture_unchanged_and_finishes_and_the_page_shows_the_one_that_replaces_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [f"{'A text that is long' if number % 2 else 'A text as long'} enough, {number}." for number in range(20)]
    (tmp_path / "lines.jsonl").write_text("".join(f"{json.dumps({'text': text})}\n" for text in texts))
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    assert main(["run", "recipe.yaml", "--workers", "1"]) == 0
    written = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    old = json.loads(written["winnow.json"])["plan"]
    two = RECIPE.replace("< 20", "< 26").replace("path: out}", "path: out}}, {parquet: {path: new}")
    (tmp_path / "recipe.yaml").write_text(two)
    capsys.readouterr()
    assert main(["run", "recipe.yaml", "--workers", "1"]) == 0
    shown = capsys.readouterr().out
    new = json.loads((tmp_path / "new" / "winnow.json").read_bytes())["plan"]
    line = (
        f"note    out: contains an export of plan {old}, but the recipe's plan is {new}; write to another folder, or "
    )
    assert_told(shown, f"{line}replace", "--replace")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == written
    page = words(tmp_path)
    assert "did not finish" not in page
    assert old in page
    assert main(["export", "recipe.yaml", "--workers", "1"]) == 1
    assert main(["export", "recipe.yaml", "--workers", "1", "--replace"]) == 0
    assert words(tmp_path).count(old) < page.count(old)
    assert json.loads((tmp_path / "out" / "winnow.json").read_bytes())["plan"] == new
    (tmp_path / "store" / "report.html").unlink()  # where there is none, none is written
    (tmp_path / "recipe.yaml").write_text(two.replace("path: new", "path: newer"))
    assert main(["export", "recipe.yaml", "--workers", "1"]) == 0
    assert not (tmp_path / "store" / "report.html").exists()


def test_a_run_whose_store_takes_no_page_writes_none_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.delenv(RUN_FOLDER_VARIABLE, raising=False)
    (tmp_path / "lines.jsonl").write_text('{"text": "A text that is long enough."}\n')
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    assert main(["ingest", "recipe.yaml", "--workers", "1"]) == 0
    (tmp_path / "store" / "layers").write_text("not a folder")
    (tmp_path / "store" / "report.html").mkdir()
    capsys.readouterr()
    assert main(["run", "recipe.yaml", "--workers", "1"]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert_told(last, "store takes")
    assert_told(last, "winnow report", "recipe.yaml")
    assert not [path for path in temporary.rglob("*") if path.is_file() and b"long enough" in path.read_bytes()]


@pytest.mark.processes
def test_a_full_disk_leaves_nothing_in_the_temporary_folder(tmp_path: Path) -> None:
    """A real run on a disk that fills when the store is there: nothing outlives the command but the store."""
    (tmp_path / "lines").mkdir()
    texts = [f"The text of line {number} is long enough." for number in range(300)]
    (tmp_path / "lines" / "a.jsonl").write_text("".join(f"{json.dumps({'text': text})}\n" for text in texts))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with small_disk_at(tmp_path / "disk", megabytes=8) as disk:
        recipe = RECIPE.replace("path: store", f"path: {disk}/store").replace("root: .", "root: lines")
        (tmp_path / "recipe.yaml").write_text(recipe)
        environment = {"TMPDIR": str(temporary)}
        ended(run(tmp_path, "ingest", "recipe.yaml", "--workers", "1", env=environment))
        with suppress(OSError), open(disk / "filler", "wb", buffering=0) as filler:
            while filler.write(bytes(4096)):
                pass
        done = run(tmp_path, "run", "recipe.yaml", "--workers", "1", env=environment)
        assert "No space left on device" in ended(done, 1)
        assert "report  none, as the store takes no page: " in done.out
        assert not (disk / "store" / "report.html").exists()
    assert [path.name for path in temporary.glob("winnow-*/*") if path.name != "guard"] == []


@pytest.mark.parametrize(
    ("lost", "head_says", "page_says"),
    [
        ("samples/*.parquet", "samples|20|", "rules and examples"),
        ("generations/*.json", "", "store cannot"),
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
    assert_told(words(tmp_path), page_says)
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
    assert_told(page, "run stopped", str(shown.err.splitlines()[-1].removeprefix("winnow: ")))
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
