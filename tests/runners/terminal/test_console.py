"""What commands print on a real terminal, in a pipe and in the log file."""

import importlib.util
import logging
import os
import pty
import re
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from winnow.runners.commands.main import escape_unencodable, main
from winnow.runners.terminal.console import TerminalConsole
from winnow.runners.terminal.log_file import command_output

WORK = """
import sys, time
from winnow.runners.terminal.console import TerminalConsole
from winnow.runners.terminal.log_file import command_output
from winnow.runners.terminal.progress import status_line
from winnow.runners.terminal.progress.status import Status

status_line.DRAWN_SECONDS = 0.01
status_line.PLAIN_SECONDS = 0.02
quiet, log = sys.argv[1] == "quiet", (sys.argv[2:] or [None])[0]
with command_output(quiet=quiet, log_file=log):
    console = TerminalConsole()
    polls = 0
    def poll():
        global polls
        polls += 1
        return Status("ingest", ("3/6 tasks", "598 rows"), 0.5, ("in crawl, books", "dropped 4 (empty 4)"))
    with status_line.StatusLine(console, poll(), poll):
        while polls < 12:
            time.sleep(0.01)
    console.print("done  [x]é", style="bold green", markup=False)
"""
COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-9]|\x1b\[[0-9;]*9[0-9]")


def on_a_terminal(*arguments: str, columns: int = 80, **environment: str) -> str:
    """What a process writes to a terminal of its own."""
    return written_by([sys.executable, "-c", WORK, *arguments], 0, columns, environment)


def written_by(command: list[str], status: int, columns: int, environment: dict[str, str]) -> str:
    ours, theirs = pty.openpty()
    clean = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLORTERM")}
    with subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=clean | {"TERM": "xterm-256color", "COLUMNS": str(columns), "LANG": "C.UTF-8"} | environment,
    ) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # the terminal's other side is closed
                break
            if not chunk:
                break
            written += chunk
        os.close(ours)
        assert process.wait() == status
    return written.decode()


@pytest.mark.processes
def test_a_command_that_prints_results_says_at_once_that_it_works_on_a_terminal_alone(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "winnow", "look", str(tmp_path)]
    first, error, *rest = written_by(command, 1, 200, {}).splitlines()
    assert first == f"look    {tmp_path} …"
    assert error.startswith("winnow: ")
    assert not rest
    assert subprocess.run(command, capture_output=True, text=True, check=False).stderr.rstrip() == error


def test_a_terminal_shows_a_bar_with_colours(tmp_path: Path) -> None:
    shown = on_a_terminal("loud", str(tmp_path / "log"), columns=100)
    assert "━" in shown
    assert "50 %" in shown
    assert "in crawl, books" in shown
    assert COLOUR.search(shown)
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in re.split(r"[\r\n]+", shown)]
    assert max(map(len, lines)) < 100
    assert lines[-2].strip() == "done  [x]é"
    logged = (tmp_path / "log").read_text()
    assert "\x1b" not in logged  # the log has the same, without colours
    assert re.search(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ingest +50 %  3/6 tasks  598 rows", logged, re.MULTILINE)
    assert logged.splitlines()[-1].endswith("  done  [x]é")


def test_no_color_is_honoured() -> None:
    shown = on_a_terminal("loud", NO_COLOR="1")
    assert "━" in shown
    assert not COLOUR.search(shown)


def test_a_dumb_terminal_gets_lines() -> None:
    shown = on_a_terminal("loud", TERM="dumb")
    assert "\x1b" not in shown
    assert "ingest            50 %  3/6 tasks" in shown


def test_quiet_shows_nothing_and_logs_all_the_same(tmp_path: Path) -> None:
    assert on_a_terminal("quiet", str(tmp_path / "log")) == ""
    assert (tmp_path / "log").read_text().splitlines()[-1].endswith("  done  [x]é")


def test_a_pipe_gets_plain_lines_however_wide_the_terminal_is() -> None:
    command = [sys.executable, "-c", WORK, "loud"]
    narrow = os.environ | {"PYTHONUTF8": "1", "COLUMNS": "6"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=narrow)
    first, *_, last = done.stdout.splitlines()
    assert first.startswith("ingest            50 %  3/6 tasks  598 rows  0:00")
    assert last == "done  [x]é"
    assert "\x1b" not in done.stdout


def test_errors_are_shown_and_logged_by_a_quiet_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "run.log"
    assert main(["run", str(tmp_path / "none.yaml"), "--quiet", "--log-file", str(log)]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    assert line.startswith("winnow: ")
    assert log.read_text().splitlines()[-1].endswith(line)


def test_what_beam_warns_of_whenever_it_is_imported_is_not_logged(tmp_path: Path) -> None:
    clients = importlib.util.find_spec("apache_beam.io.gcp.internal.clients.bigquery")
    assert clients is not None
    with command_output(log_file=str(tmp_path / "run.log")):
        for path in (clients.origin, __file__):
            logging.getLogger().handle(logging.makeLogRecord({"pathname": path, "msg": f"of {path}", "levelno": 30}))
    assert [line.split("  ")[1] for line in (tmp_path / "run.log").read_text().splitlines()[1:]] == [f"of {__file__}"]


@pytest.mark.parametrize(("place", "said"), [("none/run.log", "cannot be written"), (".", "is not a regular file")])
def test_a_log_that_cannot_be_written_is_one_line(
    place: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "recipe.yaml", "--log-file", str(tmp_path / place)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"winnow: --log-file {tmp_path / place}: {said}")


def test_a_line_that_quotes_the_name_of_a_file_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    TerminalConsole().print("8 files from a\x1b[2J\u202e.jsonl", markup=False, soft_wrap=True)
    assert capsys.readouterr().out == "8 files from a\\x1b[2J\\u202e.jsonl\n"


def test_names_of_any_script_are_printed_as_codes_where_the_terminal_is_not_of_utf_8() -> None:
    written = BytesIO()
    with TextIOWrapper(written, encoding="latin-1") as stream:
        escape_unencodable(stream)
        print("été 日本\ufffd82", file=stream, flush=True)
        assert written.getvalue() == b"\xe9t\xe9 \\u65e5\\u672c\\ufffd82\n"
