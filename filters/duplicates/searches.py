"""The searches by which kinds of duplicates find similar nodes; the stage `dedupe` brings together what they compare.

- `BlockSearch`: each value goes to the blocks where it may have neighbours, and blocks find the similar values.
- `PieceSearch`: values are sent in pieces; blocks find the nodes to compare, which are then compared by value.
- `ShingleSearch`: texts, by bands of their signatures; a pair is verified by signatures, and if these are not clear, by
  the texts' shingles.

Each consists of functions over arrays, whose first argument is the kind's bound settings.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

if TYPE_CHECKING:  # imports compiled kernels
    from winnow.filters.duplicates.candidates import Candidates
    from winnow.filters.duplicates.signatures import Scheme
    from winnow.filters.duplicates.stars import Compare


Positions = NDArray[np.int64]
Partitions: TypeAlias = Callable[[int], int]
"""How many partitions so many bytes are divided into."""


@dataclass(frozen=True, slots=True)
class Chains:
    """How chains of similar pairs are cut (`filters.duplicates.stars`)."""

    most: int  # different members, each compared with each; larger chains are not cut
    compare: Callable[[Any, pa.Array], "Compare"]  # given the values of the members


@dataclass(frozen=True, slots=True)
class Training:
    """What is learnt from a sample of all values before they are sent."""

    names: tuple[str, ...]  # of the learnt arrays
    sample: int  # its approximate size in values
    sample_bytes: int  # its maximum, for values as short as the shortest
    learn: Callable[[pa.Array, int], Mapping[str, pa.Array]]  # from the sample, and the approximate number of values


@dataclass(frozen=True, slots=True)
class SentValues:
    """A batch of values sent to blocks."""

    positions: Positions  # of the values
    blocks: Positions
    parts: Positions | None = None  # within blocks, if a block has parts that are not compared with each other
    counted: Mapping[str, int] = field(default_factory=dict)  # for the kind's remarks


@dataclass(frozen=True, slots=True)
class BlockPairs:
    """The similar values of a block, as positions in it."""

    matched: Positions
    nearest: Positions  # for each matched one the most similar, or the first of several
    similarity: NDArray[np.float64]  # to it
    exactly: bool  # whether similarities are known, not estimated
    forest: tuple[Positions, Positions]  # pairs with the same connected components as all similar pairs
    counted: Mapping[str, int] = field(default_factory=dict)  # for the kind's remarks


@dataclass(frozen=True, slots=True)
class BlockSearch:
    """Finds similar nodes in blocks of values."""

    blocks: Callable[[int, Partitions], int]  # for about this many nodes
    send: Callable[[Any, pa.Array, int, Mapping[str, pa.Array]], Iterator[SentValues]]
    """Where values go, given the number of blocks and what was learnt. A value may go to several blocks, or parts."""
    join: Callable[[Any, pa.Array, Positions, int, int], BlockPairs]
    """The similar pairs of one block, whose values are in order of their ids: given their parts, 0 if none were sent,
    and the numbers of the block and of all blocks."""
    training: Training | None = None
    chains: Chains | None = None


@dataclass(frozen=True, slots=True)
class SentPieces:
    """A batch of pieces of values sent to blocks."""

    positions: Positions  # of the piece's value
    pieces: pa.Array
    blocks: Positions


@dataclass(frozen=True, slots=True)
class CandidatePairs:
    """Pairs of nodes of a block that need comparison."""

    first: Positions
    second: Positions
    counted: Mapping[str, int] = field(default_factory=dict)  # for the kind's remarks


@dataclass(frozen=True, slots=True)
class JudgedPairs:
    """The results of comparing pairs of values."""

    there: NDArray[np.float64]  # the first one's similarity to the second
    back: NDArray[np.float64]
    enough: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PieceSearch:
    """Finds pairs by pieces of their values, and then compares the values."""

    blocks: Callable[[int, Partitions], int]  # for about this many pieces
    cut: Callable[[pa.Array, int], Iterator[SentPieces]]  # sends pieces, given the number of blocks
    pair: Callable[[Any, pa.Array, Positions, int, int], CandidatePairs]
    """The pairs of one block, given its pieces, the number of each one's node, in order of their ids, and the numbers
    of the block and of all blocks."""
    judge: Callable[[Any, pa.Array, pa.Array, tuple[Positions, Positions]], JudgedPairs]
    """Pairs of values, as positions in two arrays."""
    chains: Chains | None = None


@dataclass(frozen=True, slots=True)
class ShingleSearch:
    """Finds texts that share shingles, by MinHash signatures; settings have `bands`, `hashes`, `min_similarity`."""

    scheme: Callable[[Any], "Scheme"]  # how signatures and shingles are made
    keys: Callable[[Any, NDArray[np.uint32]], NDArray[np.uint64]]  # of signatures: one per band, row by row
    candidates: Callable[[Any, NDArray[np.uint64], NDArray[np.uint64]], "Candidates"]
    """Pairs of rows that share a key, given keys and rows; a row has bits of its id above its number."""
    judge: Callable[[Any, NDArray[np.uint32], NDArray[np.uint32]], tuple[NDArray[np.int8], NDArray[np.float64]]]
    """Of pairs of signatures, verdicts (`filters.duplicates.verification`) and estimates."""


Search: TypeAlias = BlockSearch | PieceSearch | ShingleSearch
