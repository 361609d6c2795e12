"""Would the tests notice? Changes one thing in the product at a time and runs the tests that call the changed function.

    python -m tools.mutants called [--in FOLDER …]    notes which test file calls which function, once (a `make test`)
    python -m tools.mutants run [--sample 60] [--seed 1] [--since REVISION] [--in FOLDER …] [--processes]

`run` draws changes evenly from all functions (from files changed since REVISION), and for each runs the tests that
called that function, the nearest first, and then their whole files, until one fails. `--processes` runs the tests of
whole processes on what survives. The survivors are printed last; read them: some change nothing that anybody could see.
"""

import argparse
import ast
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from itertools import takewhile

from tools.mutating.import_hook import REPOSITORY, ROOMS, compiled, mutations

CACHE = REPOSITORY / ".cache" / "mutants"
HOOKS = REPOSITORY / "tools" / "mutating"
SLOWEST_SECONDS = 900  # a mutant whose tests take longer goes round in circles, and counts as noticed
FIRST_TESTS, MOST_TESTS = 25, 200  # tried before whole files
TESTS = ("-q", "-x", "-p", "no:cacheprovider", "--no-header", "-n", "2", "--dist", "loadfile")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change."""

    file: str
    number: int
    line: int
    what: str
    function: str  # FILE:LINE of the function that it is in
    in_kernel: bool

    def __str__(self) -> str:
        source = (REPOSITORY / self.file).read_text("utf-8").splitlines()[self.line - 1].strip()
        return f"{self.file}:{self.line}: {self.what}: {source}"


def mutants_of(file: str) -> list[Mutant]:
    """Every change of one file."""
    found = mutations(ast.parse((REPOSITORY / file).read_bytes()))
    return [
        Mutant(file, number, getattr(node, "lineno", 0), what, f"{file}:{function.lineno}", compiled(function))
        for number, (function, node, what, _) in enumerate(found)
    ]


def drawn(files: list[str], size: int, seed: int) -> list[Mutant]:
    """A sample in which every function counts alike, however many changes it offers."""
    by_function: dict[str, list[Mutant]] = defaultdict(list)
    for file in sorted(files):
        for mutant in mutants_of(file):
            by_function[mutant.function].append(mutant)
    random_of = random.Random(seed)
    names = random_of.sample(sorted(by_function), min(size, len(by_function)))
    return [random_of.choice(by_function[name]) for name in names]


def callers() -> dict[str, dict[str, int]]:
    """The tests that called each function, without their parameters, each with how many functions it calls."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for part in sorted(CACHE.glob("*.jsonl")):
        for line in part.read_text("utf-8").splitlines():
            one = json.loads(line)
            test, size = one["test"].partition("[")[0], len(one["called"])
            for function in one["called"]:
                found[function][test] = min(size, found[function].get(test, size))
    return found


def by_nearness(mutant: Mutant, tests: dict[str, int]) -> list[str]:
    """Those of the mutant's own room first; of one room, those that call least besides, which are the quickest."""

    def distance(test: str) -> int:
        pairs = zip(test.partition("::")[0].split("/")[1:], mutant.file.split("/"), strict=False)
        return -len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))

    return sorted(tests, key=lambda test: (distance(test), tests[test], test))


def nearest(mutant: Mutant) -> list[str]:
    """The tests beside a function that no test was seen to call: compiled ones, and what other processes call."""
    folder = (REPOSITORY / "tests" / mutant.file).parent
    while not any(folder.glob("test_*.py")) and folder != REPOSITORY / "tests":
        folder = folder.parent
    return [str(folder.relative_to(REPOSITORY))]


def noticed(mutant: Mutant | None, tests: list[str], *more: str) -> bool:
    """Whether the tests fail, or never end, with this change."""
    environment = os.environ | {"PYTHONPATH": f"{HOOKS}{os.pathsep}{REPOSITORY}"}
    with tempfile.TemporaryDirectory(prefix="mutant-") as scratch:
        if mutant is not None:
            environment["WINNOW_MUTANT"] = f"{mutant.file}:{mutant.number}"
            if mutant.in_kernel:
                environment["NUMBA_CACHE_DIR"] = scratch  # the usual cache knows sources by the disk
        command = [sys.executable, "-m", "pytest", *TESTS, *more, *tests]
        running = subprocess.Popen(
            command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            said = running.communicate(timeout=SLOWEST_SECONDS)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
            return True
    if running.returncode == 4 and "while loading conftest" in said:
        return True  # the change breaks an import
    if running.returncode not in (0, 1, 2, 5):
        raise SystemExit(f"mutants: pytest ended with status {running.returncode}:\n{said[-2000:]}")
    return running.returncode in (1, 2)


def noticed_by(mutant: Mutant, tests: dict[str, int] | None) -> bool:
    """Whether the tests that call the changed function fail, or else their files: what is kept for a process, a test
    may have called before."""
    if not tests:
        return noticed(mutant, nearest(mutant))
    ordered = by_nearness(mutant, tests)
    if noticed(mutant, ordered[:FIRST_TESTS], "-n", "0"):
        return True
    if ordered[FIRST_TESTS:] and noticed(mutant, ordered[FIRST_TESTS:MOST_TESTS]):
        return True
    return noticed(mutant, list(dict.fromkeys(test.partition("::")[0] for test in ordered)))


def note_calls(folders: list[str]) -> int:
    """Runs `make test`'s tests of some folders once, and writes down who calls what."""
    shutil.rmtree(CACHE, ignore_errors=True)
    CACHE.mkdir(parents=True)
    environment = os.environ | {
        "PYTHONPATH": f"{HOOKS}{os.pathsep}{REPOSITORY}",
        "WINNOW_CALLED": "1",
        "WINNOW_CALLED_FOLDER": str(CACHE),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tools.mutating.noting", "-n", "3", "--dist", "worksteal"]
    tests = ["tests"] if folders == list(ROOMS) else [f"tests/{folder}" for folder in folders]
    return subprocess.run([*command, *tests], cwd=REPOSITORY, env=environment, check=False).returncode


def files_of(folders: list[str], since: str | None) -> list[str]:
    """The product's files under these folders; those changed since a revision, if one is given."""
    listed = ["git", "diff", "--name-only", "--diff-filter=d", since] if since else ["git", "ls-files"]
    said = subprocess.run([*listed, "--", *folders], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return [line for line in said.stdout.splitlines() if line.endswith(".py")]


def main() -> int:
    """Note who calls what, or try a sample."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("what", choices=["called", "run"])
    parser.add_argument("--sample", type=int, default=60, help="how many changes (60)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--since", help="only files changed since this revision")
    parser.add_argument("--in", dest="folders", nargs="+", default=list(ROOMS), help="only these folders")
    parser.add_argument("--processes", action="store_true", help="also run the tests of whole processes on survivors")
    options = parser.parse_args()
    if options.what == "called":
        return note_calls(options.folders)
    known = callers()
    if not known:
        parser.error("nothing is known of who calls what; run first: python -m tools.mutants called")
    sample = drawn(files_of(options.folders, options.since), options.sample, options.seed)
    survived = []
    for number, mutant in enumerate(sample, start=1):
        killed = noticed_by(mutant, known.get(mutant.function))
        print(f"{number}/{len(sample)}  {'noticed ' if killed else 'SURVIVED'}  {mutant}", flush=True)
        survived += [] if killed else [mutant]
    print(f"make test notices {len(sample) - len(survived)} of {len(sample)}", flush=True)
    if options.processes and survived:
        left = [one for one in survived if not noticed(one, ["tests"], "-m", "processes and not engines and not large")]
        print(f"with whole processes {len(sample) - len(left)} of {len(sample)}")
        survived = left
    for mutant in survived:
        print(f"survived: {mutant}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
