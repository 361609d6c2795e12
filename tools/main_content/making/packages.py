"""Brings the pinned packages of Debian, PyPI and npm, with these registries' own clients, once into a cache.

`debian.txt`, `python.txt` and `npm.txt` name the versions and what they hash to; nothing else is used. Install scripts
of Debian's and npm's packages are not run.
"""

import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.inputs.pages import unpacked_packages

HERE = Path(__file__).parent
NPM_UNTIL = "2026-11-30"
NPM_TREE = "d8a1ee01e84548765c8d2c7546485468df4c8ebb1845ca53691ce46fa9276b24"
"""The hash of all packages that npm brings for `npm.txt`, with what they depend on; as they were on that day."""


@dataclass(frozen=True, slots=True)
class Packages:
    """Where the packages are."""

    share: Path  # Debian's /usr/share
    python: Path  # an interpreter that has the generators
    modules: Path  # a folder with node_modules


def fetch(cache: Path) -> Packages:
    """Everything that is pinned, fetched where it is missing and checked."""
    return Packages(_debian(cache), _python(cache / "python"), _npm(cache / "npm"))


def _debian(cache: Path) -> Path:
    pinned = [line.split() for line in (HERE / "debian.txt").read_text().splitlines()]
    unpacked = unpacked_packages([f"{name}={version}" for name, version, _ in pinned], "made", "made-packages", cache)
    held = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (cache / "made-packages").glob("*.deb")}
    _require(held == {digest for _, _, digest in pinned}, "Debian's packages", cache / "made-packages")
    return unpacked / "usr" / "share"


def _python(folder: Path) -> Path:
    python, ready = folder / "bin" / "python", folder / "ready"
    wanted = (HERE / "python.txt").read_text()
    if not ready.exists() or ready.read_text() != wanted:
        _run(sys.executable, "-m", "venv", "--clear", str(folder))
        install = ("install", "--quiet", "--require-hashes", "--no-deps", "--requirement")
        _run(str(python), "-m", "pip", *install, str(HERE / "python.txt"))
        ready.write_text(wanted)
    return python


def _npm(folder: Path) -> Path:
    lock = folder / "node_modules" / ".package-lock.json"
    if not lock.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"name": "made", "private": true, "hexo": {"version": ""}}')
        options = (
            "--silent",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--legacy-peer-deps",
            "--before",
            NPM_UNTIL,
        )
        _run("npm", "install", "--prefix", str(folder), *options, *(HERE / "npm.txt").read_text().split())
    entries = json.loads(lock.read_bytes())["packages"]
    tree = "\n".join(f"{path} {entry['version']} {entry.get('integrity')}" for path, entry in sorted(entries.items()))
    digest = hashlib.sha256(tree.encode()).hexdigest()
    _require(digest == NPM_TREE, f"npm's packages, which hash to {digest},", folder)
    return folder


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"])[-1]
        sys.exit(f"tools.main_content.making: {command[0]} {command[1]}: {reason}")


def _require(same: bool, what: str, folder: Path) -> None:
    if not same:
        sys.exit(f"tools.main_content.making: {what} are not the pinned ones; remove {folder} and run it again")
