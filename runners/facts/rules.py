"""What a recipe's rules drop, and what they keep of each source and language."""

from collections.abc import Sequence

from rich.console import Console

from winnow.pipelines.rules.decisions import Tally
from winnow.pipelines.rules.summary import GroupEffect, RuleEffect, RulesSummary
from winnow.runners.facts.examples import Examples
from winnow.runners.facts.figures import combined
from winnow.runners.facts.languages import rules_by_language
from winnow.runners.report.block import Block
from winnow.runners.report.markup import Html, crawled, element, folded, join, plain
from winnow.runners.report.plots.bars import Part, Row, shares
from winnow.runners.report.tables import drawn, note
from winnow.runners.tables.quantities import byte_size, grouped, share
from winnow.runners.tables.table import Column, Share, Table, Value, heads, largest, table
from winnow.runners.tables.units import BYTES, COUNT, NAME, PLACE, REASON, SHARE, WORDS
from winnow.runners.terminal.tables import print_line, print_tables
from winnow.schemas.counts import count_of
from winnow.schemas.summary import StoreSummary
from winnow.schemas.tombstones import FORGOTTEN

SHOWN_GROUPS = 30
SHOWN_RULES = 15  # on the page, of those that drop most; the others are folded
SHOWN_SILENT = 8  # rules that drop nothing; more are counted, not listed
SHOWN_LOSSES = 12

_EFFECTS = (("dropped", COUNT), ("share", SHARE), ("bytes", BYTES), ("fires", COUNT), ("by null", COUNT))
_RULES = heads(("list", WORDS), ("reason", REASON), ("condition", PLACE), *_EFFECTS)

GROUPS: tuple[Column[GroupEffect], ...] = (
    Column("source", NAME, lambda one: one.source),
    Column("language", NAME, lambda one: one.language),
    Column("samples", COUNT, lambda one: one.rows.rows),
    Column("kept", COUNT, lambda one: one.kept.rows),
    Column("share", SHARE, lambda one: Share(one.kept.rows, one.rows.rows)),
    Column("kept bytes", BYTES, lambda one: _bytes(one.kept)),
    Column("dropped", COUNT, lambda one: one.rows.rows - one.kept.rows),
    Column("top reason", WORDS, lambda one: _top_reason(one)),
)


def rules(summary: RulesSummary) -> Table:
    """What each rule drops, and what is kept; of many rules that do nothing, their number."""
    whole, forgotten = summary.rows.rows, summary.forgotten
    rows: list[tuple[Value, ...]] = []
    if forgotten.rows:
        rows.append(("", FORGOTTEN, "", *_lost(forgotten, whole), None, None))
    silent = [rule for rule in summary.rules if not rule.fires.rows + rule.null.rows + rule.dropped.rows]
    left_out = len(silent) if len(silent) > SHOWN_SILENT else 0
    rows += [_rule(rule, whole) for rule in summary.rules if not left_out or rule not in silent]
    if left_out:
        rows.append(("", f"({left_out} others)", "", 0, None, None, 0, 0))
    textless = sum(summary.textless.values())
    kept = f"kept ({grouped(textless)} without text)" if textless else "kept"
    footer = ("", kept, "", *_lost(summary.kept, whole), None, None) if whole else None
    dropped = f"{grouped(whole - summary.kept.rows)} of {count_of(whole, 'sample')} dropped"
    return Table(f"Rules: {dropped}; bytes of the {summary.bytes_of}", _RULES, rows, footer)


def effects(title: str, some: Sequence[RuleEffect], whole: int) -> Table:
    """What some rules drop of all samples."""
    return Table(title, _RULES, [_rule(rule, whole) for rule in some]).without("bytes", "by null")


def items(summary: RulesSummary) -> list[Table]:
    """The fate of the samples' media; nothing without rules of `items`."""
    found = summary.items
    if found is None:
        return []
    whole = found.all.rows
    rows: list[tuple[Value, ...]] = [
        (rule.reason, *_lost(rule.dropped, whole), rule.fires.rows, rule.null.rows) for rule in found.rules
    ]
    rows.append(("(sample dropped)", *_lost(found.of_dropped, whole), None, None))
    footer = ("kept", *_lost(found.kept, whole), None, None) if whole else None
    dropped = f"{grouped(whole - found.kept.rows)} of {grouped(whole)} media dropped"
    title = f"Rules of items: {dropped}; bytes of their files"
    return [Table(title, heads(("reason", REASON), *_EFFECTS), rows, footer)]


def groups(summary: RulesSummary) -> Table:
    """What is kept of each source and language."""
    shown = largest(
        _by_size(summary), SHOWN_GROUPS, lambda rest: combined("(all others)", f"{len(rest):,} groups", rest)
    )
    return table("Kept by source and language", GROUPS, shown)


def print_rules(summary: RulesSummary, console: Console, *, with_groups: bool = False) -> None:
    """Print what each rule drops, what is kept of each group if asked for, losses like mistakes, and the alarms."""
    kept = [groups(summary)] if with_groups else []
    print_tables(console, rules(summary).without("condition"), *items(summary), *kept)
    print_losses(summary, console)
    for alarm in summary.alarms:
        console.print(f"ALARM  {alarm.message}", style="bold red")


def print_losses(summary: RulesSummary, console: Console) -> None:
    """Print a line on samples without a text, and one per language, source or site that one rule drops too much of."""
    for line in summary.loss_lines[:SHOWN_LOSSES]:
        print_line(console, f"LOSS  {line}", "bold yellow")
    if (more := len(summary.loss_lines) - SHOWN_LOSSES) > 0:
        what = f"{count_of(more, 'more loss', 'more losses')} of a language, a source or a site to one rule"
        print_line(console, f"LOSS  {what}: winnow report")
    for line in summary.warnings:
        print_line(console, f"WARN  {line}", "bold yellow")
    for line in summary.language_notes:
        print_line(console, f"note  {line}")


def decisions(_: StoreSummary, examples: Examples) -> Block | None:
    """The section of the page."""
    found = examples.rules
    if found is None:
        return None
    parts = [element("p", plain(_kept(found)))]
    for word, messages in (("Alarm", [alarm.message for alarm in found.alarms]), ("Loss", found.loss_lines)):
        strong = element("strong", plain(f"{word}: "))
        parts += [element("p", strong, crawled(message), class_="alarm") for message in messages]
    parts += [element("p", crawled(line), class_="alarm") for line in found.warnings]
    parts += [note(line) for line in found.language_notes]
    firing = [rule for rule in found.rules if rule.dropped.rows]
    least = min(sorted((rule.dropped.rows for rule in firing), reverse=True)[:SHOWN_RULES], default=0)
    less = [rule for rule in firing if rule.dropped.rows < least]
    idle = [rule for rule in found.rules if not rule.dropped.rows]
    for title, some in (
        ("What the rules drop", [rule for rule in firing if rule.dropped.rows >= least]),
        (f"{count_of(len(less), 'more rule drops', 'more rules drop')} less", less),
        (f"{count_of(len(idle), 'rule is', 'rules are')} the first to fire for no sample", idle),
    ):
        if some:
            shown = drawn(effects(title, some, found.rows.rows).first("reason", "condition"))
            parts.append(folded(title, shown) if some in (less, idle) else shown)
    parts.append(note("A sample counts as dropped under the first rule that fires; nothing is deleted before export."))
    for of_media in items(found):
        assert found.items is not None
        left, whole = found.items.kept.rows, found.items.all.rows
        sentence = f"{grouped(left)} of {grouped(whole)} media ({share(left, whole)}) are kept by the rules of items."
        parts += [element("p", plain(sentence)), drawn(of_media)]
    parts += rules_by_language(found)
    parts.append(folded("Kept by source and language", _kept_shares(found)))
    return Block("rules", "Rules", join(parts))


def _kept(found: RulesSummary) -> str:
    left = share(found.kept.rows, found.rows.rows)
    kept = f"{grouped(found.kept.rows)} of {count_of(found.rows.rows, 'sample')} ({left}) are kept by the rules."
    if found.textless:
        kept += f" {grouped(sum(found.textless.values()))} of them have no text."
    return kept + forgotten_remark(found)


def forgotten_remark(found: RulesSummary) -> str:
    """How many samples no rule has seen, if there are any."""
    if not found.forgotten.rows:
        return ""
    return f" {count_of(found.forgotten.rows, 'sample was', 'samples were')} forgotten on request, before any rule."


def _kept_shares(found: RulesSummary) -> Html:
    rows = [
        Row(
            f"{group.source}, {group.language}",
            (
                Part("kept by the rules", group.kept.rows, "kept"),
                Part("dropped by the rules", group.rows.rows - group.kept.rows, "dropped"),
            ),
        )
        for group in _by_size(found)[:SHOWN_GROUPS]
    ]
    return shares("Kept by source and language", rows)


def _by_size(summary: RulesSummary) -> list[GroupEffect]:
    return sorted(summary.groups, key=lambda group: (-group.rows.rows, group.source, group.language))


def _rule(rule: RuleEffect, whole: int) -> tuple[Value, ...]:
    return (rule.list, rule.reason, rule.drop, *_lost(rule.dropped, whole), rule.fires.rows, rule.null.rows)


def _lost(tally: Tally, whole: int) -> tuple[Value, ...]:
    return tally.rows, Share(tally.rows, whole), _bytes(tally)


def _bytes(tally: Tally) -> str:
    return byte_size(tally.bytes) if tally.bytes or not tally.rows else "-"


def _top_reason(group: GroupEffect) -> str:
    most = max(group.dropped.items(), key=lambda item: item[1].rows, default=None)
    if most is None:
        return ""
    return f"{most[0].partition('.')[2] or most[0]} {share(most[1].rows, group.rows.rows - group.kept.rows)}"
