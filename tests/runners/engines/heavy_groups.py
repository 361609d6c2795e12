"""Groups that travel through an engine's own shuffle and are too large for a small heap. What is made of each is kept.

Run as `python -m tests.runners.engines.heavy_groups FOLDER ENGINE [FLAG ...]`.
"""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path

import apache_beam as beam
import numpy as np
import pyarrow as pa
from apache_beam.pvalue import PCollection

from winnow.pipelines.running.blocks import AddressedBlock, encode_batch
from winnow.pipelines.running.exchange import Engine as ThroughEngine
from winnow.pipelines.running.exchange import Exchange
from winnow.pipelines.running.exchange.inputs import Blocks
from winnow.pipelines.running.exchange.totals import Total
from winnow.runners.engines.engine import named_engine
from winnow.schemas.errors import WinnowError

ORIGINS = 8
BLOCKS = (9, 1, 1, 1)
"""How many each origin sends to each partition: the first group is as large as a small heap, the others fit."""
BLOCK_BYTES = 4 << 20


def blocks_of(origin: int) -> Iterator[AddressedBlock]:
    """What one origin sends: the same whenever it is asked."""
    for partition, blocks in enumerate(BLOCKS):
        for number in range(blocks):
            words = np.random.default_rng((origin, partition, number)).integers(0, 1 << 62, BLOCK_BYTES // 8)
            yield AddressedBlock(partition, f"task {origin}", number, pa.RecordBatch.from_pydict({"word": words}))


def digest(batches: Iterable[pa.RecordBatch]) -> str:
    """Of all rows in their order."""
    whole = blake2b(digest_size=16)
    for batch in batches:
        whole.update(encode_batch(batch))
    return whole.hexdigest()


def whole_groups() -> dict[str, str]:
    """The digest of each partition, put together without an engine."""
    sent = [block for origin in range(ORIGINS) for block in blocks_of(origin)]
    return {
        str(partition): digest(block.batch for block in sent if block.partition == partition)
        for partition in range(len(BLOCKS))
    }


def keep(folder: str, partition: int, batches: Iterator[pa.RecordBatch]) -> Iterator[int]:
    """Commit a group as stages do: by one rename, after its last batch."""
    made = digest(batches)
    with tempfile.NamedTemporaryFile("w", dir=folder, prefix="unfinished-", delete=False) as file:
        file.write(made)
    os.replace(file.name, Path(folder) / "kept" / str(partition))
    yield partition


@dataclass(frozen=True)
class Counted:
    """The engine's transport, which leaves word of how much of each group a consumer was shown."""

    folder: str

    def send(self, blocks: Blocks) -> PCollection[tuple[int, bytes]]:
        """As it does."""
        return ThroughEngine().send(blocks)

    def receive(self, partition: int, expected: Total | None, members: list[memoryview]) -> Iterator[pa.RecordBatch]:
        """As it does."""
        with open(Path(self.folder) / "shown", "a") as file:
            file.write(f"{partition} {len(members)} {expected.blocks if expected else 0}\n")
        return ThroughEngine().receive(partition, expected, members)

    def stored_bytes(self, size: int, senders: int, receivers: int) -> int:
        """As it does."""
        return ThroughEngine().stored_bytes(size, senders, receivers)


def build(folder: str, pipeline: beam.Pipeline) -> None:
    """The steps."""
    (
        pipeline
        | beam.Create(list(range(ORIGINS))).with_output_types(int)
        | "Send" >> beam.FlatMap(blocks_of).with_output_types(AddressedBlock)
        | "Bring" >> Exchange(partial(keep, folder), transport=Counted(folder), emits=int)
    )


def main(folder: str, engine: str, *flags: str) -> int:
    """Run it; an error is told as the command line tells it."""
    (Path(folder) / "kept").mkdir()
    try:
        named_engine(engine, 2, flags).run(partial(build, folder))
    except WinnowError as error:
        print(f"winnow: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    from tests.runners.engines import heavy_groups  # under the name by which workers find its functions

    sys.exit(heavy_groups.main(*sys.argv[1:]))
