"""The figures of a report that the next one is compared with; the page carries them itself, in a `meta` element.

A page has those of the last report that differed, too, so a report that is made again says the same.
"""

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

import orjson

from winnow.pipelines.rules.decisions import Tally
from winnow.pipelines.rules.summary import GroupEffect, RulesSummary
from winnow.runners.report.markup import Html, element
from winnow.schemas.mixture import Amount, MixturePlan
from winnow.schemas.summary import StoreSummary
from winnow.schemas.typed_json import read_value

NAME = "winnow-figures"
MOST_LANGUAGES = 200
_FOUND = re.compile(rf'<meta name="{NAME}" content="([^"]*)">')


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the way from records to the mixture."""

    name: str
    samples: int
    units: int | None = None  # tokens, or what else the mixture counts in; None if unknown


@dataclass(frozen=True, slots=True)
class LanguageFigures:
    """One language before and after."""

    samples: int
    kept: int
    given: int = 0  # units, with repeats


@dataclass(frozen=True, slots=True)
class Figures:
    """What a reader compares between two runs."""

    steps: tuple[Step, ...]
    unit: str | None = None
    drops: Mapping[str, int] = field(default_factory=dict)  # samples by the first rule that fires
    languages: Mapping[str, LanguageFigures] = field(default_factory=dict)
    plan: str | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """The figures of a page, and those of the last page that had others."""

    now: Figures
    before: Figures | None = None

    def then(self, now: Figures) -> "Remembered":
        """What the next page remembers."""
        return self if now == self.now else Remembered(now, self.now)


def figures_of(summary: StoreSummary, rules: RulesSummary | None, plan: MixturePlan | None) -> Figures:
    """The figures of a store, of what the rules decide, and of the mixture."""
    total = summary.total()
    unit = None if plan is None or plan.unit == "samples" else plan.unit
    steps = [
        Step("records", total.records - total.described),
        Step("samples", total.samples, _tokens(summary) if unit == "tokens" else None),
    ]
    drops: dict[str, int] = {}
    languages: dict[str, LanguageFigures] = {}
    if rules is not None:
        drops = {f"{rule.list}.{rule.reason}": rule.dropped.rows for rule in rules.rules}
        left = rules.rows.rows - rules.forgotten.rows
        for name, phase in (("eligible", "eligible"), ("unique", "dedupe")):
            left -= sum(rule.dropped.rows for rule in rules.rules if rule.list == phase)
            steps.append(Step(name, left))
        steps.append(Step("kept", rules.kept.rows, plan.kept.units if plan is not None and unit else None))
        given = given_by(plan, "language")
        for code, of in effects_by(rules, "language").items():
            languages[code] = LanguageFigures(of.rows.rows, of.kept.rows, given.get(code, Amount()).units)
    if plan is not None:
        drawn = sum((output.given for output in plan.outputs), Amount())
        steps.append(Step("drawn", drawn.samples, drawn.units if unit else None))
    largest = sorted(languages.items(), key=lambda item: (-item[1].samples, item[0]))[:MOST_LANGUAGES]
    return Figures(tuple(steps), unit, drops, dict(largest), None if plan is None else plan.name)


def given_by(plan: MixturePlan | None, part: Literal["language", "source"]) -> dict[str, Amount]:
    """What a mixture gives of each language or source, over all outputs."""
    found: dict[str, Amount] = {}
    for output in () if plan is None else plan.outputs:
        for one in output.strata:
            name = getattr(one.stratum, part)
            found[name] = found.get(name, Amount()) + one.given
    return found


def effects_by(rules: RulesSummary, part: Literal["language", "source"]) -> dict[str, GroupEffect]:
    """What the rules keep and drop of each language or source."""
    found: dict[str, list[GroupEffect]] = {}
    for group in rules.groups:
        found.setdefault(getattr(group, part), []).append(group)
    return {name: combined(name, name, groups) for name, groups in found.items()}


def combined(source: str, language: str, groups: Sequence[GroupEffect]) -> GroupEffect:
    """Groups together, under these names."""
    dropped: dict[str, Tally] = {}
    for group in groups:
        for reason, tally in group.dropped.items():
            dropped[reason] = dropped.get(reason, Tally()) + tally
    rows, kept = (sum(tallies, Tally()) for tallies in zip(*((one.rows, one.kept) for one in groups), strict=True))
    return GroupEffect(source, language, rows, kept, dropped)


def remembered(figures: Remembered) -> Html:
    """The element of a page that the next report reads."""
    return element("meta", name=NAME, content=orjson.dumps(asdict(figures)).decode())


def read_remembered(page: bytes) -> Remembered | None:
    """The figures in a page; None if winnow did not write it, or another version did."""
    found = _FOUND.search(page.decode("utf-8", "replace"))
    if found is None:
        return None
    try:
        return read_value(Remembered, orjson.loads(html.unescape(found[1])), complete=True)
    except (ValueError, TypeError):
        return None


def _tokens(summary: StoreSummary) -> int | None:
    layer = summary.layer("mix.tokens")
    column = None if layer is None else layer.column("tokens")
    measure = None if column is None else column.measure("value")
    return None if measure is None or measure.mean is None else round(measure.mean * measure.count)
