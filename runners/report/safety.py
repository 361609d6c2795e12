"""The section on safety: detector coverage and findings, by subcategory and by language."""

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
        f"For the {grouped(total.rows)} samples that the rules keep, by taxonomy {found.version}. A sample without a "
        "detector is unchecked, not safe. The coverage of a category is that of its least covered subcategory."
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
    return Block("safety", "Safety: detector coverage", join(parts))
