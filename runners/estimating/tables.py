"""Tables of estimates, and of past runs compared with their estimates."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console

from winnow.runners.estimating.amounts import StageEstimate, estimate_of_run, total
from winnow.runners.estimating.measured import engine_rate, measured_rates
from winnow.runners.estimating.rates import EngineRate, Rates
from winnow.runners.estimating.run_log import RunRecord
from winnow.runners.tables.quantities import byte_size
from winnow.runners.tables.table import Column, Table, table
from winnow.runners.tables.units import BYTES, COUNT, NAME, RATIO, WORDS, Unit
from winnow.runners.terminal.tables import print_tables
from winnow.schemas.identity import Json

HOURS = Unit(lambda one: f"{one:,.0f}" if one >= 100 else f"{one:.3g}")  # of a core, with meaningful digits only
ENGINES = ("local", "spark", "flink", "dataflow")


def engine_rates(rates: Rates) -> list[EngineRate]:
    """The overhead of each engine, in a fixed order; an engine without rates has none."""
    known = {one.name: one for one in rates.engines}
    return [known.get(name, EngineRate(name)) for name in dict.fromkeys((*ENGINES, *sorted(known)))]


WORK: tuple[Column[tuple[StageEstimate, ...]], ...] = (
    Column("stage", NAME, lambda some: some[0].stage if len(some) == 1 else "total"),
    Column("tasks", COUNT, lambda some: total(some).tasks),
    Column("read", BYTES, lambda some: total(some).read),
    Column("shuffled", Unit(lambda one: byte_size(one) if one else "-"), lambda some: total(some).shuffled),
    Column("written", BYTES, lambda some: total(some).written),
)


def print_estimate(stages: Sequence[StageEstimate], rates: Rates, workers: int, console: Console) -> None:
    """Print the remaining work by stage, and its cost by engine."""
    if not stages:
        return

    def cost(engine: EngineRate) -> Column[tuple[StageEstimate, ...]]:
        return Column(f"{engine.name} vCPU-h", HOURS, lambda some: _hours(some, engine, workers))

    engines = engine_rates(rates)
    whole = tuple(stages) if len(stages) > 1 else None
    columns = (*WORK, *map(cost, engines))
    work = table("Estimate of the remaining work", columns, [(one,) for one in stages], whole)
    of_engine: tuple[Column[EngineRate], ...] = (
        Column("engine", NAME, lambda one: one.name),
        Column(f"wall, {workers} workers", COUNT, lambda one: duration(_seconds(stages, one, workers))),
        Column("overhead", COUNT, lambda one: f"{one.work:g}"),
        Column("start", COUNT, lambda one: f"{one.start_seconds:g} s"),
        Column("these are", WORDS, lambda one: "measured" if one.measured else "assumed"),
    )
    console.print()
    print_tables(console, work, table("Cost by engine", of_engine, engines))
    console.print(f"rates     measured on {rates.machine}; to use your own: --rates FILE")


def estimate_json(stages: Sequence[StageEstimate], rates: Rates, workers: int) -> dict[str, Json]:
    """The same as plain values for JSON."""
    engines = engine_rates(rates)
    hours: Column[tuple[StageEstimate, ...]] = Column(
        "vcpu_hours", HOURS, lambda some: {engine.name: _hours(some, engine, workers) for engine in engines}
    )
    return {
        "machine": rates.machine,
        "workers": workers,
        "stages": table("", (*WORK, hours), [(one,) for one in stages]).to_json(),
        "engines": {
            engine.name: {
                "vcpu_hours": _hours(stages, engine, workers),
                "seconds": _seconds(stages, engine, workers),
                "measured": engine.measured,
            }
            for engine in engines
        },
    }


def _hours(stages: Iterable[StageEstimate], engine: EngineRate, workers: int) -> float:
    return sum(one.vcpu_seconds(engine, workers) for one in stages) / 3600


def _seconds(stages: Iterable[StageEstimate], engine: EngineRate, workers: int) -> float:
    return sum(one.seconds(engine, workers) for one in stages)


def past_runs(records: Sequence[RunRecord], rates: Rates) -> Table:
    """One line per stage and engine: the cost of its runs, and the estimate for the same bytes."""
    return table("Past runs", _RUNS, [_Runs(*key, runs, rates) for key, runs in _grouped(records).items()])


@dataclass(frozen=True, slots=True)
class _Runs:
    """All runs of a stage on an engine."""

    stage: str
    engine: str
    runs: Sequence[RunRecord]
    rates: Rates

    @property
    def shuffled(self) -> int | None:
        """None if no run counted it."""
        counted = [one.shuffled for one in self.runs if one.shuffled is not None]
        return sum(counted) if counted else None

    @property
    def hours(self) -> float:
        """Of all cores together."""
        return sum(one.vcpu_seconds for one in self.runs) / 3600

    @property
    def estimated_hours(self) -> float:
        """What the rates say of the same bytes."""
        engine = engine_rate(self.rates, self.engine)
        return sum(estimate_of_run(one, self.rates).vcpu_seconds(engine, one.workers) for one in self.runs) / 3600

    @property
    def estimated_written(self) -> int:
        """What the rates say of the same bytes."""
        return total(estimate_of_run(one, self.rates) for one in self.runs).written


_RUNS: tuple[Column[_Runs], ...] = (
    Column("stage", NAME, lambda one: one.stage),
    Column("engine", NAME, lambda one: one.engine),
    Column("runs", COUNT, lambda one: len(one.runs)),
    Column("tasks", COUNT, lambda one: sum(run.tasks for run in one.runs)),
    Column("read", BYTES, lambda one: sum(run.read for run in one.runs)),
    Column("shuffled", BYTES, lambda one: "-" if one.shuffled is None else one.shuffled),
    Column("written", BYTES, lambda one: sum(run.written for run in one.runs)),
    Column("estimate", BYTES, lambda one: one.estimated_written, "estimated_written"),
    Column("vCPU-h", HOURS, lambda one: one.hours, "vcpu_hours"),
    Column("estimate", HOURS, lambda one: one.estimated_hours, "estimated_vcpu_hours"),
    Column("actual/estimate", RATIO, lambda one: one.hours / one.estimated_hours if one.estimated_hours else "-"),
)


def measured_yaml(records: Sequence[RunRecord], rates: Rates) -> str:
    """The measured rates of these runs, as a file for `--rates`."""
    lines = ["machine: the machine of these runs  # edit this name"]
    found = measured_rates(records, rates)
    lines.append("rates:" if found else "rates: {}  # no run was completed")
    lines += [
        f"  {rate.name}: {{mb_per_second: {rate.mb_per_second:.4g}, row_microseconds: {rate.row_microseconds:.4g}, "
        f"written: {rate.written:.4g}, shuffled: {rate.shuffled:.4g}}}"
        for rate in found
    ]
    return "\n".join(lines) + "\n"


def duration(seconds: float) -> str:
    """`5 s`, `12 min`, `3.4 h`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:,.1f} h"


def _grouped(records: Iterable[RunRecord]) -> dict[tuple[str, str], list[RunRecord]]:
    found: dict[tuple[str, str], list[RunRecord]] = {}
    for record in records:
        found.setdefault((record.stage, record.engine), []).append(record)
    return found
