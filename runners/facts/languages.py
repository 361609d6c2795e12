"""Languages: each one's input and output, the rules that drop most of it, and which languages are measured."""

from collections.abc import Mapping, Sequence

from winnow.pipelines.rules.summary import RulesSummary
from winnow.runners.facts.examples import Examples
from winnow.runners.facts.figures import effects_by, given_by
from winnow.runners.facts.rules_by_language import RulesByLanguage
from winnow.runners.facts.store import families, groups, languages
from winnow.runners.report.block import Block
from winnow.runners.report.markup import Html, folded, join
from winnow.runners.report.tables import drawn, drawn_in_parts, note, ranking
from winnow.runners.tables.quantities import byte_size, share
from winnow.runners.tables.table import Share, Table, Value, heads
from winnow.runners.tables.units import BYTES, COUNT, COUNTS, METER, REASON, SHADE, SHARE, Unit
from winnow.schemas.counts import count_of
from winnow.schemas.languages import language_name
from winnow.schemas.languages.counts import LANGUAGE_LAYER, language_counts
from winnow.schemas.mixture import VALIDATION, Amount, MixturePlan
from winnow.schemas.summary import StoreSummary, by_count

SHOWN = 20
MOST = 200
COLUMNS = 8
SHOWN_RULES = 15  # of those that drop most; the others are folded
WORST = 3  # rules named for a language


def before_and_after(_: StoreSummary, examples: Examples) -> Block | None:
    """Each language's samples and text before the rules, and how much is kept and drawn."""
    rules, plan = examples.rules, examples.plan
    if rules is None or not rules.groups:
        return None
    shown = _before_and_after(rules, plan).between(0, MOST)
    parts = drawn_in_parts(shown, SHOWN, f"{len(shown.rows) - SHOWN:,} more languages")
    remark = f"Sizes are of the {rules.bytes_of}."
    if plan is not None:
        remark += " Available is what the training outputs may take of the kept samples, each once; "
        remark += "drawn includes repeats and validation."
    return Block("by-language", "Languages before and after", join([*parts, note(remark)]))


def _before_and_after(rules: RulesSummary, plan: MixturePlan | None) -> Table:
    columns: list[str | tuple[str, Unit]] = [
        "language",
        ("samples", COUNT),
        ("text" if rules.bytes_of == "text" else "size", BYTES),
    ]
    columns += [("kept", COUNT), ("share kept", SHARE)]
    if plan is not None:
        columns += [(f"{plan.unit} available", COUNT), (f"{plan.unit} drawn", COUNT)]
        columns += [("share available", SHARE), ("share drawn", SHARE), ("", METER)]
    available, given = _available(plan), given_by(plan, "language")
    whole_before, whole_after = sum(available.values()), sum(one.units for one in given.values())
    rows = []
    found = effects_by(rules, "language")
    for code in sorted(found, key=lambda code: (-found[code].rows.rows, code)):
        count, size, kept = found[code].rows.rows, found[code].rows.bytes, found[code].kept.rows
        row: list[Value] = [_named(code), count, byte_size(size) if size else "-", kept, Share(kept, count)]
        if plan is not None:
            before, after = available.get(code, 0), Share(given.get(code, Amount()).units, whole_after)
            row += [before, after.part, Share(before, whole_before), after, after]
        rows.append(tuple(row))
    return Table("Languages before and after", heads(*columns), rows)


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
    counted = RulesByLanguage.of_summary(rules)
    if not counted.drops or len(counted.languages) < 2:
        return []
    shown, small = counted.languages[:COLUMNS], counted.languages[COLUMNS:]

    def cells(of: Mapping[str, int]) -> list[Share]:
        counts = counted.rows
        others = Share(sum(of.get(code, 0) for code in small), sum(counts[code] for code in small))
        return [*(Share(of.get(code, 0), counts[code]) for code in shown), *([others] if small else [])]

    columns = [
        ("rule", REASON),
        *((code, SHADE) for code in shown),
        *([("others", SHADE)] if cells({})[COLUMNS:] else []),
    ]
    rows: list[tuple[Value, ...]] = [(_short(name), *cells(of)) for name, of in counted.drops.items()]
    footer = ("kept", *(share(*cell) for cell in cells(counted.kept)))
    found = Table("Share of each language's samples that each rule drops", heads(*columns), rows, footer)
    more = len(rows) - SHOWN_RULES
    parts = drawn_in_parts(found, SHOWN_RULES, f"{more} more {'rule' if more == 1 else 'rules'} that drop less")
    if small := small[:MOST]:
        title = f"{count_of(len(small), 'smaller language')}, and the rules that drop most of each"
        parts.append(folded(title, drawn(_worst(title, small, counted))))
    return [*parts, note("By the first rule that fires; the largest languages of the store.")]


def _worst(title: str, codes: Sequence[str], counted: RulesByLanguage) -> Table:
    """The rules that drop most of each language, one language a row."""

    def worst(code: str) -> str:
        taken = sorted(counted.drops, key=lambda name: (-counted.dropped(name, code), name))[:WORST]
        some = [name for name in taken if counted.dropped(name, code)]
        return ", ".join(f"{_short(name)} {share(*counted.share(name, code))}" for name in some)

    kept = (Share(counted.kept[code], counted.rows[code]) for code in codes)
    rows = [(_named(code), counted.rows[code], left, worst(code)) for code, left in zip(codes, kept, strict=True)]
    columns = heads("language", ("samples", COUNT), ("kept", SHARE), ("rules that drop most", COUNTS))
    return Table(title, columns, rows)


def _short(rule: str) -> str:
    return rule.partition(".")[2] or rule


def _named(code: str) -> str:
    name = language_name(code)
    return code if name == code else f"{code} {name}"


def measured_languages(summary: StoreSummary, _: Examples) -> Block | None:
    """Languages, their groups and families, by documents."""
    counted = language_counts(summary)
    if counted is None:
        return None
    named = count_of(len(counted.codes), "language and script", "languages and scripts")
    parts = [ranking(families(counted)), ranking(groups(counted)), folded(named, drawn(languages(counted)))]
    if counted.mismatches:
        title = "Guesses that the script of the letters rules out; these documents are in no known language"
        columns = heads("language and script of the text", ("documents", COUNT))
        parts.append(drawn(Table(title, columns, by_count(counted.mismatches))))
    if counted.other:
        parts.append(note(f"{count_of(counted.other, 'document is', 'documents are')} in other languages."))
    brief = f"{named} in {count_of(len(counted.families), 'family', 'families')}"
    return Block("measured-languages", f"Languages ({LANGUAGE_LAYER})", join(parts), brief)
