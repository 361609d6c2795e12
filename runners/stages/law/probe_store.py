"""The texts of a store's kept samples, each with its family according to `text.language`."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.binding.bound_recipe import BoundRecipe, bind
from winnow.pipelines.binding.duplicates import spelt_out
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.query.recipe_rules import pinned_rules
from winnow.pipelines.reading.chosen_text import first_text
from winnow.pipelines.reading.columns import Column, column_of, read_aligned
from winnow.pipelines.rules.deciding import choose_representatives, decide
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store, open_store
from winnow.pipelines.store.hiding.hidden_rows import hidden_rows
from winnow.pipelines.store.hiding.scans import NOTHING
from winnow.pipelines.store.location import open_location
from winnow.schemas.errors import StoreError
from winnow.schemas.identity import digest
from winnow.schemas.languages import grouping
from winnow.schemas.languages.counts import LANGUAGE_LAYER
from winnow.schemas.recipe import load_recipe
from winnow.schemas.recipe.render import resolved_yaml
from winnow.schemas.records import Generation
from winnow.schemas.rows.extraction import EXTRACTED

_CODE: Final = "code"
_BATCH_ROWS: Final = 1024


def texts_of_recipe(recipe: str, named_grouping: str) -> "StoreTexts":
    """The texts of a store that a recipe keeps."""
    loaded = bind(load_recipe(recipe))
    return StoreTexts(open_store(open_location(loaded.store_address)), loaded, named_grouping)


def texts_of_store(place: str, named_grouping: str) -> "StoreTexts":
    """All texts of a store."""
    return StoreTexts(open_store(open_location(place)), None, named_grouping)


@dataclass
class StoreTexts:
    """The kept samples of the latest generation, with their families according to `text.language`."""

    store: Store
    recipe: BoundRecipe | None  # None for all samples of a store
    grouping: str
    lost: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._of = grouping(self.grouping)
        self._generation = require_latest_for(self.recipe, self.store)
        layers = sorted(self._generation.layers)
        if LANGUAGE_LAYER not in layers:
            raise StoreError(
                f"{self.store.root}: generation {self._generation.number} has no layer {LANGUAGE_LAYER}, which "
                f"determines families; write 'annotate: [{LANGUAGE_LAYER}]' and run winnow annotate"
            )
        if self.recipe is None:
            names = [*(f"{layer}.text" for layer in layers if layer.startswith(EXTRACTED)), "samples.text"]
        else:
            names = list(self.recipe.config.text)
        columns = [column_of(name, layers) for name in names]
        missing = [name for name, column in zip(names, columns, strict=True) if column is None]
        if missing:
            raise StoreError(
                f"{self.store.root}: {missing[0]}, which the recipe's text names, does not exist; run winnow run"
            )
        self._texts = [column for column in columns if column is not None]
        self._language = Column(LANGUAGE_LAYER, _CODE)

    @property
    def key(self) -> str:
        """A hash of the generation, the forgotten rows, and the recipe's rules."""
        hidden = hidden_rows(self.store, self._generation)
        rows = [f"{shard} {one.rows.tolist()}" for shard, one in sorted(hidden.items())]
        manifests = [f"{name} {entry.manifest}" for name, entry in sorted(self._generation.layers.items())]
        # Variables count by their values.
        rules = "" if self.recipe is None else resolved_yaml(replace(spelt_out(self.recipe.config), written=()))
        tables = () if self.recipe is None else self.recipe.rules.tables  # a file may have changed
        cells = [f"{table.name} {table.key} {table.keys} {sorted(table.columns.items())}" for table in tables]
        texts = [text.name for text in self._texts]
        return digest("store", self.grouping, *manifests, *rows, rules, *cells, *texts).hex()

    def read(self) -> Iterator[tuple[str, str]]:
        """Read the texts by shard, in batches."""
        columns = list(dict.fromkeys([*self._texts, self._language]))
        manifests = {
            layer: self.store.manifest(self._generation, layer).by_shard
            for layer in sorted({layout.SAMPLES, *(column.layer for column in columns)})
        }
        hidden = hidden_rows(self.store, self._generation)
        families: dict[str | None, str | None] = {None: None}
        for shard, kept in _kept(self.recipe, self.store, self._generation):
            unmeasured = next((layer for layer, rows in manifests.items() if shard not in rows), None)
            if unmeasured is not None:
                raise StoreError(
                    f"{self.store.root}: shard {shard} has no layer {unmeasured}; run winnow annotate first"
                )
            objects = {layer: rows[shard].object for layer, rows in manifests.items()}
            at = 0
            for block in read_aligned(
                self.store.objects, objects, columns, _BATCH_ROWS, hidden.get(shard, NOTHING).rows
            ):
                codes = block[self._language.name]
                mask = np.ones(len(codes), np.bool_) if kept is None else kept[at : at + len(codes)]
                at += len(codes)
                self.lost["dropped"] += int((~mask).sum())
                yield from self._block(block, codes, pa.array(mask), families)

    def _block(
        self, block: dict[str, pa.Array], codes: pa.Array, mask: pa.Array, families: dict[str | None, str | None]
    ) -> Iterator[tuple[str, str]]:
        texts = first_text([block[column.name].filter(mask) for column in self._texts])
        # one document per iteration: few per second
        for text, code in zip(texts, codes.filter(mask).to_pylist(), strict=True):
            if code not in families:
                families[code] = self._of.of(code.partition("_")[0])
            family = families[code]
            if not text.is_valid:
                self.lost["no text"] += 1
            elif family is None:
                self.lost["of no family"] += 1
            else:
                yield family, text.as_py()


def _kept(
    recipe: BoundRecipe | None, store: Store, generation: Generation
) -> Iterator[tuple[str, NDArray[np.bool_] | None]]:
    """Yield each shard with the mask of kept rows; None for all."""
    pinned = None if recipe is None else pinned_rules(recipe, store, generation)
    if pinned is None:
        yield from ((row.shard, None) for row in store.manifest(generation, layout.SAMPLES))
        return
    for decisions in decide(pinned, duplicates=choose_representatives(pinned)):
        yield decisions.shard, decisions.kept
