"""Labels of rows: from a column, from a file's folder, or from a field of a JSON record."""

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Protocol

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.schemas.errors import ScoreError
from winnow.scoring.protocol import NO_LABEL, OK, UNKNOWN_LABEL


class LabelSettings(Protocol):
    """A task's settings for labels."""

    @property
    def label(self) -> str:
        """A dotted column of the store."""

    @property
    def label_folder(self) -> bool:
        """Whether the column has paths, whose folder is the label."""

    @property
    def label_key(self) -> str:
        """The key of the label, if the column has JSON objects, such as `samples.metadata`; else empty."""

    @property
    def labels(self) -> tuple[bool | int | str, ...]:
        """The known labels, in the order of their numbers."""


def shown_label(label: bool | int | str) -> str:
    """A label as Arrow casts it to a string."""
    return str(label).lower() if isinstance(label, bool) else str(label)


def numbered_labels(
    column: pa.Array, config: LabelSettings, task: str
) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
    """The number of each row's label, or -1 with a status that says why.

    Raises:
        ScoreError: The column's type cannot be used for labels.
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind, types = column.type, pa.types
    inside = bool(config.label_folder or config.label_key)
    if not (
        is_text(kind) or types.is_null(kind) or (not inside and (types.is_integer(kind) or types.is_boolean(kind)))
    ):
        expected = "strings" if inside else "strings, integers or booleans"
        raise ScoreError(f"task {task}: label {config.label} is of type {kind}; expected {expected}")
    named = column.cast(pa.string())
    if config.label_folder:
        named = _read(named, folder_of)
    elif config.label_key:
        named = _read(named, lambda raw: value_of(raw, config.label_key))
    numbers = pc.index_in(named, pa.array([shown_label(label) for label in config.labels], pa.string()))
    reasons = np.full(len(column), OK, np.object_)
    reasons[np.asarray(pc.is_null(numbers))] = UNKNOWN_LABEL
    reasons[np.asarray(pc.is_null(named))] = NO_LABEL
    return np.asarray(numbers.fill_null(-1)).astype(np.int64), reasons


def label_problems(config: LabelSettings) -> list[str]:
    """The problems of the settings; empty if they are valid."""
    names = [shown_label(label) for label in config.labels]
    problems = {
        "label: expected a dotted column of the store, such as `samples.source.name`": not config.label,
        f"labels {', '.join(names) or 'are missing'}: expected at least two different ones": len(set(names)) < 2,
        f"labels {', '.join(names)}: one occurs twice": len(set(names)) != len(names),
        "`label_folder` and `label_key` are two ways to read a label; write one": config.label_folder
        and bool(config.label_key),
    }
    return [problem for problem, is_so in problems.items() if is_so]


def folder_of(path: str) -> str | None:
    """The name of a file's folder; None if it has none."""
    return PurePosixPath(path).parent.name or None


def value_of(raw: str, key: str) -> str | None:
    """A value of a JSON object as a label; None if it is missing, or not a string, number or boolean."""
    value = member_of(raw, key)
    if value is None or isinstance(value, Mapping | list):
        return None
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def member_of(raw: str, key: str) -> object:
    """The value at a key of a JSON object, or, where a dot reaches into objects, of one in it; None without such."""
    try:
        found = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    for name in (key,) if isinstance(found, Mapping) and key in found else key.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def is_text(kind: pa.DataType) -> bool:
    """Whether values of a type are strings."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _read(column: pa.Array, label: Callable[[str], str | None]) -> pa.Array:
    return pa.array([None if one is None else label(one) for one in column.to_pylist()], pa.string())
