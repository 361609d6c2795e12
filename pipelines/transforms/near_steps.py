"""The steps of a search for near duplicates in an engine's own partitions, as plain functions over batches.

A row is known by 64 bits of a hash of its id. Pairs and values of rows arrive in one partition, in any order.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.duplicates.components import components, spanning_forest
from winnow.filters.duplicates.kinds.near import SEARCH, NearSettings, compared_shingles, shared_shingles, similarity_of
from winnow.filters.duplicates.verification import ABOVE, UNCLEAR
from winnow.filters.operators import MAX_KERNEL_BYTES, TEXT
from winnow.filters.text.minhash import MinhashConfig, minhash, schema
from winnow.pipelines.dedupe.clusters import EDGES, edges_batch, edges_of
from winnow.pipelines.dedupe.search import signature_matrix
from winnow.pipelines.running.blocks import AddressedBlock, encode_batch
from winnow.pipelines.running.exchange import addressed_blocks, partition_of_key
from winnow.pipelines.running.row_arrays import distinct_pairs, find_in_sorted, ids_column, run_starts, uint64_column
from winnow.pipelines.transforms.batches import column_of_batch, named_column
from winnow.schemas.errors import StageError
from winnow.schemas.identity import digest
from winnow.schemas.uint128 import Words

MAX_EDGES: Final = 1 << 24
"""One task joins this many edges, in about 70 bytes per edge."""

CLUSTER: Final = "duplicate.cluster"
SIZE: Final = "duplicate.size"
REPRESENTATIVE: Final = "duplicate.representative"
ROW: Final = "\0row"  # beside the columns of the caller, until the rows are given back

CERTAIN: Final = "certain"
CANDIDATES: Final = "candidates"
"""The prefixes of origins of edges, and of pairs that are to be compared."""

_PAIRS_AT_ONCE = 4096
_NONE = (np.zeros(0, np.uint64), np.zeros(0, np.uint64))
_TEXTS_AND_BYTES = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
)

Batches = Iterable[pa.RecordBatch]


def numbered_rows(batch: pa.RecordBatch, id_column: str) -> NDArray[np.uint64]:
    """A number for each row: 64 bits of a hash of its id."""
    ids = named_column("NearDuplicates", batch, id_column)
    kind = ids.type
    if ids.null_count:
        raise StageError(f"NearDuplicates: column {id_column!r}: a row has no id")
    if not (pa.types.is_integer(kind) or any(test(kind) for test in _TEXTS_AND_BYTES)):
        raise StageError(f"NearDuplicates: column {id_column!r}: expected strings, bytes or integers, not {kind}")
    # Not hot: a hash a row, beside hundreds of hashes for its text.
    hashes = b"".join(digest(one, size=8) for one in ids.to_pylist())
    return np.frombuffer(hashes, "<u8").astype(np.uint64)


def signed_rows(batch: pa.RecordBatch, text_column: str, near: NearSettings) -> pa.RecordBatch:
    """The rows that are compared: those with a text that has words and is not too large."""
    texts = column_of_batch("NearDuplicates", batch, text_column, pa.large_string())
    sizes = pc.fill_null(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False)
    chosen = np.flatnonzero((sizes > 0) & (sizes <= MAX_KERNEL_BYTES))
    texts, rows = texts.take(pa.array(chosen)), batch.column(ROW).take(pa.array(chosen))
    config = MinhashConfig(near.shingle, near.size, near.hashes, near.seed)
    made = minhash(pa.RecordBatch.from_arrays([texts], [TEXT]), near.scheme, schema(config))
    columns = [rows, made["digest"], made["signature"], texts]
    signed = pa.RecordBatch.from_arrays(columns, ["row", "digest", "signature", "text"])
    return signed.filter(made["digest"].is_valid())


def send_bands(near: NearSettings, partitions: int, batch: pa.RecordBatch) -> Iterator[AddressedBlock]:
    """Every band's key of every row, with the digest of the row's words, to the key's partition."""
    keys = pa.array(SEARCH.keys(near, signature_matrix(batch["signature"], near.hashes)))
    repeated = pa.array(np.repeat(np.arange(batch.num_rows), near.bands))
    sent = pa.RecordBatch.from_arrays(
        [keys, batch["row"].take(repeated), batch["digest"].take(repeated)], ["key", "row", "digest"]
    )
    yield from addressed_blocks(_origin("bands", batch), [(sent, partition_of_key(keys, partitions))], partitions)


def find_candidates(near: NearSettings, partitions: int, partition: int, batches: Batches) -> Iterator[AddressedBlock]:
    """Certain edges between rows of equal words, and the pairs of other rows that share a key."""
    held = list(batches)
    keys, rows = uint64_column(held, "key"), uint64_column(held, "row")
    high, low = ids_column(held, "digest")
    order = np.lexsort((rows, low, high))
    starts = run_starts(high[order], low[order])
    lengths = np.diff(np.append(starts, len(order)))
    roots = np.empty_like(rows)
    roots[order] = np.repeat(rows[order][starts], lengths)  # the least row with these words
    others = roots != rows
    equal = spanning_forest(roots[others], rows[others])
    yield AddressedBlock(0, f"{CERTAIN}-equal-{partition}", 0, edges_batch(equal))
    numbers = np.unique(rows[~others])
    places = np.searchsorted(numbers, rows[~others]).astype(np.uint64)
    marked = rows[~others] >> np.uint64(44) << np.uint64(44) | places
    found = SEARCH.candidates(near, keys[~others], marked)
    pairs = edges_batch((numbers[found.first.astype(np.int64)], numbers[found.second.astype(np.int64)]))
    targets = partition_of_key(pairs["first"], partitions)
    yield from addressed_blocks(f"{CANDIDATES}-{partition}", [(pairs, targets)], partitions)


def send_values(name: str, partitions: int, batch: pa.RecordBatch) -> Iterator[AddressedBlock]:
    """What pairs are compared by, to each row's partition."""
    sent = pa.RecordBatch.from_arrays([batch["row"], batch[name]], ["row", "value"])
    targets = partition_of_key(batch["row"], partitions)
    yield from addressed_blocks(_origin(f"{name}s", batch), [(sent, targets)], partitions)


def with_first(partitions: int, partition: int, batches: Batches) -> Iterator[AddressedBlock]:
    """The pairs with their first rows' values, to the partitions of their second rows."""
    pairs, known = _pairs_and_values(batches)
    if not pairs:
        return
    first, second = distinct_pairs(*edges_of(pairs))
    blocks = []
    for begin in range(0, len(first), _PAIRS_AT_ONCE):
        part = slice(begin, begin + _PAIRS_AT_ONCE)
        columns = [pa.array(first[part]), pa.array(second[part]), known.of(first[part])]
        sent = pa.RecordBatch.from_arrays(columns, ["first", "second", "value"])
        blocks.append((sent, partition_of_key(sent["second"], partitions)))
    yield from addressed_blocks(f"firsts-{partition}", blocks, partitions)


def verify_by_signature(
    near: NearSettings, partitions: int, partition: int, batches: Batches
) -> Iterator[AddressedBlock]:
    """Edges of pairs that are clearly similar; pairs that are not clear, to their first rows' partitions."""
    pairs, known = _pairs_and_values(batches)
    edges, unclear = [edges_batch(_NONE)], []
    for batch in pairs:
        sides = (batch["value"], known.of(batch["second"].to_numpy()))
        verdict, _ = SEARCH.judge(near, *(signature_matrix(side, near.hashes) for side in sides))
        ends = batch.select(EDGES.names)
        edges.append(ends.filter(pa.array(verdict == ABOVE)))
        left = ends.filter(pa.array(verdict == UNCLEAR))
        unclear.append((left, partition_of_key(left["first"], partitions)))
    yield _forest(f"{CERTAIN}-signatures-{partition}", edges)
    yield from addressed_blocks(f"{CANDIDATES}-{partition}", unclear, partitions)


def verify_by_text(near: NearSettings, partition: int, batches: Batches) -> Iterator[AddressedBlock]:
    """Edges of the pairs that share enough of their shingles."""
    pairs, known = _pairs_and_values(batches)
    edges = [edges_batch(_NONE)]
    for batch in pairs:
        sides = (batch["value"], known.of(batch["second"].to_numpy()))
        one, other = (compared_shingles(texts, near.scheme) for texts in sides)
        similarity = similarity_of(*shared_shingles(one, other))
        edges.append(batch.select(EDGES.names).filter(pa.array(similarity >= near.min_similarity)))
    yield _forest(f"{CERTAIN}-texts-{partition}", edges)


def join_edges(partitions: int, _partition: int, batches: Batches) -> Iterator[AddressedBlock]:
    """The cluster of every row that has one, to the row's partition."""
    held = list(batches)
    edges = sum(batch.num_rows for batch in held)
    if edges > MAX_EDGES:
        raise StageError(
            f"NearDuplicates: {edges:,} edges between near duplicates; one task joins at most {MAX_EDGES:,}. Raise "
            "min_similarity, or search in a store ('dedupe: near' of a recipe), which has no such limit"
        )
    rows, clusters = components(*edges_of(held))
    _, of, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    columns = [pa.array(rows), pa.array(clusters), pa.array(sizes[of].astype(np.int64))]
    sent = pa.RecordBatch.from_arrays(columns, ["member", "cluster", "size"])
    yield from addressed_blocks("clusters", [(sent, partition_of_key(sent["member"], partitions))], partitions)


def send_rows(partitions: int, batch: pa.RecordBatch) -> Iterator[AddressedBlock]:
    """The rows themselves, to their partitions."""
    targets = partition_of_key(batch[ROW], partitions)
    yield from addressed_blocks(_origin("rows", batch), [(batch, targets)], partitions)


def content_and_id(id_column: str, batch: pa.RecordBatch) -> tuple[str, str]:
    """The name of a batch on its way, and the first of its ids, for a message."""
    return _origin("rows", batch), repr(named_column("NearDuplicates", batch, id_column)[0].as_py())


def require_once(id_column: str, met: tuple[str, Iterable[str]]) -> None:
    """Refuse a batch that is there twice: an exchange would take it for one that was sent again.

    Raises:
        StageError: Its rows have the same ids.
    """
    ids = iter(met[1])
    known = next(ids)
    if next(ids, None) is not None:
        raise _repeated_id(known, id_column)


def mark_rows(id_column: str, keep: str, _: int, batches: Batches) -> Iterator[pa.RecordBatch]:
    """The rows of a partition with what is known of their clusters.

    Raises:
        StageError: Two rows have one id.
    """
    rows: list[pa.RecordBatch] = []
    members: list[pa.RecordBatch] = []
    for batch in batches:
        (rows if ROW in batch.schema.names else members).append(batch)
    _require_distinct(rows, id_column)
    member = uint64_column(members, "member")
    order = np.argsort(member)
    member, cluster = member[order], uint64_column(members, "cluster")[order]
    sizes = np.concatenate([np.zeros(0, np.int64), *(batch["size"].to_numpy() for batch in members)])[order]
    for batch in rows:
        at, there = find_in_sorted(member, batch[ROW].to_numpy())
        at = np.where(there, at, 0)
        none = pa.array(~there)
        if len(member):
            names = pc.if_else(none, None, pa.array([f"{one:016x}" for one in cluster[at].tolist()], pa.string()))
            size = pa.array(np.where(there, sizes[at], 1))
            chosen = ~there | (cluster[at] == batch[ROW].to_numpy())
        else:
            names, size = pa.nulls(batch.num_rows, pa.string()), pa.array(np.ones(batch.num_rows, np.int64))
            chosen = np.ones(batch.num_rows, np.bool_)
        place = batch.schema.get_field_index(ROW)
        marked = batch.remove_column(place)
        for name, column in ((CLUSTER, names), (SIZE, size), (REPRESENTATIVE, pa.array(chosen))):
            marked = marked.append_column(name, column)
        if keep == "representatives":
            marked = marked.filter(pa.array(chosen))
        if marked.num_rows:
            yield marked


def _require_distinct(rows: list[pa.RecordBatch], id_column: str) -> None:
    numbers = uint64_column(rows, ROW)
    ordered = np.sort(numbers)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return
    known = next(
        named_column("NearDuplicates", batch, id_column)[
            int(np.flatnonzero(batch[ROW].to_numpy() == twice[0])[0])
        ].as_py()
        for batch in rows
        if np.any(batch[ROW].to_numpy() == twice[0])
    )
    raise _repeated_id(repr(known), id_column)


def _repeated_id(known: str, id_column: str) -> StageError:
    return StageError(
        f"NearDuplicates: two rows have the id {known:.120} in column {id_column!r}; ids must be distinct"
    )


@dataclass(frozen=True)
class _Values:
    """What the rows of a partition are compared by."""

    rows: Words
    values: pa.Array

    def of(self, rows: Words) -> pa.Array:
        """The values of some rows, all of which must be there."""
        return self.values.take(pa.array(np.searchsorted(self.rows, rows)))


def _pairs_and_values(batches: Batches) -> tuple[list[pa.RecordBatch], _Values]:
    pairs: list[pa.RecordBatch] = []
    values: list[pa.RecordBatch] = []
    for batch in batches:
        (pairs if "second" in batch.schema.names else values).append(batch)
    if not pairs:
        return [], _Values(_NONE[0], pa.nulls(0))
    rows = uint64_column(values, "row")
    order = np.argsort(rows)
    taken = pa.concat_arrays([batch["value"] for batch in values]).take(pa.array(order))
    return pairs, _Values(rows[order], taken)


def _forest(origin: str, edges: list[pa.RecordBatch]) -> AddressedBlock:
    """The edges of a partition, as few as join what they join."""
    return AddressedBlock(0, origin, 0, edges_batch(spanning_forest(*edges_of(edges))))


def _origin(what: str, batch: pa.RecordBatch) -> str:
    """A name for a batch on its way, by its content: the same if it is sent again."""
    return f"{what}-{digest(encode_batch(batch)).hex()}"
