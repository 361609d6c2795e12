"""Summarises the effect of rules on a store: by rule, and by source and language."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from winnow.pipelines.binding.rule_presets import ProgramRule
from winnow.pipelines.rules.deciding import UNKNOWN
from winnow.pipelines.rules.decisions import DecisionCounts, Tally, bits_of
from winnow.pipelines.rules.guards import Alarm, Loss, find_alarms, find_edit_alarms, find_rule_alarms
from winnow.pipelines.rules.losses import (
    OutsideLanguages,
    RuleLoss,
    count_estimated,
    count_textless,
    count_undetermined,
    estimated_message,
    find_losses,
    find_outside_languages,
    find_uneven,
    textless_message,
    undetermined_message,
)
from winnow.pipelines.rules.pinning import PinnedProgram
from winnow.pipelines.rules.representatives.replaced import NO_DUPLICATES, Duplicates
from winnow.pipelines.rules.sites import NO_SITES, SiteCounts
from winnow.schemas.identity import Json
from winnow.schemas.rules.conditions import columns_read
from winnow.schemas.tombstones import FORGOTTEN


@dataclass(frozen=True, slots=True)
class RuleEffect:
    """One rule, and what it drops."""

    list: str  # eligible, dedupe, items or keep
    reason: str
    drop: str
    when_null: str | None
    preset: str | None
    place: str
    dropped: Tally  # samples for which it is the first rule that fires
    fires: Tally  # all samples for which it fires
    null: Tally  # those of them for which its condition is null


@dataclass(frozen=True, slots=True)
class GroupEffect:
    """The samples of one source and language."""

    source: str
    language: str
    rows: Tally
    kept: Tally
    dropped: Mapping[str, Tally]  # by the first reason, as `list.reason`, or `forgotten`


@dataclass(frozen=True, slots=True)
class ItemEffect:
    """One rule of `items`, and the media that it drops, even of rows that are dropped."""

    reason: str
    dropped: Tally  # media for which it is the first rule that fires
    fires: Tally
    null: Tally


@dataclass(frozen=True, slots=True)
class ItemsSummary:
    """The media of all samples: all = kept + dropped by rules + those of dropped samples."""

    all: Tally
    kept: Tally
    rules: tuple[ItemEffect, ...]
    of_dropped: Tally  # media that no rule of `items` drops, of samples that are dropped

    @property
    def lost(self) -> tuple[tuple[str, Tally], ...]:
        """Each medium that is not kept once: by the first rule that drops it, then those of dropped samples."""
        return (*((rule.reason, rule.dropped) for rule in self.rules), ("(sample dropped)", self.of_dropped))


@dataclass(frozen=True, slots=True)
class RulesSummary:
    """The decisions of a recipe's rules on one generation."""

    generation: int
    bytes_of: str  # text: measured lengths of texts; record: a sample's size in its source's file
    rows: Tally
    kept: Tally
    rules: tuple[RuleEffect, ...]
    groups: tuple[GroupEffect, ...]  # in order of source and language
    forgotten: Tally = field(default_factory=Tally)  # before any rule: rows = kept + forgotten + dropped by rules
    alarms: tuple[Alarm, ...] = ()  # for duplicates and guarded rules; a plan with alarms is refused
    losses: tuple[
        RuleLoss, ...
    ] = ()  # of languages, sources and sites to one rule each, the largest first; nothing is refused
    textless: Mapping[str, int] = field(default_factory=dict)  # kept samples of text that have none, by source
    text_statuses: tuple[str, ...] = ()  # the columns that say so
    outside: tuple[OutsideLanguages, ...] = ()  # presets, and the samples in languages that they were not made for
    estimated: Mapping[str, int] = field(default_factory=dict)  # samples by language whose words are estimated
    undetermined: Mapping[str, int] = field(default_factory=dict)  # samples in no known language, such as und_Latn
    items: ItemsSummary | None = None  # None if the recipe has no rules of `items`

    @property
    def loss_lines(self) -> tuple[str, ...]:
        """Lines on what is lost, or kept though there is nothing in it."""
        textless = [textless_message(self.textless, self.text_statuses)] if self.textless else []
        return (*textless, *(loss.message for loss in self.losses))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Lines on samples whose measures are not what their thresholds were made for."""
        return (estimated_message(self.estimated),) if self.estimated else ()

    @property
    def language_notes(self) -> tuple[str, ...]:
        """Lines on presets that were made for other languages, and on samples in no known language."""
        outside = (one.message for one in self.outside)
        return (*outside, *([undetermined_message(self.undetermined)] if self.undetermined else []))

    def to_json(self) -> dict[str, Json]:
        """Return plain values for `--json`."""
        return asdict(self)


def summarise_rules(
    pinned: PinnedProgram,
    counts: DecisionCounts,
    generation: int,
    duplicates: Duplicates = NO_DUPLICATES,
    items: DecisionCounts | None = None,
    sites: SiteCounts = NO_SITES,
) -> RulesSummary:
    """Summarise one generation's counts: of samples, and of their media where there are rules of `items`."""
    rules, bounds = pinned.program.rules, pinned.program.loss_alarms
    losses = find_losses(rules, counts, bounds, items)
    reported = {(loss.of, loss.name, loss.reason) for loss in losses}
    uneven = (
        one for one in find_uneven(rules, counts, sites, bounds) if (one.of, one.name, one.reason) not in reported
    )
    dropped, fires, null = _effects(rules, counts)  # the last: forgotten
    names = [*(f"{one.phase}.{one.rule.reason}" for one in rules), FORGOTTEN]
    groups: dict[tuple[str, str], dict[str | None, Tally]] = {}
    for outcome, tally in counts:
        group = groups.setdefault((outcome.source, outcome.language), {})
        name = None if outcome.kept else names[outcome.first]
        group[name] = group.get(name, Tally()) + tally
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
            for number, one in enumerate(rules)
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
        alarms=(
            *_alarms(pinned, counts, duplicates),
            *find_rule_alarms(rules, pinned.program.guarded, counts, bounds.min_rows),
            *find_edit_alarms([edit.layer for edit in pinned.guarded_edits], counts, bounds.min_rows),
        ),
        losses=(*losses, *uneven),
        textless=count_textless(counts),
        text_statuses=tuple(column.name for column in pinned.text_statuses),
        outside=find_outside_languages(rules, counts),
        estimated=count_estimated((name for one in rules for name in columns_read(one.rule.drop)), counts),
        undetermined=count_undetermined(counts),
        items=None if items is None or not pinned.program.judges_items else _of_items(rules, items),
    )


def _effects(rules: Sequence[ProgramRule], counts: DecisionCounts) -> tuple[list[Tally], list[Tally], list[Tally]]:
    """Return what each rule drops first, fires for and finds null, and at the end what has the bit after the last."""
    dropped, fires, null = ([Tally()] * (len(rules) + 1) for _ in range(3))
    for outcome, tally in counts:
        if not outcome.kept:
            dropped[outcome.first] += tally
        for number in bits_of(outcome.fired):
            fires[number] += tally
        for number in bits_of(outcome.null):
            null[number] += tally
    return dropped, fires, null


def _of_items(rules: Sequence[ProgramRule], counts: DecisionCounts) -> ItemsSummary:
    dropped, fires, null = _effects(rules, counts)  # the last: of dropped samples
    effects = tuple(
        ItemEffect(one.rule.reason, dropped[number], fires[number], null[number])
        for number, one in enumerate(rules)
        if one.phase == "items"
    )
    return ItemsSummary(counts.total, counts.kept, effects, dropped[-1])


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
    languages.pop(UNKNOWN, None)  # not a language; the alarms of sources cover it
    return find_alarms(
        choice.config,
        choice.max_cluster,
        sources,
        languages,
        duplicates.large,
        duplicates.large_count,
        duplicates.addresses,
    )
