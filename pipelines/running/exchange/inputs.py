"""The inputs of an exchange: the blocks of one step, or of several that send to the same partitions."""

from collections.abc import Callable
from typing import TypeAlias, TypeVar

import apache_beam as beam
from apache_beam.pvalue import PCollection

from winnow.pipelines.running.blocks import AddressedBlock

T = TypeVar("T")
Blocks: TypeAlias = PCollection[AddressedBlock] | tuple[PCollection[AddressedBlock], ...]
OfBlocks: TypeAlias = beam.PTransform[PCollection[AddressedBlock], PCollection[T]]


def as_tuple(blocks: Blocks) -> tuple[PCollection[AddressedBlock], ...]:
    """The outputs of the steps."""
    return blocks if isinstance(blocks, tuple) else (blocks,)


def of_each(blocks: Blocks, label: str, make: Callable[[], OfBlocks[T]]) -> PCollection[T]:
    """Applies a transform to each step's blocks, in that step, and combines the results into one collection.

    Only the results pass through the Flatten.
    """
    made: PCollection[T]
    if isinstance(blocks, tuple):
        parts = tuple(one | f"{label}{number}" >> make() for number, one in enumerate(blocks))
        made = parts | f"All{label}" >> beam.Flatten()
    else:
        made = blocks | label >> make()
    return made
