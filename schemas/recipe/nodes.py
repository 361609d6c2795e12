"""Strict YAML: scalars, lists and mappings that know the line they were written on.

A subset of YAML 1.2 without surprising features. Only `true` and `false` are booleans (`no` is a
language), numbers are decimal, dates stay text. Rejected: duplicate keys, anchors, aliases, merge keys (they
can grow a small file without bound), tags, directives, several documents, deep nesting.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import yaml

from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import Json
from winnow.schemas.problems import UNSTORABLE, Place, Problem, Problems, recipe_error, shown

MAX_FILE_BYTES = 1 << 20
MAX_DEPTH = 32
MAX_VALUES = 20_000  # the parser needs about 10 µs per value, so a hostile file costs a fraction of a second

ScalarValue: TypeAlias = bool | int | float | str | None

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*(_[0-9]+)*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*(_[0-9]+)*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: Mapping[str, ScalarValue] = {"true": True, "false": False, "null": None, "~": None, "": None}
_MAX_NUMBER_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value. `written` is its text in the file, before environment variables were put in."""

    value: ScalarValue
    place: Place = field(compare=False)
    written: str = field(compare=False)

    def plain(self) -> Json:
        """The value alone."""
        return self.value


@dataclass(frozen=True, slots=True)
class ListNode:
    """A sequence of nodes."""

    items: "tuple[Node, ...]"
    place: Place = field(compare=False)

    def plain(self) -> Json:
        """The values alone."""
        return [item.plain() for item in self.items]


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping, with its value."""

    key: str
    place: Place = field(compare=False)
    node: "Node"


@dataclass(frozen=True, slots=True)
class MapNode:
    """A mapping, in the order written."""

    entries: tuple[Entry, ...]
    place: Place = field(compare=False)

    def get(self, key: str) -> "Node | None":
        """The value of a key; None if it is missing."""
        return next((entry.node for entry in self.entries if entry.key == key), None)

    def plain(self) -> Json:
        """The keys and values alone."""
        return {entry.key: entry.node.plain() for entry in self.entries}


Node: TypeAlias = Scalar | ListNode | MapNode


def located(options: Mapping[str, object], place: Place) -> MapNode:
    """Plain values as nodes, all at one place."""
    return MapNode(tuple(Entry(key, place, _placed(value, place)) for key, value in options.items()), place)


def _placed(value: object, place: Place) -> Node:
    if isinstance(value, Mapping):
        return located({str(key): item for key, item in value.items()}, place)
    if isinstance(value, list | tuple):
        return ListNode(tuple(_placed(item, place) for item in value), place)
    assert value is None or isinstance(value, bool | int | float | str)
    return Scalar(value, place, str(value))


def plain_scalar(text: str) -> ScalarValue:
    """Parse an unquoted scalar.

    Anything that is not clearly a number, `true`, `false` or `null` is text: `no`, `2024-01-01`, `0x1F`,
    `010`, `12:30:00`, `.inf`, numbers beyond 64 bits or 40 characters.
    """
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > _MAX_NUMBER_CHARACTERS:
        return text
    if _INTEGER.fullmatch(text):
        integer = int(text)
        return integer if -(1 << 63) <= integer < 1 << 63 else text
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if number - number == 0 else text  # text if it overflows to infinity
    return text


def parse_yaml(text: str, file: str, problems: Problems, what: str = "a recipe", first: str = "version: 1") -> MapNode:
    """Read one file's text as a mapping.

    Duplicate keys are added to `problems` and the first is kept, so that the rest can still be checked.

    Args:
        text: All of the file.
        file: Its name, for messages.
        problems: Collects duplicate keys.
        what: The kind of file, for messages.
        first: How such a file starts.

    Raises:
        RecipeError: The text is not YAML of this subset.
    """
    events = _Events(text, file)
    try:
        return _document(events, problems, what, first)
    except yaml.MarkedYAMLError as error:
        # the unclosed place is more useful than the end of the file
        unclosed = "end of stream" in (error.problem or "")
        mark = (error.context_mark if unclosed else None) or error.problem_mark or error.context_mark
        line = events.line if mark is None else mark.line + 1
        if re.search(r"[:,{\[-]\s*[\u00a0\u3000\u202f]", "".join(text.splitlines()[line - 1 : line])):
            raise _refused(Place(file, line), "a no-break space where YAML has spaces; write ordinary spaces") from None
        raise _refused(Place(file, line), _readable(error) + _opened(error, line)) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _refused(Place(file, line), f"the character U+{int(error.character):04X} is not allowed") from None
    except (ValueError, OverflowError):
        # PyYAML turns \UFFFFFFFF and overlong numbers in directives into these.
        raise _refused(Place(file, events.line), "an escape or a number that YAML does not allow") from None


def _refused(place: Place, message: str) -> RecipeError:
    return recipe_error([Problem(place, "", message)])


def _readable(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or "cannot be read"
    if r"'\t'" in problem:
        return "a tab where YAML allows only spaces; indent with spaces"
    if "could not find expected ':'" in problem:
        return "not valid YAML: a key without ':' (a value of several lines must be indented)"
    if "mapping values are not allowed here" in problem:
        return "not valid YAML: a second ':' on the line; quote text that holds ': '"
    if "found unknown escape character" in problem:
        return f"not valid YAML: {problem}; use single quotes for text with backslashes"
    if problem.endswith("but got '{'"):
        return "not valid YAML: a { inside a value; quote ${…} between brackets"
    if problem.endswith("that cannot start any token"):
        character = problem.removeprefix("found character ").split(" that")[0]
        return f"not valid YAML: a value cannot start with {character}; quote it"
    if "while scanning an alias" in (error.context or ""):
        return 'not valid YAML: a * at the beginning of a value; quote patterns, such as "*.jsonl"'
    context = f"{error.context}, " if error.context else ""
    return f"not valid YAML: {' '.join((context + problem).split())}"[:200]


def _opened(error: yaml.MarkedYAMLError, line: int) -> str:
    """Where a bracket was opened that is not closed; what to write where a ':' stands in a value."""
    problem = error.problem or ""
    quotes = "; quote text that holds ': '" if "but got ':'" in problem else ""
    brackets = {"while parsing a flow sequence": "[", "while parsing a flow mapping": "{"}
    bracket, mark = brackets.get(error.context or ""), error.context_mark
    if bracket is None or mark is None or mark.line + 1 == line:
        return quotes
    return f"{quotes}; the {bracket} of line {mark.line + 1} is not closed"


class _Events:
    """The parser's events; remembers the line for errors without one."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.line = 1
        self.values = 0
        self._text = text
        self._events: Iterator[yaml.Event] | None = None

    def next(self) -> yaml.Event:
        if self._events is None:
            # Events instead of `compose`, which follows aliases and recurses before they can be rejected.
            self._events = iter(yaml.parse(self._text, Loader=yaml.SafeLoader))
        event = next(self._events)
        if event.start_mark is not None:
            self.line = event.start_mark.line + 1
        return event

    @property
    def place(self) -> Place:
        return Place(self.file, self.line)


def _document(events: _Events, problems: Problems, what: str, first: str) -> MapNode:
    events.next()  # StreamStart
    event = events.next()
    if isinstance(event, yaml.StreamEndEvent):
        raise _refused(Place(events.file, 1), f"the file is empty; {what} starts with `{first}`")
    if isinstance(event, yaml.DocumentStartEvent) and (event.version or event.tags):
        raise _refused(events.place, "YAML directives (%YAML, %TAG) are not supported")
    node = _node(events.next(), events, "", 0, problems)
    events.next()  # DocumentEnd
    if not isinstance(events.next(), yaml.StreamEndEvent):
        raise _refused(events.place, f"a second document starts here; {what} must be one document")
    if not isinstance(node, MapNode):
        raise _refused(node.place, f"{what} is a mapping of settings, found {kind_of(node)}")
    return node


def _node(event: yaml.Event, events: _Events, where: str, depth: int, problems: Problems) -> Node:
    place = events.place
    events.values += 1
    if events.values > MAX_VALUES:
        raise _refused(place, f"more than {MAX_VALUES} values; a recipe is small")
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
        raise _refused(place, "anchors (&) and aliases (*) are not supported; quote text that starts with & or *")
    if getattr(event, "tag", None) is not None:
        raise _refused(place, "tags (!) are not supported; quote text that starts with !")
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event, place)
    if depth == MAX_DEPTH:
        raise _refused(place, f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(event, yaml.SequenceStartEvent):
        items: list[Node] = []
        while not isinstance(event := events.next(), yaml.SequenceEndEvent):
            items.append(_node(event, events, f"{where}[{len(items)}]", depth + 1, problems))
        return ListNode(tuple(items), place)
    entries: dict[str, Entry] = {}
    while not isinstance(event := events.next(), yaml.MappingEndEvent):
        key_place = events.place
        key = _key(event, events, depth, problems)
        path = f"{where}.{key}" if where else key
        node = _node(events.next(), events, path, depth + 1, problems)
        if (first := entries.get(key)) is not None:
            twice = f"the key {shown(key)} is written twice (first on line {first.place.line})"
            problems.add(key_place, shown_path(where), twice)
        else:
            entries[key] = Entry(key, key_place, node)
    return MapNode(tuple(entries.values()), place)


def _scalar(event: yaml.ScalarEvent, place: Place) -> Scalar:
    text = str(event.value)
    if UNSTORABLE.search(text):
        raise _refused(place, r"a NUL or half of a surrogate pair (\0, \ud800 …) cannot be stored")
    return Scalar(plain_scalar(text) if event.implicit[0] else text, place, text)


def _key(event: yaml.Event, events: _Events, depth: int, problems: Problems) -> str:
    place = events.place
    node = _node(event, events, "", depth + 1, problems)
    if not isinstance(node, Scalar):
        raise _refused(place, f"a key must be text, found {kind_of(node)}")
    if node.written == "<<":
        raise _refused(place, "merge keys (<<) are not supported; use `extends`")
    return node.written  # as text: the language `no` and the source `2024` are names


def shown_path(path: str, limit: int = 80) -> str:
    """A setting's path for a message: printable, on one line, of bounded length."""
    printable = "".join(character if character.isprintable() else "?" for character in path[: limit + 1])
    return printable if len(path) <= limit else printable[:limit] + "…"


def kind_of(node: Node) -> str:
    """The kind of a node in words, for `expected …, found …`."""
    if isinstance(node, MapNode):
        return "a mapping"
    if isinstance(node, ListNode):
        return "a list"
    value = node.value
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"the boolean {node.written}"
    if isinstance(value, str):
        return f"the text {shown(value)}"
    return f"the {'integer' if isinstance(value, int) else 'number'} {node.written}"
