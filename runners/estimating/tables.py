"""Tables of estimates, and of past runs compared with their estimates."""

from collections.abc import Iterable, Sequence

from rich.console import Console

from winnow.runners.estimating.amounts import StageEstimate, estimate_of_run, total
from winnow.runners.estimating.rates import EngineRate, Rate, Rates
from winnow.runners.estimating.run_log import RunRecord
from winnow.runners.tables.quantities import byte_size, grouped
from winnow.runners.terminal.tables import Grid, print_grid
from winnow.schemas.identity import Json

ENGINES = ("local", "spark", "flink", "dataflow")


def engine_rates(rates: Rates) -> list[EngineRate]:
    """The overhead of each engine, in a fixed order; an engine without rates has none."""
    known = {one.name: one for one in rates.engines}
    return [known.get(name, EngineRate(name)) for name in dict.fromkeys((*ENGINES, *sorted(known)))]


def print_estimate(stages: Sequence[StageEstimate], rates: Rates, workers: int, console: Console) -> None:
    """Print the remaining work by stage, and its cost by engine."""
    if not stages:
        return
    every = total(stages)
    rows = [(one.stage, *_amounts(one)) for one in stages]
    headers = ("stage", "tasks", "read", "shuffled", "written", *(f"{one.name} vCPU-h" for one in engine_rates(rates)))
    costs = [[hours(one.vcpu_seconds(engine, workers)) for engine in engine_rates(rates)] for one in stages]
    summed = [hours(sum(one.vcpu_seconds(engine, workers) for one in stages)) for engine in engine_rates(rates)]
    console.print()
    print_grid(
        console,
        Grid(
            "Estimate of the remaining work",
            headers,
            [(*row, *cost) for row, cost in zip(rows, costs, strict=True)],
            footer=("total", *_amounts(every), *summed) if len(stages) > 1 else None,
        ),
    )
    engines = [
        (
            engine.name,
            duration(sum(one.seconds(engine, workers) for one in stages)),
            f"{engine.work:g}",
            f"{engine.start_seconds:g} s",
            "measured" if engine.measured else "assumed",
        )
        for engine in engine_rates(rates)
    ]
    headers = ("engine", f"wall, {workers} workers", "overhead", "start", "these are")
    print_grid(console, Grid("Cost by engine", headers, engines, frozenset({0, 4})))
    console.print(f"rates     measured on {rates.machine}; to use your own: --rates FILE", markup=False, soft_wrap=True)


def estimate_json(stages: Sequence[StageEstimate], rates: Rates, workers: int) -> dict[str, Json]:
    """The same as plain values for JSON."""
    return {
        "machine": rates.machine,
        "workers": workers,
        "stages": [
            {
                "stage": one.stage,
                "tasks": one.tasks,
                "read": one.read,
                "shuffled": one.shuffled,
                "written": one.written,
                "vcpu_hours": {engine.name: one.vcpu_seconds(engine, workers) / 3600 for engine in engine_rates(rates)},
            }
            for one in stages
        ],
        "engines": {
            engine.name: {
                "vcpu_hours": sum(one.vcpu_seconds(engine, workers) for one in stages) / 3600,
                "seconds": sum(one.seconds(engine, workers) for one in stages),
                "measured": engine.measured,
            }
            for engine in engine_rates(rates)
        },
    }


def print_runs(records: Sequence[RunRecord], rates: Rates, console: Console) -> None:
    """Print one line per stage and engine: the cost of its runs, and the estimate for the same bytes."""
    rows = []
    for (stage, engine), runs in _grouped(records).items():
        actual = sum(one.vcpu_seconds for one in runs)
        guessed = _estimated(runs, engine, rates)
        estimated = total(estimate_of_run(one, rates) for one in runs)
        shuffled = [one.shuffled for one in runs if one.shuffled is not None]
        rows.append(
            (
                stage,
                engine,
                grouped(len(runs)),
                grouped(sum(one.tasks for one in runs)),
                byte_size(sum(one.read for one in runs)),
                byte_size(sum(shuffled)) if shuffled else "-",
                byte_size(sum(one.written for one in runs)),
                byte_size(estimated.written),
                hours(actual),
                hours(guessed),
                f"{actual / guessed:.2f}" if guessed else "-",
            )
        )
    headers = (
        *("stage", "engine", "runs", "tasks", "read", "shuffled", "written", "estimate"),
        *("vCPU-h", "estimate", "actual/estimate"),
    )
    print_grid(console, Grid("Past runs", headers, rows, frozenset({0, 1})))


def runs_json(records: Sequence[RunRecord], rates: Rates) -> list[Json]:
    """The same as plain values for JSON."""
    return [
        {
            "stage": stage,
            "engine": engine,
            "runs": len(runs),
            "tasks": sum(one.tasks for one in runs),
            "read": sum(one.read for one in runs),
            "written": sum(one.written for one in runs),
            "estimated_written": total(estimate_of_run(one, rates) for one in runs).written,
            "vcpu_hours": sum(one.vcpu_seconds for one in runs) / 3600,
            "estimated_vcpu_hours": _estimated(runs, engine, rates) / 3600,
        }
        for (stage, engine), runs in _grouped(records).items()
    ]


def measured_yaml(records: Sequence[RunRecord], rates: Rates) -> str:
    """The measured rates of these runs, as a file for `--rates`. Parts of one pass share its time by the known
    rates."""
    lines = ["machine: the machine of these runs  # edit this name"]
    seen: dict[str, tuple[float, int, int, int]] = {}
    for record in records:
        engine = _engine(rates, record.engine)
        work = estimate_of_run(record, rates).work_seconds
        starting = engine.start_seconds * min(record.workers, max(1, record.tasks))
        taken = record.vcpu_seconds - starting if record.cpu_seconds is None else record.cpu_seconds
        taken = max(taken, record.vcpu_seconds / 10) / engine.work  # a run dominated by start-up is not representative
        for name, part in record.parts.items():
            own = part.read / (rates.of(name).mb_per_second * 1e6)
            seconds, read, written, shuffled = seen.get(name, (0.0, 0, 0, 0))
            mine = own / work if work else 0.0
            seen[name] = (
                seconds + taken * mine,
                read + part.read,
                written + part.written,
                shuffled + round((record.shuffled or 0) * mine),
            )
    usable = {name: one for name, one in seen.items() if one[0] and one[1]}  # with seconds and bytes read
    lines.append("rates:" if usable else "rates: {}  # no run was completed")
    for name, (seconds, read, written, shuffled) in sorted(usable.items()):
        rate = Rate(name, read / seconds / 1e6, written / read, shuffled / read)
        lines.append(
            f"  {name}: {{mb_per_second: {rate.mb_per_second:.4g}, written: {rate.written:.4g}, "
            f"shuffled: {rate.shuffled:.4g}}}"
        )
    return "\n".join(lines) + "\n"


def hours(seconds: float) -> str:
    """vCPU-hours, with meaningful digits only."""
    value = seconds / 3600
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """`5 s`, `12 min`, `3.4 h`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:,.1f} h"


def _amounts(one: StageEstimate) -> tuple[str, str, str, str]:
    shuffled = byte_size(one.shuffled) if one.shuffled else "-"
    return grouped(one.tasks), byte_size(one.read), shuffled, byte_size(one.written)


def _grouped(records: Iterable[RunRecord]) -> dict[tuple[str, str], list[RunRecord]]:
    found: dict[tuple[str, str], list[RunRecord]] = {}
    for record in records:
        found.setdefault((record.stage, record.engine), []).append(record)
    return found


def _engine(rates: Rates, name: str) -> EngineRate:
    return next((one for one in rates.engines if one.name == name), EngineRate(name))


def _estimated(runs: Sequence[RunRecord], engine: str, rates: Rates) -> float:
    return sum(estimate_of_run(one, rates).vcpu_seconds(_engine(rates, engine), one.workers) for one in runs)
