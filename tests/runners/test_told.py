"""All that commands tell of one store, the bundled crawl's: whole, as their users see it.

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

from tests.faults.winnow import ended, run_here
from tests.messages import TESTS, UPDATES
from winnow.runners.demo import make_crawl
from winnow.schemas.identity import Json, canonical_json

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
AS_JSON = ("stats", "plan", "duplicates", "audit", "look .", "diff demo.yaml other.yaml", "operators")

_MEASURED = (  # by a clock, or of compressed bytes
    (re.compile(r"[\d,.]+ (rows|MB)/s"), r"N \1/s"),
    (re.compile(r"[\d.]+ s\b"), "N s"),
    (re.compile(r"^((?:annotate\.\w+|dedupe|export|ingest|mix|score) +local +\d+ +\d+) .*$", re.MULTILINE), r"\1"),
    (re.compile(r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?\b"), "TIME"),
)
_MEASURED_KEYS = frozenset({"runs"})  # their times


def told(folder: Path, words: str) -> str:
    """What a command prints."""
    command, *more = words.split()
    recipe = [] if command in WITHOUT_RECIPE else ["demo.yaml"]
    text = ended(run_here(folder, command, *recipe, *more)).replace(str(folder), "FOLDER")
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


def test_all_that_commands_tell_of_the_bundled_crawl_is_as_it_was(tmp_path: Path) -> None:
    make_crawl(tmp_path)
    for name in ("demo.yaml", "demo-law.json"):
        shutil.copy(RECIPES / name, tmp_path)
    recipe = (tmp_path / "demo.yaml").read_text("utf-8")
    for rule, other in OTHER_RULES.items():
        assert rule in recipe
        recipe = recipe.replace(rule, other)
    ended(run_here(tmp_path, "run", "demo.yaml", "--workers", "1"))
    (tmp_path / "other.yaml").write_text(recipe, "utf-8")

    texts = {command.split()[0]: told(tmp_path, command) for command in READ}
    lines = []
    for command in DIGESTED:
        tables = re.split(r"\n\n+", told(tmp_path, command).strip())
        lines += [f"{command}: {table.splitlines()[0]}  {digest(table)}" for table in tables]
    for command in AS_JSON:
        name = f"{command.split()[0]} --json"
        found = parts(json.loads(told(tmp_path, f"{command} --json")), name, 1 if command == "operators" else 2)
        lines += [f"{part}  {value}" for part, value in found]
    ended(run_here(tmp_path, "report", "demo.yaml", "--output", "page.html"))
    page = tmp_path / "page.html"
    for section in re.split(r"(?=<section)", page.read_text("utf-8")):
        named = re.search(r'id="([\w-]+)"', section)
        lines.append(f"report: {named.group(1) if named else 'head'}  {digest(section)}")
    for file in sorted((tmp_path / "mixture").rglob("*.parquet")):
        rows = pq.read_table(file, partitioning=None)
        lines += [f"{file.name}: {name}  {digest(repr(rows[name].to_pylist()))}" for name in rows.column_names]
    texts["digests"] = "\n".join(lines) + "\n"

    if UPDATES:
        GOLDEN.mkdir(exist_ok=True)
        for name, text in texts.items():
            (GOLDEN / f"{name}.txt").write_text(text, "utf-8")
    for name, text in texts.items():
        assert text.split("\n") == (GOLDEN / f"{name}.txt").read_text("utf-8").split("\n"), name
