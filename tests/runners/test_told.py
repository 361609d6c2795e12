"""All that commands tell of the bundled crawl's, pictures' and videos' stores: whole, as their users see it.

Other tests assert what they are about. This one notices whatever else a change makes different, be it a table's order,
a count or a note. What people read most is kept as text, long tables and JSON as a digest for each part.
If a difference is right: UPDATE_GOLDEN=1 pytest tests/runners/test_told.py
"""

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from tests.faults.winnow import ended, run_here
from tests.messages import TESTS, UPDATES
from winnow.runners.commands.core.demo import (
    CLIP_RECIPE,
    FILM_RECIPE,
    PICTURE_RECIPE,
    RECIPE,
    _draw_pictures,
    _make_films,
)
from winnow.runners.demo import make_crawl
from winnow.schemas.identity import Json, canonical_json

pytestmark = pytest.mark.processes

GOLDEN = TESTS / "golden" / "told"
RECIPES = TESTS.parent / "recipes"

OTHER_RULES = {
    "non_symbol_words < 20": "non_symbol_words < 60",
    "text.language.score < 0.3": "text.language.score < 0.5",
}
READ = ("plan", "card", "look .", "audit", "diff demo.yaml other.yaml", "curve fineweb", "mix")
"""Commands whose output is kept as text."""
WITHOUT_RECIPE = ("look", "diff", "curve", "operators")
DIGESTED = ("stats", "duplicates")
OF_MEDIA = ("plan", "card", "audit", "mix", "stats", "duplicates")
AS_JSON = ("stats", "plan", "duplicates", "audit", "look .", "diff demo.yaml other.yaml", "operators")

_MEASURED = (  # by a clock, or of compressed bytes
    (re.compile(r"[\d,.]+ (rows|MB)/s"), r"N \1/s"),
    (re.compile(r"[\d.]+ s\b"), "N s"),
    (re.compile(r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?\b"), "TIME"),
)
_MEASURED_KEYS = frozenset({"runs", "estimate"})  # their times, and what follows from them
_OF_FILMS = re.compile(
    r"card: \|  \||audit: ok|mix: plan|stats: [\w-]+: generation|stats: Layers|audit --json\.proved"
    r"|report: (head|mixture|layers)"
)
"""What has hashes or sizes of films, whose bytes depend on the machine's codecs."""


def told(folder: Path, recipe: str, words: str) -> str:
    """What a command prints."""
    command, *more = words.split()
    of = [] if command in WITHOUT_RECIPE else [recipe]
    text = ended(run_here(folder, command, *of, *more)).replace(str(folder), "FOLDER")
    for pattern, word in _MEASURED:
        text = pattern.sub(word, text)
    return text + "\n"


def parts(value: Json, name: str, depth: int) -> Iterator[tuple[str, str]]:
    """The parts of a JSON value to some depth, each with its name and a digest."""
    if depth and isinstance(value, dict):
        for key in sorted(value.keys() - _MEASURED_KEYS):
            yield from parts(value[key], f"{name}.{key}", depth - 1)
    elif depth and isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        for place, one in enumerate(value):
            called = one.get("name") or one.get("layer") or place if isinstance(one, dict) else place
            yield from parts(one, f"{name}[{called}]", depth - 1)
    else:
        yield name, digest(canonical_json(value))


def digest(text: str) -> str:
    """Enough of it to notice a difference."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def of_tables(folder: Path, recipe: str, command: str) -> list[str]:
    """A digest of each table that a command prints, with its first line."""
    tables = re.split(r"\n\n+", told(folder, recipe, command).strip())
    tables = [_counts_of_runs(table) if table.startswith("Past runs") else table for table in tables]
    return [f"{command}: {table.splitlines()[0]}  {digest(table)}" for table in tables]


def _counts_of_runs(table: str) -> str:
    """The first columns of the runs; the others are measured by a clock, or of compressed bytes."""
    return "\n".join(" ".join(line.split()[:4]) for line in table.splitlines())


def of_json(folder: Path, recipe: str, command: str) -> list[str]:
    """A digest of each part of a command's JSON."""
    found = parts(
        json.loads(told(folder, recipe, f"{command} --json")),
        f"{command.split()[0]} --json",
        1 if command == "operators" else 2,
    )
    return [f"{part}  {value}" for part, value in found]


def of_report(folder: Path, recipe: str) -> list[str]:
    """A digest of each section of the report, without its pictures, whose bytes depend on the machine's codecs."""
    ended(run_here(folder, "report", recipe, "--output", "page.html"))
    page = re.sub(r"data:image/[^\"]+", "PICTURE", (folder / "page.html").read_text("utf-8"))
    lines = []
    for section in re.split(r"(?=<section)", page):
        named = re.search(r'id="([\w-]+)"', section)
        lines.append(f"report: {named.group(1) if named else 'head'}  {digest(section)}")
    return lines


def assert_as_kept(name: str, text: str) -> None:
    """The text is the golden's."""
    if UPDATES:
        GOLDEN.mkdir(exist_ok=True)
        (GOLDEN / f"{name}.txt").write_text(text, "utf-8")
    assert text.split("\n") == (GOLDEN / f"{name}.txt").read_text("utf-8").split("\n"), name


def test_all_that_commands_tell_of_the_bundled_crawl_is_as_it_was(tmp_path: Path) -> None:
    make_crawl(tmp_path)
    for name in (RECIPE, "demo-law.json"):
        shutil.copy(RECIPES / name, tmp_path)
    recipe = (tmp_path / RECIPE).read_text("utf-8")
    for rule, other in OTHER_RULES.items():
        assert rule in recipe
        recipe = recipe.replace(rule, other)
    ended(run_here(tmp_path, "run", RECIPE, "--workers", "1"))
    (tmp_path / "other.yaml").write_text(recipe, "utf-8")

    texts = {command.split()[0]: told(tmp_path, RECIPE, command) for command in READ}
    lines = [line for command in DIGESTED for line in of_tables(tmp_path, RECIPE, command)]
    lines += [line for command in AS_JSON for line in of_json(tmp_path, RECIPE, command)]
    lines += of_report(tmp_path, RECIPE)
    for file in sorted((tmp_path / "mixture").rglob("*.parquet")):
        rows = pq.read_table(file, partitioning=None)
        lines += [f"{file.name}: {name}  {digest(repr(rows[name].to_pylist()))}" for name in rows.column_names]
    texts["digests"] = "\n".join(lines) + "\n"
    for name, text in texts.items():
        assert_as_kept(name, text)


@pytest.mark.parametrize("recipe", [PICTURE_RECIPE, CLIP_RECIPE])
def test_all_that_commands_tell_of_the_bundled_media_is_as_it_was(tmp_path: Path, recipe: str) -> None:
    made = _draw_pictures if recipe == PICTURE_RECIPE else _make_films
    if not made(tmp_path, Console(quiet=True)):
        pytest.skip(f"{recipe}: its extra is not installed")
    if recipe == CLIP_RECIPE:
        ended(run_here(tmp_path, "run", FILM_RECIPE, "--workers", "1"))
    ended(run_here(tmp_path, "run", recipe, "--workers", "1"))

    lines = [line for command in OF_MEDIA for line in of_tables(tmp_path, recipe, command)]
    lines += of_json(tmp_path, recipe, "audit") + of_report(tmp_path, recipe)
    if recipe == CLIP_RECIPE:
        lines = [line for line in lines if not _OF_FILMS.match(line)]
    assert_as_kept(recipe.removesuffix(".yaml"), "\n".join(lines) + "\n")
