"""The steps that jobs of several exchanges are made of: numbered tasks that send blocks, and consumers of partitions.

Blocks travel through files in the job's scratch folder, or as the recipe's `shuffle` says. Consumers count finished
partitions there, for the progress.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import apache_beam as beam
import pyarrow as pa
from apache_beam.pvalue import PCollection

from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import Exchange, Relays, Route, Transport, transport_of
from winnow.pipelines.running.on_node import naming_host
from winnow.pipelines.running.step_progress import report_partition
from winnow.pipelines.running.version_handshake import require_like_driver, versions_here
from winnow.pipelines.running.worker import prepare_worker
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.recipe import Shuffle

Blocks = PCollection[AddressedBlock]
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class JobSteps:
    """The exchanges of one job. Picklable."""

    objects: ObjectStore
    scratch: str  # the job's own folder
    shuffle: Shuffle = "auto"
    driver: str = field(default_factory=versions_here)

    def exchange(
        self,
        name: str,
        blocks: Blocks | tuple[Blocks, ...],
        consume: Callable[[int, Batches], Iterable[AddressedBlock]],
        *,
        is_small: bool = False,
    ) -> Blocks:
        """Bring blocks to their partitions; return the blocks that their consumer sends. `is_small`: they are few."""
        received: Blocks = blocks | name >> Exchange(
            partial(self.consume_and_report, name, consume),
            transport=self.transport(name, tiny=is_small),
            emits=AddressedBlock,
        )
        return received

    def relayed(self, name: str, blocks: Blocks, route: Route) -> Blocks:
        """Bring what `route.send` made to its partitions' relays, if the route has any."""
        done = partial(report_partition, self.objects, self.scratch, name)
        onward: Blocks = blocks | name >> Relays(route, self.transport(name), done)
        return onward

    def finish(
        self, name: str, blocks: Blocks | tuple[Blocks, ...], consume: Callable[[int, Batches], Iterable[int]]
    ) -> None:
        """Bring blocks to their partitions, whose consumer stores what it makes of them."""
        done = blocks | name >> Exchange(
            partial(self.consume_and_report, name, consume), transport=self.transport(name), emits=int
        )
        # The results return through Beam: FnApiRunner notices a dead worker only by missing output.
        done | f"Return.{name}" >> beam.Reshuffle()

    def consume_and_report(
        self, name: str, consume: Callable[[int, Batches], Iterable[object]], partition: int, batches: Batches
    ) -> Iterator[object]:
        """Consume a partition, and count it as finished."""
        yield from consume(partition, batches)
        report_partition(self.objects, self.scratch, name)

    def store(
        self,
        name: str,
        numbers: PCollection[int],
        make: Callable[[int], Iterator[int]],
        hints: Mapping[str, str] | None = None,
    ) -> None:
        """Call `make` with each number; it returns the numbers of what it has stored. `hints`: Beam's, of resources."""
        step = beam.FlatMap(partial(self._stored, name, make)).with_output_types(int)
        done = numbers | name >> step.with_resource_hints(**(hints or {}))
        done | f"Return.{name}" >> beam.Reshuffle()

    def _stored(self, name: str, make: Callable[[int], Iterator[int]], number: int) -> Iterator[int]:
        with naming_host(self.driver):
            yield from make(number)
            report_partition(self.objects, self.scratch, name)

    def transport(self, name: str, *, tiny: bool = False) -> Transport:
        """How blocks travel to the step of this name."""
        return transport_of(self.shuffle, self.objects, f"{self.scratch}/exchange/{name}", tiny=tiny)


def sending(make: Callable[..., Iterator[AddressedBlock]], *arguments: object) -> beam.PTransform[object, Blocks]:
    """The step that calls `make` with an element and these arguments, and sends its blocks."""
    blocks: beam.PTransform[object, Blocks] = beam.FlatMap(
        partial(_sent, versions_here(), make, arguments)
    ).with_output_types(AddressedBlock)
    return blocks


def _sent(
    driver: str, make: Callable[..., Iterator[AddressedBlock]], arguments: tuple[object, ...], element: object
) -> Iterator[AddressedBlock]:
    with naming_host(driver):
        yield from make(element, *arguments)


def split_by_origin(blocks: Blocks, origin: str, label: str) -> tuple[Blocks, Blocks]:
    """Return the blocks whose origin begins so, and the others."""
    these = blocks | label >> beam.Filter(_begins, origin, True).with_output_types(AddressedBlock)
    others = blocks | f"Not{label}" >> beam.Filter(_begins, origin, False).with_output_types(AddressedBlock)
    return these, others


def _begins(block: AddressedBlock, origin: str, expected: bool) -> bool:
    return block.origin.startswith(origin) == expected


def task_numbers(pipeline: beam.Pipeline, count: int) -> PCollection[int]:
    """Return the numbers below `count`, spread over the workers."""
    numbers: PCollection[int] = (
        pipeline
        | "Count" >> beam.Create([count], reshuffle=False)
        | "Number" >> beam.ParDo(_Numbers()).with_output_types(int)
        | "Spread" >> beam.Reshuffle().with_output_types(int)
    )
    return numbers


class _Numbers(beam.DoFn):
    """Count → the numbers below it."""

    def __init__(self) -> None:
        self._driver = versions_here()

    def setup(self) -> None:
        """Prepare the process."""
        prepare_worker()

    def process(self, element: int) -> Iterator[int]:
        """Yield one element per number; refuse to run if this worker's versions differ from the driver's."""
        require_like_driver(self._driver)
        yield from range(element)
