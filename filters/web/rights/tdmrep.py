"""Parse `/.well-known/tdmrep.json` (W3C TDMRep): a host's paths reserved against text and data mining.

It is a list of objects with a `location`, a pattern as in robots.txt, and `tdm-reservation`, 0 or 1. If several match
a path, the stricter of the first and the longest applies. A file that is not such a list reserves everything, as its
author wanted to reserve something.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from winnow.filters.web.rights.paths import Pattern, pattern_of
from winnow.filters.web.rights.statements import TDM, said_by
from winnow.schemas.identity import Json, canonical_json
from winnow.schemas.rows.opt_out import TDM_RESERVATION

MAX_RULES: Final = 10_000
_SHOWN: Final = 256


@dataclass(frozen=True, slots=True)
class Reservation:
    """One object of the list."""

    pattern: Pattern
    reserves: bool
    shown: str


def reservations(body: str) -> tuple[Reservation, ...]:
    """The objects of a file, in order."""
    try:
        rules: Json = orjson.loads(body.removeprefix("\ufeff"))
    except orjson.JSONDecodeError:
        return (_everything(body),)
    listed = [rules] if isinstance(rules, Mapping) else rules
    if not isinstance(listed, list):
        return (_everything(body),)
    return tuple(_reservation(rule) for rule in listed[:MAX_RULES])


def reserved(rules: tuple[Reservation, ...], path: str) -> tuple[bool, str]:
    """Whether a path is reserved, and the object that reserves it."""
    matching = [rule for rule in rules if rule.pattern.matches(path)]
    if not matching:
        return False, ""
    for rule in (matching[0], max(matching, key=lambda rule: (rule.pattern.length, rule.reserves))):
        if rule.reserves:
            return True, rule.shown
    return False, ""


def _reservation(rule: Json) -> Reservation:
    if not isinstance(rule, Mapping):
        return _everything(canonical_json(rule))
    location, value = rule.get("location"), rule.get(TDM_RESERVATION)
    shown = canonical_json(rule)[:_SHOWN]
    says = TDM in said_by(TDM_RESERVATION, str(value), frozenset()).meanings
    return Reservation(pattern_of(location if isinstance(location, str) and location else "/"), says, shown)


def _everything(shown: str) -> Reservation:
    return Reservation(pattern_of("/"), True, shown[:_SHOWN])
