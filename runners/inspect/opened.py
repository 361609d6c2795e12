"""The store that a page shows, as of one generation, and the recipe by which it is read."""

from dataclasses import dataclass
from functools import cached_property

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.store.generations import Store
from winnow.runners.notebook.store_tables import StoreTables
from winnow.schemas.records import Generation


@dataclass(frozen=True)
class Opened:
    """A store at one generation; views keep what they have computed in objects of their own, found by `cached`."""

    store: Store
    recipe: BoundRecipe | None

    @cached_property
    def generation(self) -> Generation:
        """The generation that all views show; StoreError if nothing is ingested yet."""
        return require_latest_for(self.recipe, self.store)

    @cached_property
    def tables(self) -> StoreTables:
        """Its tables for SQL."""
        return StoreTables(self.store, self.recipe)
