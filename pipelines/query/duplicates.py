"""Reads layers of duplicates for people: the clusters of one row or of its items, and their members."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.duplicates.kind import find_kind, kind_names, kinds_in_order
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.dedupe.stage import generation_keys
from winnow.pipelines.query.cluster_counts import Membership, PickedRows, Row, hexadecimal
from winnow.pipelines.query.cluster_rows import BY, COUNTED, SIMILARITY, ClusterLines, read_clusters, said_of
from winnow.pipelines.query.find_sample import Place
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.reading.items import item_ids
from winnow.pipelines.store import layout
from winnow.pipelines.store.concurrency import TABLES_AT_ONCE, map_objects
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.hidden_rows import hidden_rows
from winnow.pipelines.store.hiding.scans import NOTHING, HiddenRows
from winnow.pipelines.store.manifests.rows import ManifestRow
from winnow.pipelines.store.tables import read_rows, read_schema
from winnow.schemas.errors import RecipeError, StoreError
from winnow.schemas.languages.counts import LANGUAGE_LAYER
from winnow.schemas.records import Generation
from winnow.schemas.rows.duplicates import ID_BYTES, OF_ROWS, Kind, layer_of_kind

T = TypeVar("T")

LENGTH = Column("text.length", "characters")
LANGUAGE = Column(LANGUAGE_LAYER, "code")


@dataclass(frozen=True)
class Member:
    """A row of a cluster, or an item."""

    place: Place
    source: str
    url: str | None
    language: str | None
    characters: int | None  # characters of its text
    similarity: float | None
    matched: str | None
    by: str | None
    names_cluster: bool
    id: str  # the row's, or the item's
    item: int | None = None  # of the row, where items are compared
    facts: Mapping[str, Any] = field(default_factory=dict)  # of an item: `winnow.schemas.rows.samples.MEDIA`


@dataclass(frozen=True)
class Members:
    """The rows of a cluster, or its items, up to the requested number."""

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
        return self._with_layers(self.generation.layers)

    @staticmethod
    def _with_layers(layers: Iterable[str]) -> tuple[Kind, ...]:
        there = frozenset(layers)
        names = [name for name in kind_names() if layer_of_kind(name) in there]
        return tuple(kind.name for kind in kinds_in_order(names))

    def require(self, kind: Kind | None) -> tuple[Kind, ...]:
        """This kind, or all that have layers; StoreError if there is none."""
        if kind is not None and find_kind(kind).name in self.kinds:
            return (kind,)
        if kind is None and self.kinds:
            return self.kinds
        what = "" if kind is None else f"{kind} "
        grown = self._with_layers(self.generation.partial)
        if kind in grown or (kind is None and grown):
            raise StoreError(
                f"{self.store.root}: {what}duplicates were searched before samples were added, changed or left out; "
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
    def _manifests(self) -> dict[str, Mapping[str, ManifestRow]]:
        return {}

    def objects(self, layer: str) -> Mapping[str, ManifestRow]:
        """The objects of a layer by shard; empty if the generation has no such layer."""
        if layer not in self._manifests:
            there = layer in self.generation.layers
            self._manifests[layer] = self.store.manifest(self.generation, layer).by_shard if there else {}
        return self._manifests[layer]

    def memberships(self, kind: Kind, place: Place, item: int | None = None) -> tuple[Membership, ...]:
        """The cluster of a row for one kind, or of each of its items, or of one `item`; the row must not be forgotten.

        StoreError if the layer is older than the row.
        """
        row = self.objects(layer_of_kind(kind)).get(place.shard.shard)
        if row is None:
            raise StoreError(f"{place.id}: was added after the search for {kind} duplicates; run: winnow dedupe RECIPE")
        said = read_rows(self.store.objects, row.object, [place.row]).to_pylist()[0]
        if not find_kind(kind).unit.of_items:
            return (_membership(kind, said, None, place.id),)
        if not said["items"]:  # the row's status says why
            lacking = dict.fromkeys(name for name in said if name not in OF_ROWS)
            return (_membership(kind, {**said, **lacking}, None, place.id),)
        columns = {name: values for name, values in said.items() if name not in OF_ROWS}
        lines = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        own = pa.array([bytes.fromhex(place.id)] * len(lines), pa.binary(ID_BYTES))
        ids = item_ids(own, np.arange(len(lines))).to_pylist()
        return tuple(
            _membership(kind, {**line, "status": line["items"]}, number, ids[number].hex())
            for number, line in enumerate(lines)
            if item in (None, number)
        )

    def members(self, membership: Membership, most: int) -> Members:
        """The rows or items of a cluster: the asked one, its match, the one that names it, then those least similar."""
        assert membership.cluster is not None
        own = bytes.fromhex(membership.id)

        def picking(shard: ManifestRow) -> PickedRows:
            some = PickedRows(own, membership, most)
            for lines in self._shard(membership.kind, shard):
                some.add(membership.kind, shard, lines)
            return some

        picked = PickedRows(own, membership, most)
        for one in self._each(membership.kind, picking):
            picked.absorb(one)
        return Members(picked.found, tuple(self._members(membership, picked.rows)), self._matched(picked))

    def _matched(self, picked: "PickedRows") -> Place | None:
        if picked.matched is None:
            return None
        shard, row, _ = picked.matched
        samples = self.objects(layout.SAMPLES)[shard]
        (identity,) = read_rows(self.store.objects, samples.object, [row], ["id"])["id"].to_pylist()
        return Place(samples, row, identity.hex())

    def _each(self, kind: Kind, work: Callable[[ManifestRow], T]) -> Iterator[T]:
        """The results of the work for each shard of a kind's layer, in order."""
        shards = self.objects(layer_of_kind(kind)).values()
        # Loaded once for all threads.
        self.hidden, self.objects(LANGUAGE.layer)
        for shard in shards:
            self.columns(kind, shard)
        return map_objects(self.store.objects, work, shards, TABLES_AT_ONCE)

    def _shard(self, kind: Kind, shard: ManifestRow) -> Iterator[ClusterLines]:
        """The layer's rows or items of a shard, beside the ids; forgotten rows are redacted."""
        objects = {layer_of_kind(kind): shard.object, layout.SAMPLES: shard.samples}
        hidden = self.hidden.get(shard.shard, NOTHING).rows
        return read_clusters(self.store.objects, kind, objects, self.columns(kind, shard), hidden)

    def columns(self, kind: Kind, shard: ManifestRow) -> list[str]:
        """The columns of a kind's layer."""
        key = f"{layer_of_kind(kind)} {shard.key}"
        if key not in self._known:
            there = read_schema(self.store.objects, shard.object).names
            lacking = sorted({*find_kind(kind).schema.names} - {COUNTED, SIMILARITY, BY} - {*there})
            if lacking:
                raise StoreError(
                    f"{self.store.root}: {shard.object} lacks the column {lacking[0]} of duplicates; run 'winnow "
                    "audit' to see what else is damaged"
                )
            self._known[key] = [name for name in there if name not in OF_ROWS]
        return self._known[key]

    @cached_property
    def _known(self) -> dict[str, list[str]]:
        return {}

    def _members(self, membership: Membership, rows: "Sequence[Row]") -> Iterator[Member]:
        facts: dict[tuple[str, int], tuple[str, str | None, list[dict[str, Any]], str | None, int | None]] = {}
        unit = find_kind(membership.kind).unit
        of_items, of_media = unit.of_items, unit.of_media
        for shard in sorted({row.shard for row in rows}):
            wanted = sorted({row.row for row in rows if row.shard == shard})
            names = ["id", "url", *(["media"] if of_media else [])]
            table = read_rows(self.store.objects, self.objects(layout.SAMPLES)[shard].object, wanted, names)
            ids = [one.hex() for one in table["id"].to_pylist()]
            media = table["media"].to_pylist() if of_media else [[]] * len(wanted)
            measured = (self._values(shard, wanted, LANGUAGE), self._lengths(shard, wanted))
            for row, *known in zip(wanted, ids, table["url"].to_pylist(), media, *measured, strict=True):
                facts[shard, row] = (known[0], known[1], known[2], known[3], known[4])
        samples = self.objects(layout.SAMPLES)
        for one in rows:
            row_id, url, items, language, length = facts[one.shard, one.row]
            yield Member(
                Place(samples[one.shard], one.row, row_id),
                one.source,
                url,
                language,
                length,
                one.similarity,
                hexadecimal(one.matched),
                one.by,
                one.id.hex() == membership.cluster,
                one.id.hex(),
                one.item if of_items else None,
                items[one.item] if one.item < len(items) else {},
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


def _membership(kind: Kind, values: Mapping[str, Any], item: int | None, identity: str) -> Membership:
    """The membership that a line of a layer describes."""
    of = find_kind(kind)
    line = {
        name: pa.array([values[name]], _type_of_lines(of.schema, name)) for name in of.schema.names if name in values
    }
    counted, similarity, by = (column[0].as_py() for column in said_of(of, line).values())
    return Membership(
        kind,
        values["status"],
        hexadecimal(values["cluster"]),
        values["size"],
        counted,
        similarity,
        hexadecimal(values["matched"]),
        by,
        item,
        identity,
    )


def _type_of_lines(schema: pa.Schema, name: str) -> pa.DataType:
    """Return the type of a column in lines: of lists, that of an item."""
    kind = schema.field(name).type
    return kind.value_type if pa.types.is_list(kind) else kind
