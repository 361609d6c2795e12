"""Runs one part of what only `make test-all` runs, and every benchmark's `--quick`: another part after each commit.

    python -m tools.slice [--part N] [--minutes 12] [--list]

All units stand in one list: tests marked `large`, properties at their full size, tests of engines, benchmarks. It is
cut into sixteen parts of about equal cost, and the number of commits chooses one, so that sixteen commits run
everything. What does not fit into the time is named; the next time that the part comes up it begins with that.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

PARTS = 16
MINUTES = 12
REPOSITORY = Path(__file__).resolve().parents[1]
UNTIL = "WINNOW_SLICE_UNTIL"
LARGE, PROPERTY, ENGINE, BENCHMARK = "large", "property", "engine", "benchmark"
SECONDS = {LARGE: 30, PROPERTY: 3, ENGINE: 40, BENCHMARK: 120}  # about what each takes on two cores
NOT_IN_THE_TIME = "no time left in this slice"


@dataclass(frozen=True, slots=True)
class Unit:
    """A test, or a benchmark."""

    kind: str
    name: str


class Collector:
    """A pytest plugin that keeps what pytest would run."""

    def __init__(self) -> None:
        self.units: list[Unit] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sort every test into its kind; those that other steps of the check run as they are do not count."""
        for item in items:
            if item.get_closest_marker("engines") and not item.get_closest_marker("conformance"):
                self.units.append(Unit(ENGINE, item.nodeid))
            elif item.get_closest_marker("large"):
                self.units.append(Unit(LARGE, item.nodeid))
            elif hasattr(getattr(item, "obj", None), "hypothesis") or hasattr(
                getattr(item, "module", None), "THOROUGH"
            ):
                self.units.append(Unit(PROPERTY, item.nodeid))


def benchmarks() -> list[Unit]:
    """Every module that has a quick form."""
    found = []
    for file in sorted((REPOSITORY / "benchmarks").rglob("*.py")):
        text = file.read_text("utf-8")
        if '__name__ == "__main__"' in text and ("benchmark_arguments(" in text or '"--quick"' in text):
            parts = file.relative_to(REPOSITORY).with_suffix("").parts
            found.append(Unit(BENCHMARK, ".".join(part for part in parts if part != "__main__")))
    return found


def all_units() -> list[Unit]:
    """Everything, in an order that puts what needs the same set-up together."""
    collector = Collector()
    os.chdir(REPOSITORY)
    with contextlib.redirect_stdout(sys.stderr):
        status = pytest.main(["--collect-only", "-qqq", "-m", ""], plugins=[collector])
    if status != pytest.ExitCode.OK:
        raise SystemExit(f"slice: tests cannot be collected (status {int(status)}): run pytest --collect-only")
    order = (PROPERTY, LARGE, BENCHMARK, ENGINE)
    return sorted([*collector.units, *benchmarks()], key=lambda unit: (order.index(unit.kind), unit.name))


def part_of(units: Sequence[Unit], part: int, parts: int = PARTS) -> list[Unit]:
    """The units of one part: each unit is in exactly one, and parts cost about the same."""
    total = sum(SECONDS[unit.kind] for unit in units)
    found, before = [], 0
    for unit in units:
        if before * parts // total == part:
            found.append(unit)
        before += SECONDS[unit.kind]
    return found


def turned(units: Sequence[Unit], by: int) -> list[Unit]:
    """The units of each kind, beginning at another place each time that the part comes up."""
    found: list[Unit] = []
    for kind in dict.fromkeys(unit.kind for unit in units):
        those = [unit for unit in units if unit.kind == kind]
        start = by * len(those) // 4 % len(those)
        found += [*those[start:], *those[:start]]
    return found


def run_tests(units: Sequence[Unit], until: float, *more: str) -> bool:
    """Whether these tests pass, those that the time does not suffice for left out."""
    if not units:
        return True
    environment = os.environ | {UNTIL: str(until), "WINNOW_TEST_THOROUGH": "1"}
    environment.pop("WINNOW_TEST_RECORD", None)  # what is left out here is no skip of the check
    names = REPOSITORY / ".cache" / "slice.txt"
    names.parent.mkdir(exist_ok=True)
    names.write_text("".join(f"{unit.name}\n" for unit in units), "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-m", "", "-p", "tools.slicing", *more, f"@{names}"]
    return subprocess.run(command, cwd=REPOSITORY, env=environment, check=False).returncode == 0


def run_benchmark(name: str, until: float) -> bool:
    """Whether a benchmark comes to its end; what it promises of speed is shown, as other work may share the machine."""
    left = until - time.time()
    if left < SECONDS[BENCHMARK] / 2:
        print(f"python -m {name} --quick: {NOT_IN_THE_TIME}", flush=True)
        return True
    command = [sys.executable, "-m", name, "--quick", "--json"]
    print(" ".join(["python", *command[1:]]), flush=True)
    try:
        done = subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, timeout=left, check=False)
    except subprocess.TimeoutExpired:
        print(f"{name}: {NOT_IN_THE_TIME}: it was stopped after {left:.0f} s", flush=True)
        return True
    print(done.stdout, flush=True)
    if done.returncode == 1 and _is_result(done.stdout):
        print(f"{name}: below what it promises, on a machine that may be shared", flush=True)
        return True
    if done.returncode:
        print(f"{name}: FAILED with status {done.returncode}", flush=True)
    return done.returncode == 0


def _is_result(said: str) -> bool:
    lines = said.splitlines()
    try:
        return bool(lines) and "ours" in json.loads(lines[-1])
    except (ValueError, TypeError):
        return False


def commits() -> int:
    """How many commits there are."""
    said = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True)
    return int(said.stdout or 0)


def main() -> int:
    """Choose the part, and run it."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--part", type=int, help=f"which of {PARTS} (the number of commits chooses)")
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"at most so long ({MINUTES})")
    parser.add_argument("--list", action="store_true", help="name the units, and run nothing")
    options = parser.parse_args()
    part = commits() % PARTS if options.part is None else options.part % PARTS
    units = turned(part_of(all_units(), part), commits() // PARTS)
    print(
        f"part {part} of {PARTS}: {len(units)} units, about {sum(SECONDS[unit.kind] for unit in units)} s", flush=True
    )
    if options.list:
        print("\n".join(f"{unit.kind}  {unit.name}" for unit in units))
        return 0
    until = time.time() + options.minutes * 60
    by_kind = {kind: [unit for unit in units if unit.kind == kind] for kind in SECONDS}
    passed = run_tests([*by_kind[PROPERTY], *by_kind[LARGE]], until, "-n", "3", "--dist", "worksteal")
    if by_kind[ENGINE]:
        made = subprocess.run(["make", "engines"], cwd=REPOSITORY, check=False).returncode == 0
        passed &= made and run_tests(by_kind[ENGINE], until, "-n", "2", "--dist", "loadfile")
    for unit in by_kind[BENCHMARK]:
        passed &= run_benchmark(unit.name, until)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
