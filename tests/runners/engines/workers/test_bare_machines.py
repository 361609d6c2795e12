"""A machine that has winnow and nothing else: what a recipe needs there comes through the store."""

import json
import os
import platform
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.winnow import Done, assert_clean, run_here, tree_hash
from tests.runners.engines.commands import boot_pool
from tests.runners.engines.recipes import exported
from winnow.pipelines.store import layout
from winnow.pipelines.store.location import open_store_at
from winnow.runners.stages.running import node_checks
from winnow.schemas.kernels import kernel_folder

RECIPE = """
version: 1
store: {{path: {name}/store, seed: 7}}
known_harm: {{own: {{path: lists/harm.txt, kind: sha256}}}}
sources:
  lines: {{root: lines, files: ["*.jsonl"], class: public, key: id, columns: {{url: url}}}}
text: samples.text
annotate: [text.language, {{url.blocklist: {{list: lists/sites.txt}}}}]
keep: [{{drop: url.blocklist.hit, reason: listed, when_null: keep}}]
mix: {{unit: tokens, tokenizer: lists/r50k_base.tiktoken}}
export: [{{parquet: {{path: {name}/export}}}}, {{megatron: {{path: {name}/ids, end: false}}}}]
"""
FILES = 4  # lid.176, and what lies in `lists`


def prepared(folder: Path) -> None:
    """Texts, and the files that the recipe names."""
    pytest.importorskip("tiktoken")
    (folder / "lines").mkdir()
    rows = (
        {"id": str(n), "text": f"A text of its own, number {n}.", "url": f"http://site{n}.example/"} for n in range(40)
    )
    (folder / "lines" / "0.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "lists").mkdir()
    (folder / "lists" / "sites.txt").write_text("site3.example\nsite7.example\n")
    (folder / "lists" / "harm.txt").write_text("ab" * 32 + "\n")
    ranks = (f"{b64encode(bytes([byte])).decode()} {byte}\n" for byte in range(256))
    (folder / "lists" / "r50k_base.tiktoken").write_text("".join(ranks))
    for name in ("local", "bare"):
        (folder / f"{name}.yaml").write_text(RECIPE.format(name=name))


@contextmanager
def bare_machine(folder: Path, more: str = "true") -> Iterator[str]:
    """Workers that see an empty folder where the recipe's lists are, and have no assets: their pool's address.

    `more`: a command that is run before they start.
    """
    probe = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("the file system can only be shown differently by root (unshare --mount)")
    machine = folder / "machine"
    for name in ("home", "tmp", "nothing"):
        (machine / name).mkdir(parents=True)
    shown = f'mount --bind {machine / "nothing"} {folder / "lists"} && {more} && exec "$@"'
    environment = {
        "HOME": str(machine / "home"),
        "TMPDIR": str(machine / "tmp"),
        "WINNOW_ASSETS": str(machine / "home" / "assets"),
        "NUMBA_CACHE_DIR": str(kernel_folder()),  # compiling would take minutes
    }
    with boot_pool(machine, ("unshare", "--mount", "sh", "-c", shown, "sh"), environment) as (port, _):
        yield f"localhost:{port}"


def run_on(address: str, folder: Path, command: str = "run") -> Done:
    flags = ("--environment_type=EXTERNAL", f"--environment_config={address}")
    return run_here(folder, command, "bare.yaml", "--runner", "portable", "--", *flags)


@pytest.mark.processes
def test_what_a_machine_lacks_it_takes_from_the_store_by_its_hash(tmp_path: Path) -> None:
    prepared(tmp_path)
    local = run_here(tmp_path, "run", "local.yaml", "--workers", "1")
    assert local.status == 0, local.err
    with bare_machine(tmp_path) as address:
        bare = run_on(address, tmp_path)
        assert bare.status == 0, bare.err
    assert tree_hash(tmp_path, "bare/store") == tree_hash(tmp_path, "local/store")
    assert exported(tmp_path, "bare") == exported(tmp_path, "local") != {}
    objects = open_store_at(tmp_path / "bare/store").objects
    assert len({info.path for info in objects.list(layout.NODE_FILES)}) == FILES
    taken = {path.name for path in (tmp_path / "machine/home/assets").rglob("*")}
    assert taken >= {"sites.txt", "harm.txt", "r50k_base.tiktoken"}
    assert not list(open_store_at(tmp_path / "local/store").objects.list(layout.NODE_FILES))
    assert_clean(tmp_path, "bare.yaml")
    assert run_here(tmp_path, "gc", "bare.yaml").status == 0
    assert not list(objects.list(layout.NODE_FILES))
    assert tree_hash(tmp_path, "bare/store") == tree_hash(tmp_path, "local/store")


@pytest.mark.processes
def test_another_file_under_the_same_path_is_not_used(tmp_path: Path) -> None:
    prepared(tmp_path)
    assert run_here(tmp_path, "ingest", "local.yaml", "--workers", "1").status == 0
    assert run_here(tmp_path, "annotate", "local.yaml", "--workers", "1").status == 0
    with bare_machine(tmp_path) as address:
        (tmp_path / "machine/nothing/sites.txt").write_text("site5.example\n")
        assert run_on(address, tmp_path, "ingest").status == 0
        done = run_on(address, tmp_path, "annotate")
        assert done.status == 0, done.err
    assert tree_hash(tmp_path, "bare/store") == tree_hash(tmp_path, "local/store")


def test_a_damaged_file_of_a_store_is_found_by_audit(tmp_path: Path) -> None:
    prepared(tmp_path)
    assert run_here(tmp_path, "ingest", "local.yaml", "--workers", "1").status == 0
    folder = tmp_path / "local/store/files"
    folder.mkdir()
    (folder / ("ab" * 32)).write_bytes(b"of another hash")
    done = run_here(tmp_path, "audit", "local.yaml")
    assert done.status == 1
    assert "files/abab" in done.out + done.err
    os.remove(folder / ("ab" * 32))


@pytest.mark.processes
def test_machines_are_asked_before_anything_is_read(tmp_path: Path) -> None:
    prepared(tmp_path)
    with bare_machine(tmp_path) as address:
        done = run_on(address, tmp_path, "ingest")
        assert done.status == 0, done.err
        assert f"1 machine ready: {platform.node()}" in done.out + done.err
        for place in (tmp_path / "bare/store/files").iterdir():
            place.write_bytes(b"not what was put")
        shutil.rmtree(tmp_path / "machine/home/assets")
        node_checks._ready.clear()  # a command has a process of its own, where it asks once
        refused = run_on(address, tmp_path, "annotate")
    assert refused.status == 1
    lines = refused.err.splitlines()
    assert len([line for line in lines if f"{platform.node()}: " in line and "is damaged" in line]) == FILES, lines


@pytest.mark.processes
def test_a_machine_without_room_is_named(tmp_path: Path) -> None:
    prepared(tmp_path)
    with bare_machine(tmp_path, "mount -t tmpfs -o size=64m tmpfs $TMPDIR") as address:
        refused = run_on(address, tmp_path, "ingest")
    assert refused.status == 1
    assert f"{platform.node()}: {tmp_path}/machine/tmp" in refused.err
    assert "tasks need 512 MiB" in refused.err
    assert not (tmp_path / "bare/store/samples").exists()
