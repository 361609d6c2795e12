"""The ways in which kinds of duplicates find similar nodes; the stage `dedupe` brings what they compare together.

- `BlockSearch`: each value goes to the blocks where it may have neighbours, and a block says which are similar.
- `PieceSearch`: values go in pieces; a block says which nodes are to be compared, and these are, value by value.
- `ShingleSearch`: texts, by bands of their signatures; a pair is verified by signatures, and if these are not clear, by
  the texts' shingles.

Each is functions over arrays, whose first argument is the kind's bound settings.
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
    """How the chains that similar pairs form are cut (`filters.duplicates.stars`)."""

    most: int  # different members of a cluster, each compared with each; chains of more are not cut
    compare: Callable[[Any, pa.Array], "Compare"]  # given the members' values


@dataclass(frozen=True, slots=True)
class Training:
    """What is learnt of a sample of all values before they are sent."""

    names: tuple[str, ...]  # of what is learnt
    sample: int  # about so many values
    sample_bytes: int  # at most, if all are as short as the shortest
    learn: Callable[[pa.Array, int], Mapping[str, pa.Array]]  # of the sample, and about how many values there are


@dataclass(frozen=True, slots=True)
class Sent:
    """Some of the values on their way to blocks."""

    positions: Positions  # of the values
    blocks: Positions
    parts: Positions | None = None  # of the blocks, if a block has parts whose values are not compared with others
    counted: Mapping[str, int] = field(default_factory=dict)  # for the kind's remarks


@dataclass(frozen=True, slots=True)
class BlockPairs:
    """What a block's values come to; all are positions in the block."""

    matched: Positions
    nearest: Positions  # of each matched one: the most similar; of several, the first
    similarity: NDArray[np.float64]  # to it
    exactly: bool  # whether similarities are known, not estimated
    forest: tuple[Positions, Positions]  # pairs that join what all similar pairs join
    counted: Mapping[str, int] = field(default_factory=dict)  # for the kind's remarks


@dataclass(frozen=True, slots=True)
class BlockSearch:
    """Finds similar nodes in blocks of values."""

    blocks: Callable[[int, Partitions], int]  # for about so many nodes
    send: Callable[[Any, pa.Array, int, Mapping[str, pa.Array]], Iterator[Sent]]
    """Where values go, given the number of blocks and what was learnt. A value may go to several blocks, or parts."""
    join: Callable[[Any, pa.Array, Positions, int, int], BlockPairs]
    """The similar pairs of one block, whose values are in order of their ids: given their parts, 0 if none were sent,
    and the numbers of the block and of all blocks."""
    training: Training | None = None
    chains: Chains | None = None


@dataclass(frozen=True, slots=True)
class Pieces:
    """Some of the pieces of values on their way to blocks."""

    positions: Positions  # of the value of each piece
    pieces: pa.Array
    blocks: Positions


@dataclass(frozen=True, slots=True)
class CandidatePairs:
    """Pairs of nodes of a block that are to be compared."""

    first: Positions
    second: Positions
    counted: Mapping[str, int] = field(default_factory=dict)  # for the kind's remarks


@dataclass(frozen=True, slots=True)
class Judged:
    """What pairs of values come to."""

    there: NDArray[np.float64]  # the first one's similarity to the second
    back: NDArray[np.float64]
    enough: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PieceSearch:
    """Finds pairs by pieces of values, and compares their values."""

    blocks: Callable[[int, Partitions], int]  # for about so many pieces
    cut: Callable[[pa.Array, int], Iterator[Pieces]]  # where pieces go, given the number of blocks
    pair: Callable[[Any, pa.Array, Positions, int, int], CandidatePairs]
    """The pairs of one block, given its pieces, the number of each one's node, in order of their ids, and the numbers
    of the block and of all blocks."""
    judge: Callable[[Any, pa.Array, pa.Array, tuple[Positions, Positions]], Judged]
    """Pairs of values, as positions in two arrays."""
    chains: Chains | None = None


@dataclass(frozen=True, slots=True)
class ShingleSearch:
    """Finds texts that share shingles, by MinHash signatures; settings have `bands`, `hashes`, `min_similarity`."""

    scheme: Callable[[Any], "Scheme"]  # how signatures and shingles are made
    keys: Callable[[Any, NDArray[np.uint32]], NDArray[np.uint64]]  # of signatures: one of each band, row by row
    candidates: Callable[[Any, NDArray[np.uint64], NDArray[np.uint64]], "Candidates"]
    """Pairs of rows that share a key, given keys and rows; a row has bits of its id above its number."""
    judge: Callable[[Any, NDArray[np.uint32], NDArray[np.uint32]], tuple[NDArray[np.int8], NDArray[np.float64]]]
    """Of pairs of signatures, verdicts (`filters.duplicates.verification`) and estimates."""


Search: TypeAlias = BlockSearch | PieceSearch | ShingleSearch
