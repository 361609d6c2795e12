"""The one shuffle: brings packed blocks to their partitions, through the engine or files, with the same result.

A task splits its rows with `split_by_partition` (or all at once with `addressed_blocks`), `Exchange` brings the
blocks of each partition together and passes them to a consumer, in the same order with either transport. Senders with
numbers use a `Route`, which goes through relays if there are many partitions.
"""

from winnow.pipelines.running import block_coders  # noqa: F401  registers the coders of blocks
from winnow.pipelines.running.exchange.engine import Engine
from winnow.pipelines.running.exchange.exchange import Consumer, Exchange, Transport
from winnow.pipelines.running.exchange.files import Files, clear_scratch
from winnow.pipelines.running.exchange.packing import MAX_BLOCK_BYTES, BlockPacker, addressed_blocks
from winnow.pipelines.running.exchange.partition import (
    GROUP_BYTES,
    partition_of_key,
    partitions_for,
    split_by_partition,
)
from winnow.pipelines.running.exchange.routes import Relays, Route
from winnow.pipelines.running.exchange.totals import ExchangeError
from winnow.pipelines.running.exchange.transports import transport_of

__all__ = [
    "GROUP_BYTES",
    "MAX_BLOCK_BYTES",
    "BlockPacker",
    "Consumer",
    "Engine",
    "Exchange",
    "ExchangeError",
    "Files",
    "Relays",
    "Route",
    "Transport",
    "addressed_blocks",
    "clear_scratch",
    "partition_of_key",
    "partitions_for",
    "split_by_partition",
    "transport_of",
]
