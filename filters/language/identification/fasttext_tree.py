"""A quantised fastText model with a tree of labels (hierarchical softmax), as arrays: what lid.176 is.

fastText finds what it kept of two million n-grams in a map, and decodes their weights each time they occur. There are
few, so that they fit into a processor's cache, decoded. The weights are those that fastText computes with, bit by bit.
"""

import struct
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.filters.language.kernels.lookup import strings_block
from winnow.filters.models.fasttext_files import FastTextHeader

MOST_ROWS: Final = 1 << 20  # of weights: more are in no cache, and fastText is as quick
MOST_BUCKETS: Final = 16 << 20  # of n-grams, four bytes each
_ENDING: Final = "</s>"  # the word that a line ends with
_CENTROIDS: Final = 256
_NO_NODE: Final = 10**15  # what fastText counts for a node that is not made yet

_Floats: TypeAlias = NDArray[np.float32]
_Ints: TypeAlias = NDArray[np.int32]


class FastTextTree(NamedTuple):
    """The arrays of a model, as kernels read them."""

    weights: _Floats  # of each word, then of each kept n-gram
    kept: NDArray[np.uint8]  # a bit for each bucket: whether it was kept
    rows: _Ints  # the row of each bucket
    shortest: int  # n-gram, in characters
    longest: int
    words: _Ints  # a table of strings
    octets: NDArray[np.uint8]  # its bytes
    ending: int  # the number of the word that a line ends with; -1 if it is none
    nodes: _Floats  # the weights of each inner node of the tree
    left: _Ints  # the children of each node; -1 of labels, which come first
    right: _Ints


def fasttext_tree(path: str, header: FastTextHeader) -> FastTextTree | None:
    """The arrays of a model whose file was checked; None of one of another kind."""
    if not _is_meant(header):
        return None
    with open(path, "rb") as stream:
        file = _File(stream.read())
    file.numbers("<2i12id")  # magic, version and settings
    size, *_, pruned = file.numbers("<3i2q")
    entries = [file.entry() for _ in range(size)]
    try:
        words = [word.decode() for word, _ in entries[: header.words]]
    except UnicodeDecodeError:
        return None
    if not 0 < pruned <= MOST_ROWS or "" in words or len(set(words)) < len(words):
        return None
    pairs = file.array(np.int32, 2 * pruned).reshape(-1, 2)
    rows = np.full(header.buckets, -1, np.int32)
    rows[pairs[:, 0]] = header.words + pairs[:, 1]
    file.numbers("<?")
    weights = file.quantised()
    if file.numbers("<?")[0]:  # labels that are quantised, too, are multiplied in another order
        return None
    nodes = file.dense()
    ints, octets = strings_block(words, 0, 0)
    return FastTextTree(
        weights,
        np.packbits(rows >= 0, bitorder="little"),
        rows,
        header.min_subword,
        header.max_subword,
        ints,
        np.frombuffer(octets, np.uint8).copy(),
        words.index(_ENDING) if _ENDING in words else -1,
        nodes,
        *_tree([count for _, count in entries[header.words :]]),
    )


def _is_meant(header: FastTextHeader) -> bool:
    return (
        header.quantised
        and header.loss == "hs"
        and header.word_ngrams == 1
        and header.max_subword > 0
        and 0 < header.buckets <= MOST_BUCKETS
        and len(header.labels) > 1
    )


class _File:
    """The bytes of a checked model, from the beginning on."""

    def __init__(self, raw: bytes) -> None:
        self._raw, self._at = raw, 0

    def numbers(self, layout: str) -> tuple[int, ...]:
        """The next numbers."""
        found = struct.unpack_from(layout, self._raw, self._at)
        self._at += struct.calcsize(layout)
        return found

    def array(self, kind: type[np.generic], count: int) -> NDArray[Any]:
        """The next array."""
        found = np.frombuffer(self._raw, kind, count, self._at)
        self._at += found.nbytes
        return found

    def entry(self) -> tuple[bytes, int]:
        """A word or label, and its count."""
        end = self._raw.index(b"\0", self._at)
        word, self._at = self._raw[self._at : end], end + 1
        return word, self.numbers("<qb")[0]

    def dense(self) -> _Floats:
        """A matrix."""
        rows, columns = self.numbers("<qq")
        return self.array(np.float32, rows * columns).reshape(rows, columns).copy()

    def quantised(self) -> _Floats:
        """A quantised matrix, decoded: each product is rounded as fastText rounds it."""
        has_norms, rows, columns, size = self.numbers("<?qqi")
        codes = self.array(np.uint8, size).reshape(rows, -1)
        width, centroids = self._quantiser()
        scale = np.ones((rows, 1), np.float32)
        if has_norms:
            numbers = self.array(np.uint8, rows)
            scale = self._quantiser()[1][numbers][:, None]
        found = np.empty((rows, columns), np.float32)
        for part, start in enumerate(range(0, columns, width)):
            own = min(width, columns - start)
            table = centroids[start * _CENTROIDS :][: own * _CENTROIDS].reshape(_CENTROIDS, own)
            found[:, start : start + own] = table[codes[:, part]] * scale
        return found

    def _quantiser(self) -> tuple[int, _Floats]:
        """The columns of each part but the last, and the centroids of all."""
        dimension, _, width, _ = self.numbers("<4i")
        return width, self.array(np.float32, dimension * _CENTROIDS)


def _tree(counts: list[int]) -> tuple[_Ints, _Ints]:
    """The children of each node of Huffman's tree, as fastText builds it from the labels' counts, which descend."""
    labels = len(counts)
    size = 2 * labels - 1
    held = [*counts, *[_NO_NODE] * (labels - 1)]
    children = np.full((2, size), -1, np.int32)
    leaf, node = labels - 1, labels
    for parent in range(labels, size):
        for side in range(2):
            if leaf >= 0 and held[leaf] < held[node]:
                children[side, parent], leaf = leaf, leaf - 1
            else:
                children[side, parent], node = node, node + 1
        held[parent] = sum(held[child] for child in children[:, parent].tolist())
    return children[0].copy(), children[1].copy()
