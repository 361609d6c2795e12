"""What a set of rules does to a store, as tables: by rule, and by source and language."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from winnow.pipelines.rules.deciding import UNKNOWN
from winnow.pipelines.rules.decisions import DecisionCounts, Tally, bits_of
from winnow.pipelines.rules.guards import Alarm, Loss, find_alarms
from winnow.pipelines.rules.pinning import PinnedProgram
from winnow.pipelines.rules.representatives import NO_DUPLICATES, Duplicates
from winnow.schemas.identity import Json
from winnow.schemas.tombstones import FORGOTTEN


@dataclass(frozen=True, slots=True)
class RuleEffect:
    """One rule and whom it drops."""

    list: str  # eligible, dedupe or keep
    reason: str
    drop: str
    when_null: str | None
    preset: str | None
    place: str
    dropped: Tally  # those of which it is the first rule that fires
    fires: Tally  # those for which it fires at all
    null: Tally  # those of them for which its condition was null


@dataclass(frozen=True, slots=True)
class GroupEffect:
    """The samples of one source and language."""

    source: str
    language: str
    rows: Tally
    kept: Tally
    dropped: Mapping[str, Tally]  # by the first reason, as `list.reason`, or `forgotten`


@dataclass(frozen=True, slots=True)
class RulesSummary:
    """Everything that the rules of a recipe decide about one generation."""

    generation: int
    bytes_of: str  # text: measured lengths of texts; record: what a sample takes in its source's file
    rows: Tally
    kept: Tally
    rules: tuple[RuleEffect, ...]
    groups: tuple[GroupEffect, ...]  # in order of source and language
    forgotten: Tally = field(default_factory=Tally)  # before any rule: rows = kept + forgotten + dropped by rules
    alarms: tuple[Alarm, ...] = ()  # of duplicates, that the recipe does not accept: nothing may be made of the plan

    def to_json(self) -> dict[str, Json]:
        """Plain values for `--json`."""
        return asdict(self)


def summarise_rules(
    pinned: PinnedProgram, counts: DecisionCounts, generation: int, duplicates: Duplicates = NO_DUPLICATES
) -> RulesSummary:
    """The tables for one generation's counts."""
    spelt = pinned.program.rules
    dropped, fires, null = ([Tally()] * (len(spelt) + 1) for _ in range(3))  # the last: forgotten
    names = [*(f"{one.phase}.{one.rule.reason}" for one in spelt), FORGOTTEN]
    groups: dict[tuple[str, str], dict[str | None, Tally]] = {}
    for outcome, tally in counts:
        group = groups.setdefault((outcome.source, outcome.language), {})
        name = None if outcome.kept else names[outcome.first]
        group[name] = group.get(name, Tally()) + tally
        if not outcome.kept:
            dropped[outcome.first] += tally
        for number in bits_of(outcome.fired):
            fires[number] += tally
        for number in bits_of(outcome.null):
            null[number] += tally
    return RulesSummary(
        generation=generation,
        bytes_of=pinned.bytes_of,
        rows=counts.total,
        kept=counts.kept,
        rules=tuple(
            RuleEffect(
                list=one.phase,
                reason=one.rule.reason,
                drop=one.rule.drop,
                when_null=one.rule.when_null,
                preset=one.preset,
                place=str(one.rule.place),
                dropped=dropped[number],
                fires=fires[number],
                null=null[number],
            )
            for number, one in enumerate(spelt)
        ),
        groups=tuple(
            GroupEffect(
                source=source,
                language=language,
                rows=sum(group.values(), Tally()),
                kept=group.get(None, Tally()),
                dropped={name: group[name] for name in names if name in group},
            )
            for (source, language), group in sorted(groups.items())
        ),
        forgotten=dropped[-1],
        alarms=_alarms(pinned, counts, duplicates),
    )


def _alarms(pinned: PinnedProgram, counts: DecisionCounts, duplicates: Duplicates) -> tuple[Alarm, ...]:
    choice, rules = pinned.program.choice, pinned.program.rules
    if choice is None:
        return ()
    out = 1 << len(rules) | (1 << pinned.program.eligible) - 1  # forgotten, or not eligible
    lost = sum(1 << number for number, one in enumerate(rules) if one.phase == "dedupe")
    sources: dict[str, Loss] = {}
    languages: dict[str, Loss] = {}
    for outcome, tally in counts:
        if not outcome.fired & out:
            loss = Loss(tally.rows, tally.rows if outcome.fired & lost else 0)
            for losses, name in ((sources, outcome.source), (languages, outcome.language)):
                losses[name] = losses.get(name, Loss(0, 0)) + loss
    languages.pop(UNKNOWN, None)  # no language: its sources tell of it
    return find_alarms(choice.config, sources, languages, duplicates.large, duplicates.larger)
