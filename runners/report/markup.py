"""Builds HTML that is always escaped: only these functions make `Html`, and they escape all text."""

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NewType

from winnow.runners.tables.escaping import SHOWN_AS_CODE, code, visible

Html = NewType("Html", str)

NAME_CHARACTERS = 400

WORD_CHARACTERS = 20
"""Of a name in a table, that are never broken: German has longer words, but crawled names have no end."""

_VOID = frozenset({"meta", "br", "img"})


def plain(text: str) -> Html:
    """Escaped text, with unprintable characters written as escapes."""
    return Html(html.escape(visible(text)))


def crawled(text: str) -> Html:
    """A crawled name inside our own text: isolated, so that it cannot change the text direction, and shortened."""
    if not text:
        return Html("")  # a cell without content, which a narrow page leaves out with its title
    shown = text if len(text) <= NAME_CHARACTERS else text[:NAME_CHARACTERS] + "…"
    return element("bdi", marked(shown), dir="auto")


def breakable(text: str) -> Html:
    """Like `crawled`, of a condition, a reason or a path: on a narrow page, lines end behind its dots and the like."""
    return Html(re.sub(r"(?<=\w)([._/])(?=[^\W\d])", r"\1<wbr>", crawled(text)))


def unbroken(content: Html) -> Html:
    """The same, with each number kept on the line of its noun, and each percent sign on that of its number."""
    return Html(re.sub(r" (?=[\d%])", "\N{NO-BREAK SPACE}", content))


def marked(text: str, keep: str = "") -> Html:
    """Like `plain`, with escapes highlighted to tell them from the text's own characters."""
    parts: list[str] = []
    start = 0
    for found in SHOWN_AS_CODE.finditer(text):
        if found[0] in keep:
            continue
        parts.append(html.escape(visible(text[start : found.start()], keep)))
        parts.append(f'<span class="code">{html.escape(code(found[0]))}</span>')
        start = found.end()
    parts.append(html.escape(visible(text[start:], keep)))
    return Html("".join(parts))


def element(tag: str, *children: Html, **attributes: str) -> Html:
    """An element. Attribute names have `_` for `-`, and a trailing `_` if they are Python keywords."""
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(visible(value))}"' for name, value in attributes.items()
    )
    return Html(f"<{tag}{written}>" if tag in _VOID else f"<{tag}{written}>{''.join(children)}</{tag}>")


def join(parts: Iterable[Html]) -> Html:
    """The parts, one per line."""
    return Html("\n".join(parts))


def folded(title: str, *children: Html) -> Html:
    """Content that is shown when its title is clicked."""
    return element("details", element("summary", plain(title)), *children)


def meter(part: int, whole: int, tone: str = "kept") -> Html:
    """A small bar as wide as its share; the number beside it says the same."""
    wide = 0.0 if whole <= 0 else min(100.0, 100 * part / whole)
    track = element("rect", width="100", height="6", class_="track")
    bar = element("rect", width=f"{wide:.1f}".removesuffix(".0"), height="6", class_=tone)
    return element(
        "svg", track, bar, viewBox="0 0 100 6", preserveAspectRatio="none", class_="meter", aria_hidden="true"
    )


@dataclass(frozen=True, slots=True)
class Header:
    """A column of a table."""

    title: str
    number: bool = False


def _longest_word(content: Html) -> int:
    return max(len(html.unescape(word)) for word in re.split(r"<[^>]*>|[\s-]+", content))


MOST_NARROW_COLUMNS = 3
"""That fit a narrow page side by side; rows of wider tables become paragraphs there, values behind titles."""


def table(caption: str, headers: Sequence[Header], rows: Iterable[Sequence[Html]], footer: Sequence[Html] = ()) -> Html:
    """A table whose first column names the row; without rows, a line that says so."""
    rows = list(rows)
    if not rows:
        return element("p", plain(f"{caption}: none"), class_="note")
    wide = len(headers) > MOST_NARROW_COLUMNS

    def cell(index: int, content: Html) -> Html:
        kind = "number" if headers[index].number else f"name{' long' * (_longest_word(content) > WORD_CHARACTERS)}"
        if index == 0:
            return element("th", content, scope="row", class_=kind)
        title = headers[index].title
        return element("td", content, class_=kind, **({"data_of": title} if wide and title else {}))

    def row(contents: Sequence[Html]) -> Html:
        return element("tr", *(cell(index, content) for index, content in enumerate(contents)))

    head = element(
        "tr",
        *(
            element("th", plain(header.title), scope="col", class_="number" if header.number else "name")
            for header in headers
        ),
    )
    parts = [element("caption", plain(caption)), element("thead", head), element("tbody", join(map(row, rows)))]
    if footer:
        parts.append(element("tfoot", row(footer)))
    return element("div", element("table", *parts, **({"class_": "wide"} if wide else {})), class_="scroll")
