"""A recipe's mixture, checked and bound: the columns that each stage reads, and how languages are put into families."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from winnow.pipelines.binding.tokens import TOKENS, TOKENS_LAYER
from winnow.pipelines.query.columns import Column, leaves
from winnow.schemas.errors import RecipeError
from winnow.schemas.languages import grouping, language
from winnow.schemas.problems import Problem, recipe_error, shown, suggestion
from winnow.schemas.recipe import MixConfig, Recipe, StageConfig
from winnow.schemas.rules import ColumnInfo, check_where

MAX_STAGES = 32  # a bit of a row's mask each
UNCLASSIFIED = "unclassified"
"""The family of languages that the grouping knows none of, and of texts whose language is unknown."""


@dataclass(frozen=True)
class BoundStage:
    """A stage and the columns that it reads."""

    config: StageConfig
    where: tuple[Column, ...]  # what its condition reads
    band: Column | None

    @property
    def path(self) -> str:
        """Where the recipe has it."""
        return "mix" if self.config.name == "train" else f"mix.stages.{self.config.name}"


@dataclass(frozen=True)
class BoundMix:
    """A mixture, ready to be counted. Picklable."""

    config: MixConfig
    stages: tuple[BoundStage, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """Every column that its stages read, each once."""
        found = [column for stage in self.stages for column in (*stage.where, *([stage.band] if stage.band else []))]
        return tuple(dict.fromkeys(found))

    @property
    def bands(self) -> tuple[Column, ...]:
        """The columns that bands are made of, each once."""
        return tuple(dict.fromkeys(stage.band for stage in self.stages if stage.band is not None))


def mixture_columns(columns: Mapping[Column, ColumnInfo]) -> dict[Column, ColumnInfo]:
    """What a mixture may read: every column that rules may, and what was measured for the mixture alone."""
    found = {column: replace(info, phase="eligible") for column, info in columns.items()}
    found |= {Column(TOKENS_LAYER, leaf): info for leaf, info in leaves(TOKENS)}
    return found


def require_mix(recipe: Recipe) -> MixConfig:
    """The recipe's mixture; a recipe without one is an error that says what to write."""
    if recipe.mix is None:
        raise RecipeError(
            f"{recipe.file}: says nothing of a mixture; write mix: {{}} for every sample that the rules keep, once"
        )
    return recipe.mix


def bind_mix(recipe: Recipe, columns: Mapping[Column, ColumnInfo]) -> BoundMix:
    """The recipe's mixture, over these columns of its store.

    Raises:
        RecipeError: Everything that is wrong with it, one line each.
    """
    config = require_mix(recipe)
    known = mixture_columns(columns)
    problems: list[Problem] = []
    if len(config.outputs) > MAX_STAGES:
        problems.append(Problem(config.place, "mix.stages", f"more than {MAX_STAGES} stages"))
    stages = tuple(_bound(stage, known, problems) for stage in config.outputs)
    problems += _unknown_names(recipe, stages)
    if problems:
        raise recipe_error(dict.fromkeys(problems))
    return BoundMix(config, stages)


def family_of(stage: StageConfig, codes: Sequence[str]) -> list[str]:
    """The family of each language code, such as `deu_Latn`, by the grouping that a stage names."""
    assert stage.families is not None
    found = grouping(stage.families.by)
    return [found.of(code.partition("_")[0]) or UNCLASSIFIED for code in codes]


def _bound(stage: StageConfig, known: Mapping[Column, ColumnInfo], problems: list[Problem]) -> BoundStage:
    bound = BoundStage(stage, (), None)
    by_name = {column.name: column for column in known}
    infos = {column.name: info for column, info in known.items()}
    where: tuple[Column, ...] = ()
    if stage.where is not None:
        names, complaints = check_where(stage.where, infos, stage.place, f"{bound.path}.where")
        problems += complaints
        where = tuple(by_name[name] for name in names if name in by_name)
    band = None
    if stage.bands is not None:
        band = by_name.get(stage.bands.by)
        info = infos.get(stage.bands.by)
        if info is None or info.type is None:
            what = f"unknown column {shown(stage.bands.by)}{suggestion(stage.bands.by, infos)}"
            problems.append(Problem(stage.place, f"{bound.path}.bands.by", what))
        elif not (pa.types.is_integer(info.type) or pa.types.is_floating(info.type)):
            what = f"{stage.bands.by} is {info.type}; bands are of numbers"
            problems.append(Problem(stage.place, f"{bound.path}.bands.by", what))
    return BoundStage(stage, where, band)


def _unknown_names(recipe: Recipe, stages: Sequence[BoundStage]) -> list[Problem]:
    """Names under `classes`, `sources`, `families` and `languages` that nothing can be called."""
    sources = [source.name for source in recipe.sources]
    classes = sorted({source.source_class for source in recipe.sources})
    problems = []
    for stage in stages:
        one = stage.config
        assert one.families is not None
        assert one.languages is not None
        groups = grouping(one.families.by).groups()
        for level, what, shares, names in (
            ("classes", "class of sources", one.classes, classes),
            ("sources", "source", one.sources, sources),
            ("families.weights", "family", one.families.weights, [*groups, UNCLASSIFIED]),
        ):
            for name in shares.by_name if shares is not None else ():
                if name not in names:
                    message = f"there is no {what} {shown(name)}{suggestion(name, names)}"
                    problems.append(Problem(one.place, f"{stage.path}.{level}", message))
        for name in one.languages.weights.by_name if one.languages.weights is not None else ():
            if language(name.partition("_")[0]) is None and name not in ("unknown", "und"):
                message = f"{shown(name)} is no language; write it as plans name it, such as deu_Latn"
                problems.append(Problem(one.place, f"{stage.path}.languages.weights", message))
    return problems
