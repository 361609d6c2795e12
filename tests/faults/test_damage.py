"""Every kind of file of a store, flipped, cut, lost, or replaced by another store's: noticed, or of no consequence.

`winnow audit` names each damaged file. The command that reads it ends with one line that names the file and what mends
it, or does just what it does with the whole store. What is exported is what the whole store exports, or nothing.
"""

import hashlib
import html
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import orjson
import pytest

from tests.faults.whole_store import ALONE, make_whole_store, write_recipe
from tests.faults.winnow import Done, assert_clean, ended, run_here, tree_hash
from tests.made_once import made_once
from tests.pipelines.store.commits import commits_of
from winnow.pipelines.binding.sources import store_record
from winnow.pipelines.forgetting.purging import Unfinished
from winnow.pipelines.mix.drawn_objects import DrawnObjects
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.integrity.sealed import put_record
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.location import open_store_at
from winnow.schemas.identity import content_name
from winnow.schemas.recipe import load_recipe
from winnow.schemas.records import to_json

pytestmark = pytest.mark.processes

NOTICED = "noticed"
AGAIN = "the next run makes it again, with the same values"
CACHE = "it saves time and decides nothing: what it says is found again"
ADVICE = "it says how a run went; nothing is decided by it"


@dataclass(frozen=True)
class Kind:
    """A kind of file."""

    find: Callable[[Store], str]  # one such file of the latest generation
    reader: str  # a command that reads it
    lost: str  # NOTICED by the audit, or why it is of no consequence that the file is gone
    prepare: Callable[[Path], None] = lambda folder: None  # so that the command has reason to read it
    recipe: str = "recipe.yaml"


def first(prefix: str, ending: str = "") -> Callable[[Store], str]:
    return lambda store: next(info.path for info in store.objects.list(prefix) if info.path.endswith(ending))


def of_layer(layer: str, part: str) -> Callable[[Store], str]:
    return lambda store: str(getattr(store.manifest(store.require_latest(), layer)[-1], part))


def committed(layer: str) -> Callable[[Store], str]:
    def path(store: Store) -> str:
        row = store.manifest(store.require_latest(), layer)[-1]
        if row.task is not None:
            return layout.task_commit(row.key, row.task)
        return next(path for path in commits_of(store.objects, layer) if path.endswith(f"/{row.shard}.json"))

    return path


def layer_set(store: Store) -> str:
    return layout.layer_set(committed("text.length")(store).split("/")[2])


def refused(kind: str) -> Callable[[Store], str]:
    def path(store: Store) -> str:
        made = [getattr(task, kind) for task in store.tasks(store.require_latest())]
        return str([ranges.path for ranges in made if ranges is not None][-1])

    return path


def planned(store: Store) -> str:
    """The plan of the latest generation."""
    tree = store.require_latest().tree_hash
    plans = (info.path for info in store.objects.list(layout.PLANS) if layout.is_plan_record(info.path))
    return next(path for path in plans if orjson.loads(store.objects.read(path))["plan"]["tree_hash"] == tree)


def drawn(store: Store) -> str:
    return DrawnObjects.read(store.objects, draws_listed(store))[0].object


def draws_listed(store: Store) -> str:
    return str(orjson.loads(store.objects.read(planned(store)))["draws"])


def weights_used(store: Store) -> str:
    return layout.weights_use("mimic", min(store.require_latest().layers["trace.mimic"].keys.values()))


def weights_record(store: Store) -> str:
    return layout.weights_record("mimic", orjson.loads(store.objects.read(weights_used(store)))["reference"])


def weights(store: Store) -> str:
    return str(orjson.loads(store.objects.read(weights_record(store)))["objects"][0])


def delete(folder: Path, *prefixes: str) -> None:
    objects = open_store_at(folder / "store").objects
    for prefix in prefixes:
        for info in list(objects.list(prefix)):
            objects.delete(info.path)


def unscored(folder: Path) -> None:
    delete(folder, layout.LAYER_COMMITS, "layers/trace.mimic/", "layers/score.mimic/")


def unannotated(folder: Path) -> None:
    delete(folder, "layers/text.length/")


def untold(folder: Path) -> None:
    """Lines that were never read, apart from their list of tasks."""
    for path in sorted((folder / "store/commits/samples").glob("*/lines-*.json")):
        path.unlink()


def merged(store: Store) -> str:
    row = store.manifest(store.require_latest(), "samples")[-1]
    values = store.manifest(store.require_latest(), "samples").by_key()[row.key].hash
    return next(info.path for info in store.objects.list(layout.merged_statistics("samples", row.key, values)))


def unmerged(folder: Path) -> None:
    for path in sorted((folder / "store/stats").glob("*/merged-*")):
        path.unlink()


def undecided(folder: Path) -> None:
    delete(folder, layout.RULE_DECISIONS)


def half_purged(folder: Path) -> None:
    store = open_store_at(folder / "store")
    numbers = store.generation_numbers()
    record = content_name(store.objects.read(layout.generation(numbers[-1])))
    put_record(store.objects, layout.PURGE, Unfinished(numbers[-1], record, tuple(numbers[:-1])))


KINDS = {
    "store.json": Kind(lambda store: layout.STORE_RECORD, "stats", NOTICED),
    "samples": Kind(of_layer("samples", "object"), "export", NOTICED),
    "layer": Kind(of_layer("text.length", "object"), "plan", NOTICED, undecided),
    "decisions of rules": Kind(first(layout.RULE_DECISIONS), "plan", CACHE),
    "clusters": Kind(first(layout.CLUSTERS), "report", CACHE),
    "quarantine": Kind(refused("quarantine"), "report", NOTICED),
    "dropped": Kind(refused("dropped"), "audit", NOTICED),
    "statistics": Kind(of_layer("text.length", "statistics"), "stats", CACHE, unmerged),
    "merged statistics": Kind(merged, "stats", CACHE),
    "intake": Kind(lambda store: layout.intake("lines", 1), "ingest", NOTICED),
    "commit of a task": Kind(committed("samples"), "ingest", AGAIN),
    "commit of a layer": Kind(committed("text.length"), "annotate", AGAIN),
    "set of layers": Kind(layer_set, "annotate", AGAIN, unannotated),
    "manifest": Kind(lambda store: store.require_latest().layers["text.length"].manifest, "stats", NOTICED),
    "manifest of samples": Kind(lambda store: store.require_latest().layers["samples"].manifest, "stats", NOTICED),
    "manifest of tasks": Kind(lambda store: store.require_latest().tasks, "stats", NOTICED),
    "generation": Kind(
        lambda store: layout.generation(store.require_latest().number),
        "stats",
        NOTICED,
    ),
    "verdicts": Kind(first(layout.VERDICTS), "dedupe", CACHE, recipe="similar.yaml"),
    "poison": Kind(
        first(layout.POISON), "ingest", "its row is read again, and recorded again if it kills workers", untold
    ),
    "strike": Kind(first(layout.STRIKES), "ingest", "its row may kill one worker more", untold),
    "weights": Kind(weights, "score", AGAIN, unscored),
    "weights' record": Kind(weights_record, "score", AGAIN, unscored),
    "weights' use": Kind(weights_used, "gc", "the weights are deleted; if they are needed, " + AGAIN),
    "comparison with a list": Kind(first(layout.KNOWN_HARM), "ingest", "its list is compared again"),
    "plan": Kind(planned, "export", AGAIN),
    "list of draws": Kind(draws_listed, "export", NOTICED),
    "draw": Kind(drawn, "export", NOTICED),
    "tombstone": Kind(first(layout.TOMBSTONES), "export", NOTICED),
    "look": Kind(first(layout.HIDDEN), "stats", CACHE),
    "output": Kind(first(layout.OUTPUTS), "forget", NOTICED),
    "copy of an output's record": Kind(first(layout.COPIES), "audit", "the record itself says the same"),
    "run": Kind(first(layout.RUNS), "plan", ADVICE),
    "task list": Kind(first(f"{layout.TASK_LISTS}annotate"), "annotate", "a run writes its list before it reads it"),
    "purge": Kind(lambda store: layout.PURGE, "gc", "what it would delete is deleted by the next purge", half_purged),
}


def flipped(raw: bytes, other: bytes) -> bytes:
    middle = len(raw) // 2
    return raw[:middle] + bytes([raw[middle] ^ 1]) + raw[middle + 1 :]


def cut(raw: bytes, other: bytes) -> bytes:
    return raw[: len(raw) // 2]


def replaced(raw: bytes, other: bytes) -> bytes:
    return other


def replaced_by_twin(raw: bytes, other: bytes) -> bytes:
    """By that of a store with the same settings, and so the same identity, but other sources."""
    return other


def lost(raw: bytes, other: bytes) -> None:
    return None


Change = Callable[[bytes, bytes], bytes | None]
DAMAGE: tuple[Change, ...] = (flipped, cut, replaced)


@dataclass(frozen=True)
class Whole:
    """A store without damage, and another one."""

    folder: Path
    other: Path  # with other settings and sources
    make_twin: Callable[[], Path]  # with other sources
    results: dict[str, object]  # what commands make of the first

    def copy(self, to: Path) -> Path:
        """The store and its sources; nothing was exported. Copies share their files, which are never written to."""
        shutil.copytree(self.folder, to, copy_function=os.link, ignore=shutil.ignore_patterns("out", "page.html"))
        return to

    def change(self, kind: Kind, folder: Path, change: Change) -> str:
        """Change the file of this kind in a copy; returns its path."""
        path = kind.find(open_store_at(self.folder / "store"))
        another = self.make_twin() if change is replaced_by_twin else self.other
        other = kind.find(open_store_at(another / "store"))
        before = _read(self.folder, path)
        raw = change(before, _read(another, other))
        assert raw != before or (change is replaced_by_twin and path.startswith(SAME)), path
        file = folder / "store" / path
        file.unlink(missing_ok=True)
        if raw is not None:
            file.write_bytes(raw)
        return path

    def result(self, kind: Kind, to: Path) -> object:
        """What the command that reads this kind does with the whole store."""
        name = f"{kind.reader} {kind.recipe} {kind.prepare}"
        if name not in self.results:
            kind.prepare(self.copy(to))
            done = command(to, kind)
            assert done.status == 0, done.err
            self.results[name] = result(to, kind, done)
        return self.results[name]


def _read(folder: Path, path: str) -> bytes:
    """A file of a store, or what a purge that is stopped leaves in one: it lies beside the store."""
    file = folder / "store" / path
    return (file if file.exists() else folder / path).read_bytes()


def ready_to_copy(folder: Path, seed: int = 7, settings: int = 7) -> None:
    make_whole_store(folder, seed, settings)
    half_purged(folder)
    (folder / "store" / layout.PURGE).rename(folder / layout.PURGE)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    def make(folder: Path) -> None:
        ready_to_copy(folder / "one")
        ready_to_copy(folder / "other", seed=8, settings=8)
        write_recipe(folder / "one", "similar.yaml", similarity=0.76)

    folder = made_once(tmp_path_factory, "whole-stores", make)

    def make_twin() -> Path:
        return made_once(tmp_path_factory, "twin-store", lambda folder: ready_to_copy(folder, seed=8))

    return Whole(folder / "one", folder / "other", make_twin, {})


OPTIONS = {
    "audit": (),
    "plan": ("--json",),
    "stats": ("--json",),
    "report": ("--output", "page.html"),
    "gc": (),
    "forget": ("--domain", "site-0-2.example", "--dry-run", "--json"),
}


def command(folder: Path, kind: Kind) -> Done:
    return run_here(folder, kind.reader, kind.recipe, *OPTIONS.get(kind.reader, ALONE))


def result(folder: Path, kind: Kind, done: Done) -> object:
    """What a command did."""
    match kind.reader:
        case "plan":
            return {**orjson.loads(done.out), "estimate": None}
        case "stats" | "forget":
            return orjson.loads(done.out)
        case "report":
            return (folder / "page.html").read_text()
        case "export":
            return exported(folder)
        case "gc":
            return done.status
        case _:
            return tree_hash(folder)


def exported(folder: Path) -> dict[str, bytes]:
    files = (file for file in sorted((folder / "out").rglob("*")) if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def problems(folder: Path) -> str:
    """What the audit finds wrong with a store."""
    done = run_here(folder, "audit", "--store-only", "recipe.yaml", "--json")
    if not done.out:
        return done.err
    found = orjson.loads(done.out)["problems"]
    assert done.status == bool(found)
    return "\n".join(found)


SAME = (layout.LAYER_SETS, layout.STORE_RECORD)
"""These say the same in every store with the same settings."""

TWINS = (layout.COMMITS, layout.INTAKE, layout.GENERATIONS, layout.STRIKES, layout.RUNS, layout.PURGE, *SAME)
"""Records that a twin has under the same path. Its commits name objects that are not here, so the next run withdraws
them; the manifests of its generation are missing; its lists of tasks are of other files, so `ingest` refuses them; its
purge is refused by who would finish it; the others are advice."""


@pytest.mark.parametrize("change", [*DAMAGE, pytest.param(replaced_by_twin, marks=pytest.mark.large)])
def test_the_audit_names_every_damaged_file(whole: Whole, tmp_path: Path, change: Change) -> None:
    folder = whole.copy(tmp_path / "copy")
    paths = [whole.change(kind, folder, change) for name, kind in KINDS.items() if name != "store.json"]
    said = problems(folder)
    unnoticed = [path for path in paths if f"{path} is damaged: " not in said]
    assert all(change is replaced_by_twin and path.startswith(TWINS) for path in unnoticed), (unnoticed, said)
    assert all("; " in line for line in said.splitlines()), "each says what mends it"
    if change is replaced_by_twin:
        return
    folder = whole.copy(tmp_path / "another")
    whole.change(KINDS["store.json"], folder, change)
    said = problems(folder)
    assert "store.json" in said
    assert "is damaged: " in said


TOGETHER = ("layer", "quarantine", "dropped", "intake", "draw")
"""Of these, the audit notices all at once; at the others it stops."""


@pytest.mark.parametrize("names", [TOGETHER, *((name,) for name in KINDS if name not in TOGETHER)], ids=" ".join)
def test_the_audit_notices_what_is_lost_unless_it_is_of_no_consequence(
    whole: Whole, tmp_path: Path, names: tuple[str, ...]
) -> None:
    folder = whole.copy(tmp_path / "copy")
    for name in names:
        path = whole.change(KINDS[name], folder, lost)
        noticed = f"{path} is missing" in problems(folder)
        assert noticed == (KINDS[name].lost is NOTICED)


KEPT = ("store.json", "intake", "tombstone", "purge")  # the first has a test of its own, the others are not made again
LISTS = ("manifest", "manifest of samples", "manifest of tasks")  # they are made again from commits


@pytest.mark.parametrize("names", [LISTS, tuple(name for name in KINDS if name not in KEPT + LISTS)], ids=len)
def test_a_run_makes_again_what_is_lost(whole: Whole, tmp_path: Path, names: tuple[str, ...]) -> None:
    """As the remedies say; the store is then as it was.

    No row of these files was forgotten meanwhile, or it would not be written again.
    """
    folder = whole.copy(tmp_path / "copy")
    expected = tree_hash(folder)
    for name in names:
        whole.change(KINDS[name], folder, lost)
    done = run_here(folder, "run", "recipe.yaml", *ALONE)
    assert done.status == 0, done.err
    assert tree_hash(folder) == expected
    assert exported(folder) == exported(whole.folder)
    assert_clean(folder)


EARLIER = ("generation",)  # without it, the store is as it was before, which is not what it was with it
CASES = [
    pytest.param(name, change, id=f"{name}, {change.__name__}", marks=[] if change is flipped else [pytest.mark.large])
    for name in KINDS
    for change in (*DAMAGE, replaced_by_twin, lost)
    if not (change is lost and name in EARLIER)
]


@pytest.mark.parametrize(("name", "change"), CASES)
def test_a_command_that_reads_a_damaged_file_names_it_or_does_the_same_without_it(
    whole: Whole, tmp_path: Path, name: str, change: Change
) -> None:
    kind = KINDS[name]
    folder = whole.copy(tmp_path / "copy")
    kind.prepare(folder)
    path = whole.change(kind, folder, change)
    done = command(folder, kind)
    if kind.reader == "audit":
        assert path in done.out
    elif done.status:
        assert done.err.count("\n") == 1
        if change is replaced_by_twin and path.startswith(layout.GENERATIONS):
            assert done.err.startswith(f"winnow: store: {layout.MANIFESTS}")
        elif change is replaced and path == layout.STORE_RECORD:  # then all others are of another store
            assert f" belongs to another store than {path}; delete the one of the two that " in done.err
        else:
            assert done.err.startswith(f"winnow: store: {path} is ")
        assert "; " in done.err
    else:
        assert result(folder, kind, done) == whole.result(kind, tmp_path / "undamaged" / "copy")  # a page has its name
    assert "Traceback" not in done.err
    if kind.reader != "export":
        done = run_here(folder, "export", "recipe.yaml", *ALONE)
        assert done.status or exported(folder) == exported(whole.folder), "no other export"


@pytest.mark.parametrize("words", ["stats", "audit", "plan", "run", "export", "gc", "forget --list"])
def test_a_store_from_before_checksums_is_refused_in_one_line(tmp_path: Path, words: str) -> None:
    write_recipe(tmp_path)
    (tmp_path / "harm.txt").write_text(hashlib.sha256(b"nothing").hexdigest())
    for name in ("crawl", "lines"):
        (tmp_path / name).mkdir()
    record = store_record(load_recipe(tmp_path / "recipe.yaml"))
    LocalStore(tmp_path / "store").put(layout.STORE_RECORD, to_json(replace(record, format_version=1)))
    name, *more = words.split()
    done = run_here(tmp_path, name, "recipe.yaml", *more)
    assert done.status == 1
    assert done.err == (
        "winnow: store: store format 1, but this version of winnow reads 6; make the store anew: delete it or choose "
        "another path, and run 'winnow ingest RECIPE'\n"
    )


def test_a_lost_decision_of_a_score_is_told_by_stats_and_report(whole: Whole, tmp_path: Path) -> None:
    folder = whole.copy(tmp_path / "copy")
    delete(folder, "decisions/score.mimic/")
    line = (
        "not shown: score.mimic, whose record in decisions/score.mimic/ is missing (gc --purge removes it, too); run "
        "'winnow score RECIPE', which makes it again"
    )
    assert f"winnow: store: {line}\n" in run_here(folder, "stats", "recipe.yaml").err
    ended(run_here(folder, "report", "recipe.yaml", "--output", "page.html"))
    assert line in html.unescape((folder / "page.html").read_text())
    ended(run_here(folder, "score", "recipe.yaml", *ALONE))
    assert "not shown" not in run_here(folder, "stats", "recipe.yaml").err


def test_nothing_is_deleted_or_exported_while_the_latest_generation_is_lost(whole: Whole, tmp_path: Path) -> None:
    folder = whole.copy(tmp_path / "copy")
    delete(folder, layout.OUTPUTS, layout.COPIES)  # of what was written from the original
    recipe = (folder / "recipe.yaml").read_text()
    (folder / "more.yaml").write_text(recipe.replace("[text.length]", "[text.length, text.c4]"))
    for words in (("annotate", "more.yaml", *ALONE), ("export", "recipe.yaml", *ALONE)):
        ended(run_here(folder, *words))
    path = layout.generation(open_store_at(folder / "store").require_latest().number)
    (folder / "store" / path).unlink()
    line = (
        f"store: {path} is missing, from which {folder / 'out'} was written; run 'winnow run RECIPE' with each recipe "
        "of the store; if one is gone, or this line stays, 'winnow export RECIPE --replace' goes on without it"
    )
    assert line in problems(folder)
    for refused_command in (("gc", "store"), ("gc", "store", "--purge"), ("export", "recipe.yaml", *ALONE)):
        assert ended(run_here(folder, *refused_command), 1) == f"winnow: {line}\n"
    made = folder / "store/layers/text.c4"
    assert list(made.rglob("*.parquet")), "what only the lost one names is there"
    ended(run_here(folder, "export", "recipe.yaml", "--replace", *ALONE))
    ended(run_here(folder, "gc", "store"))
    assert not list(made.rglob("*.parquet"))
    assert_clean(folder)
