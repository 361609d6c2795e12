"""The sections shared by the cards of stores and mixtures.

Names from outside are escaped, so that they cannot pass for the card's own text.
"""

from pathlib import Path

import orjson

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.rules.coverage import SafetyCoverage
from winnow.pipelines.rules.decisions import Tally
from winnow.pipelines.rules.summary import RulesSummary
from winnow.runners.facts.coverage import categories, largest_languages, uncovered
from winnow.runners.report.cards.markdown import table, text
from winnow.runners.tables.escaping import visible
from winnow.runners.tables.quantities import byte_size, grouped, share
from winnow.schemas.environment.version import winnow_version
from winnow.schemas.languages import language
from winnow.schemas.safety import subcategories
from winnow.schemas.summary import StoreSummary

SHOWN_LANGUAGES = 100
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_MILLIONS = (
    (10, "1M<n<10M"),
    (100, "10M<n<100M"),
    (1_000, "100M<n<1B"),
    (10_000, "1B<n<10B"),
    (100_000, "10B<n<100B"),
    (1_000_000, "100B<n<1T"),
)


def front_matter(summary: StoreSummary, rules: RulesSummary) -> str:
    """The metadata for model hubs."""
    codes = sorted({group.language.partition("_")[0] for group in rules.groups if group.kept.rows})
    names = [code for code in codes if language(code) is not None]
    size = size_category(rules.kept.rows)
    lines = ["---", pretty_name(summary.store)]
    lines += ["language:", *(f"- {name}" for name in names)] if names else []
    lines += ["size_categories:", f"- {size}", "tags:", "- winnow", "---", ""]
    return "\n".join(lines)


def pretty_name(store: str) -> str:
    """The name in YAML: quoted as JSON, with characters escaped that YAML does not allow."""
    return "pretty_name: " + orjson.dumps(visible(store)).decode()


def size_category(rows: int) -> str:
    """The size category of model hubs."""
    sizes = (*_SIZES, *((most * 1_000_000, name) for most, name in _MILLIONS))
    return next((name for most, name in sizes if rows < most), "n>1T")


def overview(summary: StoreSummary, rules: RulesSummary, recipe: BoundRecipe) -> str:
    """The amounts, the store and the recipe."""
    lost = rules.rows.rows - rules.kept.rows - rules.forgotten.rows
    facts = [
        ("samples", grouped(rules.kept.rows)),
        (f"bytes of {rules.bytes_of}", byte_size(rules.kept.bytes)),
        ("dropped by rules", f"{grouped(lost)} of {grouped(rules.rows.rows)} ({share(lost, rules.rows.rows)})"),
        *([("forgotten on request", grouped(rules.forgotten.rows))] if rules.forgotten.rows else []),
        ("store", f"generation {summary.generation}, tree {summary.tree_hash}"),
        ("recipe", Path(recipe.file).name),
        ("made with", f"winnow {winnow_version()}"),
    ]
    return f"# {text(summary.store)}\n\n{table(('', ''), facts)}"


def sources(summary: StoreSummary, rules: RulesSummary) -> str:
    """The sources of samples and their licences."""
    kept: dict[str, Tally] = {}
    for group in rules.groups:
        kept[group.source] = kept.get(group.source, Tally()) + group.kept
    rows = [
        (
            source.name,
            source.source_class,
            source.licence,
            grouped(source.records),
            grouped(kept.get(source.name, Tally()).rows),
        )
        for source in summary.sources
    ]
    return "## Sources\n\n" + table(("source", "class", "licence", "records", "samples kept"), rows)


def languages(rules: RulesSummary) -> str:
    """Samples by language."""
    by_code: dict[str, Tally] = {}
    for group in rules.groups:
        by_code[group.language] = by_code.get(group.language, Tally()) + group.kept
    kept = ((code, tally) for code, tally in by_code.items() if tally.rows)
    ordered = sorted(kept, key=lambda one: (-one[1].rows, one[0]))
    rows = []
    for code, tally in ordered[:SHOWN_LANGUAGES]:
        known = language(code.partition("_")[0])
        rows.append((code, known.name if known else "", grouped(tally.rows), share(tally.rows, rules.kept.rows)))
    rest = ordered[SHOWN_LANGUAGES:]
    if rest:
        count = sum(tally.rows for _, tally in rest)
        rows.append((f"{len(rest):,} others", "", grouped(count), share(count, rules.kept.rows)))
    return "## Languages\n\n" + table(("code", "language", "samples", "share"), rows)


def dropped(rules: RulesSummary, recipe: BoundRecipe) -> str:
    """What each rule drops, and how duplicates were found."""
    whole = rules.rows.rows
    rows = [
        (rule.reason, rule.drop, grouped(rule.dropped.rows), share(rule.dropped.rows, whole)) for rule in rules.rules
    ]
    said = "## What the rules drop\n\n" + table(("reason", "condition", "samples", "share"), rows)
    if rules.items is not None:
        whole = rules.items.all.rows
        lost = [(reason, grouped(one.rows), share(one.rows, whole)) for reason, one in rules.items.lost]
        lost.append(("kept", grouped(rules.items.kept.rows), share(rules.items.kept.rows, whole)))
        said += f"\nOf {grouped(whole)} media of all samples:\n\n" + table(("media", "number", "share"), lost)
    return said + _searched(recipe)


def _searched(recipe: BoundRecipe) -> str:
    """How duplicates were found, and which of them are kept."""
    config = recipe.config.dedupe
    if config is None:
        return ""
    searches = []
    if config.url is not None:
        searches.append("samples with the same URL")
    if config.exact is not None:
        searches.append("equal texts")
    if (near := recipe.near) is not None:
        searches.append(
            f"texts with {near.min_similarity:g} or more of their shingles in common ({near.size} {near.shingle}; "
            f"{near.bands} bands of {near.rows} hashes, verified)"
        )
    chosen = ", ".join(dict.fromkeys([*map(str, config.representative), "id"]))
    stays = f"Of each cluster the first by {chosen} is kept" if config.representative else "None of them is dropped"
    return f"\nDuplicates searched for: {text('; '.join(searches))}. {text(stays)}.\n"


def safety(coverage: SafetyCoverage | None) -> str:
    """Detector coverage by subcategory and by language."""
    title = "## Safety\n\n"
    if coverage is None or not coverage.rows:
        return f"{title}No coverage: no operator of the recipe detects harmful or personal content.\n"
    total, meanings, named = coverage.total, subcategories(), categories(coverage)
    searches = [
        (
            name,
            meanings[name].meaning,
            ", ".join(layers),
            share(total.seen[name], total.rows),
            grouped(total.found[name]) if name in total.found else "scored",
        )
        for name, layers in coverage.detectors.items()
    ]
    unseen = [
        (one.language, grouped(one.rows), *(share(uncovered(one, of), one.rows) for of in named.values()))
        for one in largest_languages(coverage, SHOWN_LANGUAGES)
    ]
    lines = [
        f"Detector coverage of the kept samples, by winnow's taxonomy {coverage.version}. A sample without a detector "
        "is unchecked, not safe.\n",
        table(("subcategory", "meaning", "detector", "covered", "found in"), searches),
        "Share of samples not covered, by language, for the least covered subcategory of each category:\n",
        table(("language", "samples", *named), unseen),
    ]
    if coverage.unwatched:
        lines.append(f"No detector for: {', '.join(coverage.unwatched)}.\n")
    return title + "\n".join(lines)
