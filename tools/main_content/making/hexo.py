"""Blogs by Hexo in the themes that people use with it: articles, and their lists on front pages and in archives.

A filter keeps each article's body before a theme puts it between bylines, tags, widgets and neighbours. A list's body
is the titles, with the summaries where the theme shows them.
"""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from tools.main_content.making.made import MadePage, drawn, parsed, text_of
from tools.main_content.making.texts import Passage, Texts, composed, languages_of

THEMES: dict[str, dict[str, Any]] = {
    "landscape": {}, "butterfly": {"index_post_content": {"method": 1}}, "icarus": {}, "stellar": {}, "async": {},
    "a4": {}, "solitude": {},
}  # fmt: skip
_LANGUAGES_A_THEME, _POSTS, _ARTICLES = 5, 12, 4
_LISTS = ("index.html", "page/2/index.html", "archives/index.html")
_KEEP = """
hexo.extend.filter.register("after_post_render", data => {
  require("fs").writeFileSync(require("path").join(hexo.base_dir, "bodies", data.slug || "none"), data.content);
}, 1000);
"""
# One day, the same chances, and one file after another: Hexo lists what it reads in the order of its arrival.
_STEADY = """
const NOW = Date.UTC(2024, 10, 28, 9, 30), Clock = Date;
Date = class extends Clock {
  constructor(...given) { given.length ? super(...given) : super(NOW); }
  static now() { return NOW; }
};
let state = 7;
Math.random = () => (state = (state * 16807) % 2147483647) / 2147483647;
require("crypto").randomBytes = size => Buffer.from(Array.from({length: size}, () => Math.floor(256 * Math.random())));
require("os").hostname = () => "made";
Object.defineProperty(process, "pid", {value: 7});
const fs = require("fs");
for (const name of ["access", "lstat", "mkdir", "readFile", "readdir", "stat", "writeFile"]) {
  const atOnce = fs[name + "Sync"];
  fs[name] = (...given) => {
    const done = given.pop();
    let found, failure = null;
    try { found = atOnce(...given); } catch (error) { failure = error; }
    process.nextTick(() => done(failure, found));
  };
  fs.promises[name] = async (...given) => atOnce(...given);
}
fs.createReadStream = path => require("stream").Readable.from([fs.readFileSync(path)]);
"""


def pages(texts: Texts, people: Mapping[str, list[str]], modules: Path, room: Path) -> Iterator[MadePage]:
    """A blog of each theme in some languages, built by the Hexo of a folder of Node.js packages."""
    for place, (theme, options) in enumerate(THEMES.items()):
        for language in languages_of(place + 2, _LANGUAGES_A_THEME):
            blog = room / f"{theme}-{language}"
            posts = _written(blog, theme, language, options, composed(texts, language, f"hexo-{theme}", _POSTS), people)
            for name in ("node_modules", "package.json"):
                (blog / name).unlink(missing_ok=True)
                (blog / name).symlink_to(modules / name)
            command = ["node", "--require", "./steady.js", "node_modules/hexo/bin/hexo", "generate"]
            subprocess.run(command, cwd=blog, check=True, capture_output=True, timeout=300)
            host = f"https://blog.hexo-{theme}.made"
            for name in drawn(f"{theme} {language}", sorted(posts), _ARTICLES):
                html = (blog / "public" / language / f"{name}.html").read_text()
                body = text_of(parsed(f"<div>{(blog / 'bodies' / name).read_text()}</div>"), (".headerlink",))
                body = body if html else ""  # a theme that fails writes an empty page
                yield MadePage(f"hexo-{theme}", f"{host}/{language}/{name}.html", html, body, "article", language)
            for list_name in () if theme == "solitude" else _LISTS:  # its lists have titles and tags in one block
                html = (blog / "public" / list_name).read_text()
                body = _listed(html, posts) if html else ""
                yield MadePage(f"hexo-{theme}", f"{host}/{language}/{list_name}", html, body, "listing", language)


def _written(
    blog: Path, theme: str, language: str, options: dict[str, Any], texts: list[list[Passage]],
    people: Mapping[str, list[str]],
) -> dict[str, list[Passage]]:  # fmt: skip
    """The blog's sources; its posts by name, the newest first."""
    for folder in ("source/_posts", "bodies", "scripts"):
        (blog / folder).mkdir(parents=True, exist_ok=True)
    names = people[language]
    settings = {
        "title": texts[0][-1].title, "subtitle": texts[1][0].title, "author": names[0], "language": language,
        "url": f"https://blog.hexo-{theme}.made", "permalink": f"{language}/:name.html", "theme": theme,
        "per_page": 6, "index_generator": {"per_page": 6}, "archive_generator": {"per_page": 30}, "timezone": "UTC",
        "updated_option": "date", "syntax_highlighter": "", "marked": {"mangle": False},  # which draws by chance
    }  # fmt: skip
    (blog / "_config.yml").write_text(json.dumps(settings, ensure_ascii=False))
    (blog / f"_config.{theme}.yml").write_text(json.dumps(options))
    (blog / "scripts" / "keep.js").write_text(_KEEP)
    (blog / "steady.js").write_text(_STEADY)
    posts: dict[str, list[Passage]] = {}
    for number, passages in enumerate(texts):
        day = date(2024, 11, 28) - timedelta(days=11 * number)
        first, *others = passages
        front = {
            "title": first.title,
            "description": first.parts[0][1],
            "date": f"{day} 09:30:00",
            "tags": _tags(passages),
            "categories": _tags(others)[:1],
        }
        lead, *rest = first.markdown("").split("\n\n", 1)
        text = "\n".join([lead, "", "<!-- more -->", "", *rest, *(one.markdown() for one in others)])
        posts[f"post{number:02}"] = passages
        head = "\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in front.items())
        (blog / "source/_posts" / f"post{number:02}.md").write_text(f"---\n{head}\n---\n{text}")
    return posts


def _tags(passages: list[Passage]) -> list[str]:
    return sorted({max(passage.title.split(), key=len)[:16] for passage in passages})


def _listed(html: str, posts: Mapping[str, list[Passage]]) -> str:
    """The titles that a page links to, each with its summary if that is on the page."""
    seen = text_of(parsed(html).find("body"))
    lines = []
    for name in dict.fromkeys(re.findall(r"/(post\d\d)\b", html)):
        said = (posts[name][0].title, posts[name][0].parts[0][1])
        lines += [text for text in said if text[:40] in seen]
    return "\n".join(lines)
