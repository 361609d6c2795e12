"""The indexes at the top of the two long reference pages lead to every key, operator, preset and section.

They follow from the pages' own tables and headings: `UPDATE_GOLDEN=1` writes them anew.
"""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from winnow.filters.operators import operator_names
from winnow.filters.presets import preset_names

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
BEGIN = "## Index\n\n"
PLACES = {"image": "#pictures", "caption": "#captions", "video": "../howto/video.md"}
"""Where operators are described whose row has no link."""


def link(heading: str) -> str:
    anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    return f"[{heading}](#{anchor})"


def body(name: str) -> str:
    """A page without its index."""
    _, begin, rest = (REFERENCE / name).read_text("utf-8").partition(BEGIN)
    assert begin
    return rest[rest.index("## ") :]


def sections(page: str) -> str:
    return " · ".join(link(heading) for heading in re.findall(r"^#{2,4} (.*)", page, re.MULTILINE))


def index(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A table of two columns, ahead of the page's text."""
    return "\n".join([f"| | {title} |", "|---|---|", *(f"| {name} | {entries} |" for name, entries in rows), "", ""])


def recipe_index() -> str:
    """The keys by their first letters, each with its own section, then those whose tables have it."""
    page = body("recipe.md")
    found: dict[str, list[str]] = defaultdict(list)
    for section in re.split(r"^#{2,3} ", page, flags=re.MULTILINE)[1:]:
        heading, _, text = section.partition("\n")
        for key in re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE):
            if link(heading) not in found[key]:
                found[key].append(link(heading))
    own = set(re.findall(r"^#{2,3} `(\w+)`$", page, re.MULTILINE))
    for key in own & found.keys():
        here = link(f"`{key}`")
        found[key] = [here, *(place for place in found[key] if place not in (here, link("Top level")))]
    letters: dict[str, list[str]] = defaultdict(list)
    for key, places in sorted(found.items()):
        letters[key[0]].append(f"`{key}`: {', '.join(places)}")
    return index("key: where", [("sections", sections(page)), *((one, "; ".join(letters[one])) for one in letters)])


def operators_index() -> str:
    """The operators by what they look at, the presets, and the sections."""
    page = body("annotate.md")
    tables = dict(re.findall(r"^## (Operators|Presets)\n(.*?)(?=^##)", page, re.DOTALL | re.MULTILINE))
    kinds: dict[str, list[str]] = defaultdict(list)
    for names, text in re.findall(r"^\| (`\w+\..*?) \| (.*)", tables["Operators"], re.MULTILINE):
        for name in re.findall(r"`([\w.]+)`", names):
            kind = name.partition(".")[0]
            linked = re.search(r"\]\((\S+)\)", text)
            kinds[kind].append(f"[`{name}`]({linked[1] if linked else PLACES.get(kind, '#operators')})")
    rows = [("sections", sections(page)), *((f"`{kind}.…`", " · ".join(sorted(kinds[kind]))) for kind in kinds)]
    presets = re.findall(r"`([\w@-]+)`", " ".join(re.findall(r"^\| (`.*?) \| ", tables["Presets"], re.MULTILINE)))
    return index("where", [*rows, ("presets", " · ".join(f"[`{name}`](#presets)" for name in sorted(presets)))])


@pytest.mark.parametrize(("name", "made"), [("recipe.md", recipe_index), ("annotate.md", operators_index)])
def test_the_index_of_a_page_is_that_of_its_tables_and_headings(name: str, made: Callable[[], str]) -> None:
    page = REFERENCE / name
    wanted = made()
    if os.environ.get("UPDATE_GOLDEN") == "1":
        text, rest = page.read_text("utf-8").partition(BEGIN)[0], body(name)
        page.write_text(f"{text}{BEGIN}{wanted}{rest}", encoding="utf-8")
    assert page.read_text("utf-8").partition(BEGIN)[2].startswith(f"{wanted}## ")


def test_the_index_names_every_operator_and_every_preset_of_rules() -> None:
    named = set(re.findall(r"\[`([\w.@-]+)`\]", operators_index()))
    assert named >= {*operator_names(), *preset_names()} - {"text.shouting"}  # which another test may have added
