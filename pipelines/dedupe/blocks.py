"""What a kind consists of whose similar nodes are found in blocks: the protocol of its join.

Nodes with equal digests are merged first (`groups`). Of each group one node sends its value to the blocks where it may
have neighbours (`send`). A block compares its values and says which pairs are similar (`join`): each node's best match,
and a forest that joins what the pairs join. Components, clusters, guards and growth are shared by all kinds.

So a kind is four functions: its signature layer (`compared.SignatureReader`), its blocks, how a pair is verified, and
the edges, which is what `join` returns. `joins` runs them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.dedupe.search import Search

__all__ = ["BlockJoin", "BlockPairs", "Positions", "Sent"]

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sent:
    """Some of the values on their way to blocks."""

    positions: Positions  # of the values
    blocks: Positions
    parts: Positions | None = None  # of the blocks, if a block has parts whose values are not compared with others


@dataclass(frozen=True, slots=True)
class BlockPairs:
    """What a block's values come to; all are positions in the block."""

    matched: Positions
    nearest: Positions  # of each matched one: the most similar; of several, the first
    similarity: NDArray[np.float64]  # to it
    exactly: bool  # whether similarities are known, not estimated
    forest: tuple[Positions, Positions]  # pairs that join what all similar pairs join


class BlockJoin(Protocol):
    """How a kind finds its similar pairs."""

    def blocks(self, search: Search, nodes: int, /) -> int:
        """The number of blocks for about so many nodes."""

    def send(self, search: Search, values: pa.Array, blocks: int, origin: str, /) -> Iterator[Sent]:
        """Yield where values go. A value may go to several blocks, or parts; no other batch has the same origin."""

    def join(self, search: Search, values: pa.Array, parts: Positions, block: int, blocks: int, /) -> BlockPairs:
        """Return the similar pairs of one block, whose values are in order of their ids; parts are 0 if not sent."""
