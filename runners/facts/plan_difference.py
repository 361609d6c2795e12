"""`winnow plan --diff`: compares the strata of two mixture plans."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson
from rich.console import Console

from winnow.runners.tables.table import Column, Head, Table, heads, table
from winnow.runners.tables.units import CHANGE, COUNT, NAME, Unit
from winnow.runners.terminal.tables import print_tables
from winnow.schemas.errors import WinnowError
from winnow.schemas.identity import Json
from winnow.schemas.mixture import SCHEMA, MixturePlan
from winnow.schemas.records import from_json

MAX_PLAN_BYTES = 256 << 20
SHOWN = 40
ABSENT = "-"

SHOWN_CHARACTERS = 60

_ALWAYS = ("store", "seed", "tree_hash", "tokenizer", "sample")
_IN_ASKED = ("unit", "max_epochs")  # also part of `MixturePlan.asked`


@dataclass(frozen=True, slots=True)
class Change:
    """A stratum of an output whose amount changed."""

    output: str
    stratum: str
    before: int  # in the plans' units; 0 if it was absent
    after: int
    share_before: float
    share_after: float


SHARE_OF = Unit(lambda one: f"{100 * one:.2f}%")
CHANGES: tuple[Column[Change], ...] = (
    Column("output", NAME, lambda one: one.output),
    Column("stratum", NAME, lambda one: one.stratum),
    Column("old", COUNT, lambda one: one.before),
    Column("new", COUNT, lambda one: one.after),
    Column("change", CHANGE, lambda one: one.after - one.before),
    Column("old share", SHARE_OF, lambda one: one.share_before),
    Column("new share", SHARE_OF, lambda one: one.share_after),
)
_SETTINGS = (Head("", NAME, "name"), *heads("old", "new"))


@dataclass(frozen=True, slots=True)
class Difference:
    """How two plans differ."""

    old: str
    new: str
    settings: tuple[tuple[str, str, str], ...]  # what, before, after
    changes: tuple[Change, ...]  # the largest first

    def to_json(self) -> dict[str, Json]:
        """Plain values."""
        return {
            "old": self.old,
            "new": self.new,
            "settings": Table("", _SETTINGS, self.settings).to_json(),
            "strata": table("", CHANGES, self.changes).without("change").to_json(),
        }


def read_plan(name: str) -> MixturePlan:
    """Read a plan file written by `winnow mix --plan-only`."""
    file = Path(name)
    if not file.is_file():
        raise WinnowError(f"{name}: no such file; winnow mix RECIPE --plan-only writes a plan")
    if file.stat().st_size > MAX_PLAN_BYTES:
        raise WinnowError(f"{name}: larger than {MAX_PLAN_BYTES >> 20} MiB, so it is not a plan")
    raw = file.read_bytes()
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise WinnowError(f"{name}: not JSON: {error}; winnow mix RECIPE --plan-only writes a plan") from None
    schema = value.get("schema") if isinstance(value, dict) else None
    if schema != SCHEMA:
        raise WinnowError(f"{name}: expected a plan of schema {SCHEMA}, found {schema!r:.40}; plan again")
    name_in_file = value.pop("plan", None)  # its name, which is made of the rest
    plan = from_json(MixturePlan, orjson.dumps(value), name)
    if name_in_file != plan.name:
        raise WinnowError(
            f"{name}: was changed after it was written: its name is {str(name_in_file)!r:.40}, but its content "
            f"hashes to {plan.name}; plan again"
        )
    return plan


def difference(old: MixturePlan, new: MixturePlan) -> Difference:
    """Compare two plans."""
    settings = _settings(old, new)
    before, after = _given(old), _given(new)
    changes = []
    for key in sorted(before.keys() | after.keys()):
        amount_before, whole_before = before.get(key, (0, 0))
        amount_after, whole_after = after.get(key, (0, 0))
        if amount_before != amount_after:
            shares = [
                amount / whole if whole else 0.0
                for amount, whole in ((amount_before, whole_before), (amount_after, whole_after))
            ]
            changes.append(Change(*key, amount_before, amount_after, *shares))
    changes.sort(key=lambda one: (-abs(one.after - one.before), one.output, one.stratum))
    return Difference(old.name, new.name, tuple(settings), tuple(changes))


def _settings(old: MixturePlan, new: MixturePlan) -> list[tuple[str, str, str]]:
    """The settings that differ; the hash of the request if nothing else shows the difference."""

    def differing(names: Sequence[str]) -> list[tuple[str, str, str]]:
        values = [(name, str(getattr(old, name)), str(getattr(new, name))) for name in names]
        return [row for row in values if row[1] != row[2]]

    found = differing(_ALWAYS)
    if old.asked and new.asked:
        for name in [*new.asked, *(name for name in old.asked if name not in new.asked)]:
            row = (name, old.asked.get(name, ABSENT), new.asked.get(name, ABSENT))
            found += [row] if row[1] != row[2] else []
        return found or differing(("request",))
    budgets = [{f"budget of {output.name}": output.budget for output in plan.outputs} for plan in (old, new)]
    for name in dict.fromkeys((*budgets[0], *budgets[1])):
        row = (name, str(budgets[0].get(name, ABSENT)), str(budgets[1].get(name, ABSENT)))
        found += [row] if row[1] != row[2] else []
    return [*found, *differing((*_IN_ASKED, "request"))]


def print_difference(found: Difference, console: Console) -> None:
    """Print the settings and strata that differ."""
    if found.old == found.new:
        console.print(f"the plans are identical: {found.old}")
        return
    settings = [(name, _short(old), _short(new)) for name, old, new in found.settings]
    strata = table("Changed strata", CHANGES, found.changes[:SHOWN])
    print_tables(console, Table("Changed settings", _SETTINGS, settings), strata)
    if (rest := len(found.changes) - SHOWN) > 0:
        console.print(f"… and {rest:,} more strata (--json lists all)")
    console.print(f"old {found.old}, new {found.new}")


def _given(plan: MixturePlan) -> dict[tuple[str, str], tuple[int, int]]:
    """The units of each stratum of each output, and of the whole output."""
    return {
        (output.name, str(one.stratum)): (one.given.units, output.given.units)
        for output in plan.outputs
        for one in output.strata
    }


def _short(value: str) -> str:
    return value if len(value) <= SHOWN_CHARACTERS else f"{value[: SHOWN_CHARACTERS - 1]}…"
