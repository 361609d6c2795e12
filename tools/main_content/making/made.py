"""A made page, and how the text of a part of a page is read."""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lxml import html

_SILENT = ("script", "style", "template", "noscript", "svg", "button", "select", "textarea")
_BREAKS = {
    *("address", "article", "aside", "blockquote", "br", "caption", "dd", "details", "div", "dl", "dt", "figcaption"),
    *("figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p"),
    *("pre", "section", "summary", "table", "td", "th", "tr", "ul"),
}


@dataclass(frozen=True, slots=True)
class MadePage:
    """A page, its body, and what kind of page it is."""

    site: str  # the theme or the book: its pages share a domain, and are held out together
    url: str
    html: str
    body: str
    kind: str
    language: str


def parsed(source: str) -> Any:
    """A page or a part of one as a tree."""
    return html.fromstring(source.encode(), parser=html.HTMLParser(encoding="utf-8", huge_tree=True))


def found(root: Any, selector: str) -> list[Any]:
    """The elements of a tag (`h1`), a class (`.nav`) or an id (`#main`), in their order."""
    kind, name = selector[0], selector[1:]
    if kind == ".":
        return list(root.xpath(f".//*[contains(concat(' ', normalize-space(@class), ' '), ' {name} ')]"))
    return list(root.xpath(f".//*[@id='{name}']" if kind == "#" else f".//{selector}"))


def text_of(root: Any, without: Iterable[str] = ()) -> str:
    """The text of an element without some of its parts; a line a block."""
    silent = {part for selector in without for part in found(root, selector)}

    def pieces(node: Any) -> Iterator[str]:
        if isinstance(node.tag, str) and node.tag not in _SILENT and node not in silent:
            around = "\0" if node.tag in _BREAKS else ""
            yield around + (node.text or "")
            for child in node:
                yield from pieces(child)
                yield child.tail or ""
            yield around

    lines = (" ".join(line.split()) for line in "".join(pieces(root)).split("\0"))
    return "\n".join(line for line in lines if line)


def body_of(root: Any, without: Iterable[str] = ()) -> str:
    """The text of a page's content without its title, which is its first heading if that is one of the first levels."""
    for heading in root.xpath("(.//h1|.//h2|.//h3)[1]"):
        heading.set("id", "made-title")
    return text_of(root, ("#made-title", *without))


def drawn(key: str, choices: Sequence[Any], count: int) -> list[Any]:
    """So many of some things, in an order that depends on the key alone."""
    return random.Random(key).sample(list(choices), min(count, len(choices)))


def steady(source: str) -> str:
    """A page without what differs from run to run: tokens against forged requests, and when it was built."""
    source = re.sub(r'(name="csrf(?:middleware)?token"[^>]*value=)"[^"]*"', r'\1"x"', source)
    source = re.sub(r'(csrfToken: )"[^"]*"', r'\1"x"', source)
    return re.sub(r'(<meta name="created" content=)"[^"]*"', r'\1""', source)
