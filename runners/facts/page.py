"""The page around the sections: head, policy, style and table of contents.

The policy forbids the page to load or run anything; only the style is inline. Nothing on the page depends on when or
where it was made, its title apart, so equal summaries give equal files.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from winnow.runners.facts import (
    changes,
    content,
    coverage,
    duplicates,
    exports,
    fetched,
    headline,
    languages,
    mixture,
    quarantine,
    rules,
    scores,
    shards,
    thresholds,
)
from winnow.runners.facts.examples import Examples
from winnow.runners.facts.figures import Remembered, figures_of, remembered
from winnow.runners.report.block import Block
from winnow.runners.report.markup import Html, crawled, element, join, plain
from winnow.runners.report.style import page_style
from winnow.schemas.summary import StoreSummary


class Section(Protocol):
    """Makes a block from a summary and examples, or None if there is nothing to show."""

    def __call__(self, summary: StoreSummary, examples: Examples, /) -> Block | None:
        """The block."""


POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

SECTIONS: tuple[Section, ...] = (
    headline.unfinished,
    headline.overview,
    changes.changes,
    mixture.mixture,
    exports.exports,
    languages.before_and_after,
    rules.decisions,
    content.contact_sheets,
    content.funnel,
    fetched.fetched,
    quarantine.quarantine,
    duplicates.duplicates,
    thresholds.thresholds,
    scores.scores,
    coverage.coverage,
    languages.measured_languages,
    content.declared_languages,
    content.kinds,
    content.domains,
    content.lengths,
    content.extractors,
    content.layers,
    shards.shards,
    content.samples,
)


def render_report(
    summary: StoreSummary, examples: Examples | None = None, parts: Sequence[Section] = SECTIONS, title: str = ""
) -> str:
    """Render all sections that have something to show as one HTML file; without a title it has the store's name."""
    title = title or summary.store
    shown = examples or Examples()
    now = shown.now or figures_of(summary, shown.rules, shown.plan)
    shown = replace(shown, now=now)
    blocks = [block for block in (part(summary, shown) for part in parts) if block is not None]
    contents = (element("li", element("a", plain(block.title), href=f"#{block.anchor}")) for block in blocks)
    generation = f"generation {summary.generation}" if summary.generation else "nothing ingested yet"
    place = [plain(generation)]
    if summary.tree_hash:
        place.append(element("span", plain("tree "), element("code", plain(summary.tree_hash))))
    body = [
        element(
            "header",
            element("p", plain("winnow report"), class_="note"),
            element("h1", crawled(title)),
            element("p", Html(" · ".join(place)), class_="note"),
            element("nav", element("ul", *contents), aria_label="Contents"),
        ),
        element("main", join(map(_section, blocks))),
    ]
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="color-scheme", content="light dark"),
        *([remembered(Remembered(now, shown.before))] if summary.generation else []),
        element("title", plain(f"{title}: winnow report, {generation}")),
        element("style", Html(page_style())),
    ]
    page = element("html", element("head", join(head)), element("body", join(body)), lang="en")
    return f"<!doctype html>\n{page}\n"


def _section(block: Block) -> Html:
    """A folded section opens also when a link leads into it, as its anchor is inside."""
    heading = element("h2", plain(block.title), id=f"{block.anchor}-title")
    named = {"id": block.anchor, "aria_labelledby": f"{block.anchor}-title"}
    if block.brief is None:
        return element("section", heading, block.body, **named)
    title = element("summary", heading, element("span", plain(block.brief), class_="note"))
    return element("details", title, element("section", block.body, **named), class_="part")
