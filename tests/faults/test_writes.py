"""A command that dies before any one of its writes to the store, a worker's or its own; then it is run again.

The store is then as if nothing had happened: same tree, clean audit. Publications alone are killed so, in memory, in
`tests/pipelines/store/test_killed_publications.py`.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.faults.crawl import write_crawl
from tests.faults.winnow import Done, assert_clean, run_here, tree_hash
from tests.made_once import made_once
from winnow.pipelines.store import layout
from winnow.pipelines.store.local import LocalStore

pytestmark = pytest.mark.processes

RECIPE = """
version: 1
store: {{path: store, seed: 7, shard_rows: 8}}
sources:
  crawl: {{root: crawl, files: ["*.warc.gz"], class: web}}
extract: {{main: {{}}}}
text: extract.main.text
annotate: [{annotate}]
"""
ONE = ("--workers", "1")
WRITES = ("put", "put_if_absent", "delete")
CHEAP = (layout.LAYER_SETS, layout.LAYER_COMMITS, layout.MANIFESTS, layout.GENERATIONS)


@dataclass
class Life:
    """The writes to a store of a process that lives for so many, or for all that it wants."""

    writes: int | None = None
    paths: list[str] = field(default_factory=list)
    died: bool = False

    def before(self, path: str) -> None:
        """Counts a write, or fails it and all later ones: a dead process writes nothing."""
        counts = not path.startswith((layout.LEASES, layout.HEARTBEATS))  # how often these beat depends on the clock
        self.died = self.died or (counts and len(self.paths) == self.writes)
        if self.died:
            raise OSError(5, "the process is dead", path)
        self.paths += [path] * counts


@contextmanager
def living(life: Life, patches: pytest.MonkeyPatch) -> Iterator[None]:
    def mortal(write: Callable[..., Any]) -> Callable[..., Any]:
        def written(store: LocalStore, path: str, *content: object) -> object:
            life.before(path)
            return write(store, path, *content)

        return written

    with patches.context() as patched:
        for name in WRITES:
            patched.setattr(LocalStore, name, mortal(getattr(LocalStore, name)))
        yield


def write_recipe(folder: Path, *operators: str) -> None:
    (folder / "recipe.yaml").write_text(RECIPE.format(annotate=", ".join(operators)))


def done(folder: Path, *arguments: str) -> Done:
    found = run_here(folder, *arguments)
    assert found.status == 0, found.err
    return found


def nothing(folder: Path) -> None:
    write_recipe(folder, "text.length")
    shutil.rmtree(folder / "crawl")
    write_crawl(folder / "new", archives=1, pages=12)
    (folder / "new" / "crawl").rename(folder / "crawl")


def grown(folder: Path) -> None:
    """A store to which a file comes, and to the recipe an operator that changes another."""
    nothing(folder)
    done(folder, "run", "recipe.yaml", *ONE)
    write_crawl(folder / "more", archives=2, pages=9)
    (folder / "more" / "crawl" / "1.warc.gz").rename(folder / "crawl" / "1.warc.gz")
    write_recipe(folder, "text.length", "{text.length: {as: text.again}}")


def superseded(folder: Path) -> None:
    """A store with garbage: an older generation, and a layer that the recipe does not list any more."""
    grown(folder)
    done(folder, "run", "recipe.yaml", *ONE)
    write_recipe(folder, "text.length")
    done(folder, "run", "recipe.yaml", *ONE)


def forgotten(folder: Path) -> None:
    grown(folder)
    done(folder, "run", "recipe.yaml", *ONE)
    done(folder, "forget", "recipe.yaml", "--domain", "site-0.example")


CASES: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "the first run": (nothing, ("run", "recipe.yaml", *ONE)),
    "a run that adds": (grown, ("run", "recipe.yaml", *ONE)),
    "gc": (superseded, ("gc", "recipe.yaml", "--keep", "1")),
    "purge": (forgotten, ("gc", "recipe.yaml", "--keep", "1", "--purge")),
}


@pytest.mark.parametrize(
    ("case", "every"),
    [
        pytest.param(name, every, id=f"{name}, {'each write' if every else 'each kind of write'}", marks=marks)
        for name in CASES
        for every in (False, True)
        if every or name == "a run that adds"
        for marks in ([pytest.mark.large] if every else [],)
    ],
)
def test_a_command_that_dies_between_two_writes_is_finished_by_the_next(
    case: str, every: bool, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare, command = CASES[case]

    def make(folder: Path) -> None:
        (folder / "crawl").mkdir()
        prepare(folder)

    before = made_once(tmp_path_factory, f"writes-{prepare.__name__}", make)

    def copy(name: str) -> Path:
        return Path(shutil.copytree(before, tmp_path / name))

    undisturbed, whole = Life(), copy("whole")
    with living(undisturbed, monkeypatch):
        done(whole, *command)
    expected = tree_hash(whole)
    assert_clean(whole)
    for number in chosen(undisturbed.paths, every):
        life, folder = Life(number), copy(str(number))
        with living(life, monkeypatch):
            run_here(folder, *command)
        assert life.died
        shutil.rmtree(folder / "store" / "lease", ignore_errors=True)  # its holder lives: it is this process
        where = f"died before write {number}, of {undisturbed.paths[number]}"
        again = run_here(folder, *command)
        assert again.status == 0, f"{where}: {again.err}"
        assert tree_hash(folder) == expected, where
        assert_clean(folder)
        shutil.rmtree(folder)


def chosen(paths: list[str], every: bool) -> list[int]:
    """The writes to die before: each, or the last of each kind that is cheap to test."""
    if every:
        return list(range(len(paths)))
    last = {prefix: number for number, path in enumerate(paths) for prefix in CHEAP if path.startswith(prefix)}
    return sorted(last.values())
