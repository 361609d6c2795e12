"""`winnow law probe`: from texts to a table of runs, through kills, and what it refuses."""

import importlib.util
import os
import signal
import time
from pathlib import Path

import pytest

from tests.faults.winnow import start
from tests.filters.models.training.declarations import paragraphs
from tests.messages import assert_refused, assert_told
from tests.runners.stages.law.conftest import Law
from winnow.runners.stages.law.probe_data import packed_texts
from winnow.runners.stages.law.probe_texts import texts_at
from winnow.schemas.errors import SourceError
from winnow.scoring.probe.grid import default_grid
from winnow.scoring.scaling_law.runs import runs_from_csv

has_torch = all(importlib.util.find_spec(package) for package in ("torch", "safetensors"))
needs_torch = pytest.mark.skipif(not has_torch, reason="pip install 'winnow[torch]'")

GRID = """\
version: 1
models: [{layers: 1, width: 16, heads: 2}]
tokens: [8000]
mixtures:
  - {Germanic: 0.5, Romance: 0.5}
  - {Germanic: 0.2, Romance: 0.8}
  - {Romance: 1}
seeds: [0, 1]
schedule: {context: 16, batch: 8}
held_out_tokens: 1024
"""
ARGUMENTS = ("probe", "texts", "--grid", "grid.yaml", "--output", "runs.csv")


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A grid, and a file each of two families: the Declaration of Human Rights in four languages."""
    (tmp_path / "grid.yaml").write_text(GRID)
    folder = tmp_path / "texts"
    folder.mkdir()
    for family, codes in (("Germanic", ("deu", "swe")), ("Romance", ("fra", "spa"))):
        documents = [text.replace("\n", " ") for code in codes for text in paragraphs(code)]
        (folder / f"{family}.txt").write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    return folder


@pytest.mark.torch
@needs_torch
def test_the_table_has_a_row_a_run_and_family_and_reads_back(run: Law, texts: Path, tmp_path: Path) -> None:
    out = run(*ARGUMENTS)
    table = runs_from_csv((tmp_path / "runs.csv").read_text())
    assert table.families == ("Germanic", "Romance")
    assert len(table) == 2 * (2 + 2 + 1)
    assert sorted(set(table.p.tolist())) == [0.2, 0.5, 0.8, 1.0]
    assert set(table.n.tolist()) == {12 * 16**2 + 2 * 16 + 16}
    assert set(table.d.tolist()) == {7936.0}  # 62 whole steps
    assert all(2 < loss < 5.5 for loss in table.loss)
    assert out.splitlines()[-2:] == ["runs  runs.csv", "next  winnow law fit runs.csv --mode gamma"]


@pytest.mark.torch
@needs_torch
def test_a_probe_that_is_killed_goes_on_to_the_same_table(run: Law, texts: Path, tmp_path: Path) -> None:
    run(*ARGUMENTS, "--work", "whole")
    whole = (tmp_path / "runs.csv").read_bytes()
    process = start(tmp_path, "law", *ARGUMENTS, "--work", "killed", "--checkpoint-steps", "1")
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("killed/runs/*.safetensors")) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert len(list(tmp_path.glob("killed/runs/*.json"))) < 6
    (tmp_path / "runs.csv").unlink()
    run(*ARGUMENTS, "--work", "killed")
    assert (tmp_path / "runs.csv").read_bytes() == whole
    assert sorted(path.suffix for path in (tmp_path / "killed" / "runs").iterdir()) == [".json"] * 6


@pytest.mark.torch
@needs_torch
def test_partial_writes_what_is_finished_and_trains_nothing(run: Law, texts: Path, tmp_path: Path) -> None:
    run(*ARGUMENTS)
    records = sorted((tmp_path / "runs.work" / "runs").iterdir())
    records[0].unlink()
    out = run(*ARGUMENTS, "--partial")
    assert "warning: 1 of 6 runs are not finished and not in the table" in out
    assert len(set(runs_from_csv((tmp_path / "runs.csv").read_text()).run)) == 5
    assert len(list((tmp_path / "runs.work" / "runs").iterdir())) == 5


@pytest.mark.torch
@needs_torch
def test_other_texts_make_other_runs(run: Law, texts: Path, tmp_path: Path) -> None:
    run(*ARGUMENTS)
    before = runs_from_csv((tmp_path / "runs.csv").read_text())
    with open(texts / "Romance.txt", "a") as stream:
        stream.write("\n".join(f"\nUne autre ligne numéro {number}" for number in range(20)))
    run(*ARGUMENTS)
    after = runs_from_csv((tmp_path / "runs.csv").read_text())
    assert not set(before.run) & set(after.run)
    assert len(list((tmp_path / "runs.work").glob("data-*"))) == 1


def test_an_empty_line_ends_a_document(texts: Path) -> None:
    for file in texts.iterdir():
        file.unlink()
    (texts / "A.txt").write_text("one\ntwo\n\n\n  \nthree")
    (texts / "B.txt").write_text("\nvier\r\n\r\n")
    assert list(texts_at(str(texts), (), "group").read()) == [
        ("A", "one\ntwo\n"),
        ("A", "three"),
        ("B", "vier\r\n"),
    ]


@pytest.mark.parametrize(("over", "sizes"), [(0, [4 << 20, 6]), (-1, [(4 << 20) + 5])])
def test_a_text_without_empty_lines_is_cut_after_the_line_that_reaches_four_mebibytes(
    tmp_path: Path, over: int, sizes: list[int]
) -> None:
    line = b"x" * 1023 + b"\n"
    (tmp_path / "A.txt").write_bytes(line * 4095 + b"x" * (1023 + over) + b"\n" + b"after\n")
    assert [len(text) for _, text in texts_at(str(tmp_path), (), "group").read()] == sizes


def test_the_name_of_a_file_is_that_of_a_family(tmp_path: Path) -> None:
    (tmp_path / f"{'n' * 100}.txt").write_text("text")
    assert [family for family, _ in texts_at(str(tmp_path), (), "group").read()] == ["n" * 100]
    (tmp_path / f"{'n' * 101}.txt").write_text("text")
    with assert_refused(SourceError, f"'{'n' * 60}'"):
        texts_at(str(tmp_path), (), "group")


def test_packed_texts_hold_each_document_once_on_one_side(texts: Path, tmp_path: Path) -> None:
    grid = default_grid()
    packed = packed_texts(texts_at(str(texts), (), "group"), grid, tmp_path)
    for family, stream in packed.streams(("Germanic", "Romance")).items():
        sides = [bytes(side).split(b"\0")[:-1] for side in (stream.train, stream.held_out)]
        written = (texts / f"{family}.txt").read_bytes().split(b"\n\n")
        assert sorted(sides[0] + sides[1]) == sorted(document.removesuffix(b"\n") + b"\n" for document in written)
        assert not set(sides[0]) & set(sides[1])
        assert all(sides)
    index = packed.folder / "families.json"
    made = index.stat().st_mtime_ns
    assert packed_texts(texts_at(str(texts), (), "group"), grid, tmp_path) == packed
    assert index.stat().st_mtime_ns == made


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("{Romance: 1}", "{Romance: 0.9}"), "grid.yaml:7 … mixtures[2] … 0.9"),
        (("{Romance: 1}", "{Romance: 0}"), "grid.yaml:7 … mixtures[2].Romance … above 0"),
        (("{Romance: 1}", "{Romanc: 1}"), "'Romanc' … 'Romance'"),
        (("context: 16", "context: 512"), "least 32,769 … add text"),
        (("context: 16", "context: 256"), "188 bytes … least 2,049"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_a_line(
    run: Law, texts: Path, tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    (tmp_path / "grid.yaml").write_text(GRID.replace(*change))
    complaint = run(*ARGUMENTS, "--partial", status=1)
    assert_told(complaint, said)
    assert "Traceback" not in complaint
    assert not (tmp_path / "runs.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("nowhere", "--output", "runs.csv"),
            "nowhere: … files FAMILY.txt",
        ),
        (("texts", "--output", "none/runs.csv"), "--output … none/runs.csv"),
        (("texts", "--output", "runs.csv", "--work", "none/w"), "--work … none/w"),
        (("texts", "--output", "runs.csv", "--threads", "0"), "--threads 0: expected 1 to 1024"),
        (("texts", "--output", "runs.csv", "--grid", "none.yaml"), "none.yaml: No such file"),
        ((".", "--output", "runs.csv"), "file FAMILY.txt"),
        (("texts", "--output", "runs.csv", "--grid", "grid.yaml"), "run is finished"),
    ],
)
def test_what_is_asked_wrongly_is_refused_in_a_line(
    run: Law, texts: Path, arguments: tuple[str, ...], said: str
) -> None:
    complaint = run("probe", *arguments, "--partial", status=1)
    assert_told(complaint, said)
    assert len(complaint.splitlines()) == 1


def test_a_file_that_is_no_utf8_is_named_with_its_line(run: Law, texts: Path) -> None:
    (texts / "Romance.txt").write_bytes(b"un\n\ndeux\nd\xe9j\xe0 vu\n")
    assert_told(run(*ARGUMENTS, "--partial", status=1), "texts/Romance.txt:4", "UTF-8", "UTF-8")
    assert not list(Path("runs.work").glob("*data-*"))


@pytest.mark.skipif(has_torch, reason="PyTorch is here")
def test_without_torch_one_line_says_what_to_install(run: Law, texts: Path) -> None:
    said = "winnow: winnow law probe needs the package torch; run: pip install 'winnow[torch]'\n"
    assert run(*ARGUMENTS, status=1) == said
    assert not Path("runs.work").exists()


@pytest.mark.parametrize(
    ("option", "value", "refused"),
    [
        *(("--threads", value, True) for value in (0, -1, 1025)),
        *(("--checkpoint-steps", value, True) for value in (0, 10**9 + 1)),
        *(("--threads", value, False) for value in (1, 1024)),
        *(("--checkpoint-steps", value, False) for value in (1, 10**9)),
    ],
)
def test_numbers_out_of_their_range_are_refused_before_anything_else(
    option: str, value: int, refused: bool, run: Law, tmp_path: Path
) -> None:
    said = run(
        "probe",
        "nowhere",
        "--grid",
        str(tmp_path / "absent.yaml"),
        "--output",
        "runs.csv",
        option,
        str(value),
        status=1,
    )
    assert (f"{option} {value}: expected 1 to" in said) == refused
