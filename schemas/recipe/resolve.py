"""Load a recipe from its file: merge what it extends, substitute variables, fill in defaults.

The order is fixed: first all files are merged (mappings merge by key; lists and scalars are replaced), then the
variables declared in the merged `environment` are substituted, then everything is checked.
"""

import dataclasses
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import UNSTORABLE, Place, Problem, Problems, nearest, recipe_error, shown
from winnow.schemas.recipe.build import build, build_value, settings
from winnow.schemas.recipe.edits import KEY_SETTING, check_keys, key_variables
from winnow.schemas.recipe.model import LOCATION, Recipe, Variable, check_text
from winnow.schemas.recipe.nodes import (
    MAX_FILE_BYTES,
    Entry,
    ListNode,
    MapNode,
    Node,
    Scalar,
    kind_of,
    parse_yaml,
    shown_path,
)

MAX_EXTENDS = 8

_NO_VARIABLES: Mapping[str, str] = {}
_REFERENCE = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")


def load_recipe(path: str | Path, env: Mapping[str, str] = os.environ) -> Recipe:
    """Read a recipe and the files that it extends.

    Args:
        path: The recipe's file; errors name it as written here.
        env: Where declared variables are looked up.

    Raises:
        RecipeError: All problems, one line each with file and line.
    """
    name = str(path)
    return _recipe(_read(name), name, env)


def recipe_from_text(text: str, name: str = "recipe.yaml", env: Mapping[str, str] = _NO_VARIABLES) -> Recipe:
    """Like `load_recipe` for a text, as if read from `name`; no variables are set unless given."""
    return _recipe(text, name, env)


def _recipe(text: str, name: str, env: Mapping[str, str]) -> Recipe:
    problems = Problems()
    merged = _merged(text, name, (), problems)
    root = _substituted(merged, env, problems)
    recipe = build(Recipe, root, "", problems)
    check_text(root, problems)
    check_keys(root, problems)
    problems.stop_if_any()
    assert recipe is not None  # None only if there are problems
    return dataclasses.replace(recipe, file=name, written=tuple(_written(root, "")))


def _read(name: str) -> str:
    def refused(message: str) -> RecipeError:
        return recipe_error([Problem(Place(name, 0), "", message)])

    try:
        if not stat.S_ISREG(os.stat(name).st_mode):  # a pipe would block, a device may never end
            raise refused("not a file; a recipe is one YAML file")
        with open(name, "rb") as stream:
            raw = stream.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise refused("the file does not exist; check the path of the recipe") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise refused(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(raw) > MAX_FILE_BYTES:
        raise refused(f"larger than {MAX_FILE_BYTES:_} bytes; a recipe is small")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise recipe_error([Problem(Place(name, line), "", "not UTF-8; save the file as UTF-8")]) from None


def _merged(text: str, name: str, below: tuple[str, ...], problems: Problems) -> MapNode:
    """The file's mapping, merged over the file that it extends. `below` are the files that extend it."""
    if len(text) > MAX_FILE_BYTES:
        raise recipe_error([Problem(Place(name, 0), "", f"larger than {MAX_FILE_BYTES:_} characters")])
    node = parse_yaml(text, name, problems)
    extends = node.get("extends")
    if extends is None:
        return node
    chain = (*below, name)

    def refused(message: str) -> RecipeError:
        return recipe_error([Problem(extends.place, "extends", message)])

    if not isinstance(extends, Scalar) or not isinstance(extends.value, str) or LOCATION.complaint(extends.value):
        raise refused(f"expected the path of a recipe, found {kind_of(extends)}")
    if os.path.isabs(extends.value) or "${" in extends.value:
        raise refused("the path is relative to this file and holds no variables")
    base = os.path.normpath(os.path.join(os.path.dirname(name), extends.value))
    if any(os.path.realpath(base) == os.path.realpath(other) for other in chain):
        raise refused(f"extends itself: {' -> '.join((*chain, base))}")
    if len(chain) > MAX_EXTENDS:
        raise refused(f"more than {MAX_EXTENDS} files extend one another")
    if not os.path.exists(base):
        raise refused(f"there is no file {shown(base, 200)}; the path is relative to this file")
    return _merged_maps(_merged(_read(base), base, chain, problems), node)


def _merged_maps(base: MapNode, over: MapNode) -> MapNode:
    entries = {entry.key: entry for entry in base.entries}
    for entry in over.entries:
        below = entries.get(entry.key)
        if below is not None and isinstance(below.node, MapNode) and isinstance(entry.node, MapNode):
            entries[entry.key] = Entry(entry.key, entry.place, _merged_maps(below.node, entry.node))
        else:
            entries[entry.key] = entry
    return MapNode(tuple(entries.values()), over.place)


def _substituted(root: MapNode, env: Mapping[str, str], problems: Problems) -> MapNode:
    """The tree with every `${NAME}` substituted, except in the declarations."""
    filling = _Substitution(_declared(root), env, problems, key_variables(root))
    entries = (
        entry if entry.key == "environment" else Entry(entry.key, entry.place, filling.filled(entry.node, entry.key))
        for entry in root.entries
    )
    return MapNode(tuple(entries), root.place)


def _declared(root: MapNode) -> dict[str, Variable]:
    environment = root.get("environment")
    if not isinstance(environment, MapNode):
        return {}
    quiet = Problems()  # problems of the declarations are reported when the recipe is built
    (setting,) = (setting for setting in settings(Recipe) if setting.key == "environment")
    declared = {}
    for entry in environment.entries:
        built = build_value(setting.annotation, MapNode((entry,), entry.place), "", quiet)
        declared[entry.key] = built[0] if isinstance(built, tuple) else Variable(entry.key, "")
    return declared


class _Substitution:
    """Substitutes variables, up to a size limit that stops long values used many times."""

    def __init__(
        self, declared: Mapping[str, Variable], env: Mapping[str, str], problems: Problems, keys: frozenset[str]
    ) -> None:
        self._declared = declared
        self._keys = keys
        self._env = env
        self._problems = problems
        self._left = MAX_FILE_BYTES

    def filled(self, node: Node, where: str) -> Node:
        if isinstance(node, MapNode):
            entries = (
                Entry(entry.key, entry.place, self.filled(entry.node, f"{where}.{entry.key}")) for entry in node.entries
            )
            return MapNode(tuple(entries), node.place)
        if isinstance(node, ListNode):
            return ListNode(
                tuple(self.filled(item, f"{where}[{number}]") for number, item in enumerate(node.items)), node.place
            )
        if not isinstance(node.value, str) or "${" not in node.value or KEY_SETTING.fullmatch(where):
            return node
        before = len(self._problems)
        value = _REFERENCE.sub(lambda found: self._value(found, node.place, where), node.value)
        # Unchanged after a problem, so that no further problem is reported.
        return node if len(self._problems) > before else Scalar(value, node.place, node.written)

    def _value(self, found: re.Match[str], place: Place, where: str) -> str:
        if found[0] == "$${":
            return "${"
        name, variable = found[1], self._declared.get(found[1])
        value = self._env.get(name, None if variable is None else variable.default)
        if not found[2] or not name:
            problem = "a ${ without a name and }; write $${ for a literal ${"
        elif variable is None:
            near = nearest(name, self._declared)
            hint = f" (did you mean {near!r}?)" if near else ""
            problem = f"the variable {shown(name)} is not declared under `environment`{hint}"
        elif name in self._keys:
            problem = f"the variable {name} holds the key of pseudonyms and must not be used elsewhere"
        elif value is None:
            problem = f"the variable {name} is not set and has no default"
        elif UNSTORABLE.search(value):
            problem = f"the variable {name} is not valid UTF-8"
        elif len(value) > self._left:
            problem = f"the substituted variables have more than {MAX_FILE_BYTES:_} characters"
        else:
            self._left -= len(value)
            return value
        self._problems.add(place, shown_path(where), problem)
        return ""


def _written(node: Node, where: str) -> Iterator[tuple[str, str]]:
    """The settings with substituted variables, with their original text."""
    if isinstance(node, MapNode):
        for entry in node.entries:
            yield from _written(entry.node, f"{where}.{entry.key}" if where else entry.key)
    elif isinstance(node, ListNode):
        for number, item in enumerate(node.items):
            yield from _written(item, f"{where}[{number}]")
    elif isinstance(node.value, str) and node.value != node.written:
        yield where, node.written
