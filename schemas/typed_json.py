"""Reads JSON into dataclasses strictly; an error is one line with the problem and its place.

orjson parses the bytes, as it rejects NaN, numbers beyond 64 bits or a double, and deep nesting; msgspec then checks
types and missing fields. msgspec ignores unknown fields, so these are rejected here.
"""

import re
from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Annotated, TypeAlias, TypeVar, cast

import msgspec
import orjson

from winnow.schemas.identity import Json
from winnow.schemas.problems import shown, suggestion

T = TypeVar("T")
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]

_PLACE = " - at `$"
_WORDS = {
    "int": "an integer",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "nothing",
}
_TYPES = re.compile(rf"(?<=[`| ])(?:{'|'.join(_WORDS)})(?=[`| ])")


def read_json(kind: type[T], raw: bytes, *, complete: bool = False) -> T:
    """Parse a value of this type.

    Args:
        kind: The expected type.
        raw: JSON.
        complete: Reject missing fields even if they have a default.

    Raises:
        ValueError: The bytes are not JSON, or not of this type; one line with the place.
    """
    return read_value(kind, orjson.loads(raw), complete=complete)


def read_value(kind: type[T], value: Json, *, complete: bool = False) -> T:
    """The same for a value already parsed by orjson."""
    try:
        found = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ValueError(_in_words(str(error))) from None
    _require_fields(value, found, "", complete)
    return found


def _in_words(said: str) -> str:
    """msgspec's message in plain words, the place first: `rows: expected an integer, got text`."""
    what, _, place = said.rpartition(_PLACE) if _PLACE in said else (said, "", "")
    what = _TYPES.sub(lambda found: _WORDS.get(found[0], found[0]), what.removeprefix("Object "))
    what = what.replace("`", "").replace(" | ", " or ").replace("Invalid enum value", "unknown value")
    place = place.rstrip("`").removeprefix(".")
    return (f"{place}: " if place else "") + f"{what[:1].lower()}{what[1:]}"[:200]


@cache
def _names(kind: Hashable) -> tuple[str, ...] | None:
    """The fields of a dataclass, looked up once for the thousands of records of a store; None for another type."""
    return tuple(field.name for field in fields(kind)) if isinstance(kind, type) and is_dataclass(kind) else None


def _require_fields(value: object, found: object, place: str, complete: bool) -> None:
    """Reject unknown fields of dataclasses at any depth; structs check this themselves."""
    if isinstance(found, msgspec.Struct):
        return
    if isinstance(value, list) and isinstance(found, (list, tuple)):
        for number, (item, made) in enumerate(zip(value, found, strict=True)):
            if isinstance(item, (dict, list)):
                _require_fields(item, made, f"{place}[{number}]", complete)
    elif isinstance(value, dict):
        dot = f"{place}." if place else ""
        if (names := _names(cast(Hashable, type(found)))) is not None:
            for name in value:
                if name not in names:
                    raise ValueError(f"{dot}{shown(name)[1:-1]}: unknown field{suggestion(name, names)}")
            if complete and (missing := [name for name in names if name not in value]):
                raise ValueError(f"{place}: missing required field {missing[0]}".removeprefix(": "))
        for name, item in value.items():
            if isinstance(item, (dict, list)):
                made = found[name] if isinstance(found, dict) else getattr(found, name)
                _require_fields(item, made, f"{dot}{name}", complete)
