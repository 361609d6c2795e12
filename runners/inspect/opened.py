"""The store that a page shows, as of one generation, and the recipe by which it is read."""

from dataclasses import dataclass
from functools import cached_property

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.store.generations import Store
from winnow.runners.inspect.kept import Kept
from winnow.runners.notebook.store_tables import StoreTables
from winnow.schemas.records import Generation


@dataclass(frozen=True)
class Opened:
    """A store at one generation; what views have computed stays in `kept`, as far as memory allows."""

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

    @cached_property
    def kept(self) -> Kept:
        """What views have computed of this generation."""
        return Kept()
