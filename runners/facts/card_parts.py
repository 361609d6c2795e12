"""The sections shared by the cards of stores and mixtures.

Names from outside are escaped, so that they cannot pass for the card's own text.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import orjson

from winnow.filters.duplicates.kind import kinds_chosen_in
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.rules.coverage import SafetyCoverage
from winnow.pipelines.rules.summary import RulesSummary
from winnow.runners.facts.coverage import searched, uncovered
from winnow.runners.facts.figures import effects_by
from winnow.runners.facts.rules import effects
from winnow.runners.facts.store import origins
from winnow.runners.report.markdown import table, text
from winnow.runners.tables.escaping import visible
from winnow.runners.tables.quantities import byte_size, grouped, share
from winnow.runners.tables.table import Share, Table, heads, largest
from winnow.runners.tables.units import COUNT, SHARE
from winnow.schemas.environment.version import winnow_version
from winnow.schemas.languages import language
from winnow.schemas.summary import StoreSummary, by_count

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


def front_matter(store: str, languages: Iterable[str], rows: int, more: Sequence[str] = ()) -> str:
    """The metadata for model hubs, which know languages without their scripts."""
    names = sorted({code.partition("_")[0] for code in languages})
    codes = [f"- {name}" for name in names if language(name) is not None]
    lines = ["---", pretty_name(store), *(["language:", *codes] if codes else [])]
    lines += ["size_categories:", f"- {size_category(rows)}", "tags:", "- winnow", *more, "---", ""]
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
    return titled(summary.store, facts)


def titled(store: str, facts: Sequence[tuple[str, str]]) -> str:
    """The name of the store above a few facts."""
    return f"# {text(store)}\n\n{table(Table('', heads('', ''), facts))}"


def sources(summary: StoreSummary, rules: RulesSummary) -> str:
    """The sources of samples and their licences."""
    kept = {name: of.kept.rows for name, of in effects_by(rules, "source").items()}
    amounts = [kept.get(source.name, 0) for source in summary.sources]
    return "## Sources\n\n" + table(origins(summary).beside("samples kept", COUNT, amounts))


def languages(rules: RulesSummary) -> str:
    """Samples by language."""
    kept = {code: of.kept.rows for code, of in effects_by(rules, "language").items() if of.kept.rows}
    shown = largest(by_count(kept), SHOWN_LANGUAGES, lambda rest: (f"{len(rest):,} others", sum(n for _, n in rest)))
    rows = [(code, language_word(code), count, Share(count, rules.kept.rows)) for code, count in shown]
    columns = heads("code", "language", ("samples", COUNT), ("share", SHARE))
    return "## Languages\n\n" + table(Table("", columns, rows))


def language_word(code: str) -> str:
    """The name of a language; nothing for codes without one."""
    known = language(code.partition("_")[0])
    return known.name if known else ""


def dropped(rules: RulesSummary, recipe: BoundRecipe) -> str:
    """What each rule drops, and how duplicates were found."""
    shown = effects("", rules.rules, rules.rows.rows).without("list", "fires")
    section = f"## What the rules drop\n\n{table(shown)}"
    if rules.items is not None:
        whole = rules.items.all.rows
        lost = [*rules.items.lost, ("kept", rules.items.kept)]
        rows = [(reason, one.rows, Share(one.rows, whole)) for reason, one in lost]
        media = Table("", heads("media", ("number", COUNT), ("share", SHARE)), rows)
        section += f"\nOf {grouped(whole)} media of all samples:\n\n{table(media)}"
    return section + _searched(recipe)


def _searched(recipe: BoundRecipe) -> str:
    """How duplicates were found, and which of them are kept."""
    config = recipe.config.dedupe
    if config is None:
        return ""
    searches = [recipe.searched[kind.name].described for kind in kinds_chosen_in(recipe.kinds)]
    chosen = ", ".join(dict.fromkeys([*map(str, config.representative), "id"]))
    stays = f"Of each cluster the first by {chosen} is kept" if config.representative else "None of them is dropped"
    return f"\nDuplicates searched for: {text('; '.join(searches))}. {text(stays)}.\n"


def safety(coverage: SafetyCoverage | None) -> str:
    """Detector coverage by subcategory and by language."""
    title = "## Safety\n\n"
    if coverage is None or not coverage.rows:
        return f"{title}No coverage: no operator of the recipe detects harmful or personal content.\n"
    lines = [
        f"Detector coverage of the kept samples, by winnow's taxonomy {coverage.version}. A sample without a detector "
        "is unchecked, not safe.\n",
        table(searched(coverage).without("covered")),
        "Share of samples not covered, by language, for the least covered subcategory of each category:\n",
        table(uncovered(coverage, SHOWN_LANGUAGES)),
    ]
    if coverage.unwatched:
        lines.append(f"No detector for: {', '.join(coverage.unwatched)}.\n")
    return title + "\n".join(lines)
