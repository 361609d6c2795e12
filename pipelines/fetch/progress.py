"""How far a fetch is, and what it came to."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson

from winnow.pipelines.fetch.outcome import REASONS, Decision, Outcome, Reason


@dataclass(frozen=True, slots=True)
class Progress:
    """A moment of a fetch; counts are of this run."""

    addresses_done: int
    addresses_all: int | None  # None: not known yet
    bytes: int  # of bodies, as sent
    requests: int
    hosts_open: int  # whose requests are under way or waiting for their turn
    by_reason: Mapping[str, int]


@dataclass(slots=True)
class Tally:
    """What a run came to, added up as it goes."""

    by_decision: Counter[Decision] = field(default_factory=Counter)
    by_reason: Counter[Reason] = field(default_factory=Counter)
    bytes: int = 0
    requests: int = 0
    warc_files: int = 0

    @property
    def addresses(self) -> int:
        """How many addresses were decided."""
        return self.by_decision.total()

    def add(self, outcome: Outcome) -> None:
        """Count one address."""
        self.add_rows(outcome.decision, outcome.reason, 1)
        self.bytes += outcome.body_bytes or 0

    def add_rows(self, decision: Decision, reason: Reason, rows: int) -> None:
        """Count addresses that end alike."""
        self.by_decision[decision] += rows
        self.by_reason[reason] += rows

    def merge(self, other: "Tally") -> None:
        """Add what another run or task came to."""
        self.by_decision.update(other.by_decision)
        self.by_reason.update(other.by_reason)
        self.bytes += other.bytes
        self.requests += other.requests
        self.warc_files += other.warc_files

    def progress(self, addresses_all: int | None, hosts_open: int = 0) -> Progress:
        """This moment."""
        reasons = {str(reason): count for reason, count in sorted(self.by_reason.items()) if count}
        return Progress(self.addresses, addresses_all, self.bytes, self.requests, hosts_open, reasons)


def tally_to_json(tally: Tally) -> bytes:
    """A tally as the task of an engine hands it on."""
    counted = {"bytes": tally.bytes, "requests": tally.requests, "warc_files": tally.warc_files}
    decisions = {decision.value: count for decision, count in tally.by_decision.items()}
    reasons = {reason.value: count for reason, count in tally.by_reason.items()}
    return orjson.dumps({"decisions": decisions, "reasons": reasons, **counted})


def tally_from_json(raw: bytes) -> Tally:
    """What `tally_to_json` wrote."""
    found = orjson.loads(raw)
    decisions = Counter({Decision(name): count for name, count in found["decisions"].items()})
    reasons = Counter({REASONS[name]: count for name, count in found["reasons"].items()})
    return Tally(decisions, reasons, found["bytes"], found["requests"], found["warc_files"])
