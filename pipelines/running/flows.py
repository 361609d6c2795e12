"""What flows between the steps of a job: on Beam, or in this process for little data, by the same functions.

A job is laid out once, over a `Ground`. On Beam each step is spread over workers, and each exchange costs an engine a
stage or more, however little goes through it; in this process it costs nothing, but all blocks of an exchange are held
at once.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

import apache_beam as beam
import pyarrow as pa
from apache_beam.pvalue import PCollection

from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import Route
from winnow.pipelines.running.job_steps import Blocks, JobSteps, sending, split_by_origin, task_numbers

T = TypeVar("T")

Consume = Callable[[int, Iterator[pa.RecordBatch]], Iterable[T]]
"""Consumes a partition: its number and its batches, in order of origin and number."""


class Flow(Protocol):
    """Numbers, names or blocks on their way from one step to the next."""

    def send(self, label: str, make: Callable[..., Iterator[AddressedBlock]], *arguments: object) -> Self:
        """Call `make` with each element and these arguments; what it yields are blocks."""
        ...

    def exchange(self, name: str, consume: Consume[AddressedBlock], *others: Self, is_small: bool = False) -> Self:
        """Bring these blocks, and others, to their partitions; return the blocks that their consumer sends.

        `is_small`: they are so few that they may travel through the engine.
        """
        ...

    def relayed(self, name: str, route: Route) -> Self:
        """Bring what `route.send` made to its partitions' relays, if the route has any."""
        ...

    def finish(self, name: str, consume: Consume[int], *others: Self) -> None:
        """The same for a consumer that stores what it makes of the blocks."""
        ...

    def split(self, origin: str, label: str) -> tuple[Self, Self]:
        """Return the blocks whose origin begins so, and the others."""
        ...


F = TypeVar("F", bound=Flow)
F_co = TypeVar("F_co", bound=Flow, covariant=True)


class Ground(Protocol, Generic[F_co]):
    """Where a job is laid out."""

    def numbers(self, count: int) -> F_co:
        """The numbers below `count`."""
        ...

    def one(self, name: str) -> F_co:
        """One name, for steps that run once."""
        ...


@dataclass(frozen=True)
class BeamFlow:
    """A flow of a Beam pipeline."""

    steps: JobSteps
    elements: PCollection[Any]  # numbers, a name, or blocks

    def send(self, label: str, make: Callable[..., Iterator[AddressedBlock]], *arguments: object) -> "BeamFlow":
        """See `Flow`."""
        return BeamFlow(self.steps, self.elements | label >> sending(make, *arguments))

    def exchange(
        self, name: str, consume: Consume[AddressedBlock], *others: "BeamFlow", is_small: bool = False
    ) -> "BeamFlow":
        """See `Flow`."""
        blocks = self._with(others)
        return BeamFlow(self.steps, self.steps.exchange(name, blocks, consume, is_small=is_small))

    def relayed(self, name: str, route: Route) -> "BeamFlow":
        """See `Flow`."""
        return BeamFlow(self.steps, self.steps.relayed(name, self.elements, route))

    def finish(self, name: str, consume: Consume[int], *others: "BeamFlow") -> None:
        """See `Flow`."""
        self.steps.finish(name, self._with(others), consume)

    def split(self, origin: str, label: str) -> "tuple[BeamFlow, BeamFlow]":
        """See `Flow`."""
        these, others = split_by_origin(self.elements, origin, label)
        return BeamFlow(self.steps, these), BeamFlow(self.steps, others)

    def _with(self, others: "tuple[BeamFlow, ...]") -> Blocks | tuple[Blocks, ...]:
        return (self.elements, *(one.elements for one in others)) if others else self.elements


@dataclass(frozen=True)
class OnBeam:
    """A Beam pipeline."""

    steps: JobSteps
    pipeline: beam.Pipeline

    def numbers(self, count: int) -> BeamFlow:
        """See `Ground`."""
        return BeamFlow(self.steps, task_numbers(self.pipeline, count))

    def one(self, name: str) -> BeamFlow:
        """See `Ground`."""
        return BeamFlow(self.steps, self.pipeline | "Start" >> beam.Create([name], reshuffle=False))


@dataclass(frozen=True)
class HereFlow:
    """A flow in this process: each step runs when it is laid out."""

    elements: list[Any]

    def send(self, _label: str, make: Callable[..., Iterator[AddressedBlock]], *arguments: object) -> "HereFlow":
        """See `Flow`."""
        return HereFlow([block for element in self.elements for block in make(element, *arguments)])

    def exchange(
        self,
        _name: str,
        consume: Consume[AddressedBlock],
        *others: "HereFlow",
        is_small: bool = False,  # noqa: ARG002 - the protocol's
    ) -> "HereFlow":
        """See `Flow`."""
        return HereFlow(list(self._consumed(consume, others)))

    def relayed(self, _name: str, route: Route) -> "HereFlow":
        """See `Flow`."""
        return HereFlow(list(self._consumed(route.relay, ()))) if route.relayed else self

    def finish(self, _name: str, consume: Consume[int], *others: "HereFlow") -> None:
        """See `Flow`."""
        for _ in self._consumed(consume, others):
            pass

    def split(self, origin: str, _label: str) -> "tuple[HereFlow, HereFlow]":
        """See `Flow`."""
        these = [block for block in self.elements if block.origin.startswith(origin)]
        return HereFlow(these), HereFlow([block for block in self.elements if not block.origin.startswith(origin)])

    def _consumed(self, consume: Consume[T], others: "tuple[HereFlow, ...]") -> Iterator[T]:
        """What a consumer makes of each partition's blocks, in order of origin and number as in an exchange."""
        partitions: dict[int, list[AddressedBlock]] = {}
        for flow in (self, *others):
            for block in flow.elements:
                partitions.setdefault(block.partition, []).append(block)
        for partition in sorted(partitions):
            ordered = sorted(partitions.pop(partition), key=lambda block: (block.origin, block.number))
            yield from consume(partition, (block.batch for block in ordered))


class Here:
    """This process."""

    def numbers(self, count: int) -> HereFlow:
        """See `Ground`."""
        return HereFlow(list(range(count)))

    def one(self, name: str) -> HereFlow:
        """See `Ground`."""
        return HereFlow([name])
