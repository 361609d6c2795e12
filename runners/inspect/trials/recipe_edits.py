"""Edits of a recipe's text that leave all else as it is written: comments, order, quotes and line ends.

Places are found by YAML's own parser and only what changes is replaced, so that a person recognises the recipe, and a
comparison shows the change alone.
"""

from collections.abc import Sequence
from typing import TypeAlias

import yaml

from winnow.schemas.recipe.render import Tree, flow_text

Path: TypeAlias = Sequence[str | int]
"""Keys of mappings and numbers of lists, from the whole recipe down."""


def value_at(text: str, path: Path) -> str | None:
    """The text of a scalar as it is written, before anything of the environment is put into it; None for no scalar."""
    node: yaml.Node | None = _composed(text)
    for key in path:
        node = None if node is None else _child(node, key)
    return str(node.value) if isinstance(node, yaml.ScalarNode) else None


def with_value(text: str, path: Path, value: Tree) -> str:
    """The text with another value at a place; mappings that lead there are written if they are missing."""
    root = _composed(text)
    node: yaml.Node = root
    left = list(path)
    while left:
        inner = _child(node, left[0])
        if inner is None:
            break
        node, left = inner, left[1:]
    if not left:
        return _replaced(text, node, _as_written(text, node, value))
    for key in reversed(left[1:]):
        value = {str(key): value}
    if not isinstance(node, yaml.MappingNode):  # a word such as `off`, or nothing
        return _replaced(text, node, flow_text({str(left[0]): value}))
    return _with_key(text, node, str(left[0]), value, whole=node is root)


def with_item(text: str, key: str, value: Tree) -> str:
    """The text with one more item at the end of a list of the recipe, which is written if it is missing."""
    root = _composed(text)
    node = _child(root, key)
    if node is None:
        return _with_key(text, root, key, [value], whole=True)
    if not isinstance(node, yaml.SequenceNode) or not node.value:
        return _replaced(text, node, flow_text([value]))
    if node.flow_style:
        end = _end(node.value[-1])
        return f"{text[:end]}, {flow_text(value)}{text[end:]}"
    line = _line_after(text, _end(node.value[-1]))
    item = f"{' ' * node.start_mark.column}- {flow_text(value)}{_newline(text)}"
    return _inserted(text, line, item)


def without_item(text: str, key: str, number: int) -> str:
    """The text without one item of a list of the recipe."""
    node = _child(_composed(text), key)
    assert isinstance(node, yaml.SequenceNode)
    items = node.value
    if len(items) == 1:
        return _replaced(text, node, "[]") if node.flow_style else _emptied(text, node)
    if node.flow_style:
        if number + 1 < len(items):
            start, end = items[number].start_mark.index, items[number + 1].start_mark.index
        else:
            start, end = _end(items[number - 1]), _end(items[number])
        return text[:start] + text[end:]
    start = text.rfind("-", 0, items[number].start_mark.index)
    return text[: _line_of(text, start)] + text[_line_after(text, _end(items[number])) :]


def with_list_of(text: str, key: str, other: str) -> str:
    """The text with a list at its end as another recipe writes it, comments and all."""
    name, node = next(pair for pair in _composed(other).value if pair[0].value == key)
    section = other[name.start_mark.index : _line_after(other, _end(node))]
    return _inserted(text, len(text), _newline(text) + section)


def _emptied(text: str, node: yaml.SequenceNode) -> str:
    """A list with one item in a block, as an empty list beside its key."""
    dash = text.rfind("-", 0, node.value[0].start_mark.index)
    colon = text.rfind(":", 0, dash)
    after = _line_after(text, _end(node.value[0]))
    between = text[colon + 1 : _line_of(text, dash)]
    return f"{text[: colon + 1]} []{between if between.strip() else _newline(text)}{text[after:]}"


def _with_key(text: str, node: yaml.MappingNode, key: str, value: Tree, *, whole: bool) -> str:
    """A mapping with one more key at its end."""
    if node.flow_style:
        end = _end(node.value[-1][1]) if node.value else node.start_mark.index + 1
        return f"{text[:end]}{', ' if node.value else ''}{flow_text(key)}: {flow_text(value)}{text[end:]}"
    line = len(text) if whole else _line_after(text, _end(node))
    if isinstance(value, list):
        items = "".join(f"{_newline(text)}  - {flow_text(item)}" for item in value)
        added = f"{flow_text(key)}:{items}{_newline(text)}"
    else:
        added = f"{' ' * node.start_mark.column}{flow_text(key)}: {flow_text(value)}{_newline(text)}"
    return _inserted(text, line, (_newline(text) if whole else "") + added)


def _as_written(text: str, node: yaml.Node, value: Tree) -> str:
    """A value in the quotes of the one that it replaces, where they can hold it."""
    raw = text[node.start_mark.index : _end(node)]
    if isinstance(node, yaml.ScalarNode) and isinstance(value, str):
        for quote in ("", "'"):
            written = f"{quote}{value}{quote}"
            if raw == f"{quote}{node.value}{quote}" and _reads(text, node, written, value):
                return written
    return flow_text(value)


def _reads(text: str, node: yaml.Node, written: str, value: str) -> bool:
    """Whether a scalar is read as this value in the place of another one."""
    try:
        found = _scalar_at(_composed(_replaced(text, node, written)), node.start_mark.index)
    except yaml.YAMLError:
        return False
    return found is not None and found.value == value and found.tag == node.tag


def _scalar_at(node: yaml.Node, index: int) -> yaml.ScalarNode | None:
    if isinstance(node, yaml.ScalarNode):
        return node if node.start_mark.index == index else None
    inner = node.value if isinstance(node, yaml.SequenceNode) else [one for pair in node.value for one in pair]
    return next((found for one in inner if (found := _scalar_at(one, index)) is not None), None)


def _replaced(text: str, node: yaml.Node, written: str) -> str:
    start, end = node.start_mark.index, _end(node)
    block = isinstance(node, yaml.ScalarNode) and node.style in ("|", ">")
    if start == end and start and text[start - 1] == ":":  # nothing is written after the key
        written = f" {written}"
    return text[:start] + written + (_newline(text) if block else "") + text[end:]


def _end(node: yaml.Node) -> int:
    """Where a value ends; a block's own end is where the next key begins, after comments that are not its own."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    end: int = node.end_mark.index
    return end


def _child(node: yaml.Node, key: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int):
        return node.value[key] if key < len(node.value) else None
    if isinstance(node, yaml.MappingNode):
        return next((value for name, value in node.value if name.value == key), None)
    return None


def _composed(text: str) -> yaml.MappingNode:
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(node, yaml.MappingNode)  # as the recipe has been read
    return node


def _line_of(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _line_after(text: str, index: int) -> int:
    """The beginning of the next line; that of this one where it has only begun, as after a block of text."""
    if index and text[index - 1] == "\n":
        return index
    found = text.find("\n", index)
    return len(text) if found < 0 else found + 1


def _inserted(text: str, index: int, line: str) -> str:
    begun = index > 0 and text[index - 1] != "\n"
    return text[:index] + (_newline(text) if begun else "") + line + text[index:]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
