"""Under a limit of address space a command runs or says in a line why not; no library waits for ever for memory."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.messages import assert_told

LOADED = """
import os, re, resource, signal, sys
import numpy
from winnow.pipelines.processes.address_space import prepare_for_memory_limit

resource.setrlimit(resource.RLIMIT_AS, (1 << 40, resource.RLIM_INFINITY))
prepare_for_memory_limit()
held = int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10
for room in range(0, 400, 40):
    if child := os.fork():
        print(room, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    signal.setitimer(signal.ITIMER_PROF, 10)  # CPU time: it kills what spins
    resource.setrlimit(resource.RLIMIT_AS, (held + (room << 20),) * 2)
    try:
        import scipy.linalg
    except MemoryError:
        os._exit(3)
    except ImportError as error:
        os._exit(4 if "failed to map segment" in str(error) else 5)
    os._exit(0)
"""


def test_the_import_ends_under_any_limit() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    ends = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(ends) == 10
    assert {end for _, end in ends} <= {0, 3, 4}  # loaded, no memory, no room for the file
    assert ends[0][1] == 3
    assert ends[-1][1] == 0


THREADS = """
import ctypes, re, threading
from winnow.pipelines.processes.address_space import share_one_heap

def reserved():
    return int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10

def allocate():
    blocks = [malloc(1000) for _ in range(100)]
    every.wait()
    every.wait()

share_one_heap()
malloc = ctypes.CDLL(None).malloc
malloc.restype = ctypes.c_void_p
every = threading.Barrier(9)
before = reserved()
threads = [threading.Thread(target=allocate) for _ in range(8)]
for thread in threads:
    thread.start()
every.wait()
print(reserved() - before)
every.wait()
"""


def test_threads_share_one_heap() -> None:
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 8 * (16 << 20)  # a heap reserves 64 MiB, a stack 8


RECIPE = """
version: 1
store: {path: store}
sources: {books: {root: books, files: ["*.jsonl"], class: web}}
annotate: [text.gopher]
"""


def under(gigabytes: float, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A command of winnow under a limit of address space."""
    limits = ["prlimit", f"--as={gigabytes * 1e9:.0f}", sys.executable, "-m", "winnow"]
    return subprocess.run([*limits, *command], capture_output=True, text=True, check=False, cwd=folder, timeout=300)


@pytest.fixture
def books(tmp_path: Path) -> Path:
    """A folder with a recipe and a text."""
    (tmp_path / "books").mkdir()
    (tmp_path / "books/one.jsonl").write_text('{"text": "A text."}\n')
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


def test_a_command_that_would_not_survive_its_limit_does_not_begin(books: Path) -> None:
    for command in ("plan", "ingest"):
        done = under(1.2, books, command, "recipe.yaml")
        assert (done.returncode, done.stdout) == (1, "")
        (line,) = done.stderr.splitlines()
        assert_told(line, "1.2 GB", "address space")
        assert "raise that limit" in line


@pytest.mark.large
def test_a_command_ends_under_any_limit(books: Path) -> None:
    for tenths in range(12, 62, 6):
        shutil.rmtree(books / "store", ignore_errors=True)
        for command in ("ingest", "annotate", "plan"):
            done = under(tenths / 10, books, command, "recipe.yaml")
            said = [line for line in done.stderr.splitlines() if line.startswith("winnow: ")]  # others tell of progress
            assert "Traceback" not in done.stderr, (tenths, command, done.stderr)
            assert len(said) == (done.returncode != 0), (tenths, command, done.stderr)
            assert tenths < 30 or done.returncode == 0, (tenths, command, done.stderr)
