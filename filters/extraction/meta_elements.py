"""The `<meta>` elements that may state a page's usage rights.

Most pages have none, which one scan of their `<meta>` tags shows. Only if a tag may be relevant, or is too malformed
to be read alone, is the page walked from its beginning, as the HTML standard's tokenizer would: a tag inside a comment,
a script or another tag's attribute does not count. Each loop is possessive, so this is linear on any input.
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import Final

from winnow.filters.extraction.budgets import ATTRIBUTE, RAW_TEXT, VALUE
from winnow.schemas.rows.opt_out import HEADER_NAMES, MAX_CHARACTERS, MAX_NAME_CHARACTERS, ROBOTS, TRAINING_AGENTS

_NAMES: Final = frozenset(
    (
        ROBOTS,
        *HEADER_NAMES,
        *TRAINING_AGENTS,
        "chatgpt-user",
        "claude-web",
        "cohere-ai",
        "googleother",
        "ia_archiver",
        "img2dataset",
        "meta-externalfetcher",
        "omgili",
        "slurp",
        "spawning-ai",
        "teoma",
    )
)
_DIRECTIVES: Final = "noai|noimageai|noml|noindex|noimageindex|nofollow|noarchive|nosnippet|disallowaitraining"
_AGENT: Final = re.compile(r"[a-z0-9._-]*(?:bot|spider|crawler)[a-z0-9._-]*")
_SAYS_NO: Final = re.compile(rf"\s*(?:{_DIRECTIVES})\s*(?:[,;]|\Z)", re.IGNORECASE)
_NAMED: Final = re.compile(r"(?:name|http-equiv)\s*+=\s*+[\"']?+\s*+([^\"'>\s]*+)", re.IGNORECASE)
_BEGINS_WITH_NO: Final = re.compile(r"content\s*+=\s*+[\"']?+\s*+(?:no|disallow|&)", re.IGNORECASE)

_TAG: Final = re.compile(rf"<meta(?=[\s/])((?:{ATTRIBUTE})*+)", re.IGNORECASE)
_MARKUP: Final = re.compile(
    r"<(?:!--(?:-?>|(?:[^-]++|-(?!-!?>))*+)"
    r"|(?:[!?]|/(?![a-zA-Z]))[^>]*+"
    rf"|{RAW_TEXT}"
    rf"|[mM][eE][tT][aA](?=[\s/])((?:{ATTRIBUTE})*+)[\s/]*+>"
    rf"|/?[a-zA-Z][^\s/>]*+(?:{ATTRIBUTE})*+)"
)
_ATTRIBUTE: Final = re.compile(rf"[\s/]*+([^\s/>][^\s/>=]*+)(?:\s*+=\s*+({VALUE})|\s++=\s*+({VALUE}))?")


def opt_out_elements(html: str) -> Iterator[tuple[str, str, bool]]:
    """The name, the content, and whether the content was cut, of every element that may restrict the page's use.

    Relevant elements are named after a standard or a crawler, or begin with a word that refuses use. `http-equiv`
    counts, too.
    """
    last = -1
    for tag in _TAG.finditer(html):
        if "<" in tag[1]:  # it may have swallowed others
            last = len(html)
            break
        if _may_be_meant(tag[1]):
            last = tag.start()
    if last < 0:
        return
    for found in _MARKUP.finditer(html):
        if found.start() > last:
            return
        if found[1] is not None:
            yield from _statement(found[1])


def _may_be_meant(attributes: str) -> bool:
    """Whether a tag may be relevant: true for every tag that states something."""
    for name in _NAMED.findall(attributes):
        if "&" in name or _is_meant(name.lower()):
            return True
    return _BEGINS_WITH_NO.search(attributes) is not None


def _statement(attributes: str) -> Iterator[tuple[str, str, bool]]:
    """The statement of a tag with these attributes; of repeated attributes the first counts."""
    values: dict[str, str] = {}
    for found in _ATTRIBUTE.finditer(attributes):
        name = found[1].lower()
        if name in ("name", "http-equiv", "content") and name not in values:
            value = found[2] or found[3] or ""
            values[name] = value[1:-1] if value[:1] in ("'", '"') else value
    content = values.get("content")
    if content is None:
        return
    statement = unescape(content[:MAX_CHARACTERS])
    for key in ("name", "http-equiv"):
        named = unescape(values.get(key, "")[: 4 * MAX_NAME_CHARACTERS]).strip().lower()
        if 0 < len(named) <= MAX_NAME_CHARACTERS and (_is_meant(named) or _SAYS_NO.match(statement)):
            yield named, statement, len(content) > MAX_CHARACTERS
            return


def _is_meant(name: str) -> bool:
    return name in _NAMES or (len(name) <= MAX_NAME_CHARACTERS and _AGENT.fullmatch(name) is not None)
