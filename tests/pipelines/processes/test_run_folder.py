"""Folders for temporary files: of whom, seen by whom, and removed when."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from winnow.pipelines.processes.identity import Process, started
from winnow.schemas.environment.temporary_root import temporary_root

WORKS = "from winnow.pipelines.processes.run_folder import *; import os, tempfile\n"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("WINNOW_RUN_FOLDER", raising=False)
    return tmp_path


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", WORKS + code], capture_output=True, text=True, check=False).stdout


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.name not in ("guard", "lock"))


def test_a_folder_is_private_and_goes_with_its_process(temporary: Path) -> None:
    found = run("print(run_folder(), oct(run_folder().stat().st_mode), oct(run_folder().parent.stat().st_mode))")
    folder, *modes = found.split()
    assert Path(folder).parent == temporary / f"winnow-{os.getuid()}"
    assert [mode[-3:] for mode in modes] == ["700", "700"]
    assert not Path(folder).exists()


def test_the_next_process_removes_what_killed_ones_left_and_nothing_else(temporary: Path) -> None:
    killed = "(run_folder() / 'half').write_text('text'); tempfile.mkdtemp(dir=run_folder()); os.kill(os.getpid(), 9)"
    for _ in range(2):
        run(killed)
    root = temporary / f"winnow-{os.getuid()}"
    (root / "kernels").mkdir()
    living = subprocess.Popen(
        [sys.executable, "-c", f"{WORKS}print(run_folder(), flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert living.stdout is not None
    its = Path(living.stdout.readline().strip())
    run("run_folder()")
    assert files(root) == sorted(["kernels", its.name])
    living.communicate("\n")
    assert files(root) == ["kernels"]


def test_a_folder_that_cannot_be_removed_hides_no_interrupt(temporary: Path) -> None:
    code = """
try:
    with temporary_folder("work") as name:
        os.rename(name, name + "-moved")
        os.symlink(name + "-moved", name)  # which is never removed as a folder
        raise KeyboardInterrupt
except BaseException as error:
    print(type(error).__name__)
"""
    assert run(code) == "KeyboardInterrupt\n"
    assert files(temporary / f"winnow-{os.getuid()}") == []


def test_a_living_process_keeps_its_folder_without_its_lock(temporary: Path) -> None:
    """Something that clears old files may have removed the lock."""
    mine = temporary / f"winnow-{os.getuid()}" / f"{os.getpid()}-{started(os.getpid())}"
    mine.mkdir(parents=True)
    reused = mine.with_name(f"{os.getpid()}-1")
    reused.mkdir()
    run("run_folder()")
    assert mine.exists()
    assert not reused.exists()


def test_a_commands_processes_and_libraries_write_into_its_folder(temporary: Path) -> None:
    code = """
with temporary_files_of_a_command():
    print(tempfile.mkdtemp(), flush=True)
    if not os.fork():
        print(run_folder(), temporary_root(), flush=True)
        os._exit(0)
    os.wait()
print(tempfile.gettempdir(), 'TMPDIR' in os.environ, 'WINNOW_RUN_FOLDER' in os.environ)
"""
    made, child, root, after, *variables = run(code).split()
    assert root == str(temporary / f"winnow-{os.getuid()}")
    command = Path(made).parent
    assert command.parent == Path(root)
    assert Path(child).parent == command
    assert not command.exists()
    assert [after, *variables] == [str(temporary), "True", "False"]


def test_a_link_or_a_folder_of_somebody_else_in_the_roots_place_is_not_used(temporary: Path) -> None:
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    usual = temporary / f"winnow-{os.getuid()}"
    usual.symlink_to(elsewhere)
    other = temporary_root()
    assert other.parent == temporary
    assert other != usual
    assert temporary_root() == other, "found again, so that what a killed run leaves there is found"
    usual.unlink()
    usual.mkdir()
    usual.chmod(0o777)
    assert temporary_root() == other, "anybody could have put something into it"
    usual.chmod(0o755)
    assert temporary_root() == usual
    assert usual.stat().st_mode & 0o777 == 0o700


def test_a_file_tells_its_process() -> None:
    mine = Process.this()
    assert Process.of(f"{mine.prefix}17.parquet") == mine
    assert mine.is_visible
    assert mine.is_running
    assert Process.of("123-0") is None
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert not Process(mine.where, mine.boot, ended.pid, "1").is_running
    assert not Process(mine.where, "0" * 8, mine.number, mine.start).is_running, "before the machine was started again"


def test_only_folders_of_processes_are_swept(temporary: Path) -> None:
    """A link, a file or another folder is nobody's left folder, whatever its name."""
    root = temporary / f"winnow-{os.getuid()}"
    root.mkdir(mode=0o700)
    (temporary / "elsewhere").mkdir()
    (temporary / "elsewhere" / "kept").touch()
    (root / "999999998-1").symlink_to(temporary / "elsewhere")
    (root / "999999997-1").write_text("a file")
    (root / "notes").mkdir()
    (root / "999999996-1").mkdir()
    run("run_folder()")
    assert files(root) == ["999999997-1", "999999998-1", "notes"]
    assert (temporary / "elsewhere" / "kept").exists()
