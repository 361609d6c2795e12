"""A format that ends the process which writes some of its shards, as the system does when memory runs out."""

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from winnow.pipelines.export.formats.counting import Counted
from winnow.pipelines.export.formats.jsonl import FORMAT, JsonlConfig
from winnow.pipelines.export.formats.protocol import ExportFormat, Made, ShardName
from winnow.schemas.identity import Json


@dataclass(frozen=True)
class LethalConfig:
    """Where deaths are counted, and how many there are of each of the shards."""

    counted: str
    deaths: int
    shards: tuple[int, ...]


class Lethal(ExportFormat):
    """Lines, as the format of lines writes them, once its processes have died so often."""

    name = "lethal"
    config = LethalConfig

    def identity(self, config: LethalConfig) -> Json:
        """Deaths do not show in the bytes."""
        return FORMAT.identity(JsonlConfig())

    def write(self, config: LethalConfig, folder: Path, shard: ShardName, rows: Iterator[pa.RecordBatch]) -> Made:
        """Die, or write."""
        made = FORMAT.write(JsonlConfig(), folder, shard, rows)
        if shard.number in config.shards:
            for death in range(config.deaths):
                try:
                    Path(config.counted, f"{shard.number}-{death}").touch(exist_ok=False)
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)
        return made

    def count(self, folder: Path, path: str) -> Sequence[Counted]:
        """As the format of lines counts them."""
        return FORMAT.count(folder, path)
