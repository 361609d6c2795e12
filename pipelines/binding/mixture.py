"""Binds a recipe's mixture: the columns that each stage reads, and the families of languages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from winnow.pipelines.binding.language_codes import why_no_code
from winnow.pipelines.binding.rules import language_columns
from winnow.pipelines.binding.tokens import TOKENS, TOKENS_LAYER
from winnow.pipelines.reading.columns import Column, leaves
from winnow.schemas.errors import RecipeError
from winnow.schemas.languages import grouping
from winnow.schemas.problems import Problem, recipe_error, shown, suggestion
from winnow.schemas.recipe import MixConfig, Recipe, StageConfig
from winnow.schemas.rules.checking import ColumnInfo, check_where

MAX_STAGES = 32  # each is a bit of a row's mask
UNCLASSIFIED = "unclassified"
"""The family of languages that the grouping does not know, and of texts in an unknown language."""


@dataclass(frozen=True)
class BoundStage:
    """A stage and the columns that it reads."""

    config: StageConfig
    where: tuple[Column, ...]  # the columns of its condition
    band: Column | None

    @property
    def path(self) -> str:
        """Its path in the recipe."""
        return "mix" if self.config.name == "train" else f"mix.stages.{self.config.name}"


@dataclass(frozen=True)
class BoundMix:
    """A mixture and its stages. Picklable."""

    config: MixConfig
    stages: tuple[BoundStage, ...]
    max_image_pixels: int  # a picture whose header claims more has none

    @property
    def columns(self) -> tuple[Column, ...]:
        """Every column that its stages read, each once."""
        found = [column for stage in self.stages for column in (*stage.where, *([stage.band] if stage.band else []))]
        return tuple(dict.fromkeys(found))

    @property
    def bands(self) -> tuple[Column, ...]:
        """The columns that bands are cut by, each once."""
        return tuple(dict.fromkeys(stage.band for stage in self.stages if stage.band is not None))


def mixture_columns(columns: Mapping[Column, ColumnInfo]) -> dict[Column, ColumnInfo]:
    """Return the columns that a mixture may read: those that rules may read, and those of the layer of text lengths."""
    found = {column: replace(info, phase="eligible") for column, info in columns.items()}
    found |= {Column(TOKENS_LAYER, leaf): info for leaf, info in leaves(TOKENS)}
    return found


def require_mix(recipe: Recipe) -> MixConfig:
    """Return the recipe's mixture; RecipeError if it has none."""
    if recipe.mix is None:
        raise RecipeError(f"{recipe.file}: has no 'mix'; write mix: {{}} to take every sample that the rules keep once")
    return recipe.mix


def bind_mix(recipe: Recipe, columns: Mapping[Column, ColumnInfo]) -> BoundMix:
    """Return the recipe's mixture, bound to these columns of its store; RecipeError with a line for each problem."""
    config = require_mix(recipe)
    known = mixture_columns(columns)
    problems: list[Problem] = []
    if len(config.outputs) > MAX_STAGES:
        problems.append(
            Problem(config.place, "mix.stages", f"has {len(config.outputs)} stages; at most {MAX_STAGES} are allowed")
        )
    stages = tuple(_bind_stage(stage, known, problems) for stage in config.outputs)
    problems += _unknown_names(recipe, stages)
    if not language_columns(recipe, {column.name: column for column in columns}):
        problems += _shares_of_languages(stages)
    if problems:
        raise recipe_error(dict.fromkeys(problems))
    return BoundMix(config, stages, recipe.limits.max_image_pixels)


def family_of(stage: StageConfig, codes: Sequence[str]) -> list[str]:
    """Return the family of each language code, such as `deu_Latn`, by the grouping that a stage names."""
    assert stage.families is not None
    found = grouping(stage.families.by)
    return [found.of(code.partition("_")[0]) or UNCLASSIFIED for code in codes]


def _bind_stage(stage: StageConfig, known: Mapping[Column, ColumnInfo], problems: list[Problem]) -> BoundStage:
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
            what = f"{stage.bands.by} is {info.type}; expected a column of numbers"
            problems.append(Problem(stage.place, f"{bound.path}.bands.by", what))
    return BoundStage(stage, where, band)


def _shares_of_languages(stages: Sequence[BoundStage]) -> Iterator[Problem]:
    """A problem for each share of a language or family, in a recipe that measures no language."""
    for stage in stages:
        one = stage.config
        assert one.families is not None
        assert one.languages is not None
        asked = {
            "families.weights": one.families.weights is not None and {*one.families.weights.by_name} - {UNCLASSIFIED},
            "families.law": one.families.law is not None,
            "families.temperature": one.families.temperature is not None,
            "families.unimax": one.families.unimax is not None,
            "languages.weights": one.languages.weights is not None,
            "languages.temperature": one.languages.temperature is not None,
            "languages.unimax": one.languages.unimax is not None,
        }
        for level in (level for level, is_asked in asked.items() if is_asked):
            what = "no language is measured, so there are no shares of any; add text.language to 'annotate'"
            yield Problem(one.place, f"{stage.path}.{level}", what)


def _unknown_names(recipe: Recipe, stages: Sequence[BoundStage]) -> list[Problem]:
    """Return a problem for each unknown name under `classes`, `sources`, `families` and `languages`."""
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
        problems += [
            Problem(one.place, f"{stage.path}.languages.weights", message)
            for name in (one.languages.weights.by_name if one.languages.weights is not None else ())
            if (message := why_no_code(name, "a language of the mixture"))
        ]
    return problems
