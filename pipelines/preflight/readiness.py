"""Checks a whole recipe before any work: what can be known without reading the sources fails here, not hours later.

Names of sources, classes, languages and statuses in conditions that no sample can have; tokenizers, laws and keys that
cannot be read; places that cannot be written.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.language_codes import CLOSED, why_no_code
from winnow.pipelines.binding.rule_presets import rule_lists
from winnow.pipelines.binding.threshold_tables import ThresholdTables
from winnow.pipelines.binding.tokens import check_tokenizer
from winnow.pipelines.export.stage import bind_exports
from winnow.pipelines.ingest.formats import format_of
from winnow.pipelines.preflight.statuses import status_columns
from winnow.pipelines.store import layout
from winnow.pipelines.store.location import open_location
from winnow.schemas.errors import StoreError
from winnow.schemas.problems import Place, Problem, recipe_error, shown, suggestion
from winnow.schemas.recipe import Recipe, Rule, SourceConfig
from winnow.schemas.rows.samples import Modality
from winnow.schemas.rules.conditions import ConditionError, texts_compared

_SOURCE, _CLASS = "samples.source.name", "samples.source_class"
_LICENCE, _MODALITY = "samples.licence", "samples.modality"

_OF_STORES = frozenset(
    {value.partition("/")[0] for name, value in vars(layout).items() if name.isupper() and isinstance(value, str)}
)
"""What a store's folder holds, also before there is a store."""
_NAMED = 3  # files in a message

Stage: TypeAlias = Literal["ingest", "annotate", "dedupe", "score", "mix", "export"]
_SECTIONS: Mapping[Stage, tuple[str, ...]] = {
    "ingest": (),
    "annotate": ("annotate",),
    "dedupe": ("annotate", "eligible"),
    "score": ("annotate", "eligible", "score"),
    "mix": ("annotate", "eligible", "score", "keep", "items", "mix"),
    "export": ("annotate", "eligible", "score", "keep", "items", "mix", "export"),
}
"""The sections of a recipe that a stage and those before it read."""


def require_ready(recipe: BoundRecipe, stage: Stage = "export") -> None:
    """Raise RecipeError for everything that is known to fail, or to match nothing, with one line for each problem.

    Args:
        recipe: The recipe.
        stage: The last stage that is to run: what only later ones need is not checked.
    """
    sections = _SECTIONS[stage]
    problems = [
        *_names_in_conditions(recipe, sections),
        *_names_in_settings(recipe.config),
        *_places(recipe.config, "export" in sections),
        *_missing_media(recipe, sections),
    ]
    if problems:
        raise recipe_error(dict.fromkeys(problems))
    if recipe.config.mix is not None and "mix" in sections:
        _ = recipe.mixture
        if (tokens := recipe.tokens) is not None:
            check_tokenizer(recipe.config, tokens)


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


def _names_in_conditions(recipe: BoundRecipe, sections: Sequence[str]) -> Iterator[Problem]:
    sources = sorted(source.name for source in recipe.config.sources)
    said = {
        _SOURCE: ("source", sources),
        _CLASS: ("class of sources", sorted({source.source_class for source in recipe.config.sources})),
        _LICENCE: ("source with the licence", sorted({source.licence for source in recipe.config.sources})),
        _MODALITY: ("modality", get_args(Modality)),
    }
    statuses = status_columns(recipe)
    for place, path, condition in _conditions(recipe.config):
        if path.partition(".")[0].partition("[")[0] not in sections:
            continue
        try:
            compared = texts_compared(condition)
        except ConditionError as error:
            yield Problem(place, path, str(error))
            continue
        for written, value in compared:
            column = written.lower()
            if column in CLOSED:
                message = CLOSED[column](value, column)
            elif column in statuses:
                message = statuses[column].why_never(column, value)
            elif column in said:
                what, names = said[column]
                message = "" if value in names else f"there is no {what} {shown(value)}{_hint(value, names)}"
            else:
                continue
            if message:
                yield Problem(place, path, message)


def _names_in_settings(recipe: Recipe) -> Iterator[Problem]:
    """Languages that exceptions or thresholds are for, and that no sample has."""
    for accepted in () if recipe.dedupe is None else recipe.dedupe.guard.languages:
        if said := why_no_code(accepted.name, "a language"):
            assert recipe.dedupe is not None
            yield Problem(recipe.dedupe.place, "dedupe.guard.languages", said)
    tables = ThresholdTables(recipe)
    for entry in recipe.thresholds:
        if entry.name in tables.names and tables.key(entry.name) in CLOSED:
            why = CLOSED[tables.key(entry.name)]
            for row in entry.cells:
                if said := why(row.name, tables.key(entry.name)):
                    yield Problem(entry.place, f"thresholds.{entry.name}.cells", said)


def _hint(value: str, names: Sequence[str]) -> str:
    return suggestion(value, names) or f"; the recipe has {', '.join(names[:12])}{' …' if len(names) > 12 else ''}"


def _missing_media(recipe: BoundRecipe, sections: Sequence[str]) -> Iterator[Problem]:
    """What counts or writes media that no source has: tables without a column of media, or pictures for seconds."""
    mix = recipe.config.mix
    of_pictures = all(format_of(source.format, "").shows == "image" for source in recipe.config.sources)
    if mix is not None and "mix" in sections and mix.unit == "seconds" and of_pictures:
        yield Problem(mix.place, "mix.unit", "seconds are of videos, but every source is of pictures; write pixels")
    if not all(_is_without_media(source) for source in recipe.config.sources):
        return
    why = "but no source has media: name their column with `columns.media`"
    if mix is not None and "mix" in sections and mix.unit in ("pixels", "seconds"):
        yield Problem(mix.place, "mix.unit", f"{mix.unit} are of pictures or videos, {why}, or write unit: tokens")
    for export in recipe.part(bind_exports) if "export" in sections else ():
        if getattr(export.config, "wants_media", False):
            yield Problem(export.place, export.where, f"writes media: {export.config.media}, {why}, or export texts")


def _is_without_media(source: SourceConfig) -> bool:
    of = [format_of(source.format, pattern) for pattern in source.files]
    return all(one.has_columns for one in of) and source.columns.media is None


def _places(recipe: Recipe, exports: bool) -> Iterator[Problem]:
    store = recipe.located(recipe.store.path)
    if why := _unwritable(store) or _no_store(store):
        yield Problem(recipe.store.place, "store.path", why)
    for number, entry in enumerate(recipe.export if exports else ()):
        path = recipe.located(entry.path)
        where = f"export[{number}].{entry.name}.path"
        if why := _unwritable(path):
            yield Problem(entry.place, where, why)
        elif "://" not in path and "://" not in store and _is_inside(path, store):
            yield Problem(entry.place, where, f"{entry.path} is inside the store; give exports a folder of their own")
    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        yield Problem(
            Place(recipe.file, 1), "", "no folder for temporary files can be written; set TMPDIR to one that can"
        )


def _no_store(path: str) -> str:
    """Why a local folder that exists is no place for a store; empty if it is, or if it is an address."""
    if "://" in path or not (folder := Path(path)).is_dir() or (folder / layout.STORE_RECORD).exists():
        return ""
    names = sorted(one.name for one in folder.iterdir() if one.name not in _OF_STORES and one.name[0] != ".")
    if not names or (folder / layout.GENERATIONS).exists():
        return ""
    listed = ", ".join([*names[:_NAMED], *(["…"] if names[_NAMED:] else [])])
    return f"{path}: contains files that are no store's ({listed}); choose an empty or new folder"


def _unwritable(path: str) -> str:
    """Why a folder cannot be made or written, or an address not be asked for an object; empty if it can."""
    if "://" in path:
        try:
            next(open_location(path).list(), None)
        except StoreError as error:
            return str(error)
        return ""
    at = Path(path).absolute()
    if at.exists() and not at.is_dir():
        return f"{path} is a file; give the path of a folder"
    while not at.exists():
        at = at.parent
    if not at.is_dir():
        return f"{at} is a file, so the folder {path} cannot be made"
    if not os.access(at, os.W_OK | os.X_OK):
        return f"{at} cannot be written; choose another folder, or change its permissions"
    if os.geteuid() == 0 and (why := _refused_to_root(at)):
        return f"{at} cannot be written: {why}; choose another folder"
    return ""


def _refused_to_root(folder: Path) -> str:
    """Why a folder takes no file from root, whom no permission tells; empty if it takes one."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def _is_inside(path: str, folder: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
