"""The rates that a store's past runs had: those of its machine, which know its texts better than a table.

Parts of one pass share its time by the rates that are known, so a run says how many times as long all of them took.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from winnow.runners.estimating.amounts import estimate_of_run
from winnow.runners.estimating.rates import EngineRate, Rate, Rates
from winnow.runners.estimating.run_log import RunRecord
from winnow.schemas.counts import count_of

LEAST_SECONDS: Final = 5.0  # of work, estimated or measured: what is smaller is mostly start-up


def own_rates(records: Iterable[RunRecord], rates: Rates) -> Rates:
    """The rates, with those of the parts of which these runs did enough."""
    found = measured_rates(records, rates, LEAST_SECONDS)
    known = (
        f"{rates.machine}, and of {count_of(len(found), 'part')} by this store's own runs" if found else rates.machine
    )
    return Rates(known, (), tuple(found)).over(rates)


def measured_rates(records: Iterable[RunRecord], rates: Rates, least_seconds: float = 0.0) -> list[Rate]:
    """The rates of these runs by name, of parts that took at least so long.

    Runs that do not say how many rows they read, as those of older versions, do not count.
    """
    seen: dict[str, _Seen] = {}
    for record in records:
        work = estimate_of_run(record, rates).work_seconds
        taken = _work_seconds(record, rates)
        if not work or max(work, taken) < least_seconds:
            continue
        for name, part in record.parts.items():
            known = rates.of(name).seconds(part.contents)
            mine = known / work
            seen.setdefault(name, _Seen()).add(
                taken * mine, known, part.read, part.written, (record.shuffled or 0) * mine
            )
    return [one.rate(rates.of(name), name) for name, one in sorted(seen.items()) if one.known and one.read]


class _Seen:
    """The sums of one part over all runs."""

    def __init__(self) -> None:
        self.taken = self.known = self.read = self.written = self.shuffled = 0.0

    def add(self, taken: float, known: float, read: float, written: float, shuffled: float) -> None:
        """Add those of a run."""
        self.taken += taken
        self.known += known
        self.read += read
        self.written += written
        self.shuffled += shuffled

    def rate(self, known: Rate, name: str) -> Rate:
        """The known rate, slower by as much as the runs took longer."""
        of_bytes = {"written": self.written / self.read, "shuffled": self.shuffled / self.read}
        return replace(known.slower(self.taken / self.known), name=name, **of_bytes)


def _work_seconds(record: RunRecord, rates: Rates) -> float:
    """What a run took without its engine."""
    engine = engine_rate(rates, record.engine)
    starting = engine.start_seconds * min(record.workers, max(1, record.tasks))
    is_command = record.cpu_seconds is not None and record.workers <= 1  # which began before the stage
    taken = record.vcpu_seconds - (0 if is_command else starting)
    return max(taken, record.vcpu_seconds / 10) / engine.work  # a run dominated by start-up is not representative


def engine_rate(rates: Rates, name: str) -> EngineRate:
    """The overhead of an engine; one that was not measured has none."""
    return next((one for one in rates.engines if one.name == name), EngineRate(name))
