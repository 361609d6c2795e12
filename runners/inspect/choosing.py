"""Which rows of the frame a request is about: its `filter`, as a mark for each row."""

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from winnow.runners.inspect.dimensions import DOMAIN, dimension_of, floats_of, texts_of
from winnow.runners.inspect.frame import Frame, Marks
from winnow.runners.inspect.mapped import rows_of_part
from winnow.runners.inspect.measures import chunks_of, numbers_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import AskedError, UnavailableError
from winnow.schemas.problems import shown, suggestion

Filter = Mapping[str, Any]  # Any: JSON, checked here

_KNOWN = ("source", "language", "reason", "first", "kept", "domain", "day", "text", "ranges", "map")


def chosen_rows(opened: Opened, frame: Frame, asked: object) -> Marks:
    """The rows, forgotten ones aside, that a filter leaves, whatever text it searches for; AskedError if it names what
    is not there."""
    wanted = checked_filter(asked)
    marks = frame.seen.copy()
    if (names := _listed(wanted, "source")) is not None:
        marks &= _among(names, frame.sources, "source")[frame.source]
    if (names := _listed(wanted, "language")) is not None:
        marks &= _among(names, frame.languages, "language")[frame.language]
    if (names := _listed(wanted, "reason")) is not None:
        marks &= frame.fires(_rules(frame, names))
    if (names := _listed(wanted, "first")) is not None:
        marks &= np.isin(frame.first, np.array(_rules(frame, names), np.int16))
    if wanted.get("kept") is not None:
        _require_rules(frame)
        marks &= frame.kept == bool(wanted["kept"])
    if wanted.get("domain") == [None]:  # rows of files without addresses
        marks &= texts_of(opened, frame, DOMAIN).codes < 0
    elif (names := _listed(wanted, "domain")) is not None:
        domains = texts_of(opened, frame, DOMAIN)
        marks &= np.isin(domains.codes, domains.numbers(names))
    if (names := _listed(wanted, "day")) is not None:
        days = dimension_of(opened, frame, "day")
        marks &= np.array([label in names for label in days.labels], np.bool_)[days.codes]
    for name, bounds in (wanted.get("ranges") or {}).items():
        marks &= _within(opened, frame, name, bounds)
    if wanted.get("map") is not None:
        marks &= rows_of_part(opened, frame, wanted["map"], lambda among: chosen_rows(opened, frame, among))
    return marks


def checked_filter(asked: object) -> Filter:
    """A filter, of which only known parts are given."""
    if asked is None:
        return {}
    if not isinstance(asked, Mapping):
        raise AskedError(f"filter: expected an object, found {asked!r}")
    for name in asked:
        if name not in _KNOWN:
            raise AskedError(f"filter: unknown part {name!r}{suggestion(str(name), _KNOWN)}")
    if not isinstance(asked.get("ranges") or {}, Mapping):
        raise AskedError("filter.ranges: expected an object of [low, high] by column")
    return asked


def _listed(wanted: Filter, name: str) -> list[str] | None:
    """One name or several; None for any."""
    value = wanted.get(name)
    if value is None or value == "" or value == []:
        return None
    names = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str) for one in names):
        raise AskedError(f"filter.{name}: expected a name or a list of names, found {value!r}")
    return names


def _among(names: list[str], known: tuple[str, ...], what: str) -> Marks:
    """Which codes are meant."""
    for name in names:
        if name not in known:
            raise AskedError(f"there is no {what} {name!r}{suggestion(name, known)}")
    return np.array([one in names for one in known], np.bool_)


def _rules(frame: Frame, names: list[str]) -> list[int]:
    _require_rules(frame)
    for name in names:
        if name not in frame.rules.reasons:
            raise AskedError(f"no rule has the reason {name!r}{suggestion(name, frame.rules.reasons)}")
    return [number for name in names for number in frame.numbered(name)]


def _require_rules(frame: Frame) -> None:
    if frame.why_no_rules is not None:
        raise UnavailableError(frame.why_no_rules)


def _within(opened: Opened, frame: Frame, name: str, bounds: object) -> Marks:
    low, high = bounds_of(name, bounds)
    measure = numbers_of(opened, frame, name)
    marks = np.zeros(frame.rows, np.bool_)
    for (start, end), values in zip(chunks_of(frame), measure.chunks, strict=True):
        if pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
            raise AskedError(f"filter.ranges: {name} is {values.type}, which has no ranges")
        numbers = floats_of(values)
        marks[start:end] = (numbers >= (-math.inf if low is None else low)) & (
            numbers <= (math.inf if high is None else high)
        )
    return marks


def bounds_of(name: str, bounds: object) -> tuple[float | None, float | None]:
    """The lowest and the highest number that are meant, both included; None for no bound."""
    if not isinstance(bounds, list) or len(bounds) != 2:
        raise AskedError(f"{name}: expected [low, high], found {bounds!r}")
    return _bound(name, bounds[0]), _bound(name, bounds[1])


def _bound(name: str, bound: object) -> float | None:
    if bound is None:
        return None
    if isinstance(bound, bool) or not isinstance(bound, int | float) or bound != bound:
        raise AskedError(f"{name}: expected numbers or null, found {shown(str(bound))}")
    if abs(bound) > sys.float_info.max:
        return math.inf if bound > 0 else -math.inf
    return float(bound)
