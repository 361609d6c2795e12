"""Pages of offers, as templates of npm packages lay them out, with each text in them replaced by one of its size.

The body is what was put in outside of menus, footers, forms and buttons.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lxml import etree

from tools.main_content.making.made import MadePage, parsed
from tools.main_content.making.texts import Texts, languages_of, of_site

TEMPLATES = {
    "creative": "startbootstrap-creative/dist/index.html", "material-kit": "material-kit/examples/landing-page.html",
    "shards": "shards-ui/dist/agency-landing.html", "fomantic": "fomantic-ui/examples/homepage.html",
}  # fmt: skip
_LANGUAGES = 13
_APART = {"nav", "footer", "form", "button", "script", "style", "noscript", "btn", "menu", "navbar", "label"}


def pages(texts: Texts, modules: Path) -> Iterator[MadePage]:
    """Each template in some languages, out of a folder of Node.js packages."""
    for place, (site, path) in enumerate(TEMPLATES.items()):
        for language in languages_of(place, _LANGUAGES):
            root = parsed((modules / "node_modules" / path).read_text())
            draw = random.Random(f"{site} {language}")
            found = of_site(texts, language, site, 200)
            titles = [passage.title for passage in found]
            sentences = [text for passage in found for text in passage.paragraphs]
            root.set("lang", language)
            root.find(".//title").text = titles[0]
            lines = []
            for node in root.find("body").iter(etree.Element):
                for slot in ("text", "tail"):
                    old = (getattr(node, slot) or "").strip()
                    holder = node if slot == "text" else node.getparent()
                    if not old or holder.tag in ("script", "style"):
                        continue
                    new = draw.choice(sentences if len(old) > 40 else titles)
                    new = new if len(new) < 4 * len(old) + 30 else new[: 2 * len(old)].rpartition(" ")[0] or new[:20]
                    setattr(node, slot, f" {new} ")
                    if not _apart(holder):
                        lines.append(new)
            html = "<!DOCTYPE html>\n" + etree.tostring(root, encoding="unicode", method="html")
            url = f"https://www.{site}.made/{language}/"
            yield MadePage(site, url, html, "\n".join(lines), "service", language)


def _apart(node: Any) -> bool:
    """Whether an element is in a menu, a footer, a form or a button."""
    around = (node, *node.iterancestors())
    return any(_APART & {one.tag, *(one.get("class") or "").split()} for one in around)
