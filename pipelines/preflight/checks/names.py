"""Names in a recipe that no sample can have: of sources, classes, licences, languages and statuses.

A layer's `status` is of the row; the list `items` says the status of each medium or caption, in layers that have one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from winnow.filters.duplicates.kind import Unit
from winnow.filters.image.decode.stills import REASONS as OF_DECODING
from winnow.filters.operators import PictureOperator
from winnow.filters.video.decode.opening import REASONS as OF_WATCHING
from winnow.filters.video.decode.operator import VideoOperator
from winnow.filters.video.stills.frames_operator import NO_FRAMES
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.duplicates import asked_kinds
from winnow.pipelines.binding.known_languages import KnownLanguages
from winnow.pipelines.binding.language_codes import CLOSED, why_no_code
from winnow.pipelines.binding.operators import BoundOperator
from winnow.pipelines.binding.rule_presets import rule_lists
from winnow.pipelines.binding.scores import BoundScore
from winnow.pipelines.binding.threshold_tables import ThresholdTables
from winnow.pipelines.decoding.isolation import CRASHED
from winnow.pipelines.preflight.check import Check, Stage, WholeRecipe
from winnow.schemas.problems import Place, Problem, nearest, shown, suggestion
from winnow.schemas.recipe import Recipe, Rule
from winnow.schemas.rows.duplicates import NOT_MEASURED, OK, UNMATCHED
from winnow.schemas.rows.extraction import EXTRACTED, Status
from winnow.schemas.rows.measured import STATUSES
from winnow.schemas.rows.samples import NOT_A_VIDEO, NOT_AN_IMAGE, UNAVAILABLE, Modality
from winnow.schemas.rows.scores import SCORES
from winnow.schemas.rules.conditions import ConditionError, texts_compared
from winnow.schemas.tombstones import FORGOTTEN
from winnow.scoring.protocol import IMAGE
from winnow.scoring.protocol import REASONS as OF_SCORES

_SECTIONS: Mapping[Stage, tuple[str, ...]] = {
    "ingest": (),
    "annotate": ("annotate",),
    "dedupe": ("annotate", "eligible"),
    "score": ("annotate", "eligible", "score"),
    "mix": ("annotate", "eligible", "score", "keep", "items", "mix"),
    "export": ("annotate", "eligible", "score", "keep", "items", "mix", "export"),
}
"""The sections of a recipe that a stage and those before it read."""


def _conditions(recipe: Recipe) -> Iterator[tuple[Place, str, str]]:
    """Yield every condition that a recipe writes itself: its place, its path, and its text."""
    for phase, rules in rule_lists(recipe):
        for number, rule in enumerate(rules):
            if isinstance(rule, Rule):
                yield rule.place, f"{phase}[{number}]", rule.drop
    for number, entry in enumerate(recipe.annotate):
        if entry.where is not None:
            yield entry.place, f"annotate[{number}].{entry.name}.where", entry.where
    for score in recipe.score:
        if score.where is not None:
            yield score.place, f"score.{score.name}.where", score.where
        if score.reference is not None and score.reference.train_on is not None:
            yield score.place, f"score.{score.name}.reference.train_on", score.reference.train_on
    if recipe.mix is not None:
        if recipe.mix.where is not None:
            yield recipe.mix.place, "mix.where", recipe.mix.where
        for stage in recipe.mix.stages:
            if stage.where is not None:
                yield stage.place, f"mix.stages.{stage.name}.where", stage.where


def _names_in_conditions(about: WholeRecipe) -> Iterator[Problem]:
    recipe = about.recipe
    sources = sorted(source.name for source in recipe.config.sources)
    said = {
        "samples.source.name": ("source", sources),
        "samples.source_class": ("class of sources", sorted({source.source_class for source in recipe.config.sources})),
        "samples.licence": ("source with the licence", sorted({source.licence for source in recipe.config.sources})),
        "samples.modality": ("modality", get_args(Modality)),
    }
    statuses, languages = status_columns(recipe), KnownLanguages(recipe.operators)
    for place, path, condition in _conditions(recipe.config):
        if path.partition(".")[0].partition("[")[0] not in _SECTIONS[about.last]:
            continue
        try:
            compared = texts_compared(condition)
        except ConditionError as error:
            yield Problem(place, path, str(error))
            continue
        for written, value in compared:
            column = written.lower()
            if column in CLOSED:
                message = CLOSED[column](value, column) or languages.why_never(column, value)
            elif column in statuses:
                message = statuses[column].why_never(column, value)
            elif column in said:
                what, names = said[column]
                message = "" if value in names else f"there is no {what} {shown(value)}{_hint(value, names)}"
            else:
                continue
            if message:
                yield Problem(place, path, message)


def _names_in_settings(about: WholeRecipe) -> Iterator[Problem]:
    """Languages that exceptions or thresholds are for, and that no sample has."""
    recipe = about.recipe.config
    for accepted in () if recipe.dedupe is None else recipe.dedupe.guard.languages:
        if said := why_no_code(accepted.name, "a language"):
            assert recipe.dedupe is not None
            yield Problem(recipe.dedupe.place, "dedupe.guard.languages", said)
    tables = ThresholdTables(recipe)
    tables.check()
    for entry in recipe.thresholds:
        if (why := CLOSED.get(tables.key(entry.name))) is not None:
            for row in entry.cells:
                if said := why(row.name, tables.key(entry.name)):
                    yield Problem(entry.place, f"thresholds.{entry.name}.cells", said)


def _hint(value: str, names: Sequence[str]) -> str:
    return suggestion(value, names) or f"; the recipe has {', '.join(names[:12])}{' …' if len(names) > 12 else ''}"


_PICTURE: Final = (NOT_AN_IMAGE, UNAVAILABLE, CRASHED, *OF_DECODING)
_VIDEO: Final = (NOT_A_VIDEO, UNAVAILABLE, CRASHED, *OF_WATCHING)
_OF_TEXTS: Final = ("no_text", "too_large")
_MOST_LISTED: Final = 24


@dataclass(frozen=True, slots=True)
class Statuses:
    """The statuses that a column may have, and those of the items that belong to it."""

    own: Sequence[str]
    of_items: Sequence[str] = ()

    def why_never(self, column: str, value: str) -> str:
        """Why a column never has this status, and what to write instead; empty if it may have it."""
        if value in self.own:
            return ""
        never = f"{column} is never {shown(value)}"
        if value in self.of_items:
            layer = column.removesuffix(".status")
            return f"{never}, a status of single items: write list_contains({layer}.items, {shown(value)})"
        if (near := nearest(value, self.own)) is not None:
            return f"{never} (did you mean {near!r}?)"
        more = " …" if len(self.own) > _MOST_LISTED else ""
        return f"{never}; it is one of {', '.join(self.own[:_MOST_LISTED])}{more}"


def status_columns(recipe: BoundRecipe) -> Mapping[str, Statuses]:
    """The columns `status` and `items` of a recipe's layers, in lower case, with the statuses that they may have."""
    found: dict[str, Statuses] = {}

    def add(layer: str, rows: Sequence[str], items: Sequence[str] = ()) -> None:
        rows, items = tuple(dict.fromkeys(rows)), tuple(dict.fromkeys(items))
        found[f"{layer}.status".lower()] = Statuses(rows, items)
        if items:
            found[f"{layer}.items".lower()] = Statuses(items)

    for extractor in recipe.config.extract:
        add(f"{EXTRACTED}{extractor.name}", get_args(Status))
    operators = {bound.layer: bound for bound in recipe.operators}
    for layer, bound in operators.items():
        add(layer, *_of_operator(bound))
    for asked in asked_kinds(recipe.config):
        add(asked.kind.layer, *_of_duplicates(asked.kind.unit, operators.get(asked.layer)))
    for score in recipe.scores:
        add(f"{SCORES}{score.entry.name}", _of_score(score))
    return found


def _of_operator(bound: BoundOperator) -> tuple[Sequence[str], Sequence[str]]:
    """The statuses of an operator's rows, and of its items."""
    own = bound.operator.reasons
    if isinstance(bound.operator, VideoOperator):
        return _without(*_OF_TEXTS), (OK, *own, *_VIDEO)
    if isinstance(bound.operator, PictureOperator):
        return _without(*_OF_TEXTS), (OK, *own, *_PICTURE)
    return (*STATUSES, *own), ()


def _of_duplicates(unit: Unit, signature: BoundOperator | None) -> tuple[Sequence[str], Sequence[str]]:
    """The statuses of a kind's rows, and of its items: where a row has no duplicate it has that of its first item."""
    rows, items = (STATUSES, ()) if signature is None else _of_operator(signature)
    if not unit.of_items:
        return (OK, UNMATCHED, *rows), ()
    items = (OK, UNMATCHED, NOT_MEASURED, *unit.reasons, *items)
    return (*items, unit.empty, *_without(*_OF_TEXTS, "no_input")), items


def _of_score(score: BoundScore) -> Sequence[str]:
    own = (OK, "not_selected", "too_large", "left_out", FORGOTTEN, *OF_SCORES)
    if IMAGE not in score.kind.reads(score.config):
        return own
    return (*own, *_PICTURE, *_VIDEO, *(() if score.entry.frames is None else (NO_FRAMES,)))


def _without(*absent: str) -> tuple[str, ...]:
    """The stage's statuses but for these."""
    return tuple(one for one in STATUSES if one not in absent)


CHECKS = (
    Check("names-in-conditions", WholeRecipe, _names_in_conditions, order=2),
    Check("names-in-settings", WholeRecipe, _names_in_settings, order=2),
)
