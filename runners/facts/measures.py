"""The sections on measurements: languages, the rules' effect, detector coverage, and thresholds with samples."""

from winnow.pipelines.rules.near_thresholds import NearSample, NearThreshold
from winnow.pipelines.rules.summary import RuleEffect, RulesSummary
from winnow.runners.facts.coverage import categories, largest_languages, uncovered
from winnow.runners.facts.examples import Examples
from winnow.runners.facts.languages import SHOWN_RULES, rules_by_language
from winnow.runners.report.block import Block
from winnow.runners.report.markup import Header, Html, breakable, crawled, element, folded, join, marked, plain, table
from winnow.runners.report.plots.bars import Part, Row, bars, shares
from winnow.runners.report.plots.histograms import Mark, small_histogram
from winnow.runners.tables.quantities import grouped, share
from winnow.schemas.counts import count_of
from winnow.schemas.languages import language
from winnow.schemas.languages.counts import LANGUAGE_LAYER, language_counts
from winnow.schemas.safety import subcategories
from winnow.schemas.summary import Measure, StoreSummary, by_count

SHOWN = 30


def measured_languages(summary: StoreSummary, _: Examples) -> Block | None:
    """Languages, their groups and families, by documents."""
    counted = language_counts(summary)
    if counted is None:
        return None
    codes = by_count(counted.codes)
    rows = []
    for code, count in codes:
        known = language(code.partition("_")[0])
        rows.append(
            [
                crawled(code),
                plain(known.name if known else ""),
                plain((known.group if known else None) or ""),
                plain((known.family if known else None) or ""),
                plain(grouped(count)),
                plain(share(count, counted.rows)),
            ]
        )
    headers = [Header(name) for name in ("code", "language", "group", "family")]
    headers += [Header("documents", True), Header("share", True)]
    named = count_of(len(codes), "language and script", "languages and scripts")
    parts = [
        _ranked("Families", counted.families, counted.rows),
        _ranked("Groups", counted.groups, counted.rows),
        folded(named, table("Languages", headers, rows)),
    ]
    mismatches = counted.mismatches
    if mismatches:
        title = "Guesses that the script of the letters rules out; these documents are in no known language"
        lines = [[crawled(code), plain(grouped(count))] for code, count in by_count(mismatches)]
        parts.append(table(title, [Header("language and script of the text"), Header("documents", True)], lines))
    if counted.other:
        others = count_of(counted.other, "document is", "documents are")
        parts.append(element("p", plain(f"{others} in other languages."), class_="note"))
    brief = f"{named} in {count_of(len(counted.families), 'family', 'families')}"
    return Block("measured-languages", f"Languages ({LANGUAGE_LAYER})", join(parts), brief)


def decisions(_: StoreSummary, examples: Examples) -> Block | None:
    """What the rules drop, and what they keep of each source and language."""
    found = examples.rules
    if found is None:
        return None
    whole = found.rows.rows
    headers = [Header("reason and condition"), Header("list")]
    headers += [Header("dropped", True), Header("share", True), Header("fires", True)]
    firing = [rule for rule in found.rules if rule.dropped.rows]
    idle = [rule for rule in found.rules if not rule.dropped.rows]
    parts = [element("p", plain(_kept(found)))]
    for word, messages in (("Alarm", [one.message for one in found.alarms]), ("Loss", found.loss_lines)):
        strong = element("strong", plain(f"{word}: "))
        parts += [element("p", strong, crawled(one), class_="alarm") for one in messages]
    parts += [element("p", crawled(line), class_="alarm") for line in found.warnings]
    parts += [element("p", crawled(line), class_="note") for line in found.language_notes]
    if firing:
        least = sorted((rule.dropped.rows for rule in firing), reverse=True)[:SHOWN_RULES][-1]
        most = [rule for rule in firing if rule.dropped.rows >= least]
        parts.append(table("What the rules drop", headers, [_rule(rule, whole) for rule in most]))
    if firing and (rest := [rule for rule in firing if rule.dropped.rows < least]):
        title = f"{count_of(len(rest), 'more rule drops', 'more rules drop')} less"
        parts.append(folded(title, table(title, headers, [_rule(rule, whole) for rule in rest])))
    if idle:
        title = f"{count_of(len(idle), 'rule is', 'rules are')} the first to fire for no sample"
        parts.append(folded(title, table(title, headers, [_rule(rule, whole) for rule in idle])))
    note = "A sample counts as dropped under the first rule that fires; nothing is deleted before export."
    parts.append(element("p", plain(note), class_="note"))
    parts += _media(found)
    parts += rules_by_language(found)
    parts.append(folded("Kept by source and language", _largest_groups(found)))
    return Block("rules", "Rules", join(parts))


def _kept(found: RulesSummary) -> str:
    left = share(found.kept.rows, found.rows.rows)
    kept = f"{grouped(found.kept.rows)} of {count_of(found.rows.rows, 'sample')} ({left}) are kept by the rules."
    if found.textless:
        kept += f" {grouped(sum(found.textless.values()))} of them have no text."
    if found.forgotten.rows:
        forgotten = count_of(found.forgotten.rows, "sample was", "samples were")
        kept += f" {forgotten} forgotten on request, before any rule."
    return kept


def _rule(rule: RuleEffect, whole: int) -> list[Html]:
    return [
        element("span", breakable(rule.reason), element("code", breakable(rule.drop), class_="condition")),
        plain(rule.list),
        plain(grouped(rule.dropped.rows)),
        plain(share(rule.dropped.rows, whole)),
        plain(grouped(rule.fires.rows)),
    ]


def _largest_groups(found: RulesSummary) -> Html:
    largest = sorted(found.groups, key=lambda group: (-group.rows.rows, group.source, group.language))
    rows = [
        Row(
            f"{group.source}, {group.language}",
            (
                Part("kept by the rules", group.kept.rows, "kept"),
                Part("dropped by the rules", group.rows.rows - group.kept.rows, "dropped"),
            ),
        )
        for group in largest[:SHOWN]
    ]
    return shares("Kept by source and language", rows)


def _media(found: RulesSummary) -> list[Html]:
    """What becomes of the media of samples, if there are rules of `items`."""
    if found.items is None:
        return []
    whole, left = found.items.all.rows, found.items.kept.rows
    lost = [
        [breakable(reason), plain(grouped(one.rows)), plain(share(one.rows, whole))] for reason, one in found.items.lost
    ]
    said = f"{grouped(left)} of {grouped(whole)} media ({share(left, whole)}) are kept by the rules of items."
    headers = [Header("reason"), Header("dropped", True), Header("share", True)]
    return [element("p", plain(said)), table("What the rules of items drop", headers, lost)]


def thresholds(summary: StoreSummary, examples: Examples) -> Block | None:
    """The distribution of every measure that a rule uses, and the samples closest to each threshold."""
    by_column: dict[str, list[NearThreshold]] = {}
    for threshold in examples.thresholds:
        by_column.setdefault(threshold.cut.column, []).append(threshold)
    if not by_column:
        return None
    drawn = [figure for column, found in by_column.items() if (figure := _drawn(summary, column, found)) is not None]
    parts = [element("div", *drawn, class_="multiples")] if drawn else []
    parts.append(element("h3", plain("The samples closest to each threshold")))
    parts += [part for found in by_column.values() for part in _closest(found)]
    brief = f"{count_of(len(by_column), 'measure')}, {count_of(len(examples.thresholds), 'threshold')}"
    return Block("thresholds", "Measures and thresholds", join(parts), brief)


def _drawn(summary: StoreSummary, column: str, thresholds: list[NearThreshold]) -> Html | None:
    """A small histogram with the thresholds of a measure; its caption names the rules."""
    measure = _measure(summary, column)
    if measure is None:
        return None
    fixed = ((one.cut.value, f"{one.cut.operator} {one.cut.limit}") for one in thresholds)
    marks = [Mark(value, said) for value, said in fixed if value is not None]
    rules = ", ".join(f"{one.reason} ({one.cut.operator} {one.cut.limit})" for one in thresholds)
    caption = element("figcaption", element("strong", breakable(column)), element("span", breakable(rules)))
    return element("figure", caption, small_histogram(column, measure, marks))


def _closest(thresholds: list[NearThreshold]) -> list[Html]:
    parts = []
    for threshold in thresholds:
        whole = threshold.met + threshold.unmet
        condition = f"{threshold.cut.operator} {threshold.cut.limit}"
        met = f"{grouped(threshold.met)} of {grouped(whole)} ({share(threshold.met, whole)})"
        heading = f"{threshold.phase}.{threshold.reason}: {met} are {condition}"
        if threshold.null:
            heading += f"; {count_of(threshold.null, 'was', 'were')} not measured"
        nearest = [
            _nearest(f"Closest samples that are {condition}", threshold.met_samples),
            _nearest("Closest samples that are not", threshold.unmet_samples),
        ]
        parts.append(folded(heading, *nearest))
    return parts


def _nearest(title: str, samples: tuple[NearSample, ...]) -> Html:
    headers = [Header("value", True), Header("threshold", True)]
    headers += [Header("language"), Header("source"), Header("id"), Header("text")]
    rows = [
        [
            plain(f"{sample.value:.6g}"),
            plain(f"{sample.limit:.6g}"),
            crawled(sample.language),
            crawled(sample.source),
            element("code", crawled(sample.id)),
            element("span", marked(" ".join(sample.text.split())), dir="auto"),
        ]
        for sample in samples
    ]
    return table(title, headers, rows)


def _measure(summary: StoreSummary, name: str) -> Measure | None:
    for layer in summary.layers:
        if name.startswith(f"{layer.name}."):
            found = layer.column(name.removeprefix(f"{layer.name}."))
            return found.measure("value") if found is not None else None
    return None


def _ranked(title: str, counts: dict[str, int], whole: int) -> Html:
    shown = by_count(counts)[:SHOWN]
    return element(
        "div",
        element("h3", plain(title)),
        bars(title, [Row(name, (Part(name, count),)) for name, count in shown], whole),
    )


SHOWN_LANGUAGES = 60


def coverage(_: StoreSummary, examples: Examples) -> Block | None:
    """Coverage by subcategory and language. A null counts as not covered, never as safe."""
    found = examples.coverage
    if found is None or not found.rows:
        return None
    total = found.total
    meanings = subcategories()
    watched = [
        [
            plain(name),
            plain(meanings[name].meaning),
            crawled(", ".join(layers)),
            plain(share(total.seen[name], total.rows)),
            plain(grouped(total.found[name]) if name in total.found else "scored"),
        ]
        for name, layers in found.detectors.items()
    ]
    named = categories(found)
    bars = [
        Row(
            name,
            (
                Part("covered", total.rows - uncovered(total, of), "kept"),
                Part("not covered", uncovered(total, of), "tone-rest"),
            ),
        )
        for name, of in named.items()
    ]
    by_language = [
        [
            crawled(one.language),
            plain(grouped(one.rows)),
            *(plain(share(uncovered(one, of), one.rows)) for of in named.values()),
        ]
        for one in largest_languages(found, SHOWN_LANGUAGES)
    ]
    note = (
        f"For the {count_of(total.rows, 'sample')} that the rules keep, by taxonomy {found.version}. A sample without "
        "a detector is unchecked, not safe. The coverage of a category is that of its least covered subcategory."
    )
    headers = [Header("subcategory"), Header("meaning"), Header("detector")]
    headers += [Header("covered", True), Header("found", True)]
    parts = [
        element("p", plain(note), class_="note"),
        shares("Detector coverage by category", bars),
        table("Detector coverage by subcategory", headers, watched),
        table(
            "Share of samples not covered, by language",
            [Header("language"), Header("samples", True), *(Header(name, True) for name in named)],
            by_language,
        ),
    ]
    if found.unwatched:
        parts.append(
            element("p", plain(f"This recipe has no detector for: {', '.join(found.unwatched)}."), class_="note")
        )
    brief = f"of the {grouped(total.rows)} kept samples"
    return Block("safety", "Safety: detector coverage", join(parts), brief)
