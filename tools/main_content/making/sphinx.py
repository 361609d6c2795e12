"""Documentation by Sphinx: the same kind of texts in each of its themes, with the theme's words in the text's language.

Sphinx says itself what the body is: the fragment that it hands to the theme's template.
"""

import json
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.main_content.making.made import MadePage, body_of, parsed
from tools.main_content.making.texts import Texts, composed, languages_of

_GITHUB = {"display_github": True, "github_user": "made", "github_repo": "docs", "github_version": "main/"}
_LINKS = [{"name": "GitHub", "url": "https://github.com/made/docs", "icon": "fa-brands fa-github"}]
THEMES: dict[str, dict[str, Any]] = {
    "alabaster": {"description": "1.2", "github_user": "made", "github_repo": "docs", "show_related": True},
    "furo": {"source_repository": "https://github.com/made/docs", "source_branch": "main", "source_directory": "docs/"},
    "sphinx_rtd_theme": {"prev_next_buttons_location": "both"},
    "pydata_sphinx_theme": {"icon_links": _LINKS, "use_edit_page_button": True},
    "classic": {}, "sphinx_book_theme": {"repository_url": "https://github.com/made/docs", "use_issues_button": True},
    "sphinx_material": {"repo_url": "https://github.com/made/docs", "repo_name": "docs", "globaltoc_depth": 2},
    "piccolo_theme": {"source_url": "https://github.com/made/docs"}, "sphinxawesome_theme": {"show_scrolltop": True},
    "shibuya": {"github_url": "https://github.com/made/docs"}, "bootstrap": {},
    "cloud": {}, "agogo": {}, "pyramid": {}, "bizstyle": {}, "haiku": {}, "scrolls": {},
}  # fmt: skip
_LANGUAGES_A_THEME, _PAGES_A_LANGUAGE = 4, 2
_CONF = """
import json, pathlib
extensions = ["myst_parser"]
project, author, copyright, release, version = {title!r}, "made", "2024, made", "1.2", "1.2"
language, html_theme, html_theme_options = {language!r}, {theme!r}, json.loads({options!r})
html_context, html_baseurl = json.loads({context!r}), {url!r}
html_title = project
def keep(app, pagename, templatename, context, doctree):
    if "body" in context:
        (pathlib.Path(app.outdir) / (pagename + ".body")).write_text(context["body"])
def setup(app):
    app.connect("html-page-context", keep, priority=1)
"""


def pages(texts: Texts, python: Path, room: Path) -> Iterator[MadePage]:
    """Some pages in each theme and some languages, built by the environment's Sphinx."""
    for place, (theme, options) in enumerate(THEMES.items()):
        for language in languages_of(place, _LANGUAGES_A_THEME):
            site = theme.replace("_", "-").removesuffix("-theme")
            url = f"https://docs.{site}.made/{language}/"
            source, out = room / f"{site}-{language}", room / f"{site}-{language}-out"
            source.mkdir(parents=True, exist_ok=True)
            written = composed(texts, language, site, _PAGES_A_LANGUAGE)
            conf = _CONF.format(
                extensions=[], title=written[0][0].title,
                language=language.replace("-", "_"), theme=theme, url=url, options=json.dumps(options),
                context=json.dumps(_GITHUB | {"doc_path": "docs"}),
            )  # fmt: skip
            (source / "conf.py").write_text(conf)
            names = [f"page{number}" for number in range(len(written))]
            index = f"# {written[0][0].title}\n\n```{{toctree}}\n" + "\n".join(names) + "\n```\n"
            (source / "index.md").write_text(index)
            for name, passages in zip(names, written, strict=True):
                first, *others = passages
                text = f"# {first.title}\n\n{first.markdown('')}" + "\n".join(one.markdown() for one in others)
                (source / f"{name}.md").write_text(_with_notes(text, f"{site} {language} {name}"))
            command = [str(python), "-m", "sphinx", "-q", "-E", "-b", "html", str(source), str(out)]
            subprocess.run(command, check=True, capture_output=True)
            for name in names:
                body = body_of(parsed((out / f"{name}.body").read_text()), (".headerlink",))
                html = (out / f"{name}.html").read_text()
                yield MadePage(site, f"{url}{name}.html", html, body, "documentation", language)


def _with_notes(text: str, key: str) -> str:
    """A text of which some paragraphs are notes and warnings."""
    draw = random.Random(key)

    def noted(line: re.Match[str]) -> str:
        kind = draw.choice(("note", "warning", "tip", *(None,) * 9))
        return f"```{{{kind}}}\n{line[0]}\n```" if kind else line[0]

    return re.sub(r"^(?![#\-]|    ).{60,}$", noted, text, flags=re.MULTILINE)
