"""Budgets for one page, checked by counting and never by a clock (law 9).

HTML parsers and extractors are linear on ordinary pages, but not on all pages:

- nesting makes the extraction's walk quadratic;
- the attributes of one tag are compared with each other;
- formatting elements with attributes that are left open are copied into every paragraph that follows, so that
  16 kB of source can become a gigabyte of nodes.

Each of these has a budget. The checks on the source are linear and skip pages too small to do harm.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Final

from resiliparse.parse.html import HTMLTree

from winnow.schemas.recipe.checks import Between
from winnow.schemas.rows.extraction import Status

# One attribute by the HTML standard's tokenizer. Possessive throughout: no input makes it backtrack.
VALUE: Final = r"""(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+)"""
ATTRIBUTE: Final = rf"[\s/]*+[^\s/>][^\s/>=]*+(?:=\s*+{VALUE}|\s++=\s*+{VALUE}|)"


def any_case(word: str) -> str:
    """A case-insensitive pattern for one word; the rest of the expression stays case-sensitive, hence fast."""
    return "".join(f"[{letter}{letter.upper()}]" for letter in word)


RAW_TEXT: Final = "|".join(
    rf"{any_case(name)}(?=[\s/>])(?:[^<]++|<(?!/{any_case(name)}))*+"
    for name in ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")
)
"""Elements whose content is not markup, from just after `<` to their end tag or the end of the page."""

COMMENT: Final = r"!--(?:[^-]++|-(?!-!?>))*+"


@dataclass(frozen=True, slots=True)
class Budgets:
    """Limits for one page, in countable units. A page beyond any of them gets a status and no text."""

    max_bytes: Annotated[int, Between(1, 1 << 30)] = 8 << 20  # above the 5 MiB at which Common Crawl truncates a page
    # Tags in the source, start and end. Worst known page at the cap: 3 s.
    max_nodes: Annotated[int, Between(1, 1_000_000)] = 50_000
    max_depth: Annotated[int, Between(1, 10_000)] = 512  # where Blink and WebKit stop nesting; pages rarely pass 60
    max_attributes: Annotated[int, Between(1, 1_000_000)] = 4_096  # on one tag; 4 096 cost 30 ms, 100 000 cost minutes
    # Over all lists together: the parser walks a list's options for each one it adds.
    max_options: Annotated[int, Between(1, 1_000_000)] = 10_000


# Smaller pages are cheap whatever they contain: the worst known takes 0.7 s and 250 MB for the first limit, 0.3 s for
# the second, 5 s for the third.
_FREE_TAGS = 1_536
_FREE_NESTING_TAGS = 4_096
_FREE_CHARACTERS = 1 << 18
_TOLERABLE_COPIES = 1 << 20  # nodes of about 100 bytes

_FORMATTING = "|".join(
    any_case(name) for name in ["b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u"]
)
_ATTRIBUTED_FORMATTING = re.compile(rf"<({_FORMATTING})(?=[\s/])((?:{ATTRIBUTE})*+)[\s/]*+(?:>|\Z)")
_PERHAPS_FORMATTING = re.compile(  # a few more than the above, in half the time
    r"<(?=[bceistufBCEISTUF])(?:[bBiIuUsS]|[eE][mM]|[tT][tT]|[fF][oO][a-zA-Z]++|[sS][mMtT][a-zA-Z]++|[bB][iI][gG]"
    r"|[cC][oO][dD][eE])[\s/]"
)
_OPTION = re.compile(rf"<{any_case('option')}")


def refusal(html: str, tags: int, budgets: Budgets, *, every_page: bool = False) -> Status | None:
    """Why a page with this many `<` may not be parsed, or None. The caller checks its bytes and its tags.

    A small page can do little harm to a fast parser, so it passes unread unless `every_page` is set.
    """
    is_read = every_page or len(html) > _FREE_CHARACTERS
    if is_read and not _attributes_within(budgets.max_attributes).fullmatch(html):
        return "too_many_nodes"
    if tags > _FREE_NESTING_TAGS and len(_OPTION.findall(html)) > budgets.max_options:
        return "too_many_nodes"
    return None


def without_copies(html: str, tags: int) -> str:
    """The page; if its formatting elements could be copied too often, without their attributes.

    A parser keeps at most three open formatting elements that are equal, so without attributes few are ever open.
    """
    if tags <= _FREE_TAGS or 3 * len(_PERHAPS_FORMATTING.findall(html)) * tags <= _TOLERABLE_COPIES:
        return html
    distinct = len(set(_ATTRIBUTED_FORMATTING.findall(html)))
    return html if 3 * distinct * tags <= _TOLERABLE_COPIES else _ATTRIBUTED_FORMATTING.sub(r"<\1>", html)


def is_too_deep(tree: HTMLTree, tags: int, budgets: Budgets, *, every_page: bool = False) -> bool:
    """Whether some element has more than `max_depth` ancestors. The parser copes with any depth; extraction does not.

    A page with few tags is harmless at any depth and is checked only if `every_page` is set.
    """
    if tags <= (budgets.max_depth if every_page else _FREE_NESTING_TAGS):
        return False
    document = tree.document
    return document is not None and document.query_selector(_chain(budgets.max_depth + 1)) is not None


@lru_cache(maxsize=8)
def _chain(elements: int) -> str:
    return ">".join("*" * elements)


@lru_cache(maxsize=8)
def _attributes_within(most: int) -> re.Pattern[str]:
    # Stops only at a tag with more attributes; one cut off by the end of the page counts as ended.
    tag = rf"/?[a-zA-Z][^\s/>]*+(?:>|(?:{ATTRIBUTE}){{0,{most}}}+[\s/]*+(?:>|\Z))"
    return re.compile(rf"(?:[^<]++|<(?:(?=[sStTxXiInN])(?:{RAW_TEXT})|{tag}|{COMMENT}|[!?/][^>]*+|(?![a-zA-Z/!?])))*+")
