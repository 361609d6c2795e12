"""Kinds whose nodes are similar if their vectors point the same way: cells of the space of vectors, and cosines within
each cell.

Before vectors are sent, a sample of them gives the centroids of cells (`train_cells`). Each vector goes to its two
nearest cells; cells are spread over blocks, and each is joined alone, by exact products.

A pair whose vectors share no cell is missed. How many are is measured: up to 256 vectors of the sample are compared
with every vector that is sent.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.duplicates.kind import DuplicateKind, Measure, Signature, Unit
from winnow.filters.duplicates.searches import (
    BlockPairs,
    BlockSearch,
    Chains,
    Partitions,
    Positions,
    SentValues,
    Training,
)
from winnow.filters.duplicates.stars import Compare, MemberSimilarities
from winnow.filters.duplicates.vectors.cells import CELLS_OF_ONE, nearest_cells, train_cells
from winnow.filters.duplicates.vectors.cosines import Vectors, join_cosines, rounded, whole_lengths
from winnow.schemas.errors import StageError
from winnow.schemas.recipe.checks import Between
from winnow.schemas.rows.duplicates import NOT_MEASURED, OK

_LEAST_COSINE: Final = 0.95  # of encoders that a kind does not know: SemDeDup's eps of 0.05
_SAMPLE: Final = 1 << 16  # vectors: 1,638 cells of 40
_SAMPLE_BYTES: Final = 128 << 20
_PROBES: Final = 256
_LINE_BYTES: Final = 4096  # about: a vector of some 2,000 numbers, its node and id
_MOST_COMPARED: Final = 10_000
_NONE: Final = np.zeros(0, np.int64)


@dataclass(frozen=True)
class CosineConfig:
    """Texts, pictures or videos whose embeddings point the same way: paraphrases, crops, other views of a thing."""

    min_similarity: Annotated[float, Between(0.5, 1.0)] | None = None  # a cosine; 1 - eps of SemDeDup; by the encoder
    max_cluster: Annotated[int, Between(2, 1 << 40)] = 100  # more pictures that differ are seldom copies of one


@dataclass(frozen=True, slots=True)
class CosineSettings:
    """The settings of a search by embeddings, with what depends on the encoder filled in."""

    min_similarity: float


def cosine_kind(
    name: str,
    version: int,
    summary: str,
    unit: Unit,
    layer: str,
    *,
    encoder: Callable[[Any], str],
    least: Mapping[str, float],
    sampled: str,
    order: tuple[int, int, int],
    options: Mapping[str, object] | None = None,
) -> DuplicateKind:
    """Return a kind that compares the vectors of a layer.

    Args:
        name: That of the kind.
        version: That of the kind.
        summary: What its clusters hold.
        unit: What it compares.
        layer: The operator that writes the column `vector`.
        encoder: The name of the encoder, given the operator's configuration.
        least: From which cosine nodes count as copies, by encoder.
        sampled: What recall is measured on, in a remark.
        order: The places in which the kind is listed, its representatives are chosen, and its clusters split.
        options: What the operator is configured with.
    """

    def bound(config: CosineConfig, operator: Any) -> CosineSettings:
        given = config.min_similarity
        return CosineSettings(least.get(encoder(operator), _LEAST_COSINE) if given is None else given)

    training = Training(("cells", "probes"), _SAMPLE, _SAMPLE_BYTES, partial(_learn, name))
    listed, chosen, split = order
    return DuplicateKind(
        name=name,
        version=version,
        summary=summary,
        unit=unit,
        settings=CosineConfig,
        signature=Signature(layer, ("vector",), partial(_values, name), lambda _: options or {}, as_measured=True),
        search=BlockSearch(_blocks, partial(_send, name), _join, training, Chains(_MOST_COMPARED, _compare)),
        distinct="vectors",
        members="copies",
        measures=(Measure("similarity", pa.float64(), lambda found: found.similarity),),  # to the matched one's vector
        said=_said,
        listed=listed,
        chosen=chosen,
        split=split,
        of_meaning=True,
        bind=bound,
        remarks=partial(_remarks, sampled),
    )


def _values(kind: str, _: Any, leaves: Sequence[pa.Array]) -> tuple[pa.StringArray, pa.Array]:
    """Embeddings in whole numbers of 16 bits; those without a direction are not compared."""
    (vectors,) = leaves
    there = np.flatnonzero(vectors.is_valid().to_numpy(zero_copy_only=False))
    lengths = np.unique(pc.list_value_length(vectors).take(pa.array(there)).to_numpy(zero_copy_only=False))
    _require_one_length(kind, lengths.tolist())
    statuses, values = np.full(len(vectors), NOT_MEASURED, object), np.full(len(vectors), None, object)
    if len(there) and lengths[0]:
        numbers = vectors.take(pa.array(there)).flatten().to_numpy(zero_copy_only=False)
        whole, known = rounded(numbers.astype(np.float32).reshape(len(there), -1))
        statuses[there[known]] = OK
        values[there[known]] = [one.astype("<i2").tobytes() for one in whole[known]]
    return pa.array(statuses, pa.string()), pa.array(values, pa.large_binary())


def _vectors_of(values: pa.Array) -> Vectors:
    """Return the vectors of binary values, all of one length."""
    held = values.to_pylist()
    return np.frombuffer(b"".join(held), "<i2").reshape(len(held), -1 if held else 0).astype(np.int16)


def _require_one_length(kind: str, lengths: Sequence[int]) -> None:
    """Raise StageError if vectors that are compared have more than one length."""
    if len(lengths) > 1:
        found = " and ".join(f"{length:,}" for length in sorted(lengths)[:2])
        raise StageError(
            f"dedupe.{kind}: there are vectors of {found} numbers; vectors of one encoder are compared: measure all "
            "samples with the same one"
        )


def _blocks(nodes: int, partitions: Partitions) -> int:
    return partitions(CELLS_OF_ONE * nodes * _LINE_BYTES)


def _learn(kind: str, values: pa.Array, vectors: int) -> Mapping[str, pa.Array]:
    """The centroids, and the vectors by which it is measured how many pairs are found."""
    _require_one_length(kind, sorted({len(one) // 2 for one in values.to_pylist()}))
    sample = _vectors_of(values)
    centroids = train_cells(sample, vectors, f"dedupe.{kind}") if len(sample) else sample
    learnt = {"cells": centroids, "probes": sample[:_PROBES]}
    return {
        what: pa.array([one.astype("<i2").tobytes() for one in some], pa.large_binary())
        for what, some in learnt.items()
    }


def _send(
    kind: str, config: CosineSettings, values: pa.Array, blocks: int, learnt: Mapping[str, pa.Array]
) -> Iterator[SentValues]:
    """Yield positions of vectors, the block of each, and the cell within it."""
    if not len(values):
        return
    centroids, probes = _vectors_of(learnt["cells"]), _vectors_of(learnt["probes"])
    _require_one_length(kind, sorted({len(one) // 2 for one in values.to_pylist()} | {centroids.shape[1]}))
    vectors = _vectors_of(values)
    cells = nearest_cells(vectors, centroids)
    counted = _similar_pairs(vectors, cells, probes, nearest_cells(probes, centroids), config.min_similarity)
    for column in range(cells.shape[1]):
        some = {} if column else counted
        yield SentValues(np.arange(len(vectors)), cells[:, column] % blocks, cells[:, column], some)


def _join(config: CosineSettings, values: pa.Array, parts: Positions, _: int, __: int) -> BlockPairs:
    """Join the vectors of each cell."""
    vectors = _vectors_of(values)
    order = np.argsort(parts, kind="stable")
    bounds = np.flatnonzero(np.diff(parts[order], prepend=-1, append=-1))
    matched, nearest, similarity = [_NONE], [_NONE], [np.zeros(0)]
    roots, leaves = [_NONE], [_NONE]
    for begin, end in itertools.pairwise(bounds.tolist()):
        members = order[begin:end]
        found = join_cosines(vectors[members], config.min_similarity)
        matched.append(members[found.matched])
        nearest.append(members[found.nearest])
        similarity.append(found.cosine)
        roots.append(members[found.forest[0].astype(np.int64)])
        leaves.append(members[found.forest[1].astype(np.int64)])
    forest = (np.concatenate(roots), np.concatenate(leaves))
    best = (np.concatenate(matched), np.concatenate(nearest))
    return BlockPairs(*best, np.concatenate(similarity), True, forest)


def _similar_pairs(
    vectors: Vectors, cells: Positions, probes: Vectors, theirs: Positions, min_similarity: float
) -> dict[str, int]:
    """Count how many pairs of a probe and a vector are similar, and how many of these share a cell."""
    pairs = found = 0
    lengths, others = whole_lengths(vectors), whole_lengths(probes)
    columns = probes.astype(np.float32).T
    for begin in range(0, len(vectors), 4096):
        part = slice(begin, begin + 4096)
        cosines = vectors[part].astype(np.float32) @ columns / np.outer(lengths[part], others)
        one, other = np.nonzero(cosines >= min_similarity)
        strangers = (vectors[part][one] != probes[other]).any(axis=1)  # a probe is no pair with itself
        one, other = one[strangers], other[strangers]
        pairs += len(one)
        shared = cells[part][one][:, :, None] == theirs[other][:, None, :]
        found += int(shared.any(axis=(1, 2)).sum())
    return {"pairs": pairs, "found": found} if pairs else {}


def _compare(config: CosineSettings, values: pa.Array) -> Compare:
    vectors = _vectors_of(values)
    lengths, numbers = whole_lengths(vectors), vectors.astype(np.float32)

    def compare(some: Positions, others: Positions) -> MemberSimilarities:
        products = (numbers[some] @ numbers[others].T).astype(np.float64)
        cosines = np.minimum(products / (lengths[some, None] * lengths[others]), 1.0)
        return MemberSimilarities(cosines, cosines, cosines >= config.min_similarity)

    return compare


def _said(columns: Mapping[str, pa.Array]) -> tuple[pa.Array, pa.Array]:
    """What a layer of vectors says of similarity."""
    cosine = columns["similarity"]
    return cosine, pc.if_else(pc.equal(cosine, 1), "equal", "cosine")


def _remarks(of: str, _: Any, counted: Mapping[str, int]) -> tuple[str, ...]:
    """Which share of the similar pairs of a sample was found."""
    pairs, found = counted.get("pairs", 0), counted.get("found", 0)
    share = f" (recall {found / pairs:.3f})" if pairs else ""
    return (
        f"{found:,} of {pairs:,} similar pairs of {of} share a cell{share}; pairs that share none are not compared",
    )
