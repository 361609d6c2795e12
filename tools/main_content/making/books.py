"""Documentation as distributions ship it: books and help pages by DocBook, Publican, Sphinx and other generators."""

import re
from collections.abc import Iterator
from pathlib import Path

from tools.main_content.making.made import MadePage, body_of, drawn, found, parsed
from tools.main_content.making.texts import in_script

MOST_BYTES, LEAST_CHARACTERS = 120_000, 250
_DOCBOOK = ("body", (".navheader", ".navfooter", ".toc", ".list-of-figures"))
_PUBLICAN = ("body", (".docnav", "#title", "#banner", ".toc"))
BOOKS: dict[str, tuple[str, str, tuple[str, tuple[str, ...]]]] = {
    # site: the pages, with the language in braces; languages with how many pages each; where the content is
    "handbook": ("doc/debian-handbook/html/{}/sect.*.html", "1 ar-MA da-DK de-DE el-GR es-ES fa-IR fr-FR hr-HR id-ID "
                 "it-IT ja-JP ko-KR nb-NO pl-PL pt-BR ru-RU tr-TR vi-VN zh-CN zh-TW", _PUBLICAN),
    "hardening": ("doc/harden-doc/html/{}/*.html", "3 de-DE es-ES fr-FR it-IT ja-JP pt-BR", _PUBLICAN),
    "installing": ("doc/installation-guide-amd64/{}/*.html", "1 cs de el es fr id it ja ko nl pt ro ru sv vi zh_CN",
                   _DOCBOOK),
    "reference": ("debian-reference/ch*.{}.html", "2 de es fr id it ja pt zh-cn", _DOCBOOK),
    "aptitude": ("doc/aptitude/html/{}/*.html", "2 cs es fi fr ja nl ru", _DOCBOOK),
    "questions": ("doc/debian/FAQ/{}/*.html", "2 de fr it ja ko nl ru zh-cn", _DOCBOOK),
    "maintaining": ("doc/maint-guide-{}/html/*.html", "3 ca it ja ru vi zh-tw", _DOCBOOK),
    "packaging": ("doc/debmake-doc/html/*.{}.html", "3 de ja ru zh-cn", _DOCBOOK),
    "images": ("gimp/2.0/help/{}/*.html", "3 el fa ko ru uk zh_CN", _DOCBOOK),
    "developing": ("developers-reference/{}/*.html", "3 de fr ja ru", (".body", (".headerlink", ".contents"))),
    "office": ("libreoffice/help/{}/text/s*/*/*.html", "2 ja ko pl pt-BR ru tr uk vi zh-CN",
               ("#DisplayArea", (".relatedtopics",))),
}  # fmt: skip


def pages(share: Path) -> Iterator[MadePage]:
    """Some pages of each book in each of its languages, out of the packages' folder `usr/share`."""
    for site, (pattern, languages, (content, without)) in BOOKS.items():
        count, *folders = languages.split()
        for folder in folders:
            language = folder.replace("_", "-")
            language = re.sub(r"(zh|pt)-(..)", lambda tag: f"{tag[1]}-{tag[2].upper()}", language)
            language = language if language[:2] in ("zh", "pt") else language[:2]
            taken = 0
            paths = sorted(path for path in share.glob(pattern.format(folder)) if path.stat().st_size < MOST_BYTES)
            for path in drawn(f"{site} {folder}", paths, len(paths)):
                html = path.read_text(errors="replace")
                contents = found(parsed(html), content)
                body = body_of(contents[0], without) if contents else ""
                if len(body) < LEAST_CHARACTERS or not in_script(body, language) or taken == int(count):
                    continue
                taken += 1
                url = f"https://docs.{site}.made/{language}/{path.name}"
                yield MadePage(site, url, html, body, "documentation", language)
