"""A recipe bound once for a command: what it asks for, checked and ready to run, each part made when it is first used.

    recipe = bind(load_recipe("recipe.yaml"))
    recipe.require_rules()  # what is wrong with them is said before anything is read
    measured = recipe.operators

Every part is made of the recipe and of the parts before it, never twice: the columns that rules, edits, scores and
mixture may name are those of the same configured operators. A part that cannot be bound raises each time it is asked
for, so it is said by whoever needs it first. Binding looks at files that the recipe names (models, weights, tables of
thresholds, tokenizers), and a part keeps what it saw: a command decides by one state of them from beginning to end.

It stays in the command. Workers get parts of it (`BoundOperator`, `BoundScore`, `IngestContext`, …), never the whole.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from winnow.pipelines.binding.duplicates import NearSettings, near_settings, wanted_kinds
from winnow.pipelines.binding.edits import BoundEdit, bind_edits
from winnow.pipelines.binding.mixture import BoundMix, bind_mix
from winnow.pipelines.binding.operators import BoundOperator, Measurement, bind_operators, measurements, store_columns
from winnow.pipelines.binding.rule_presets import expand_presets
from winnow.pipelines.binding.rules import RuleProgram, rule_program
from winnow.pipelines.binding.scores import BoundScore, bind_scores
from winnow.pipelines.binding.sources import BoundSources, bind_sources
from winnow.pipelines.binding.tokens import TokensLayer, bind_tokens
from winnow.pipelines.ingest.planning.context import IngestContext
from winnow.pipelines.query.columns import Column
from winnow.pipelines.store.generations import Store
from winnow.schemas.recipe import Recipe
from winnow.schemas.rows.duplicates import Kind
from winnow.schemas.rules import ColumnInfo

if TYPE_CHECKING:
    from winnow.pipelines.export.stage import BoundExport


@dataclass(frozen=True, eq=False)
class BoundRecipe:
    """A recipe and what it means. Every part raises RecipeError where it cannot be had, one line for each problem."""

    config: Recipe

    def __reduce__(self) -> str:
        raise TypeError("a bound recipe stays in the command that made it; give workers the parts that they need")

    @property
    def file(self) -> str:
        """The recipe's file, for messages."""
        return self.config.file

    @property
    def place(self) -> str:
        """Where its store lies, seen from the current directory."""
        return self.config.located(self.config.store.path)

    @cached_property
    def spelt(self) -> Recipe:
        """The recipe with rules in the place of presets, to be shown and hashed."""
        return expand_presets(self.config)

    @cached_property
    def measurements(self) -> tuple[Measurement, ...]:
        """Every measurement with its configuration: those that are listed, and those that duplicates are found by."""
        return measurements(self.config)

    @cached_property
    def columns(self) -> dict[Column, ColumnInfo]:
        """Every column that the recipe's store will have, samples first."""
        return store_columns(self.config, self.measurements)

    @cached_property
    def operators(self) -> tuple[BoundOperator, ...]:
        """Its operators, each after those whose layers it reads; WinnowError where an asset is missing."""
        return bind_operators(self.config, self.measurements, self.columns)

    @cached_property
    def rules(self) -> RuleProgram:
        """Its rules, checked against every column."""
        return rule_program(self.config, self.columns)

    @cached_property
    def edits(self) -> tuple[BoundEdit, ...]:
        """Its edits, each with the column that it means; keys are read where edits are applied."""
        return bind_edits(self.config, self.measurements, self.columns)

    @cached_property
    def scores(self) -> tuple[BoundScore, ...]:
        """Its scores, with the files of weights that it gives."""
        return bind_scores(self.config, self.columns)

    @cached_property
    def tokens(self) -> TokensLayer | None:
        """The layer of lengths that its mixture reads; None without a mixture. Reads the keys of pseudonyms."""
        return None if self.config.mix is None else bind_tokens(self.config, self.columns, self.edits)

    @cached_property
    def mixture(self) -> BoundMix:
        """Its mixture; RecipeError where it has none."""
        return bind_mix(self.config, self.columns)

    @cached_property
    def exports(self) -> "tuple[BoundExport, ...]":
        """Its exports, each with its format, which has looked at its options."""
        from winnow.pipelines.export.stage import bind_exports  # and with it every format, which few commands need

        return bind_exports(self.config)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of duplicates that it looks for."""
        return wanted_kinds(self.config)

    @cached_property
    def near(self) -> NearSettings | None:
        """How it looks for near duplicates; None where it does not."""
        dedupe = self.config.dedupe
        return None if dedupe is None or dedupe.near is None else near_settings(dedupe.near)

    @cached_property
    def sources(self) -> BoundSources:
        """Its sources and extractors; SourceError where a source's folder is not there."""
        return bind_sources(self.config)

    def ingest(self, store: Store) -> IngestContext:
        """What ingest into a store depends on."""
        return self.sources.context(store)

    def require_rules(self) -> None:
        """Say what is wrong with the rules and the edits, before anything is read."""
        _ = self.rules, self.edits


def bind(recipe: Recipe) -> BoundRecipe:
    """Make the one bound recipe of a command; nothing is read yet."""
    return BoundRecipe(recipe)
