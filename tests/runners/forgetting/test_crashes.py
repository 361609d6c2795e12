"""A purge that ends anywhere leaves what it found, hidden, or what the next holder of the lease finishes."""

import contextlib
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.faults.winnow import assert_clean, tree_hash
from tests.property_sizes import THOROUGH
from tests.runners.forgetting.crawl import HOST, write_crawl, write_recipe
from tests.runners.forgetting.files import contents, holders
from winnow.pipelines.audit import audit_generation
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.forgetting.purging import purge
from winnow.pipelines.store.facade import ObjectInfo, ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.hidden_rows import hidden_rows
from winnow.pipelines.store.location import open_store_at
from winnow.runners.commands.main import main
from winnow.schemas.recipe import load_recipe

pytestmark = pytest.mark.processes


class CrashError(Exception):
    """The process is gone."""


@dataclass
class MortalStore:
    """Objects that can be changed so many times; then the process that changes them is gone."""

    inner: ObjectStore
    left: int
    changes: int = field(default=0)

    @property
    def root(self) -> str:
        return self.inner.root

    @property
    def owner(self) -> str:
        return self.inner.owner

    def owned_by(self, owner: str) -> "MortalStore":
        self.inner = self.inner.owned_by(owner)
        return self

    def open(self, path: str) -> BinaryIO:
        return self.inner.open(path)

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        return self.inner.read(path, offset, length)

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        return self.inner.list(prefix)

    def exists(self, path: str) -> bool:
        return self.inner.exists(path)

    def size(self, path: str) -> int:
        return self.inner.size(path)

    def put(self, path: str, content: bytes | Path) -> None:
        self._change()
        self.inner.put(path, content)

    def put_if_absent(self, path: str, content: bytes) -> bool:
        self._change()
        return self.inner.put_if_absent(path, content)

    def delete(self, path: str) -> None:
        self._change()
        self.inner.delete(path)

    def scratch(self) -> Path:
        return self.inner.scratch()

    def clear_unfinished(self, *, elsewhere: bool = True) -> int:
        return self.inner.clear_unfinished(elsewhere=elsewhere)

    def _change(self) -> None:
        if self.changes == self.left:
            raise CrashError
        self.changes += 1


@pytest.fixture(scope="module")
def forgotten(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which tombstones hide what they mean, and nothing is purged."""
    folder = tmp_path_factory.mktemp("forgotten")
    write_crawl(folder)
    write_recipe(folder, annotate="text.gopher")
    recipe = str(folder / "recipe.yaml")
    assert main(["run", recipe, "--workers", "1"]) == 0
    assert main(["forget", recipe, "--domain", HOST, "--url", "http://5.example"]) == 0
    return folder


@pytest.mark.large
def test_a_purge_that_ends_after_any_change(forgotten: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For points spread over all of them: everything is still hidden, a run goes on, and a purge ends as one would."""
    whole = tmp_path / "whole"
    shutil.copytree(forgotten, whole)
    opened = open_store_at(whole / "store")
    counting = MortalStore(opened.objects, -1)
    purge(Store(counting, opened.record), 2)
    expected = opened.require_latest().tree_hash
    assert holders(whole / "store") == []
    steps = sorted({0, 1, counting.changes - 1, *range(3, counting.changes, 11 if THOROUGH else 40)})
    assert len(steps) > (8 if THOROUGH else 4)
    for number, step in enumerate(steps):
        folder = tmp_path / str(step)
        shutil.copytree(forgotten, folder)
        monkeypatch.chdir(folder)
        opened = open_store_at("store")
        with pytest.raises(CrashError):
            purge(Store(MortalStore(opened.objects, step), opened.record), 2)
        generation = opened.require_latest()
        assert sum(len(found.rows) for found in hidden_rows(opened, generation).values()) == 3, step
        assert main(["plan", "recipe.yaml"]) == 0
        if number % 2:
            assert main(["run", "recipe.yaml", "--workers", "1"]) == 0
        assert main(["gc", "recipe.yaml", "--purge"]) == 0
        assert holders(folder / "store") == [], step
        assert opened.require_latest().tree_hash == expected, step
        context = bind(load_recipe("recipe.yaml")).ingest(opened)
        assert audit_generation(opened, opened.require_latest(), context).problems == [], step
        assert "purge.json" not in contents(folder / "store")


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param("samples/", marks=pytest.mark.large),
        "generations/",
        pytest.param("purge.json", marks=pytest.mark.large),
    ],
)
def test_a_killed_purge_is_finished_by_the_next(
    forgotten: Path, tmp_path: Path, seen: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """SIGKILL as soon as the purge has put a new object, its generation, or its note of what is left to do."""
    folder = killed_purge(forgotten, tmp_path, seen)
    (folder / "store" / "report.html").unlink(missing_ok=True)  # as one does that is killed a little later
    assert main(["gc", str(folder / "recipe.yaml"), "--purge"]) == 0
    assert seen != "purge.json" or "dropped 0 generations" not in capsys.readouterr().out  # it counts what it finished
    assert "<html" in (folder / "store" / "report.html").read_text()
    assert_clean(folder)
    recipe = str(folder / "recipe.yaml")
    assert main(["run", recipe, "--workers", "1"]) == 0
    assert main(["gc", recipe, "--purge"]) == 0
    assert holders(folder / "store") == []
    assert_clean(folder)
    assert tree_hash(folder) != ""


ATTEMPTS = 5


def killed_purge(forgotten: Path, tmp_path: Path, seen: str) -> Path:
    """A store whose purge was killed while it ran; a purge that ended before the signal proves nothing: once more."""
    for attempt in range(ATTEMPTS):
        folder = tmp_path / f"store-of-it-{attempt}"
        shutil.copytree(forgotten, folder)
        before = contents(folder / "store").keys()
        process = subprocess.Popen(
            [sys.executable, "-m", "winnow", "gc", "recipe.yaml", "--purge"], cwd=folder, stdout=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 60
        place = folder / "store" / seen
        met = False
        while not met and process.poll() is None and time.monotonic() < deadline:
            found = {seen} if place.is_file() else {f"{seen}{path.name}" for path in place.glob("*")}
            met = bool(found - before)
            time.sleep(0 if met else 0.0005)
        process.send_signal(signal.SIGKILL)
        if process.wait(30) == -signal.SIGKILL:
            assert met, f"nothing came under {seen} within a minute"
            return folder
        assert process.returncode == 0
    pytest.fail(f"{ATTEMPTS} purges ended before they could be killed at {seen}")


def test_a_dry_run_of_the_collector_leaves_a_purge_that_was_begun(
    forgotten: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says that there is one, and changes nothing; the collector itself then finishes it."""
    folder = tmp_path / "begun"
    shutil.copytree(forgotten, folder)
    monkeypatch.chdir(folder)
    opened = open_store_at("store")
    for left in range(1000):
        with contextlib.suppress(CrashError):
            purge(Store(MortalStore(opened.objects, left), opened.record), 2)
        if opened.objects.exists("purge.json"):
            break
    before = contents(folder / "store")
    assert "purge.json" in before
    assert main(["gc", "recipe.yaml", "--dry-run"]) == 0
    assert "would also finish the interrupted purge" in capsys.readouterr().out
    assert contents(folder / "store") == before
    assert main(["gc", "recipe.yaml"]) == 0
    assert holders(folder / "store") == []
    assert not opened.objects.exists("purge.json")
