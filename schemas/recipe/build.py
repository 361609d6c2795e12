"""Build frozen dataclasses from located YAML, for the recipe and every operator's config.

A config is a frozen dataclass; its annotations define the allowed values. Supported types: `bool`, `int`, `float`,
`str`, `Literal`, `X | None`, `tuple[X, ...]`, nested dataclasses, unions of them (distinguished by their keys)
and scalars,
`Annotated[X, check, …]`, and dataclasses by name, as a mapping with `Annotated[tuple[X, ...], ByName(…)]` or as a list
with `Listed(…)`. A whole number whose name ends in `_bytes` may be written as a size (`256 MiB`). A `ValueError` from
`__post_init__` is reported at the mapping's line.

Example:
    >>> @dataclass(frozen=True)
    ... class MainConfig:
    ...     max_html_bytes: Annotated[int, Between(1, 1 << 30)] = 16 << 20
    >>> build_config(MainConfig, entry.options, "extract.main")
"""

import dataclasses
import functools
import re
import types
from dataclasses import MISSING, dataclass
from decimal import Decimal
from typing import Annotated, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from winnow.schemas.problems import Place, Problems, nearest, shown, suggestion
from winnow.schemas.recipe.checks import Between, ByName, Check, Counted, Listed, Parsed, SizeInBytes
from winnow.schemas.recipe.nodes import Entry, ListNode, MapNode, Node, Scalar, kind_of

T = TypeVar("T")

_UNITS = {"": 1, "b": 1}
_UNITS |= {f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)}
_UNITS |= {f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", 1)}


_THOUSAND = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}")
_GROUPED = re.compile(r"[0-9]{1,3}(?:[ ,.'’\u00a0\u202f][0-9]{3})+")
_SHORT = re.compile(r"([0-9][0-9_]{0,14}(?:\.[0-9]{1,6})?)\s?([kmgbtKMGBT])")
_POWERS = {"k": 3, "m": 6, "g": 9, "b": 9, "t": 12}  # as people write thousands, millions, billions and trillions


class _Failed:
    """Marks a value that could not be built; its problem is already recorded."""


_FAILED = _Failed()


def build_config(kind: type[T], options: MapNode, where: str) -> T:
    """Build one config from its part of a recipe, strictly.

    Args:
        kind: A frozen dataclass.
        options: The part of the recipe, with lines.
        where: The dotted path of that part, such as `extract.main`, for messages.

    Raises:
        RecipeError: Every unknown key, wrong type and refused value, one line each.
    """
    problems = Problems()
    built = build(kind, options, where, problems)
    problems.stop_if_any()
    return cast(T, built)


def build(kind: type[T], node: MapNode, where: str, problems: Problems) -> T | None:
    """Like `build_config`, but collects problems; None if there are any."""
    built = _dataclass(kind, node, where, problems, {})
    return None if isinstance(built, _Failed) else cast(T, built)


@dataclass(frozen=True)
class Setting:
    """One key that a config understands."""

    key: str
    field: str
    annotation: object
    default: object  # MISSING if the key is required
    is_usual: bool = False  # most recipes need it, though others have something in its place

    @property
    def required(self) -> bool:
        """Whether the recipe must set it."""
        return self.default is MISSING


@functools.cache
def settings(kind: type) -> tuple[Setting, ...]:
    """The keys of a config, in the order of its fields."""
    hints = get_type_hints(kind, include_extras=True)
    found = []
    for item in dataclasses.fields(kind):
        if item.metadata.get("written", True) and hints[item.name] not in (Place, MapNode):
            factory = item.default_factory
            default = item.default if factory is MISSING else factory()
            key, usual = str(item.metadata.get("key", item.name)), bool(item.metadata.get("usual"))
            found.append(Setting(key, item.name, hints[item.name], default, usual))
    return tuple(found)


def _of_type(kind: type, wanted: type) -> str | None:
    """The name of the field of this type, such as the field for the place."""
    hints = get_type_hints(kind, include_extras=True)
    return next((item.name for item in dataclasses.fields(kind) if hints[item.name] is wanted), None)


def _dataclass(kind: type, node: MapNode, where: str, problems: Problems, filled: dict[str, object]) -> object:
    values = dict(filled)
    known = {setting.key: setting for setting in settings(kind)}
    rest: list[Entry] = []
    misspelt: set[str | None] = set()
    complete = True
    for entry in node.entries:
        setting = known.get(entry.key)
        if setting is None:
            rest.append(entry)
            continue
        value = build_value(setting.annotation, entry.node, _join(where, entry.key), problems)
        complete = complete and value is not _FAILED
        values[setting.field] = value
    if (rest_field := _of_type(kind, MapNode)) is not None:
        values[rest_field] = MapNode(tuple(rest), node.place)
    else:
        complete = complete and not rest
        written = {entry.key for entry in node.entries}
        for entry in rest:
            meant = nearest(entry.key, known)
            misspelt.add(meant if meant not in written else nearest(entry.key, known.keys() - written))
            is_rest = entry.key[:1].isdecimal() and isinstance(entry.node, Scalar) and entry.node.value is None
            hint = "; a number has a point, as in 0.5" if is_rest else suggestion(entry.key, known)
            problems.add(entry.place, where, f"unknown key {shown(entry.key)}{hint}")
    if (place_field := _of_type(kind, Place)) is not None:
        values[place_field] = node.place
    for setting in known.values():
        if setting.required and setting.field not in values:
            complete = False
            if setting.key not in misspelt:
                problems.add(node.place, where, f"the key '{setting.key}' is missing; expected {expected(setting)}")
    if not complete:
        return _FAILED
    try:
        return kind(**values)
    except ValueError as error:
        problems.add(node.place, where, " ".join(str(error).split()))
        return _FAILED


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def build_value(annotation: object, node: Node, where: str, problems: Problems) -> object:
    """One value of an annotated type, or a failure that is recorded in `problems`."""
    base, marks = _unwrap(annotation)
    by_name = next((mark for mark in marks if isinstance(mark, ByName)), None)
    listed = next((mark for mark in marks if isinstance(mark, Listed)), None)
    parsed = next((mark for mark in marks if isinstance(mark, Parsed)), None)
    value: object
    if by_name is not None:
        value = _by_name(get_args(base)[0], by_name, node, where, problems)
    elif listed is not None:
        value = _listed(get_args(base)[0], listed, node, where, problems)
    elif parsed is not None and _is_null(base, node):
        value = None
    elif parsed is not None:
        value = _parsed(parsed, node, where, problems)
    elif any(isinstance(mark, Counted) for mark in marks) and (said := _not_counted(node)) is not None:
        problems.add(node.place, where, said)
        return _FAILED
    elif any(isinstance(mark, Counted) for mark in marks) and (count := _counted(node)) is not None:
        value = count
    else:
        value = _unchecked(base, node, where, problems)
    if value is _FAILED or value is None:
        return value
    for mark in marks:
        if isinstance(mark, Check) and (complaint := mark.complaint(value)) is not None:
            problems.add(node.place, where, complaint)
            return _FAILED
    return value


def _is_null(base: object, node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None and type(None) in get_args(base)


def _unwrap(annotation: object) -> tuple[object, tuple[object, ...]]:
    if get_origin(annotation) is Annotated:
        base, *marks = get_args(annotation)
        return base, tuple(marks)
    return annotation, ()


def _unchecked(base: object, node: Node, where: str, problems: Problems) -> object:
    origin, arguments = get_origin(base), get_args(base)
    if origin in (Union, types.UnionType) and type(None) in arguments:
        inner = [argument for argument in arguments if argument is not type(None)]
        counted = any(isinstance(mark, Counted) for argument in inner for mark in _unwrap(argument)[1])
        if isinstance(node, Scalar) and (node.value is None or (counted and node.value == "all")):
            return None
        if len(inner) != 1:
            raise TypeError(f"{where}: a config's unions are X | None")
        return build_value(inner[0], node, where, problems)
    if origin in (Union, types.UnionType) and isinstance(node, MapNode) and _mapped(arguments):
        return _dataclass(_best_match(_mapped(arguments), node), node, where, problems, {})
    if origin is tuple and isinstance(node, ListNode):
        return _tuple(arguments, node, where, problems)
    if dataclasses.is_dataclass(base) and isinstance(node, MapNode):
        return _dataclass(cast(type, base), node, where, problems, {})
    if isinstance(node, Scalar):
        kinds = arguments if origin in (Union, types.UnionType) else (base,)
        value = next((one for kind in kinds if (one := _scalar(kind, node, where)) is not _FAILED), _FAILED)
        if value is not _FAILED:
            return value
    problems.add(node.place, where, f"expected {_in_words(base, where)}, found {kind_of(node)}{_hint(base, node)}")
    return _FAILED


def _mapped(kinds: tuple[object, ...]) -> tuple[object, ...]:
    """The kinds of a union that are written as a mapping."""
    return tuple(kind for kind in kinds if dataclasses.is_dataclass(kind))


def _best_match(kinds: tuple[object, ...], node: MapNode) -> type:
    """The dataclass of a union that fits the keys best; of equally good ones the first."""

    def known(kind: object) -> int:
        keys = [setting.key for setting in settings(cast(type, kind))]
        return sum(2 if entry.key in keys else nearest(entry.key, keys) is not None for entry in node.entries)

    return cast(type, max(kinds, key=known))


def _tuple(arguments: tuple[object, ...], node: ListNode, where: str, problems: Problems) -> object:
    if len(arguments) != 2 or arguments[1] is not ...:
        raise TypeError(f"{where}: a config's tuples are tuple[X, ...]")
    items = [build_value(arguments[0], item, f"{where}[{i}]", problems) for i, item in enumerate(node.items)]
    return _FAILED if any(item is _FAILED for item in items) else tuple(items)


def _scalar(base: object, node: Scalar, where: str) -> object:
    value = node.value
    if get_origin(base) is Literal:
        same = (choice for choice in get_args(base) if choice == value and type(choice) is type(value))
        return next(same, _FAILED)
    if base is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if base is int and isinstance(value, str) and where.endswith("_bytes"):
        size = parse_size(value)
        return _FAILED if size is None else size
    if base in (bool, int, float, str):
        return value if type(value) is base else _FAILED
    if get_origin(base) in (tuple, Union, types.UnionType) or dataclasses.is_dataclass(base):
        return _FAILED
    raise TypeError(f"{where}: a config cannot hold {base}")


def _not_counted(node: Node) -> str | None:
    """What to write instead of `2B`, which may be two bytes or two billion, or of a text that is no number."""
    text = node.value if isinstance(node, Scalar) else None
    if isinstance(text, float) and isinstance(node, Scalar) and _THOUSAND.fullmatch(node.written):
        whole, part = node.written.split(".")
        return f"{node.written} may be {text:g} or {whole}{part}: write {text:g} or {whole}_{part}"
    if not isinstance(text, str):
        return None
    if _GROUPED.fullmatch(text):
        return f"{shown(text)} is no number here: write {re.sub(r'[^0-9]', '_', text)}"
    if (found := _SHORT.fullmatch(text)) is None:
        if parse_size(text) is not None:
            return None
        return f"expected a whole number, such as 2_000_000 or 2e6, or all; found the text {shown(text)}"
    number, exponent = found[1].replace("_", ""), _POWERS[found[2].lower()]
    count = int(Decimal(number).scaleb(exponent))
    size = f"{number} {found[2].upper().replace('B', 'G')}B"
    return f"{shown(text)} may be a count or bytes: write {count:_} or {number}e{exponent}, or for bytes {size}"


def _counted(node: Node) -> int | None:
    """Parse an integer in another notation: `1e6`, `10 GB`."""
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 63:
        return int(value)
    size = parse_size(value) if isinstance(value, str) and value[-1:].isalpha() else None
    return None if size is None else SizeInBytes(size)


def _by_name(kind: type, mark: ByName, node: Node, where: str, problems: Problems) -> object:
    if not isinstance(node, MapNode):
        problems.add(node.place, where, f"expected a mapping from names, found {kind_of(node)}{_hint(dict, node)}")
        return _FAILED
    built: list[object] = []
    for entry in node.entries:
        if (complaint := mark.key.complaint(entry.key)) is not None:
            problems.add(entry.place, where, complaint)
            built.append(_FAILED)
        elif mark.word is not None and isinstance(entry.node, Scalar) and entry.node.value == mark.word:
            worded: dict[str, object] = {"name": entry.key, mark.word: True}
            place = entry.node.place
            built.append(_dataclass(kind, MapNode((), place), _join(where, entry.key), problems, worded))
        elif not isinstance(entry.node, MapNode):
            wanted = "a mapping" if mark.word is None else f"a mapping or {mark.word}"
            found = f"expected {wanted}, found {kind_of(entry.node)}{_hint(kind, entry.node)}"
            problems.add(entry.node.place, _join(where, entry.key), found)
            built.append(_FAILED)
        else:
            named: dict[str, object] = {"name": entry.key}
            built.append(_dataclass(kind, entry.node, _join(where, entry.key), problems, named))
    return _FAILED if any(item is _FAILED for item in built) else tuple(built)


def _listed(kind: type, mark: Listed, node: Node, where: str, problems: Problems) -> object:
    if not isinstance(node, ListNode):
        problems.add(node.place, where, f"expected a list of names or of {{name: options}}, found {kind_of(node)}")
        return _FAILED
    built: list[object] = []
    for number, item in enumerate(node.items):
        entry = _named_item(item)
        here = f"{where}[{number}]"
        if entry is None:
            problems.add(item.place, here, f"expected a name or one {{name: options}}, found {kind_of(item)}")
            built.append(_FAILED)
        elif (complaint := mark.key.complaint(entry.key)) is not None:
            problems.add(item.place, here, complaint)
            built.append(_FAILED)
        else:
            assert isinstance(entry.node, MapNode)
            built.append(_dataclass(kind, entry.node, _join(here, entry.key), problems, {"name": entry.key}))
    return _FAILED if any(item is _FAILED for item in built) else tuple(built)


def _named_item(item: Node) -> Entry | None:
    if isinstance(item, Scalar) and isinstance(item.value, str):
        return Entry(item.value, item.place, MapNode((), item.place))
    if isinstance(item, MapNode) and len(item.entries) == 1 and isinstance(item.entries[0].node, MapNode):
        return item.entries[0]
    return None


def _parsed(mark: Parsed, node: Node, where: str, problems: Problems) -> object:
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        problems.add(node.place, where, f"expected {mark.expects}, found {kind_of(node)}")
        return _FAILED
    try:
        return mark.parse(node.value)
    except ValueError as error:
        problems.add(node.place, where, str(error))
        return _FAILED


def parse_size(text: str) -> int | None:
    """Parse a size such as `256 MiB`, `64MB` or `1_000_000 B`; None if it is not a size. kB is 1000, KiB is 1024."""
    found = re.fullmatch(r"([0-9]{1,15}(?:_[0-9]{1,15}){0,5})\s?([A-Za-z]{0,3})", text)
    unit = _UNITS.get(found[2].lower()) if found else None
    if found is None or unit is None:
        return None
    size = int(found[1]) * unit
    return size if size < 1 << 63 else None


def expected(setting: Setting) -> str:
    """The allowed values of a key, in words, as in the reference page."""
    _, marks = _unwrap(setting.annotation)
    if any(isinstance(mark, ByName) for mark in marks):
        return "a mapping from names"
    if any(isinstance(mark, Listed) for mark in marks):
        return "a list of names, each alone or as {name: options}"
    return _phrase(setting.annotation, setting.key)


def _phrase(annotation: object, key: str) -> str:
    base, marks = _unwrap(annotation)
    parsed = next((mark for mark in marks if isinstance(mark, Parsed)), None)
    if parsed is not None:
        return parsed.expects + (" or null" if type(None) in get_args(base) else "")
    phrase = next((mark.expects for mark in marks if isinstance(mark, Check) and mark.expects), _in_words(base, key))
    bounds = next((f" {mark.bounds}" for mark in marks if isinstance(mark, Between)), "")
    return phrase + bounds


def _in_words(base: object, key: str) -> str:
    origin, arguments = get_origin(base), get_args(base)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys("null" if item is type(None) else _phrase(item, key) for item in arguments))
    if origin is Literal:
        choices = ", ".join(str(choice) for choice in arguments)
        return f"one of {choices}" if len(arguments) > 1 else choices
    if origin is tuple:
        inner = _phrase(arguments[0], "")
        return "a list of text" if inner == "text" else f"a list, each item {inner}"
    if base is int:
        return "a size in bytes" if key.endswith("_bytes") else "an integer"
    return {bool: "true or false", float: "a number", str: "text"}.get(cast(type, base), "a mapping")


_WITH_COMMA = {float: r"\d+,\d+", int: r"\d+,\d+ ?[kKMGT]i?B"}
"""Numbers and sizes whose point is written as a comma."""


def _hint(base: object, node: Node) -> str:
    if isinstance(node, Scalar) and node.value is None and (base is dict or dataclasses.is_dataclass(base)):
        known = () if base is dict else settings(cast(type, base))
        needed = [setting.key for setting in known if setting.required or setting.is_usual]
        return f"; it needs {', '.join(needed)}" if needed else "; write {} for the defaults"
    text = node.value if isinstance(node, Scalar) and isinstance(node.value, str) else ""
    if base is float and re.fullmatch(r"\d+(\.\d+)?\s*%", text):
        return f"; a share is a number from 0 to 1, such as {float(text[:-1]) / 100:g}"
    if (comma := _WITH_COMMA.get(cast(type, base))) and re.fullmatch(comma, text):
        return f"; a number has a point, as in {text.replace(',', '.')}"
    if base is str and isinstance(node, Scalar) and node.value is not None:
        return "; put it in quotes"
    if get_origin(base) is tuple and isinstance(node, Scalar) and isinstance(node.value, str):
        return "; write it as [ … ]"
    if get_origin(base) is Literal and isinstance(node, Scalar) and isinstance(node.value, str):
        near = nearest(node.value, [str(choice) for choice in get_args(base)])
        return f" (did you mean {near!r}?)" if near else ""
    return ""
