"""Write a recipe as complete YAML in one fixed form, with all defaults."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, TypeAlias, get_args, get_origin

from winnow.schemas.recipe.build import settings
from winnow.schemas.recipe.checks import ByName, Listed, Parsed
from winnow.schemas.recipe.dedupe import DedupeConfig
from winnow.schemas.recipe.edits import PlaceholderTexts
from winnow.schemas.recipe.export import ExportEntry
from winnow.schemas.recipe.fetch import FetchConfig
from winnow.schemas.recipe.mix import Shares
from winnow.schemas.recipe.model import ExtractorEntry, OperatorEntry, Recipe, SourceConfig, ThresholdCells
from winnow.schemas.recipe.nodes import ListNode, MapNode, Scalar, ScalarValue
from winnow.schemas.recipe.score import Beside, ScoreEntry

Tree: TypeAlias = "ScalarValue | list[Tree] | dict[str, Tree]"

# Unquoted only if every parser of YAML 1.1 and 1.2 reads it as this text.
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")
_WORDS_ELSEWHERE = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "inf", "nan"}
_ESCAPED = re.compile('[\\x00-\\x1f\\x7f-\\xa0\u2028\u2029\ufeff\ufffe\uffff"\\\\]')


def resolved_yaml(recipe: Recipe, configs: Mapping[str, object] | None = None) -> str:
    """The recipe in full: all defaults shown, paths and variables as written.

    Loading the text gives an equal recipe, under the same variables. It contains only paths that the recipe contains,
    so the same recipe gives the same text on every machine.

    Args:
        recipe: The recipe to show.
        configs: The built configs (frozen dataclasses) of extractors by name and of operators by layer, to show their
            defaults as well.
    """
    return "".join(_lines(_Shown(recipe, configs or {}).config(recipe, ""), ""))


def settings_of(recipe: Recipe) -> dict[str, str]:
    """Every setting of a recipe by its path, such as `mix.budget`, as `resolved_yaml` writes it."""
    return dict(_settings(_Shown(recipe, {}).config(recipe, ""), ""))


def _unshown(value: object) -> tuple[str, ...]:
    """Keys that are left out: what is merged already, and how to work where nothing is asked of it.

    Records hash the text, and must not change with a key that decides no value.
    """
    if isinstance(value, SourceConfig):
        return ("root", "files") if value.is_fetched else ("commoncrawl", "addresses")
    if isinstance(value, ExportEntry) and not value.atlas:
        return ("atlas",)
    if isinstance(value, ScoreEntry):
        return tuple(key for key in get_args(Beside) if key not in value.beside)
    if not isinstance(value, Recipe):
        return ()
    asked = {"extends": False, "shuffle": value.shuffle != "auto", "fetch": value.fetch != FetchConfig()}
    return tuple(key for key, is_asked in asked.items() if not is_asked)


def _settings(tree: Tree, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(tree, dict) and tree:
        for key, value in tree.items():
            yield from _settings(value, f"{path}.{key}" if path else key)
    elif isinstance(tree, list) and any(isinstance(item, dict | list) for item in tree):
        for number, item in enumerate(tree):
            yield f"{path}[{number}]", flow_text(item)
    else:
        yield path, flow_text(tree)


class _Shown:
    """Converts configs to plain trees, with the recipe's text in place of substituted variables."""

    def __init__(self, recipe: Recipe, configs: Mapping[str, object]) -> None:
        self._written = dict(recipe.written)
        self._configs = configs

    def tree(self, value: object, annotation: object, path: str) -> Tree:
        if path in self._written:
            return self._written[path]
        marks = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
        for mark in marks:
            if isinstance(mark, Parsed):
                return None if value is None else mark.render(value)
            if isinstance(mark, ByName) and isinstance(value, tuple):
                return {
                    item.name: mark.word
                    if mark.word and getattr(item, mark.word)
                    else self.tree(item, "", f"{path}.{item.name}")
                    for item in value
                }
            if isinstance(mark, Listed) and isinstance(value, tuple):
                return [
                    {item.name: self.tree(item, "", f"{path}[{number}].{item.name}")}
                    for number, item in enumerate(value)
                ]
        if isinstance(value, tuple):
            inner = _item(annotation)
            return [self.tree(item, inner, f"{path}[{number}]") for number, item in enumerate(value)]
        if isinstance(value, Scalar):
            return self.tree(value.value, "", path)
        if isinstance(value, ListNode):
            return [self.tree(item, "", f"{path}[{number}]") for number, item in enumerate(value.items)]
        if isinstance(value, MapNode):
            return {entry.key: self.tree(entry.node, "", f"{path}.{entry.key}") for entry in value.entries}
        if isinstance(value, str):
            return value if path.startswith("environment.") else value.replace("${", "$${")
        if value is None or isinstance(value, bool | int | float):
            return value
        return self.config(value, path)

    def config(self, value: object, path: str) -> dict[str, Tree]:
        kind: type = type(value)
        unshown = _unshown(value)
        shown = {
            setting.key: self.tree(
                getattr(value, setting.field), setting.annotation, f"{path}.{setting.key}" if path else setting.key
            )
            for setting in settings(kind)
            if setting.key not in unshown
        }
        if isinstance(value, ExtractorEntry | OperatorEntry | ExportEntry | ScoreEntry):
            name = value.layer if isinstance(value, OperatorEntry | ScoreEntry) else value.name
            options = self.tree(self._configs.get(name, value.options), "", path)
            assert isinstance(options, dict)
            shown |= options
        if isinstance(value, DedupeConfig):
            kinds = self.tree(value.kinds, "", path)
            assert isinstance(kinds, dict)
            shown = kinds | shown
        if isinstance(value, ThresholdCells | PlaceholderTexts | Shares):
            cells = self.tree(_cells(value), "", path)
            assert isinstance(cells, dict)
            shown |= cells
        return shown


def _cells(value: ThresholdCells | PlaceholderTexts | Shares) -> MapNode:
    """The named values of a config."""
    if isinstance(value, ThresholdCells):
        return value.values
    return value.texts if isinstance(value, PlaceholderTexts) else value.shares


def _item(annotation: object) -> object:
    """The annotation of a tuple's items."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    arguments = get_args(annotation) if get_origin(annotation) is tuple else ()
    return arguments[0] if arguments else ""


def _lines(tree: dict[str, Tree], indent: str) -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield f"{indent}{scalar_text(key)}:\n"
            yield from _lines(value, indent + "  ")
        elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
            yield f"{indent}{scalar_text(key)}:\n"
            yield from (f"{indent}  - {flow_text(item)}\n" for item in value)
        else:
            yield f"{indent}{scalar_text(key)}: {flow_text(value)}\n"


def flow_text(value: Tree) -> str:
    """A value on one line, as YAML writes it between brackets."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar_text(key)}: {flow_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow_text(item) for item in value) + "]"
    if isinstance(value, str):
        return scalar_text(value)
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def scalar_text(value: str) -> str:
    """The text as a scalar that every YAML parser reads as this text."""
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS_ELSEWHERE:
        return value
    return '"' + _ESCAPED.sub(lambda found: _escape(found[0]), value) + '"'


def _escape(character: str) -> str:
    short = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
    return short.get(character, f"\\u{ord(character):04x}")
