"""Texts of samples as they may be shown: as exported, with the recipe's edits applied.

Without a recipe the edits are unknown, so texts are shown only if the user asks for them as read.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.query.duplicates import Browser
from winnow.pipelines.query.find_sample import Place, Sample
from winnow.pipelines.reading.columns import Column, column_of
from winnow.pipelines.reading.items import item_of_id
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.tables import read_rows
from winnow.runners.stages.samples.sample import exported_text, view_with_edits
from winnow.schemas.records import Generation
from winnow.schemas.rows.extraction import EXTRACTED

_PICTURE_COLUMNS = (Column(layout.SAMPLES, "id"), Column(layout.SAMPLES, "media"))


@dataclass(frozen=True)
class Excerpts:
    """Reads texts of samples."""

    browser: Browser
    recipe: BoundRecipe | None
    raw: bool = False

    @classmethod
    def of(cls, store: Store, generation: Generation, recipe: BoundRecipe | None, *, raw: bool = False) -> "Excerpts":
        """Excerpts of a generation's texts, in the columns that the recipe names."""
        if recipe is None:
            layers = [layout.SAMPLES, *sorted(one for one in generation.layers if one.startswith(EXTRACTED))]
            text = tuple(Column(layer, "text") for layer in layers)
        else:
            found = (column_of(name, generation.layers) for name in recipe.config.text)
            text = tuple(column for column in found if column is not None)
        return cls(Browser(store, generation, text), recipe, raw)

    @property
    def texts_hidden(self) -> bool:
        """Whether no text may be shown."""
        return self.recipe is None and not self.raw

    def compared(self, place: Place) -> str | None:
        """The unedited text, for measuring only: it may contain what must not be shown."""
        return self._sample(place, self.browser.text).text(self.browser.text)

    def shown(self, place: Place) -> str | None:
        """The text as it may be shown; None if it may not be, or if there is none.

        RecipeError if the edits are invalid, or their key is missing.
        """
        if self.raw:
            return self.compared(place)
        if self.recipe is None:
            return None
        bound = self.recipe.edits
        extra = (column for one in bound for column in (one.column, one.status) if column is not None)
        sample = self._sample(place, (*self.browser.text, *extra))
        return exported_text(view_with_edits(self.recipe, sample))

    def picture(self, place: Place) -> str:
        """Where the picture is that has this id."""
        (row,) = self._sample(place, _PICTURE_COLUMNS).layers[layout.SAMPLES].to_pylist()
        item = item_of_id(bytes.fromhex(place.id), row["id"])
        return reference(row["media"][item]) if 0 <= item < len(row["media"] or ()) else ""

    def _sample(self, place: Place, columns: Iterable[Column]) -> Sample:
        """A sample with only these columns, as far as they exist."""
        wanted: dict[str, list[str]] = {}
        for column in dict.fromkeys(columns):
            wanted.setdefault(column.layer, []).append(column.leaf)
        layers: Mapping[str, pa.RecordBatch] = {
            layer: read_rows(self.browser.store.objects, row.object, [place.row], leaves)
            .combine_chunks()
            .to_batches()[0]
            for layer, leaves in wanted.items()
            if (row := self.browser.objects(layer).get(place.shard.shard)) is not None
        }
        return Sample(place, layers)


def reference(facts: Mapping[str, Any]) -> str:
    """Where an item's bytes are: `shards/a.tar 1,024 1.jpg`."""
    where = facts.get("ref")
    if where is None:
        return ""
    parts = [str(where["path"])]
    if where["container"] != "file":
        parts += [f"at {where['offset']:,}", *([str(where["member"])] if where["member"] else [])]
    return " ".join(parts)
