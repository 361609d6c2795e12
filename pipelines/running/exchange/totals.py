"""Counts the blocks sent to each partition, and compares the totals with what arrives.

A failing bundle may be given a truncated group, and a consumer that commits it would be wrong permanently. So
each block is also announced by a few bytes on a separate path, and a partition's
announcements add up to its total. A consumer starts only if the received blocks match that total.
"""

import hashlib
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import apache_beam as beam
from apache_beam.coders import ListCoder, StrUtf8Coder, TupleCoder, VarIntCoder
from apache_beam.pvalue import PCollection

from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange.inputs import OfBlocks, of_each
from winnow.schemas.errors import StageError

Announcement: TypeAlias = tuple[str, int, int]
"""Origin, number and rows of one block."""

_TOTAL = struct.Struct("<qqQ")
_WRAP = 1 << 64


class ExchangeError(StageError):
    """The blocks received by a partition differ from those sent."""


@dataclass(frozen=True, slots=True)
class Total:
    """Blocks and rows of a partition, and the sum of a hash of each block's origin and number."""

    blocks: int
    rows: int
    fingerprint: int

    def encode(self) -> bytes:
        """Encodes to 24 bytes."""
        return _TOTAL.pack(self.blocks, self.rows, self.fingerprint)

    @classmethod
    def decode(cls, encoded: bytes) -> "Total":
        """The inverse of `encode`."""
        return cls(*_TOTAL.unpack(encoded))


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive blocks of one origin: numbers from `first`, with `rows` in total."""

    origin: str
    first: int
    blocks: int
    rows: int


def announcement(block: AddressedBlock) -> tuple[int, Announcement]:
    """The announcement of a block, keyed by its partition."""
    return block.partition, (block.origin, block.number, block.batch.num_rows)


def total_of(announced: Iterable[Announcement]) -> Total:
    """The total of one partition; repeated announcements of a block count once."""
    rows_of: dict[tuple[str, int], int] = {}
    for origin, number, rows in announced:
        if rows_of.setdefault((origin, number), rows) != rows:
            raise ExchangeError(
                f"block {number} of {origin!r} was sent with {rows_of[origin, number]} rows and again with {rows}: "
                f"two tasks share this origin, or one is not deterministic"
            )
    return total_of_runs(Run(origin, number, 1, rows) for (origin, number), rows in rows_of.items())


def total_of_runs(runs: Iterable[Run]) -> Total:
    """The total of blocks known only as runs."""
    blocks, rows, fingerprint = 0, 0, 0
    for run in runs:
        blocks += run.blocks
        rows += run.rows
        fingerprint += sum(_fingerprint(run.origin, run.first + step) for step in range(run.blocks))
    return Total(blocks, rows, fingerprint % _WRAP)


def check_arrival(partition: int, expected: Total | None, arrived: list[Run]) -> None:
    """Raises unless the sorted runs, without repeats, match the partition's announcement."""
    found = total_of_runs(arrived)
    if found == expected:
        return
    if expected is None:
        raise ExchangeError(
            f"partition {partition}: {found.blocks} blocks arrived without their announcement: the group is "
            f"truncated; run the stage again"
        )
    raise ExchangeError(
        f"partition {partition}: expected {expected.blocks} blocks with {expected.rows} rows, found {found.blocks} "
        f"with {found.rows}{_first_gap(arrived)}: blocks were lost or altered between the tasks; run the stage again"
    )


@beam.typehints.with_input_types(Announcement)
@beam.typehints.with_output_types(bytes)
class Announced(beam.CombineFn):
    """Collects a partition's distinct announcements into its encoded `Total`."""

    def create_accumulator(self) -> list[Announcement]:
        """An empty accumulator."""
        return []

    def add_input(self, mutable_accumulator: list[Announcement], element: Announcement) -> list[Announcement]:
        """Adds one announcement."""
        mutable_accumulator.append(element)
        return mutable_accumulator

    def merge_accumulators(self, accumulators: Iterable[list[Announcement]]) -> list[Announcement]:
        """Merges accumulators."""
        return [announced for accumulator in accumulators for announced in accumulator]

    def compact(self, accumulator: list[Announcement]) -> list[Announcement]:
        """Removes repeats before sending."""
        return sorted(set(accumulator))

    def extract_output(self, accumulator: list[Announcement]) -> bytes:
        """Sums the announcements."""
        return total_of(accumulator).encode()

    def get_accumulator_coder(self) -> beam.coders.Coder:
        """A typed coder, so that no accumulator is pickled."""
        return ListCoder(TupleCoder((StrUtf8Coder(), VarIntCoder(), VarIntCoder())))


class Totals(beam.PTransform[PCollection[AddressedBlock], PCollection[tuple[int, bytes]]]):
    """Blocks to (partition, encoded `Total`), one per partition."""

    def expand(self, blocks: PCollection[AddressedBlock]) -> PCollection[tuple[int, bytes]]:  # or several
        """Announces each block and sums by partition."""
        announced = of_each(blocks, "Announce", _announce)
        totals: PCollection[tuple[int, bytes]] = announced | "Add" >> beam.CombinePerKey(Announced())
        return totals


def _announce() -> OfBlocks[tuple[int, Announcement]]:
    announce: OfBlocks[tuple[int, Announcement]] = beam.Map(announcement).with_output_types(tuple[int, Announcement])
    return announce


def _fingerprint(origin: str, number: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{number}:{origin}".encode(), digest_size=8).digest(), "little")


def _first_gap(arrived: list[Run]) -> str:
    next_number: dict[str, int] = {}
    for run in arrived:
        if run.first != next_number.get(run.origin, 0):
            return f" (block {next_number.get(run.origin, 0)} of {run.origin!r} is missing)"
        next_number[run.origin] = run.first + run.blocks
    return ""
