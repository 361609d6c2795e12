"""The effect of a recipe's rules on its store, on the terminal and in a file."""

from rich.console import Console

from winnow.pipelines.rules.decisions import Tally
from winnow.pipelines.rules.summary import GroupEffect, ItemEffect, RuleEffect, RulesSummary
from winnow.runners.tables.quantities import byte_size, grouped, share
from winnow.runners.terminal.tables import Grid, print_grid, print_line
from winnow.schemas.counts import count_of
from winnow.schemas.tombstones import FORGOTTEN

SHOWN_GROUPS = 30
SHOWN_SILENT = 8  # rules that drop nothing; more are counted, not listed
SHOWN_LOSSES = 12


def print_effects(summary: RulesSummary, console: Console) -> None:
    """Print what each rule drops, losses that look like mistakes, and the alarms."""
    print_grid(console, _rules(summary))
    _print_items(summary, console)
    print_losses(summary, console)
    print_alarms(summary, console)


def print_rules(summary: RulesSummary, console: Console) -> None:
    """Print what each rule drops, what is kept by source and language, losses, and the alarms."""
    print_grid(console, _rules(summary))
    _print_items(summary, console)
    print_grid(console, _groups(summary))
    print_losses(summary, console)
    print_alarms(summary, console)


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


def print_alarms(summary: RulesSummary, console: Console) -> None:
    """Print one line per alarm that the recipe does not accept."""
    for alarm in summary.alarms:
        console.print(f"ALARM  {alarm.message}", style="bold red", markup=False, highlight=False, soft_wrap=True)


def _rules(summary: RulesSummary) -> Grid:
    whole = summary.rows.rows
    forgotten = summary.forgotten
    rows: list[tuple[str, ...]] = []
    if forgotten.rows:
        counts = (grouped(forgotten.rows), share(forgotten.rows, whole), _bytes(forgotten))
        rows.append(("", FORGOTTEN, *counts, "", ""))
    silent = [rule for rule in summary.rules if not rule.fires.rows + rule.null.rows + rule.dropped.rows]
    left_out = len(silent) if len(silent) > SHOWN_SILENT else 0
    rows += [(rule.list, *_effect(rule, whole)) for rule in summary.rules if not left_out or rule not in silent]
    if left_out:
        rows.append(("", f"({left_out} others)", "0", "", "", "0", "0"))
    lost = whole - summary.kept.rows
    textless = sum(summary.textless.values())
    footer = (
        (
            "",
            f"kept ({grouped(textless)} without text)" if textless else "kept",
            grouped(summary.kept.rows),
            share(summary.kept.rows, whole),
            _bytes(summary.kept),
            "",
            "",
        )
        if whole
        else None
    )
    title = f"Rules: {grouped(lost)} of {count_of(whole, 'sample')} dropped; bytes of the {summary.bytes_of}"
    headers = ("list", "reason", "dropped", "share", "bytes", "fires", "by null")
    return Grid(title, headers, rows, frozenset({0, 1}), footer, whole=frozenset({1}))


def _effect(rule: RuleEffect | ItemEffect, whole: int) -> tuple[str, ...]:
    """A rule's reason, and what it does."""
    dropped = rule.dropped
    shown = (rule.reason, grouped(dropped.rows), share(dropped.rows, whole), _bytes(dropped))
    return (*shown, grouped(rule.fires.rows), grouped(rule.null.rows))


def _print_items(summary: RulesSummary, console: Console) -> None:
    """Print what becomes of the media of samples, if there are rules of `items`."""
    items = summary.items
    if items is None:
        return
    whole = items.all.rows
    rows = [_effect(rule, whole) for rule in items.rules]
    lost = items.of_dropped
    rows.append(("(sample dropped)", grouped(lost.rows), share(lost.rows, whole), _bytes(lost), "", ""))
    footer = ("kept", grouped(items.kept.rows), share(items.kept.rows, whole), _bytes(items.kept), "", "")
    title = (
        f"Rules of items: {grouped(whole - items.kept.rows)} of {grouped(whole)} media dropped; bytes of their files"
    )
    headers = ("reason", "dropped", "share", "bytes", "fires", "by null")
    print_grid(console, Grid(title, headers, rows, frozenset({0}), footer if whole else None, whole=frozenset({0})))


def _groups(summary: RulesSummary) -> Grid:
    by_size = sorted(summary.groups, key=lambda group: (-group.rows.rows, group.source, group.language))
    shown = by_size[:SHOWN_GROUPS]
    rest = by_size[SHOWN_GROUPS:]
    rows = [_group(group) for group in shown]
    if rest:
        rows.append(_group(_combined(rest)))
    headers = ("source", "language", "samples", "kept", "share", "kept bytes", "dropped", "top reason")
    return Grid("Kept by source and language", headers, rows, frozenset({0, 1, 7}))


def _group(group: GroupEffect) -> tuple[str, ...]:
    lost = group.rows.rows - group.kept.rows
    most = max(group.dropped.items(), key=lambda item: item[1].rows, default=None)
    named = "" if most is None else f"{most[0].partition('.')[2] or most[0]} {share(most[1].rows, lost)}"
    return (
        group.source,
        group.language,
        grouped(group.rows.rows),
        grouped(group.kept.rows),
        share(group.kept.rows, group.rows.rows),
        _bytes(group.kept),
        grouped(lost),
        named,
    )


def _combined(groups: list[GroupEffect]) -> GroupEffect:
    dropped: dict[str, Tally] = {}
    for group in groups:
        for reason, tally in group.dropped.items():
            dropped[reason] = dropped.get(reason, Tally()) + tally
    return GroupEffect(
        source="(all others)",
        language=f"{len(groups):,} groups",
        rows=sum((group.rows for group in groups), Tally()),
        kept=sum((group.kept for group in groups), Tally()),
        dropped=dropped,
    )


def _bytes(tally: Tally) -> str:
    return byte_size(tally.bytes) if tally.bytes or not tally.rows else "-"
