"""Documentation by MkDocs, which hands each page's body to a hook before the theme's template gets it."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.main_content.making.made import MadePage, body_of, parsed
from tools.main_content.making.texts import Texts, composed, languages_of

THEMES: dict[str, dict[str, Any]] = {
    "material": {"features": ["navigation.tabs", "navigation.footer", "content.action.edit"]}, "readthedocs": {},
    "mkdocs": {}, "cinder": {}, "terminal": {}, "windmill": {}, "flatly": {}, "slate": {},
}  # fmt: skip
_LANGUAGES_A_THEME, _PAGES_A_LANGUAGE = 4, 2
_HOOK = """
import pathlib
def on_page_content(html, page, config, files):
    path = pathlib.Path(config["site_dir"] + "-bodies") / page.file.name
    path.parent.mkdir(exist_ok=True)
    path.write_text(html)
"""


def pages(texts: Texts, python: Path, room: Path) -> Iterator[MadePage]:
    """Some pages in each theme and some languages, built by the environment's MkDocs."""
    for place, (theme, options) in enumerate(THEMES.items()):
        count = _LANGUAGES_A_THEME * (2 if theme == "material" else 1)
        for language in languages_of(3 * place + 1, count):
            site = f"mk-{theme}"
            url = f"https://{site}.made/{language}/"
            source, out = room / f"{site}-{language}", room / f"{site}-{language}-out"
            (source / "docs").mkdir(parents=True, exist_ok=True)
            written = composed(texts, language, site, _PAGES_A_LANGUAGE)
            known = {"language": language, **options} if theme == "material" else {"locale": _locale(language)}
            conf: dict[str, Any] = {
                "site_name": written[0][0].title, "site_url": url, "repo_url": "https://github.com/made/docs",
                "edit_uri": "edit/main/docs/", "copyright": "© 2024 made", "use_directory_urls": False,
                "theme": {"name": theme, **(known if theme in ("material", "readthedocs", "mkdocs") else {})},
                "site_dir": str(out), "hooks": ["hook.py"],
            }  # fmt: skip
            (source / "mkdocs.yml").write_text(json.dumps(conf, ensure_ascii=False))
            (source / "hook.py").write_text(_HOOK)
            for number, passages in enumerate([written[0], *written]):
                name = f"page{number - 1}" if number else "index"
                first, *others = passages
                text = f"# {first.title}\n\n{first.markdown('')}" + "\n".join(one.markdown() for one in others)
                (source / "docs" / f"{name}.md").write_text(text)
            command = [str(python), "-m", "mkdocs", "build", "-q", "-f", str(source / "mkdocs.yml")]
            subprocess.run(command, check=True, capture_output=True)
            for number in range(len(written)):
                body = body_of(parsed((Path(f"{out}-bodies") / f"page{number}").read_text()), (".headerlink",))
                html = (out / f"page{number}.html").read_text()
                yield MadePage(site, f"{url}page{number}.html", html, body, "documentation", language)


def _locale(language: str) -> str:
    """The language as the themes that come with MkDocs take it; English where they do not speak it."""
    known = ("de", "es", "fa", "fr", "id", "it", "ja", "nl", "nb", "pl", "pt_BR", "ru", "tr", "uk", "zh_CN", "zh_TW")
    return code if (code := language.replace("-", "_")) in known else "en"
