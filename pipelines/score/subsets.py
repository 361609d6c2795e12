"""Subsets of samples as lists of uids, in DataComp's format: what they have in common, and their mean scores.

The mean score of a subset is Grad-Mimic's estimate of its quality (arXiv 2501.06708). A uid is a sample's id, or a text
of 32 hexadecimal digits in the JSON of `samples.metadata`, such as DataComp's own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Final, TypeAlias, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.export.planning.id_list import UID
from winnow.pipelines.reading.columns import Column, read_aligned
from winnow.pipelines.score.stage import state_of
from winnow.pipelines.score.weights import scored_shards
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.redaction import hidden_in
from winnow.pipelines.store.hiding.scans import load_hiding
from winnow.pipelines.store.state import StoreState
from winnow.pipelines.store.tables import read_schema
from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import ID_BYTES
from winnow.schemas.recipe.score import Measured
from winnow.schemas.records import Generation
from winnow.schemas.rows.scores import SCORES
from winnow.scoring.tasks.labels import value_of

Uids: TypeAlias = NDArray[np.bytes_]
"""Sorted, each once, in 16 bytes."""

MEASURES: Final = ("score", *get_args(Measured))
_ID: Final = Column(layout.SAMPLES, "id")
_METADATA: Final = Column(layout.SAMPLES, "metadata")
_ROWS: Final = 65_536
_TYPE: Final = f"S{ID_BYTES}"


@dataclass
class SubsetScores:
    """A subset in a store."""

    name: str
    listed: int | None  # None for all samples of the store
    found: int = 0
    sums: dict[str, dict[str, tuple[int, float]]] = field(default_factory=dict)
    """Of each score and measure: how many samples have a value, and their sum."""

    def mean(self, score: str, measure: str) -> float | None:
        """The mean of a measure; None without a value."""
        count, total = self.sums.get(score, {}).get(measure, (0, 0.0))
        return total / count if count else None


@dataclass(frozen=True, slots=True)
class Overlap:
    """What two lists have in common."""

    first: str
    second: str
    both: int
    either: int


def read_uids(path: Path) -> Uids:
    """The uids of a file; RecipeError if it is not a list of them."""
    expected = "expected pairs of 64-bit numbers in a .npy, as `winnow export --id-list` and DataComp write"
    try:
        found = np.load(path, allow_pickle=False)
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror or error}; {expected}") from None
    except Exception:  # noqa: BLE001, a damaged header raises whatever numpy's parts do
        raise RecipeError(f"{path}: not a .npy file of numbers; {expected}") from None
    if not isinstance(found, np.ndarray) or found.ndim != 1 or found.dtype.newbyteorder("<") != UID:
        raise RecipeError(f"{path}: numbers of type {getattr(found, 'dtype', type(found).__name__)}; {expected}")
    return np.unique(_named(found.astype(UID).view("<u8")))


def common(lists: Sequence[Uids]) -> Uids:
    """The uids that all lists have."""
    found = lists[0]
    for other in lists[1:]:
        found = np.intersect1d(found, other, assume_unique=True)
    return found


def arrow_uids(uids: Uids) -> pa.FixedSizeBinaryArray:
    """For `write_id_list`."""
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(ID_BYTES), len(uids), [None, pa.py_buffer(uids)])


def overlaps(lists: Mapping[str, Uids]) -> list[Overlap]:
    """Of each two lists."""
    found = []
    for (first, one), (second, other) in combinations(lists.items(), 2):
        both = len(common([one, other]))
        found.append(Overlap(first, second, both, len(one) + len(other) - both))
    return found


def score_subsets(
    store: Store, generation: Generation, lists: Mapping[str, Uids], uid_key: str | None = None
) -> list[SubsetScores]:
    """The mean scores of each list, and of all samples.

    Args:
        store: The store.
        generation: What is read of it.
        lists: Uids by name; about 16 bytes each are held.
        uid_key: The key of uids in the JSON of `samples.metadata`; None: uids are ids.
    """
    state = state_of(store, generation)
    layers = sorted(layer for layer in state.layers if layer.startswith(SCORES))
    subsets = [*(SubsetScores(name, len(uids)) for name, uids in lists.items()), SubsetScores("all samples", None)]
    source = _ID if uid_key is None else _METADATA
    columns = (_ID, source, *(one for layer in layers for one in _measured(store, state, layer)))
    hiding = load_hiding(store.objects)
    for shard in scored_shards(state, columns):
        hidden = hiding.of(store.objects, shard.objects[layout.SAMPLES]).rows
        done = 0
        for read in read_aligned(store.objects, shard.objects, dict.fromkeys(columns), _ROWS, hidden):
            count = len(read[_ID.name])
            there = ~hidden_in(hidden, done, count)
            done += count
            uids = _uids_of(read[source.name], uid_key)
            for subset in subsets:
                listed = there & _among(uids, lists[subset.name]) if subset.listed is not None else there
                _add(subset, read, listed, layers)
    return subsets


def _measured(store: Store, state: StoreState, layer: str) -> list[Column]:
    """The measures that a score has; those on request stand in its layer alone."""
    objects = sorted(state.layers[layer].objects.values())
    names = read_schema(store.objects, objects[0]).names if objects else ()
    return [Column(layer, measure) for measure in MEASURES if measure in names]


def _add(subset: SubsetScores, read: Mapping[str, pa.Array], listed: NDArray[np.bool_], layers: Sequence[str]) -> None:
    subset.found += int(np.count_nonzero(listed))
    for layer in layers:
        sums = subset.sums.setdefault(layer.removeprefix(SCORES), {})
        for measure in MEASURES:
            if (column := read.get(f"{layer}.{measure}")) is None:
                continue
            values = column.to_numpy(zero_copy_only=False)[listed]
            known = values[np.isfinite(values)]
            count, total = sums.get(measure, (0, 0.0))
            sums[measure] = count + len(known), total + float(known.sum())


def _uids_of(column: pa.Array, key: str | None) -> Uids:
    """The uid of each row; empty where it has none."""
    if key is None:
        return _named(np.frombuffer(column.buffers()[1], ">u8", 2 * len(column), column.offset * ID_BYTES), big=True)
    return np.array(list(_from_json(column, key)), _TYPE)  # read once a command, beside the parsing of JSON


def _from_json(column: pa.Array, key: str) -> Iterator[bytes]:
    for raw in column.to_pylist():
        said = None if raw is None else value_of(raw, key)
        try:
            uid = b"" if said is None or len(said) != 2 * ID_BYTES else bytes.fromhex(said)
            yield uid if len(uid) == ID_BYTES else b""  # white space counts as no digit
        except ValueError:
            yield b""


def _named(numbers: NDArray[np.uint64], *, big: bool = False) -> Uids:
    return np.ascontiguousarray(numbers if big else numbers.astype(">u8")).view(_TYPE)


def _among(uids: Uids, wanted: Uids) -> NDArray[np.bool_]:
    if not len(wanted):
        return np.zeros(len(uids), np.bool_)
    places = np.minimum(np.searchsorted(wanted, uids), len(wanted) - 1)
    found: NDArray[np.bool_] = (wanted[places] == uids) & (uids != b"")
    return found
