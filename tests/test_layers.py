"""Each room imports only rooms left of it, none imports the package's root, and light rooms load nothing heavy."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import winnow
from winnow.scoring import scaling_law

ROOT = Path(winnow.__file__).parent
ROOMS = {
    "schemas": {"schemas"},
    "filters": {"schemas", "filters"},
    "scoring": {"schemas", "scoring"},
    "pipelines": {"schemas", "filters", "scoring", "pipelines"},
    "runners": {"schemas", "filters", "scoring", "pipelines", "runners"},
}
INGEST = ("archives", "tables", "tiling", "formats", "planning")  # inner rooms, each above those left of it
ORDERED = ("schemas", "filters", "scoring", "pipelines")  # floors and rooms in which no two rooms import each other
RUNNERS = (
    "commands",
    "inspect",
    "notebook",
    "stages",
    "demo",
    "first_look",
    "estimating",
    "engines",
    "facts",
    "report",
    "terminal",
    "tables",
)
"""The rooms of runners: each imports only rooms after it."""
OUTSIDE = {"benchmarks", "tests", "tools"}


@cache
def imported(source: Path) -> tuple[str, ...]:
    """Every module that a file imports anywhere in it, by a statement or by name; `from a import b` is `a.b`."""
    return tuple(_imported(source))


def _imported(source: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom():
                assert node.level == 0, f"{source}:{node.lineno}: a relative import"
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            case ast.Call(
                func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield name


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_left_of_it_and_never_the_root(room: str) -> None:
    sources = sorted((ROOT / room).rglob("*.py"))
    assert len(sources) > 10
    wrong = []
    for source in sources:
        for name in imported(source):
            package, _, rest = name.partition(".")
            if package in OUTSIDE or (package == "winnow" and rest.partition(".")[0] not in ROOMS[room]):
                wrong.append(f"{source.relative_to(ROOT)} imports {name}")
    assert wrong == []


def rooms_imported(room: Path) -> set[str]:
    """The rooms on the same floor that the files of a room import."""
    beside = {one.name for one in room.parent.iterdir() if one.is_dir()}
    prefix = f"winnow.{room.parent.relative_to(ROOT).as_posix().replace('/', '.')}."
    names = (name for source in room.rglob("*.py") for name in imported(source) if name.startswith(prefix))
    return {name.removeprefix(prefix).partition(".")[0] for name in names} & beside - {room.name}


def test_the_registry_of_operators_imports_no_room_of_filters() -> None:
    names = {name for name in imported(ROOT / "filters" / "operators.py") if name.startswith("winnow.filters.")}
    assert names == {"winnow.filters.entry_points.entry_points"}


@pytest.mark.parametrize("room", INGEST)
def test_an_inner_room_of_ingest_imports_only_rooms_left_of_it(room: str) -> None:
    ingest = ROOT / "pipelines" / "ingest"
    assert {one.parent.name for one in ingest.glob("*/__init__.py")} == set(INGEST)
    assert rooms_imported(ingest / room) <= set(INGEST[: INGEST.index(room)])


@pytest.mark.parametrize("floor", ORDERED)
def test_no_two_rooms_import_each_other(floor: str) -> None:
    rooms = sorted({source.parent for source in (ROOT / floor).rglob("*.py")} - {ROOT / floor})
    asked = {room: {room.parent / name for name in rooms_imported(room)} for room in rooms}
    assert len(rooms) > 3
    assert [(room, one) for room in rooms for one in asked[room] if room in asked.get(one, ())] == []


@pytest.mark.parametrize("floor", ORDERED)
def test_the_rooms_of_a_floor_form_no_circle(floor: str) -> None:
    asked = {one.parent.name: rooms_imported(one.parent) for one in (ROOT / floor).glob("*/__init__.py")}
    assert {*TopologicalSorter(asked).static_order()} == {*asked}  # raises CycleError


def test_a_room_of_runners_imports_only_rooms_after_it() -> None:
    rooms = sorted(path.parent.name for path in (ROOT / "runners").glob("*/__init__.py"))
    assert rooms == sorted(RUNNERS)
    assert [path.name for path in (ROOT / "runners").glob("*.py")] == ["__init__.py"]
    wrong = []
    for place, room in enumerate(RUNNERS):
        for source in sorted((ROOT / "runners" / room).rglob("*.py")):
            for name in imported(source):
                package, _, rest = name.removeprefix("winnow.").partition(".")
                if package == "runners" and rest.partition(".")[0] not in RUNNERS[place:]:
                    wrong.append(f"{source.relative_to(ROOT)} imports {name}")
    assert wrong == []


def test_only_what_makes_assets_loads_converters_of_networks() -> None:
    room = ROOT / "filters" / "models" / "conversion"
    sources = [one for floor in ("filters", "scoring", "pipelines", "runners") for one in (ROOT / floor).rglob("*.py")]
    loading = {one for one in sources for name in imported(one) if name.startswith("winnow.filters.models.conversion")}
    assert [one for one in loading if one.parent != room] == []


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        ("winnow, winnow.schemas, winnow.filters", ("apache_beam", "numpy")),
        ("winnow.schemas.recipe, winnow.filters.operators", ("apache_beam", "torch", "numba")),
        ("winnow.scoring.sampling, winnow.scoring.scaling_law.law_of_fit", ("apache_beam", "torch")),
    ],
)
def test_light_rooms_load_nothing_heavy(modules: str, heavy: tuple[str, ...]) -> None:
    code = f"import sys, {modules}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_names_of_the_law_are_there_and_ratios_load_no_scipy() -> None:
    assert all(getattr(scaling_law, name) is not None for name in scaling_law.__all__)
    code = (
        "import sys; from winnow.scoring.scaling_law import family_ratios, runs_from_csv; print('scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
