"""The section on safety: who looked for what, what was found, and which languages nobody looked at."""

from winnow.runners.report.block import Block
from winnow.runners.report.examples import Examples
from winnow.runners.report.markup import Header, crawled, element, join, plain, table
from winnow.runners.report.plots.bars import Part, Row, shares
from winnow.runners.terminal.quantities import grouped, share
from winnow.runners.terminal.safety_coverage import categories, largest_languages, uncovered
from winnow.schemas.safety import subcategories
from winnow.schemas.summary import StoreSummary

SHOWN_LANGUAGES = 60


def coverage(_: StoreSummary, examples: Examples) -> Block | None:
    """Coverage by subcategory and by language; null is never counted as safe."""
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
                Part("looked at", total.rows - uncovered(total, of), "kept"),
                Part("no detector saw", uncovered(total, of), "tone-rest"),
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
        f"Of the {grouped(total.rows)} samples that the rules keep, by taxonomy {found.version}. A sample that no "
        "detector saw is not safe: nobody looked. A category counts by the subcategory that was looked at least."
    )
    headers = [Header("looked for"), Header("meaning"), Header("by"), Header("looked at", True), Header("found", True)]
    parts = [
        element("p", plain(note), class_="note"),
        shares("Samples that were looked at", bars),
        table("What was looked for", headers, watched),
        table(
            "Share that no detector saw, by language",
            [Header("language"), Header("samples", True), *(Header(name, True) for name in named)],
            by_language,
        ),
    ]
    if found.unwatched:
        parts.append(
            element("p", plain(f"Not looked for by this recipe: {', '.join(found.unwatched)}."), class_="note")
        )
    return Block("safety", "Safety: who looked", join(parts))
