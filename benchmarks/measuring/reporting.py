"""What every benchmark shares: measuring a command with all its processes, and one shape of result.

Each case runs as its own command, so that nothing that one case leaves in memory is counted for the next and a peer
may live in another virtual environment. `timed` runs it on a small input as well, which tells start-up (imports,
models, pipelines) from work. A rate is that of the full run's input, start-up included: the full run measures it, and
`--quick` works it out from start-up and the time that each further unit takes, so that both report the same ratios.

With `--json` the last line is one object `{name, ours, unit, peers, limit, ratios, machine}`, with
`ratios_after_startup` where start-up was measured; a ratio is ours over theirs, above 1 is better.
"""

import argparse
import os
import platform
import resource
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import psutil

REPOSITORY = Path(__file__).parents[2]
GIB = 1 << 30
QUICK_TOLERANCE = 0.25  # a quick run gives the full run's ratios within this share
_SAMPLE_SECONDS = 0.05
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"  # with it every process of a command compiles all modules again
_LEAST_WORK = 0.01  # of a run's time: what is left for work where the small run was as slow


@dataclass(frozen=True, slots=True)
class Measured:
    """What one run of a command took, itself and all processes below it, and the last line that it printed."""

    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int  # the largest sum of resident memory of all processes at one moment, sampled every 50 ms
    peak_bytes_bound: int  # the sum of each process's own peak: what the true peak cannot exceed
    last_line: str


@dataclass(frozen=True, slots=True)
class Limit:
    """Something that the run must stay within."""

    what: str
    value: float
    allowed: float
    unit: str

    @property
    def kept(self) -> bool:
        """Whether the run stayed within it."""
        return self.value <= self.allowed


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much of its input a case is given."""

    now: int  # in this run
    full: int  # in the full run: equal to `now` unless the run is quick
    small: int  # in the run that shows what start-up takes


@dataclass(frozen=True, slots=True)
class Startup:
    """What start-up takes, and how fast the work is once it is over."""

    seconds: float
    rate: float


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the printed table."""

    case: str
    size: str
    measured: Measured
    rate: float  # with start-up, at the size of the full run
    startup: Startup | None = None


def cpu_seconds(took: Measured) -> float:
    """The CPU time of all processes."""
    return took.cpu_seconds


def wall_seconds(took: Measured) -> float:
    """The time on the clock."""
    return took.wall_seconds


def row_of(
    case: str,
    unit: str,
    amounts: Amounts,
    large: Measured,
    small: Measured,
    clock: Callable[[Measured], float] = cpu_seconds,
) -> Row:
    """A row from a run on `amounts.now` units and one on `amounts.small`, which costs hardly more than start-up."""
    seconds, least = clock(large), clock(small)
    each = max(seconds - least, _LEAST_WORK * seconds) / (amounts.now - amounts.small)
    startup = max(seconds - amounts.now * each, 0.0)
    rate = amounts.full / (startup + amounts.full * each)
    return Row(case, f"{amounts.now:,} {unit}", large, rate, Startup(startup, 1 / each))


def timed(
    case: str,
    unit: str,
    amounts: Amounts,
    run: Callable[[int], Measured],
    rounds: int = 1,
    clock: Callable[[Measured], float] = cpu_seconds,
) -> Row:
    """Runs a case on a small input and on the one that counts, the median of so many rounds; `run` is given a size."""
    small = median_of(rounds, lambda: run(amounts.small))
    large = median_of(rounds, lambda: run(amounts.now))
    return row_of(case, unit, amounts, large, small, clock)


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a benchmark. `ours` and `peers` are rates in `unit`: more is better."""

    name: str
    unit: str
    ours: float
    peers: dict[str, float] = field(default_factory=dict)
    ours_for: dict[str, float] = field(default_factory=dict)  # our rate on that peer's input, where it is not `ours`
    limit: Limit | None = None
    floors: dict[str, float] = field(default_factory=dict)  # the ratio that we promise, by peer
    rows: list[Row] = field(default_factory=list)
    ratios_after_startup: dict[str, float] = field(default_factory=dict)
    quick: bool = False  # a ratio may then miss its floor by `QUICK_TOLERANCE`

    @property
    def ratios(self) -> dict[str, float]:
        """Ours over theirs."""
        return {peer: round(self.ours_for.get(peer, self.ours) / rate, 3) for peer, rate in self.peers.items()}

    @property
    def kept(self) -> bool:
        """Whether the limit and every floor hold."""
        within = self.limit is None or self.limit.kept
        least = 1 - QUICK_TOLERANCE if self.quick else 1
        return within and all(self.ratios[peer] >= least * floor for peer, floor in self.floors.items())

    def to_json(self) -> bytes:
        """The one object that `--json` prints."""
        result = {
            "name": self.name,
            "ours": self.ours,
            "unit": self.unit,
            "peers": self.peers,
            "limit": self.limit,
            "ratios": self.ratios,
            "machine": machine(),
        }
        if self.ratios_after_startup:
            result["ratios_after_startup"] = self.ratios_after_startup
        return orjson.dumps(result)


def compared(
    name: str,
    unit: str,
    ours: Row,
    peers: Mapping[str, Row],
    ours_for: Mapping[str, Row] | None = None,
    *,
    limit: Limit | None = None,
    floors: Mapping[str, float] | None = None,
    rows: Sequence[Row] = (),
    quick: bool = False,
) -> Report:
    """The report of rows that stand beside peers' rows, with and without start-up."""
    own = {peer: (ours_for or {}).get(peer, ours) for peer in peers}
    return Report(
        name,
        unit,
        ours.rate,
        {peer: row.rate for peer, row in peers.items()},
        ours_for={peer: row.rate for peer, row in own.items()},
        limit=limit,
        floors=dict(floors or {}),
        rows=list(rows),
        ratios_after_startup={
            peer: round(our.rate / their.rate, 3)
            for peer, row in peers.items()
            if (our := own[peer].startup) is not None and (their := row.startup) is not None
        },
        quick=quick,
    )


def benchmark_arguments(description: str) -> argparse.ArgumentParser:
    """`--quick` and `--json`, which every benchmark takes."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small input and one run per case: at most 3 minutes")
    parser.add_argument("--json", action="store_true", help="end with the result as one JSON object on a line")
    return parser


def show(report: Report, as_json: bool) -> int:
    """Prints the table and, if asked, the object; the exit status says whether every promise was kept."""
    started = any(row.startup for row in report.rows)
    head = f"{'case':<28}{'size':>20}{'wall s':>9}{'CPU s':>9}{'peak GiB':>10}{'bound GiB':>11}{report.unit:>18}"
    print(head + (f"{'start-up s':>12}{'after it':>12}" if started else ""))
    for row in report.rows:
        took = row.measured
        print(
            f"{row.case:<28}{row.size:>20}{took.wall_seconds:>9.2f}{took.cpu_seconds:>9.2f}"
            f"{took.peak_bytes / GIB:>10.2f}{took.peak_bytes_bound / GIB:>11.2f}{row.rate:>18,.0f}"
            + (f"{row.startup.seconds:>12.2f}{row.startup.rate:>12,.0f}" if row.startup else "")
        )
    if started and report.quick:
        print("rates and ratios are those of the full run's sizes, worked out from start-up and the rate after it")
    for peer, ratio in report.ratios.items():
        floor, after = report.floors.get(peer), report.ratios_after_startup.get(peer)
        print(
            f"{ratio:.2f} times {peer}"
            + (f", {after:.2f} times after start-up" if after is not None else "")
            + (f" (promised: {floor:g})" if floor is not None else "")
        )
    if report.limit is not None:
        limit = report.limit
        verdict = "kept" if limit.kept else "EXCEEDED"
        print(f"{limit.what}: {limit.value:.2f} of {limit.allowed:g} {limit.unit}, {verdict}")
    if as_json:
        print(report.to_json().decode())
    return 0 if report.kept else 1


def judged(name: str, limits: Sequence[Limit], as_json: bool) -> int:
    """Print whether limits are kept; return the exit status. For benchmarks that compare winnow with itself."""
    for limit in limits:
        verdict = "kept" if limit.kept else "EXCEEDED"
        print(f"{limit.what}: {limit.value:.2f} of {limit.allowed:g} {limit.unit}, {verdict}")
    if as_json:
        print(orjson.dumps({"name": name, "limits": limits, "machine": machine()}).decode())
    return 0 if all(limit.kept for limit in limits) else 1


def median_of(runs: int, run: Callable[[], Measured]) -> Measured:
    """The run with the median wall time."""
    measured = sorted((run() for _ in range(runs)), key=lambda took: took.wall_seconds)
    return measured[(runs - 1) // 2]


def median_seconds(runs: int, call: Callable[[], object]) -> float:
    """The median wall time of a call in this process, for kernels that need no process of their own."""
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def thread_seconds(call: Callable[[], object]) -> float:
    """CPU seconds of the one thread that computes: a core that others use as well does not count."""
    start = time.thread_time()
    call()
    return time.thread_time() - start


def measure(command: Sequence[str], environment: dict[str, str] | None = None) -> Measured:
    """Runs a command from the repository root to its end; raises with what it wrote if it fails."""
    tree = _ProcessTree()
    before = _children_seconds()
    start = time.perf_counter()
    with (
        tempfile.TemporaryFile("w+") as complaints,  # a pipe that nobody reads would stop the command
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            cwd=REPOSITORY,
            env={name: value for name, value in os.environ.items() if name != _NO_BYTECODE} | (environment or {}),
        ) as process,
    ):
        sampler = threading.Thread(target=tree.sample_until_gone, args=(process.pid,), daemon=True)
        sampler.start()
        output = process.communicate()[0]
        wall = time.perf_counter() - start
        sampler.join()
        if process.returncode:
            complaints.seek(0)
            raise SystemExit(f"{complaints.read()}{output}{' '.join(command)}: ended with status {process.returncode}")
    lines = output.splitlines() or [""]
    # What the kernel adds up leaves out processes that nobody waited for; what was seen, each process's last moments.
    cpu = max(sum(tree.cpu.values()), _children_seconds() - before)
    return Measured(wall, cpu, tree.peak, sum(tree.peaks.values()), lines[-1])


def machine() -> dict[str, str | int]:
    """What the numbers were taken on; nothing that names the machine itself."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "memory_bytes": psutil.virtual_memory().total,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class _ProcessTree:
    """Memory and CPU time of a process and all below it, as last seen before each ended."""

    def __init__(self) -> None:
        self.peak = 0
        self.peaks: dict[int, int] = {}
        self.cpu: dict[int, float] = {}

    def sample_until_gone(self, pid: int) -> None:
        while self._sample(pid):
            time.sleep(_SAMPLE_SECONDS)

    def _sample(self, pid: int) -> bool:
        try:
            root = psutil.Process(pid)
            if root.status() == psutil.STATUS_ZOMBIE:
                return False
            members = [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return False
        together = 0
        for member in members:
            try:
                with member.oneshot():
                    resident = member.memory_info().rss
                    times = member.cpu_times()
                peak = max(resident, peak_resident(member.pid))
            except psutil.Error:  # ended between the listing and the look
                continue
            together += resident
            self.peaks[member.pid] = max(peak, self.peaks.get(member.pid, 0))
            self.cpu[member.pid] = times.user + times.system
        self.peak = max(self.peak, together)
        return True


def peak_resident(pid: int) -> int:
    """The kernel's own record of a process's peak; 0 where there is none."""
    return _memory_status(pid, "VmHWM")


def mapped_files(pid: int) -> int:
    """The bytes of a process that are pages of files, such as libraries; 0 where that is not known."""
    return _memory_status(pid, "RssFile")


def _memory_status(pid: int, name: str) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith(f"{name}:")), 0)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
