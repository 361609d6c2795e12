"""The recipe's `edits` section: which spans are removed from exported texts, and their replacements.

A key is never written in a recipe: the recipe names the variable or file that holds it, which is read only where edits
are applied. A plan shows the name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Literal

from winnow.schemas.problems import UNSTORABLE, Place, Problems, shown, suggestion
from winnow.schemas.recipe.checks import NOT_WRITTEN, Matching, NotEmpty, PathText
from winnow.schemas.recipe.nodes import Entry, ListNode, MapNode, Scalar, kind_of

EDITED = Matching(
    r"[a-z][a-z0-9_]{0,39}(\.[a-z][a-z0-9_]{0,39}){1,2}", "a layer or one of its columns, such as text.c4.removed"
)
_KIND = re.compile(r"[a-z][a-z0-9_]{0,59}")
_FILE = PathText("the path of a file")
_MAX_PLACEHOLDER = 200
_VARIABLE = re.compile(r"\$\{([A-Z_][A-Z0-9_]{0,99})\}")

KEY_SETTING = re.compile(r"edits\[[0-9]+\]\.[^\[\]]+\.key")
"""Settings that name the variable of a key; the value is never substituted there."""


@dataclass(frozen=True)
class KeyVariable:
    """`${NAME}` alone: the variable with a key, which is read only where edits are applied."""

    expects: str = "a variable, as ${PII_KEY}"

    def parse(self, text: str) -> str:
        """The variable's name."""
        found = _VARIABLE.fullmatch(text)
        if found is None:
            raise ValueError("a recipe must not contain a key; name the variable that holds it, as ${PII_KEY}")
        return found[1]

    def render(self, value: object) -> str:
        """The text in the recipe."""
        return f"${{{value}}}"


@dataclass(frozen=True)
class PlaceholderTexts:
    """Placeholder texts by kind, if they differ from the kind's name."""

    texts: MapNode = field(default=MapNode((), Place("recipe.yaml", 1)))

    def __post_init__(self) -> None:
        for entry in self.texts.entries:
            value = entry.node.value if isinstance(entry.node, Scalar) else None
            if _KIND.fullmatch(entry.key) is None:
                raise ValueError(f"{shown(entry.key)} is not a kind of span, such as email")
            if not isinstance(value, str):
                raise ValueError(f"{entry.key}: expected text, found {kind_of(entry.node)}")
            if len(value) > _MAX_PLACEHOLDER or UNSTORABLE.search(value):
                raise ValueError(f"{entry.key}: expected a text of at most {_MAX_PLACEHOLDER} characters")

    @property
    def by_kind(self) -> dict[str, str]:
        """The placeholder text of each kind that has one."""
        nodes = ((entry.key, entry.node) for entry in self.texts.entries)
        return {kind: str(node.value) for kind, node in nodes if isinstance(node, Scalar)}


@dataclass(frozen=True)
class EditEntry:
    """The edit of one column's spans: deletion or replacement."""

    name: str = field(metadata=NOT_WRITTEN)  # a layer, or one of its columns
    place: Place = field(compare=False)
    replace: Literal["delete", "placeholder", "pseudonym"] | None = None
    kinds: Annotated[tuple[str, ...], NotEmpty()] | None = None
    placeholders: PlaceholderTexts = PlaceholderTexts()
    key: Annotated[str | None, KeyVariable()] = None
    key_file: Annotated[str, _FILE] | None = None
    when_null: Literal["keep", "drop", "error"] = "drop"

    def __post_init__(self) -> None:
        keys = [setting for setting, value in (("key", self.key), ("key_file", self.key_file)) if value is not None]
        if self.replace == "pseudonym" and len(keys) != 1:
            raise ValueError(
                "a pseudonym needs one key: 'key', such as ${PII_KEY}, or 'key_file', a file of 16 bytes or more"
            )
        if self.replace != "pseudonym" and keys:
            raise ValueError(f"'{keys[0]}' is for replace: pseudonym")
        if self.placeholders.by_kind and self.replace not in ("placeholder", None):
            raise ValueError("'placeholders' is for replace: placeholder")


@dataclass(frozen=True)
class EachOnce:
    """Checks that no column is edited twice."""

    expects: str = ""

    def complaint(self, value: object) -> str | None:
        """Name the first column that is."""
        assert isinstance(value, tuple)
        first: dict[str, EditEntry] = {}
        for entry in value:
            if (other := first.setdefault(entry.name, entry)) is not entry:
                lines = f"lines {other.place.line} and {entry.place.line}"
                return f"two entries ({lines}) edit {entry.name}; write one"
        return None


def key_variables(root: MapNode) -> frozenset[str]:
    """The variables that hold keys."""
    return frozenset(name for _, _, name in _keys(root))


def check_keys(root: MapNode, problems: Problems) -> None:
    """Check that variables of keys are declared and have no value in the recipe."""
    environment = root.get("environment")
    declared = environment.entries if isinstance(environment, MapNode) else ()
    for place, where, name in _keys(root):
        complaint = _variable_problem(name, declared)
        if complaint is not None:
            problems.add(place, where, complaint)


def _keys(root: MapNode) -> Iterator[tuple[Place, str, str]]:
    """Yield each place that names a key, with the variable."""
    edits = root.get("edits")
    for number, item in enumerate(edits.items if isinstance(edits, ListNode) else ()):
        for entry in item.entries if isinstance(item, MapNode) else ():
            key = entry.node.get("key") if isinstance(entry.node, MapNode) else None
            found = _VARIABLE.fullmatch(str(key.value)) if isinstance(key, Scalar) else None
            if key is not None and found is not None:
                yield key.place, f"edits[{number}].{entry.key}.key", found[1]


def _variable_problem(name: str, declared: tuple[Entry, ...]) -> str | None:
    node = next((entry.node for entry in declared if entry.key == name), None)
    if node is None:
        return (
            f"the variable {name} is not declared under `environment`"
            f"{suggestion(name, [entry.key for entry in declared])}"
        )
    default = node.get("default") if isinstance(node, MapNode) else None
    if isinstance(default, Scalar) and default.value is None:
        return None
    return None if default is None else f"the variable {name} has a default; a recipe must not contain a key"
