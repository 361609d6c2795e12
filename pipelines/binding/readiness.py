"""Checks a whole recipe before any work: what can be known without reading the sources fails here, not hours later.

Names of sources, classes and languages in conditions that no sample can have; tokenizers, laws and keys that cannot be
read; places that cannot be written.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.rule_presets import rule_lists
from winnow.pipelines.binding.tokens import check_tokenizer
from winnow.schemas.languages import language
from winnow.schemas.languages.table import table
from winnow.schemas.problems import Place, Problem, recipe_error, shown, suggestion
from winnow.schemas.recipe import Recipe, Rule

_LITERAL = r"'((?:[^']|'')*)'"
_COMPARED = re.compile(
    r"(?P<column>samples\.source\.name|samples\.source_class|text\.language\.code)\s*"
    rf"(?:(?:==?|<>|!=|IS\s+(?:NOT\s+)?DISTINCT\s+FROM)\s*(?P<one>{_LITERAL})"
    rf"|(?:NOT\s+)?IN\s*\((?P<many>\s*{_LITERAL}(?:\s*,\s*{_LITERAL})*\s*)\))",
    re.IGNORECASE,
)
_CODE = re.compile(r"[a-z]{3}_[A-Z][a-z]{3}")


def require_ready(recipe: BoundRecipe) -> None:
    """Raise RecipeError for everything that is known to fail, or to match nothing, with one line for each problem."""
    problems = [*_names_in_conditions(recipe.config), *_places(recipe.config)]
    if problems:
        raise recipe_error(dict.fromkeys(problems))
    if recipe.config.mix is not None:
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


def _names_in_conditions(recipe: Recipe) -> Iterator[Problem]:
    sources = sorted(source.name for source in recipe.sources)
    classes = sorted({source.source_class for source in recipe.sources})
    for place, path, condition in _conditions(recipe):
        for found in _COMPARED.finditer(condition):
            for literal in re.findall(_LITERAL, found["one"] or found["many"]):
                column, value = found["column"].lower(), literal.replace("''", "'")
                if column == "text.language.code":
                    message = _no_code(value)
                else:
                    names, what = (classes, "class of sources") if column.endswith("class") else (sources, "source")
                    message = "" if value in names else f"there is no {what} {shown(value)}{_hint(value, names)}"
                if message:
                    yield Problem(place, path, message)


def _hint(value: str, names: Sequence[str]) -> str:
    return suggestion(value, names) or f"; the recipe has {', '.join(names[:6])}{' …' if len(names) > 6 else ''}"


def _no_code(value: str) -> str:
    """Why a text's language never has this code; empty if it may."""
    if value == "unknown" or _CODE.fullmatch(value):
        return ""
    known = language(table().by_two_letters.get(value, value))
    if known is None:
        return f"no language has the code {shown(value)}; write it as plans show it, such as deu_Latn"
    written = f"{known.code}_{known.script or 'Latn'}"
    return f"text.language.code is never {shown(value)}, as codes have a script: write {written!r}"


def _places(recipe: Recipe) -> Iterator[Problem]:
    store = recipe.located(recipe.store.path)
    if why := _unwritable(store):
        yield Problem(Place(recipe.file, 1), "store.path", why)
    for number, entry in enumerate(recipe.export):
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


def _unwritable(path: str) -> str:
    """Why a local folder cannot be made or written; empty if it can, or if it is an address."""
    if "://" in path:
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
    return ""


def _is_inside(path: str, folder: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
