"""Completion, tried in real shells: what the tab key would offer."""

import shutil
import subprocess
from pathlib import Path

import pytest

from winnow.runners.commands.command import command_names
from winnow.runners.commands.main import main

ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _winnow
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("completion")


def script(shell: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["completion", shell]) == 0
    file = folder / f"winnow.{shell}"
    file.write_text(capsys.readouterr().out)
    return file


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["winnow", "re"], {"reference", "report"}),
        (["winnow", "--ver"], {"--version"}),
        (
            ["winnow", "run", "--"],
            {"--runner", "--quiet", "--log-file", "--notes", "--wait", "--workers", "--replace", "--sample", "--help"},
        ),
        (["winnow", "run", "recipe.yaml", "--runner", "s"], {"spark"}),
        (["winnow", "run", "--runner", "=", "fl"], {"flink"}),
        (["winnow", "law", "fi"], {"fit"}),
        (["winnow", "law", "fit", "--method", ""], {"joint", "two-stage"}),
        (["winnow", "engines", "build", ""], {"spark", "flink"}),
        (["winnow", "completion", ""], {"bash", "zsh", "fish"}),
        (["winnow", "run", "reci"], {""}),  # left to the shell, which completes files
        (["winnow", "stats", "demo", "--log"], {""}),
    ],
)
def test_bash_completes(typed: list[str], offered: set[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bash", "--norc", "-c", ASK, "bash", str(script("bash", folder, capsys)), *typed]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert set(done.stdout.splitlines()) == offered


def test_bash_completes_every_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bash", "--norc", "-c", ASK, "bash", str(script("bash", folder, capsys)), "winnow", ""]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == set(command_names())


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh; install Debian's zsh to check its completion")
def test_zsh_can_read_its_script(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = script("zsh", folder, capsys)
    ask = f'autoload -U compinit; compinit -D -u; source {file}; print -r -- "$_comps[winnow]"'
    done = subprocess.run(["zsh", "-f", "-c", ask], capture_output=True, text=True, check=True, cwd=folder)
    assert (done.stdout, done.stderr) == ("_winnow\n", "")


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish; install Debian's fish to check its completion")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [("winnow re", {"reference", "report"}), ("winnow run x.yaml --runner s", {"spark"}), ("winnow law fi", {"fit"})],
)
def test_fish_completes(typed: str, offered: set[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask = f"source {script('fish', folder, capsys)}; complete -C '{typed}'"
    done = subprocess.run(["fish", "--no-config", "-c", ask], capture_output=True, text=True, check=True)
    assert {line.partition("\t")[0] for line in done.stdout.splitlines()} == offered
