"""The recipe's `mix` section: unit, budget, shares at each level, and stages.

Levels are, from outermost to innermost: source classes, sources, families, languages, bands. Levels without settings
are shared in proportion to the available amounts.
"""

import math
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from winnow.schemas.problems import Place, shown
from winnow.schemas.recipe.checks import (
    NOT_WRITTEN,
    Between,
    ByName,
    Counted,
    Matching,
    NotEmpty,
    PathText,
    SizeInBytes,
)
from winnow.schemas.recipe.nodes import MapNode, Scalar

Unit: TypeAlias = Literal["tokens", "bytes", "samples", "pixels", "seconds"]
"""Of texts, tokens and bytes; of pictures, pixels, as their headers say, of the first frame; of videos, seconds."""
FamiliesBy: TypeAlias = Literal["family", "group", "paper5"]

MAX_EPOCHS = 1_000
SUM_TOLERANCE = 1e-6


@dataclass(frozen=True)
class _StageName(Matching):
    """The names allowed for stages."""

    def complaint(self, value: object) -> str | None:
        """Name the problem: a reserved name or an invalid one."""
        if value == "validation":
            return "'validation' is what 'split' holds out; give the stage another name"
        return super().complaint(value)


_OUTPUT = _StageName(r"[a-z][a-z0-9_]{0,39}", "a stage's name: a letter a-z, then up to 39 of a-z, 0-9 and _")
_FILE = PathText("the path of a file")
_NAMED = Matching(r"[A-Za-z_][\w.-]{0,200}", "a column, such as text.length.bytes")


@dataclass(frozen=True)
class Shares:
    """A share for each name; the shares sum to 1."""

    shares: MapNode

    def __post_init__(self) -> None:
        for entry in self.shares.entries:
            value = entry.node.value if isinstance(entry.node, Scalar) else None
            if isinstance(value, bool) or not isinstance(value, int | float):
                comma = value is None and entry.key.isdecimal()  # of {web: 0,5} YAML makes {web: 0, "5": null}
                hint = "; a number has a point, as in 0.5" if comma else ", such as 0.5"
                raise ValueError(f"{shown(entry.key)}: expected a share from 0 to 1{hint}")
            if not 0 <= value <= 1:
                raise ValueError(f"{shown(entry.key)}: {value:g} is not a share; expected a number from 0 to 1")
        total = math.fsum(self.by_name.values())
        if abs(total - 1) > SUM_TOLERANCE:
            raise ValueError(f"the shares sum to {total:g}; they must sum to 1")

    @property
    def by_name(self) -> dict[str, float]:
        """The share of each name."""
        nodes = ((entry.key, entry.node) for entry in self.shares.entries)
        return {name: float(str(node.value)) for name, node in nodes if isinstance(node, Scalar)}


def _one_of(level: object, *names: str) -> None:
    """Raise if two ways of sharing are set."""
    given = [name for name in names if getattr(level, name) is not None]
    if len(given) > 1:
        raise ValueError(f"'{given[0]}' and '{given[1]}' are two ways to share; write one")


@dataclass(frozen=True)
class LanguageLevel:
    """How a family is shared among its languages; by default in proportion."""

    temperature: Annotated[float, Between(0.01, 1_000)] | None = None
    unimax: Annotated[float, Between(0.001, MAX_EPOCHS)] | None = None
    weights: Shares | None = None

    def __post_init__(self) -> None:
        _one_of(self, "temperature", "unimax", "weights")


@dataclass(frozen=True)
class FamilyLevel:
    """How a source is shared among families of languages; by default in proportion."""

    by: FamiliesBy = "family"
    law: Annotated[str, _FILE] | None = None
    objective: Literal["uniform", "normalised"] = "normalised"
    n: Annotated[float, Between(1, 1e15)] | None = None
    repeats: bool = False
    unfitted: Literal["proportional", "temperature", "unimax"] = "unimax"
    temperature: Annotated[float, Between(0.01, 1_000)] | None = None
    unimax: Annotated[float, Between(0.001, MAX_EPOCHS)] | None = None
    weights: Shares | None = None

    def __post_init__(self) -> None:
        _one_of(self, "law", "temperature", "unimax", "weights")


@dataclass(frozen=True)
class Step:
    """The repeats of texts with at least this value."""

    at: Annotated[float, Between(-1e300, 1e300)]
    repeats: Annotated[int, Between(0, MAX_EPOCHS)]


@dataclass(frozen=True)
class BandLevel:
    """How a language is shared among bands of a column: by a top share, a softmax, shares of cuts, or repeats."""

    by: Annotated[str, _NAMED]
    top: Annotated[float, Between(0.000001, 1)] | None = None
    softmax: Annotated[float, Between(1e-6, 1e6)] | None = None  # the temperature
    count: Annotated[int, Between(2, 100)] = 10  # number of bands of equal size for a softmax
    cuts: Annotated[tuple[float, ...], NotEmpty()] | None = None
    weights: Annotated[tuple[Annotated[float, Between(0, 1)], ...], NotEmpty()] | None = None
    rehydrate: Literal["fineweb2"] | None = None
    repeats: Annotated[tuple[Step, ...], NotEmpty()] | None = None
    nulls: Literal["drop", "keep"] = "drop"

    def __post_init__(self) -> None:
        _one_of(self, "top", "softmax", "cuts", "rehydrate", "repeats")
        if all(getattr(self, name) is None for name in ("top", "softmax", "cuts", "rehydrate", "repeats")):
            raise ValueError("defines no bands; write top, softmax, cuts with weights, rehydrate or repeats")
        if (self.cuts is None) != (self.weights is None):
            raise ValueError("'cuts' and 'weights' go together: a weight for each band, one more than cuts")
        if self.cuts is not None and self.weights is not None:
            if any(not math.isfinite(one) for one in self.cuts) or list(self.cuts) != sorted(set(self.cuts)):
                raise ValueError("the cuts must be ascending")
            if len(self.weights) != len(self.cuts) + 1:
                bands = len(self.cuts) + 1
                raise ValueError(f"{bands - 1} cuts define {bands} bands, but there are {len(self.weights)} weights")
            if abs((total := math.fsum(self.weights)) - 1) > SUM_TOLERANCE:
                raise ValueError(f"the weights sum to {total:g}; they must sum to 1")
        if self.repeats is not None:
            starts = [one.at for one in self.repeats]
            if starts != sorted(set(starts)):
                raise ValueError("the steps of 'repeats' must be ascending")
            if not any(one.repeats for one in self.repeats):
                raise ValueError("the steps of 'repeats' must not all be 0")


@dataclass(frozen=True)
class SplitConfig:
    """The validation split, by clusters of duplicates."""

    validation: Annotated[float, Between(0, 0.5)] = 0.0
    min_samples: Annotated[int, Between(0, 1 << 30)] = 0  # per language, but at most half of its samples
    max_share: Annotated[float, Between(0.001, 0.5)] = 0.05  # of a language, unless `validation` is more

    @property
    def largest_share(self) -> float:
        """The most of a language that is held out for the sake of `validation`."""
        return max(self.max_share, self.validation)


@dataclass(frozen=True)
class StageConfig:
    """One stage of training: its budget, its samples, and levels that override the mixture's."""

    name: str = field(metadata=NOT_WRITTEN)
    place: Place = field(compare=False)
    budget: Annotated[int, Between(1, 1 << 60), Counted()] | None = None
    where: Annotated[str, NotEmpty()] | None = None
    classes: Shares | None = None
    sources: Shares | None = None
    families: FamilyLevel | None = None
    languages: LanguageLevel | None = None
    bands: BandLevel | None = None


@dataclass(frozen=True)
class MixConfig:
    """A mixture with one or several stages."""

    place: Place = field(compare=False)
    unit: Unit = "samples"
    tokenizer: Annotated[str, _FILE] | None = None
    budget: Annotated[int, Between(1, 1 << 60), Counted()] | None = None
    strict: bool = False
    max_epochs: Annotated[float, Between(0.001, MAX_EPOCHS)] = 4.0
    max_share_of_sample: Annotated[float, Between(0.000001, 1)] | None = None  # of its output's budget, in one copy
    where: Annotated[str, NotEmpty()] | None = None
    classes: Shares | None = None
    sources: Shares | None = None
    families: FamilyLevel = FamilyLevel()
    languages: LanguageLevel = LanguageLevel()
    bands: BandLevel | None = None
    split: SplitConfig = SplitConfig()
    stages: Annotated[tuple[StageConfig, ...], ByName(_OUTPUT)] = ()

    def __post_init__(self) -> None:
        if self.unit == "tokens" and self.tokenizer is None:
            raise ValueError("the unit is tokens, so 'tokenizer' is required: a file or bytes")
        if self.unit == "samples" and self.max_share_of_sample is not None:
            raise ValueError("'max_share_of_sample' is by size, but the unit is samples, which all count alike")
        if self.stages and (self.budget is not None or self.where is not None):
            raise ValueError("with stages, set 'budget' and 'where' in each stage")
        for of, budget in (("", self.budget), *((f" of stage {stage.name}", stage.budget) for stage in self.stages)):
            if isinstance(budget, SizeInBytes) and self.unit != "bytes":
                raise ValueError(
                    f"the budget{of} is a size in bytes, but the unit is {self.unit}: write a whole number, such as "
                    "10_000_000 or 1e7, or unit: bytes"
                )

    @property
    def outputs(self) -> tuple[StageConfig, ...]:
        """The stages, completed with the mixture's settings; a single stage is named train."""
        if not self.stages:
            only = StageConfig("train", self.place, self.budget, self.where)
            return (self._filled(only),)
        return tuple(self._filled(stage) for stage in self.stages)

    def _filled(self, stage: StageConfig) -> StageConfig:
        return StageConfig(
            stage.name,
            stage.place,
            None if stage.budget is None else int(stage.budget),
            stage.where,
            stage.classes or self.classes,
            stage.sources or self.sources,
            stage.families or self.families,
            stage.languages or self.languages,
            stage.bands or self.bands,
        )
