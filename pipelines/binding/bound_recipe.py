"""A recipe bound once per command: checked and ready to run, each part bound when it is first used.

    recipe = bind(load_recipe("recipe.yaml"))
    measured = recipe.operators

Each part is bound once, from the recipe and the parts before it, so rules, edits, scores and the mixture all refer to
the columns of the same configured operators. A part that cannot be bound raises each time it is used. Binding reads
files that the recipe names (models, weights, threshold tables, tokenizers) once, so that a command uses the same
content of them from beginning to end.

A bound recipe is not sent to workers. They get parts of it (`BoundOperator`, `BoundScore`, `IngestContext`, …).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from winnow.filters.duplicates.kind import AskedKind
from winnow.filters.duplicates.searches import ShingleSearch
from winnow.filters.operators import STATUS, TEXT, TextOperator
from winnow.pipelines.binding.duplicates import asked_kinds
from winnow.pipelines.binding.edits import bind_edits
from winnow.pipelines.binding.mixture import BoundMix, bind_mix
from winnow.pipelines.binding.operators import BoundOperator, Measurement, bind_operators, measurements, store_columns
from winnow.pipelines.binding.rule_presets import expand_presets
from winnow.pipelines.binding.rules import RuleProgram, rule_program
from winnow.pipelines.binding.scores import BoundScore, bind_scores
from winnow.pipelines.binding.sources import BoundSources, bind_sources
from winnow.pipelines.binding.tokens import TokensLayer, bind_tokens
from winnow.pipelines.ingest.planning.context import IngestContext
from winnow.pipelines.reading.chosen_captions import bind_captions
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.reading.text_edits import BoundEdit
from winnow.pipelines.store.generations import Store
from winnow.schemas.recipe import Recipe
from winnow.schemas.rows.duplicates import Kind
from winnow.schemas.rows.extraction import EXTRACTED
from winnow.schemas.rules.checking import ColumnInfo

Part = TypeVar("Part")


@dataclass(frozen=True, eq=False)
class BoundRecipe:
    """A recipe and its bound parts. A part that cannot be bound raises RecipeError, with one line for each problem."""

    config: Recipe

    def __reduce__(self) -> str:
        raise TypeError("a bound recipe cannot be pickled; give workers only the parts that they need")

    @property
    def file(self) -> str:
        """The recipe's file, for messages."""
        return self.config.file

    @property
    def store_address(self) -> str:
        """The address of its store; relative paths are relative to the current directory."""
        return self.config.located(self.config.store.path)

    @cached_property
    def expanded(self) -> Recipe:
        """The recipe with its presets replaced by their rules, for showing and hashing."""
        return expand_presets(self.config)

    @cached_property
    def measurements(self) -> tuple[Measurement, ...]:
        """Every measurement with its configuration: the listed ones, and those that the search for duplicates needs."""
        return measurements(self.config)

    @cached_property
    def columns(self) -> dict[Column, ColumnInfo]:
        """Every column of the recipe's store, samples first."""
        return store_columns(self.config, self.measurements)

    @cached_property
    def operators(self) -> tuple[BoundOperator, ...]:
        """Its operators, each after those whose layers it reads; WinnowError if an asset is missing."""
        return bind_operators(self.config, self.measurements, self.columns)

    @cached_property
    def rules(self) -> RuleProgram:
        """Its rules, checked against every column."""
        program = rule_program(self.config, self.columns)
        everywhere = ((one.operator, one.entry.layer) for one in self.measurements if one.entry.where is None)
        of_texts = [
            layer for operator, layer in everywhere if isinstance(operator, TextOperator) and TEXT in operator.needs
        ]
        described = (*program.languages, *(() if program.size is None else (program.size,)))
        there = {*program.layers, *(column.layer for column in described)}
        read = [layer for layer in of_texts if layer in there] or of_texts  # else another object a shard is opened
        extracted = dict.fromkeys(name.rpartition(".")[0] for name in self.config.text if name.startswith(EXTRACTED))
        return replace(program, text_statuses=tuple(Column(one, STATUS.name) for one in read[:1] or extracted))

    @cached_property
    def captions(self) -> tuple[Column, ...]:
        """The columns whose captions its exports write."""
        return bind_captions(self.config, self.columns)

    @cached_property
    def edits(self) -> tuple[BoundEdit, ...]:
        """Its edits, each with its column of spans; keys are read when edits are applied."""
        return bind_edits(self.config, self.measurements, self.columns)

    @cached_property
    def scores(self) -> tuple[BoundScore, ...]:
        """Its scores, with the weights files that the recipe names."""
        return bind_scores(self.config, self.columns)

    @cached_property
    def tokens(self) -> TokensLayer | None:
        """The layer of text lengths that its mixture reads; None without a mixture. Reads the keys of pseudonyms."""
        return None if self.config.mix is None else bind_tokens(self.config, self.columns, self.edits)

    @cached_property
    def mixture(self) -> BoundMix:
        """Its mixture; RecipeError if it has none."""
        return bind_mix(self.config, self.columns)

    def part(self, bind: Callable[[Recipe], Part]) -> Part:
        """What a room above binding binds of the recipe, such as `bind_exports`: bound once, like the parts here."""
        if bind not in self._parts:
            self._parts[bind] = bind(self.config)
        found: Part = self._parts[bind]
        return found

    @cached_property
    def _parts(self) -> dict[Callable[[Recipe], Any], Any]:
        return {}

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of duplicates that it searches for."""
        return tuple(asked.kind.name for asked in asked_kinds(self.config))

    @cached_property
    def searched(self) -> Mapping[Kind, AskedKind]:
        """The kinds of duplicates that it searches for, with what depends on the measurements that they compare."""
        measured = {one.entry.layer: one.config for one in self.measurements}
        return {
            one.kind.name: replace(one, settings=one.kind.bind(one.settings, measured.get(one.layer)))
            for one in asked_kinds(self.config)
        }

    @property
    def shingled(self) -> AskedKind | None:
        """The first of these kinds that compares texts by their shingles; None if none does."""
        return next((one for one in self.searched.values() if isinstance(one.search, ShingleSearch)), None)

    @cached_property
    def sources(self) -> BoundSources:
        """Its sources and extractors; SourceError if a source's folder is missing."""
        return bind_sources(self.config)

    def renew(self) -> None:
        """Bind anew what is asked for from now on: files that the recipe names may have changed."""
        config = self.config
        self.__dict__.clear()
        self.__dict__["config"] = config

    def ingest(self, store: Store) -> IngestContext:
        """Return everything that ingest into a store depends on."""
        return self.sources.context(store)


def bind(recipe: Recipe) -> BoundRecipe:
    """Return the bound recipe of a command; nothing is read yet."""
    return BoundRecipe(recipe)
