"""The sections on languages: what comes in and goes out of each, and which rule drops how much of each."""

from collections.abc import Mapping, Sequence

from winnow.pipelines.rules.summary import RulesSummary
from winnow.runners.facts.examples import Examples
from winnow.runners.facts.figures import given_by_language
from winnow.runners.report.block import Block
from winnow.runners.report.markup import (
    Header,
    Html,
    breakable,
    crawled,
    element,
    folded,
    join,
    meter,
    plain,
    table,
    unbroken,
)
from winnow.runners.tables.quantities import byte_size, grouped, share
from winnow.schemas.counts import count_of
from winnow.schemas.languages import language
from winnow.schemas.mixture import VALIDATION, Amount, MixturePlan
from winnow.schemas.summary import StoreSummary

SHOWN = 20
MOST = 200
COLUMNS = 8
SHADES = 5
SHOWN_RULES = 15  # of those that drop most; the others are folded
WORST = 3  # rules named for a language


def before_and_after(_: StoreSummary, examples: Examples) -> Block | None:
    """Each language's samples and text before the rules, and what is kept and drawn of it."""
    rules, plan = examples.rules, examples.plan
    if rules is None or not rules.groups:
        return None
    rows = _rows(rules, plan)
    headers = [
        Header("language"),
        Header("samples", True),
        Header("text" if rules.bytes_of == "text" else "size", True),
    ]
    headers += [Header("kept", True)]
    headers += [Header("share kept", True)]
    if plan is not None:
        headers += [Header(f"{plan.unit} available", True), Header(f"{plan.unit} drawn", True)]
        headers += [Header("share available", True), Header("share drawn", True), Header("")]
    parts = [table("Languages before and after", headers, rows[:SHOWN])]
    if rest := rows[SHOWN:MOST]:
        parts.append(folded(f"{len(rest):,} more languages", table("More languages before and after", headers, rest)))
    note = f"Sizes are of the {rules.bytes_of}. "
    if plan is not None:
        note += "Available is what the training outputs may take of the kept samples, each once; "
        note += "drawn includes repeats and validation."
    parts.append(element("p", plain(note.strip()), class_="note"))
    return Block("by-language", "Languages before and after", join(parts))


def _rows(rules: RulesSummary, plan: MixturePlan | None) -> list[list[Html]]:
    samples: dict[str, list[int]] = {}
    for group in rules.groups:
        found = samples.setdefault(group.language, [0, 0, 0])
        for place, number in enumerate((group.rows.rows, group.rows.bytes, group.kept.rows)):
            found[place] += number
    available, given = _available(plan), given_by_language(plan)
    whole_before, whole_after = sum(available.values()), sum(one.units for one in given.values())
    rows = []
    for code, (count, size, kept) in sorted(samples.items(), key=lambda item: (-item[1][0], item[0])):
        row = [
            _named(code),
            plain(grouped(count)),
            plain(byte_size(size) if size else "-"),
            plain(grouped(kept)),
            plain(share(kept, count)),
        ]
        if plan is not None:
            before, after = available.get(code, 0), given.get(code, Amount()).units
            row += [plain(grouped(before)), plain(grouped(after)), plain(share(before, whole_before))]
            row += [plain(share(after, whole_after)), meter(after, whole_after)]
        rows.append(row)
    return rows


def _available(plan: MixturePlan | None) -> dict[str, int]:
    """What the training outputs may take of each language: the stages of a mixture share their strata."""
    most: dict[tuple[str, str], int] = {}
    for output in () if plan is None else plan.outputs:
        for one in output.strata if output.name != VALIDATION else ():
            key = str(one.stratum), one.stratum.language
            most[key] = max(most.get(key, 0), one.available.units)
    found: dict[str, int] = {}
    for (_, code), units in most.items():
        found[code] = found.get(code, 0) + units
    return found


def rules_by_language(rules: RulesSummary) -> list[Html]:
    """A table of rules by the largest languages: the share of a language's samples that a rule drops first."""
    counts: dict[str, int] = {}
    drops: dict[str, dict[str, int]] = {}
    for group in rules.groups:
        counts[group.language] = counts.get(group.language, 0) + group.rows.rows
        for name, tally in group.dropped.items():
            of = drops.setdefault(name, {})
            of[group.language] = of.get(group.language, 0) + tally.rows
    shown = sorted(counts, key=lambda code: (-counts[code], code))[:COLUMNS]
    others = sum(count for code, count in counts.items() if code not in shown)
    if not drops or len(counts) < 2:
        return []
    headers = [Header("rule"), *(Header(code, True) for code in shown)]
    headers += [Header("others", True)] if others else []
    rows = []
    for name in sorted(drops, key=lambda name: (-sum(drops[name].values()), name)):
        of = drops[name]
        cells = [_shaded(of.get(code, 0), counts[code]) for code in shown]
        if others:
            cells.append(_shaded(sum(count for code, count in of.items() if code not in shown), others))
        rows.append([breakable(name.partition(".")[2] or name), *cells])
    kept = dict.fromkeys(counts, 0)
    for group in rules.groups:
        kept[group.language] += group.kept.rows
    footer = [plain("kept"), *(plain(share(kept[code], counts[code])) for code in shown)]
    if others:
        footer.append(plain(share(sum(count for code, count in kept.items() if code not in shown), others)))
    parts = [table("Share of each language's samples that each rule drops", headers, rows[:SHOWN_RULES], footer)]
    if rest := rows[SHOWN_RULES:]:
        title = f"{len(rest)} more {'rule' if len(rest) == 1 else 'rules'} that drop less"
        parts.append(folded(title, table(title, headers, rest)))
    if small := sorted(counts.keys() - set(shown), key=lambda code: (-counts[code], code))[:MOST]:
        title = f"{count_of(len(small), 'smaller language')}, and the rules that drop most of each"
        parts.append(folded(title, _worst(title, small, counts, kept, drops)))
    parts.append(
        element("p", plain("By the first rule that fires; the largest languages of the store."), class_="note")
    )
    return parts


def _worst(
    title: str,
    codes: Sequence[str],
    counts: Mapping[str, int],
    kept: Mapping[str, int],
    drops: Mapping[str, Mapping[str, int]],
) -> Html:
    """The rules that drop most of each language, one language a row."""
    rows = []
    for code in codes:
        taken = sorted(((of.get(code, 0), name) for name, of in drops.items()), key=lambda one: (-one[0], one[1]))
        listed: list[Html] = []
        for count, name in taken[:WORST]:
            if count:
                said = plain(f" {share(count, counts[code])}")
                listed += [plain(", ")] * bool(listed) + [breakable(name.partition(".")[2] or name), said]
        named = unbroken(element("span", *listed))
        rows.append([_named(code), plain(grouped(counts[code])), plain(share(kept[code], counts[code])), named])
    headers = [Header("language"), Header("samples", True), Header("kept", True), Header("rules that drop most")]
    return table(title, headers, rows)


def _shaded(part: int, whole: int) -> Html:
    if not part:
        return plain("")
    shade = min(SHADES, 1 + int(SHADES * (part / whole) ** 0.5)) if whole else 1
    return element("span", plain(share(part, whole)), class_=f"shade shade-{shade}")


def _named(code: str) -> Html:
    known = language(code.partition("_")[0])
    return element("span", crawled(code), plain(f" {known.name}" if known else ""))
