"""Summarises layers of duplicates for people: clusters by size, the largest ones, and the members of one.

One pass counts the clusters and keeps the largest, a second collects details of these few. Rows that were
forgotten after the search still count in the recorded sizes; nothing else of them is read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.dedupe.stage import generation_keys
from winnow.pipelines.forgetting.hidden_rows import hidden_rows
from winnow.pipelines.query.cluster_counts import (
    Cluster,
    Gathered,
    Heads,
    Membership,
    Overview,
    Picked,
    Row,
    gather,
    hexadecimal,
)
from winnow.pipelines.query.columns import Column, read_aligned
from winnow.pipelines.query.find_sample import Place
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.scans import NOTHING, HiddenRows
from winnow.pipelines.store.manifests import ManifestRow
from winnow.pipelines.store.tables import ROW_GROUP_ROWS, read_batches, read_rows, read_schema
from winnow.pipelines.store.together import TABLES_AT_ONCE, each
from winnow.schemas.errors import RecipeError, StoreError
from winnow.schemas.languages.counts import LANGUAGE_LAYER
from winnow.schemas.records import Generation
from winnow.schemas.rows.duplicates import ID_BYTES, KINDS, Kind, layer_of_kind, schema_of_kind

T = TypeVar("T")

LENGTH = Column("text.length", "characters")
LANGUAGE = Column(LANGUAGE_LAYER, "code")

_OF_NEAR = pa.schema([("texts", pa.int64()), ("similarity", pa.float64()), ("by", pa.string())])
"""Columns that some kinds, or older layers, do not have: null there."""


@dataclass(frozen=True)
class Member:
    """A row of a cluster."""

    place: Place
    source: str
    url: str | None
    language: str | None
    characters: int | None  # characters of its text
    similarity: float | None
    matched: str | None
    by: str | None
    names_cluster: bool


@dataclass(frozen=True)
class Members:
    """The rows of a cluster, up to the requested number."""

    found: int  # rows that are not forgotten
    shown: tuple[Member, ...]
    matched: Place | None  # the place of the row's match; None if it is forgotten


@dataclass(frozen=True)
class Browser:
    """Reads a generation's layers of duplicates, with the layers beside them."""

    store: Store
    generation: Generation
    text: tuple[Column, ...]  # the columns of texts, in order of preference

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that have layers."""
        return tuple(kind for kind in KINDS if layer_of_kind(kind) in self.generation.layers)

    def require(self, kind: Kind | None) -> tuple[Kind, ...]:
        """This kind, or all that have layers.

        Raises:
            StoreError: There is none.
        """
        if kind in self.kinds:
            assert kind is not None
            return (kind,)
        if kind is None and self.kinds:
            return self.kinds
        what = "" if kind is None else f"{kind} "
        grown = [one for one in KINDS if layer_of_kind(one) in self.generation.partial and kind in (None, one)]
        if grown:
            raise StoreError(
                f"{self.store.root}: {what}duplicates were searched before samples were added or changed; "
                "run: winnow dedupe RECIPE"
            )
        raise StoreError(
            f"{self.store.root}: no {what}duplicates were searched yet, or a purge removed them; "
            "run: winnow dedupe RECIPE"
        )

    def stale(self, recipe: BoundRecipe | None) -> dict[Kind, bool | None]:
        """Whether the layers of each kind were made with other settings.

        None if unknown: there is no recipe, or it does not search this kind.
        """
        try:
            keys = {} if recipe is None else generation_keys(self.store, recipe, self.generation)
        except RecipeError:  # a preset that does not exist: `winnow plan` reports it
            keys = {}
        layers = {kind: layer_of_kind(kind) for kind in self.kinds}
        return {
            kind: keys[layer] != self.generation.layers[layer].keys if layer in keys else None
            for kind, layer in layers.items()
        }

    @cached_property
    def hidden(self) -> Mapping[str, HiddenRows]:
        """The forgotten rows by shard, for shards that have any."""
        return hidden_rows(self.store, self.generation)

    @cached_property
    def _manifests(self) -> dict[str, dict[str, ManifestRow]]:
        return {}

    def objects(self, layer: str) -> Mapping[str, ManifestRow]:
        """The objects of a layer by shard; empty if the generation has no such layer."""
        if layer not in self._manifests:
            rows = self.store.manifest(self.generation, layer) if layer in self.generation.layers else []
            self._manifests[layer] = {row.shard: row for row in rows}
        return self._manifests[layer]

    def overview(self, kind: Kind, most: int) -> Overview:
        """Counts all clusters of a kind, with the largest of them."""

        def headed(shard: ManifestRow) -> Heads:
            heads = Heads(most)
            for start, batch in self._shard(kind, shard, hide=False):
                heads.add(kind, batch, start, self._hidden_of(shard))
            return heads

        found = Heads(most)
        for one in self._each(kind, headed):
            found.absorb(one)
        return found.overview(kind, self._describe(kind, found.largest))

    def membership(self, kind: Kind, place: Place) -> Membership:
        """The cluster of a row, for one kind; the row must not be forgotten.

        Raises:
            StoreError: The layer is older than the row.
        """
        row = self.objects(layer_of_kind(kind)).get(place.shard.shard)
        if row is None:
            raise StoreError(f"{place.id}: was added after the search for {kind} duplicates; run: winnow dedupe RECIPE")
        said = read_rows(self.store.objects, row.object, [place.row]).to_pylist()[0]
        return Membership(
            kind,
            said["status"],
            hexadecimal(said["cluster"]),
            said["size"],
            said.get("texts"),
            said.get("similarity"),
            hexadecimal(said["matched"]),
            said.get("by"),
        )

    def members(self, said: Membership, place: Place, most: int) -> Members:
        """The rows of a row's cluster: itself, its match, the naming row, then those least similar to their match."""
        assert said.cluster is not None

        def picking(shard: ManifestRow) -> Picked:
            some = Picked(bytes.fromhex(place.id), said, most)
            for start, batch in self._shard(said.kind, shard, hide=True):
                some.add(said.kind, shard, start, batch)
            return some

        picked = Picked(bytes.fromhex(place.id), said, most)
        for one in self._each(said.kind, picking):
            picked.absorb(one)
        return Members(picked.found, tuple(self._members(said.cluster, picked.rows)), self._matched(picked))

    def _matched(self, picked: "Picked") -> Place | None:
        if picked.matched is None:
            return None
        shard, row, identity = picked.matched
        return Place(self.objects(layout.SAMPLES)[shard], row, identity.hex())

    def _each(self, kind: Kind, work: Callable[[ManifestRow], T]) -> Iterator[T]:
        """The results of the work for each shard of a kind's layer, in order."""
        shards = self.objects(layer_of_kind(kind)).values()
        # Loaded once for all threads.
        self.hidden, self.objects(LANGUAGE.layer)
        for shard in shards:
            self._columns(kind, shard)
        return each(self.store.objects, work, shards, TABLES_AT_ONCE)

    def _shard(self, kind: Kind, shard: ManifestRow, *, hide: bool) -> Iterator[tuple[int, Mapping[str, pa.Array]]]:
        """The layer's rows of a shard, beside the ids; a missing column is null."""
        layer = layer_of_kind(kind)
        there = self._columns(kind, shard)
        columns = [Column(layer, name) for name in there]
        objects = {layer: shard.object, layout.SAMPLES: shard.samples}
        hidden = self._hidden_of(shard) if hide else None
        start = 0
        ids = Column(layout.SAMPLES, "id")
        for batch in read_aligned(self.store.objects, objects, [*columns, ids], ROW_GROUP_ROWS, hidden):
            count = len(batch[ids.name])
            missing = {
                f"{layer}.{one.name}": pa.nulls(count, one.type)
                for one in _OF_NEAR
                if f"{layer}.{one.name}" not in batch
            }
            yield start, {**batch, **missing}
            start += count

    def _columns(self, kind: Kind, shard: ManifestRow) -> list[str]:
        key = f"{layer_of_kind(kind)} {shard.key}"
        if key not in self._known:
            there = read_schema(self.store.objects, shard.object).names
            lacking = sorted({*schema_of_kind(kind).names} - {*_OF_NEAR.names} - {*there})
            if lacking:
                raise StoreError(
                    f"{self.store.root}: {shard.object} lacks the column {lacking[0]} of duplicates; run 'winnow "
                    "audit' to see what else is damaged"
                )
            self._known[key] = [name for name in there if name != "status"]
        return self._known[key]

    @cached_property
    def _known(self) -> dict[str, list[str]]:
        return {}

    def _hidden_of(self, shard: ManifestRow) -> NDArray[np.int64]:
        return self.hidden.get(shard.shard, NOTHING).rows

    def _describe(self, kind: Kind, heads: Sequence[Cluster]) -> tuple[Cluster, ...]:
        if not heads:
            return ()
        layer = layer_of_kind(kind)
        wanted = pa.array([bytes.fromhex(one.id) for one in heads], pa.binary(ID_BYTES))

        def gathered(shard: ManifestRow) -> list[Gathered]:
            found = [Gathered() for _ in heads]
            parts: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
            for start, batch in self._shard(kind, shard, hide=True):
                index = pc.index_in(batch[f"{layer}.cluster"], value_set=wanted)
                rows = np.flatnonzero(index.is_valid().to_numpy(zero_copy_only=False))
                if len(rows):
                    of = index.take(pa.array(rows)).to_numpy().astype(np.int64)
                    gather(found, shard, start, rows, of, batch, layer)
                    parts.append((rows + start, of))
            if not parts:
                return []
            rows, of = (np.concatenate(part) for part in zip(*parts, strict=True))
            for number, count in enumerate(np.bincount(of, minlength=len(heads)).tolist()):
                if count:
                    found[number].sources[shard.source] += count
            self._count_languages(found, shard, rows, of)
            return found

        found = [Gathered() for _ in heads]
        for some in self._each(kind, gathered):
            for one, more in zip(found, some, strict=False):  # a shard without any gives nothing
                one.absorb(more)
        samples = self.objects(layout.SAMPLES)
        return tuple(one.cluster(head, samples) for head, one in zip(heads, found, strict=True))

    def _count_languages(
        self, found: "Sequence[Gathered]", shard: ManifestRow, rows: NDArray[np.int64], of: NDArray[np.int64]
    ) -> None:
        measured = self.objects(LANGUAGE.layer).get(shard.shard)
        if measured is None:
            return
        codes = pa.concat_arrays(
            [batch[LANGUAGE.leaf] for batch in read_batches(self.store.objects, measured.object, [LANGUAGE.leaf])]
        )
        table = pa.table({"code": codes.take(pa.array(rows)).cast(pa.string()), "of": of})
        for group in table.group_by(["of", "code"], use_threads=False).aggregate([([], "count_all")]).to_pylist():
            if group["code"] is not None:
                found[group["of"]].languages[group["code"]] += group["count_all"]

    def _members(self, cluster: str, rows: "Sequence[Row]") -> Iterator[Member]:
        facts: dict[tuple[str, int], tuple[str | None, str | None, int | None]] = {}
        for shard in sorted({row.shard for row in rows}):
            wanted = sorted(row.row for row in rows if row.shard == shard)
            table = read_rows(self.store.objects, self.objects(layout.SAMPLES)[shard].object, wanted, ["url"])
            measured = (self._values(shard, wanted, LANGUAGE), self._lengths(shard, wanted))
            for row, url, language, length in zip(wanted, table["url"].to_pylist(), *measured, strict=True):
                facts[shard, row] = url, language, length
        samples = self.objects(layout.SAMPLES)
        for one in rows:
            place = Place(samples[one.shard], one.row, one.id.hex())
            names = one.id.hex() == cluster
            yield Member(
                place, one.source, *facts[one.shard, one.row], one.similarity, hexadecimal(one.matched), one.by, names
            )

    def _values(self, shard: str, rows: list[int], column: Column) -> list[str | None]:
        measured = self.objects(column.layer).get(shard)
        if measured is None:
            return [None] * len(rows)
        values: list[str | None] = read_rows(self.store.objects, measured.object, rows, [column.leaf])[
            column.leaf
        ].to_pylist()
        return values

    def _lengths(self, shard: str, rows: list[int]) -> list[int | None]:
        """Characters of the texts: as measured, else counted from the texts."""
        measured = self.objects(LENGTH.layer).get(shard)
        if measured is not None:
            table = read_rows(self.store.objects, measured.object, rows, [LENGTH.leaf])
            return [None if one is None else int(one) for one in table[LENGTH.leaf].to_pylist()]
        lengths: list[int | None] = [None] * len(rows)
        for column in self.text:
            row = self.objects(column.layer).get(shard)
            if row is not None:
                texts = read_rows(self.store.objects, row.object, rows, [column.leaf])[column.leaf]
                other = pc.utf8_length(texts).to_pylist()
                lengths = [one if one is not None else more for one, more in zip(lengths, other, strict=True)]
        return lengths
