"""Writes an export to an object store, which has no rename: files get their final names, the manifest comes last.

    s3://bucket/out/hf/                            the files and, last of all, winnow.json, which lists them
    s3://bucket/out/.hf.winnow-unfinished/         while it is being made
        unfinished.json                            the identity, and the files of the export being replaced
        leases/                                    one writer at a time
        <identity>/intents/                        <output>-<n>.json: the names of files, written before any is put
        <identity>/commits/                        <output>-<n>.json: a shard whose files are complete
        <identity>/scratch/                        the exchange

Without winnow.json an export is not finished. Files under the address that winnow did not put there are never
touched.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from winnow.pipelines.export.formats.protocol import ExportFormat, FileRecord, ShardName, WrittenShard
from winnow.pipelines.export.places.destination import in_use_error
from winnow.pipelines.export.places.existing import WantedExport, first_few
from winnow.pipelines.export.places.manifest import (
    MANIFEST,
    OWN,
    Manifest,
    Outline,
    ShardCommit,
    commit_name,
    file_records,
)
from winnow.pipelines.export.places.overlaps import MARKER
from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.pipelines.store import layout
from winnow.pipelines.store.concurrency import delete_objects
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.leases.lease import HeldError, Lease, LeaseHold
from winnow.pipelines.store.location import open_location
from winnow.schemas.errors import ExportError, StageError
from winnow.schemas.identity import canonical_json
from winnow.schemas.typed_json import read_value

_COMMITS, _INTENTS, _SCRATCH = "commits/", "intents/", "scratch/"
_JOINED = "joined.json"
_PIECE = 1 << 20


def unfinished_address(address: str) -> str:
    """The address of the unfinished work on an export, beside it."""
    parent, _, name = address.rstrip("/").rpartition("/")
    return f"{parent}/.{name}.winnow-unfinished"


def bucket_manifest(address: str) -> Manifest | None:
    """The manifest of the finished export at an address; None if there is none."""
    try:
        raw = open_location(address).read(MANIFEST)
    except FileNotFoundError:
        return None
    return Manifest.from_json(raw, f"{address}/{MANIFEST}")


def is_unfinished(address: str) -> bool:
    """Whether an export is being written there, or was when a run stopped."""
    return open_location(unfinished_address(address)).exists(MARKER)


@dataclass(frozen=True)
class BucketWork:
    """The unfinished work of one identity. Picklable."""

    target: ObjectStore
    aside: ObjectStore  # the hidden folder
    identity: str
    hold: LeaseHold

    def is_committed(self, shard: ShardName) -> bool:
        """Whether a shard is committed."""
        return self.aside.exists(self._own(_COMMITS, commit_name(shard)))

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Yields a temporary folder on this machine."""
        with temporary_folder("shard") as name:
            yield Path(name)

    def commit(self, made: Path, commit: ShardCommit) -> None:
        """Puts a shard's files and commits it."""
        name = commit_name(commit.written.shard)
        self.put(made, commit.written.files, name)
        self.aside.put_if_absent(self._own(_COMMITS, name), commit.to_json())

    def put(self, made: Path, files: Sequence[FileRecord], intent: str) -> None:
        """Puts files under their names, after recording those names so that files of a stopped run are recognised."""
        self.hold.require(self.aside, self.target.root)
        if files:
            self.aside.put(self._own(_INTENTS, intent), canonical_json([file.path for file in files]).encode())
        for file in files:
            self.target.put(file.path, made / file.path)

    def count(self) -> int:
        """The number of committed shards."""
        return sum(1 for _ in self.aside.list(self._own(_COMMITS)))

    def _own(self, folder: str, name: str = "") -> str:
        return f"{self.identity}/{folder}{name}"


class ExportBucket:
    """One export's place on an object store; used with `with`, which locks out other writers."""

    disk = None

    def __init__(self, address: str, identity: str, wanted: Outline | None = None) -> None:
        """`identity`: what to write; unfinished work of another identity is discarded. `wanted`: the same, for
        messages."""
        _, _, rest = address.partition("://")
        if "/" not in rest.strip("/"):
            raise ExportError(
                f"{address}: is a whole bucket; name a folder in it, such as {address.rstrip('/')}/mixture"
            )
        self.path = address.rstrip("/")
        self.identity = identity
        self._wanted = wanted
        self._target = open_location(self.path)
        self._aside = open_location(unfinished_address(self.path))
        self._held = ExitStack()
        self._lease = Lease(self._aside)

    def __enter__(self) -> "ExportBucket":
        try:
            self._held.enter_context(self._lease)
        except HeldError:
            raise in_use_error(self.path) from None
        try:
            if self._manifest() is None and self._marker() is None:
                self._refuse_others()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        """Releases the place and removes everything beside a finished export, including leases."""
        done = self._holds and self._marker() is None
        left = [info.path for info in self._aside.list()] if done else []
        self._held.close()
        if done:
            own = self._lease.hold.term.record.removesuffix("json")
            delete_objects(self._aside, {*left, *(info.path for info in self._aside.list(own))})

    @property
    def _holds(self) -> bool:
        """Whether no other writer has taken over the place."""
        try:
            self._require_lease()
        except StageError:
            return False
        return True

    def _require_lease(self) -> None:
        self._lease.hold.require(self._aside, self.path)

    @property
    def scratch(self) -> ObjectStore:
        """For the exchange and for task lists."""
        return open_location(f"{unfinished_address(self.path)}/{self.identity}/{_SCRATCH.rstrip('/')}")

    @property
    def work(self) -> BucketWork:
        """For the workers that write shards."""
        return BucketWork(self._target, self._aside, self.identity, self._lease.hold)

    def finished_manifest(self, *, replace: bool = False, notes: list[str] | None = None) -> Manifest | None:
        """The finished export there, if it is the wanted one; None if there is work to do."""
        manifest = self._manifest()
        if manifest is None:
            return None
        wanted = WantedExport(self.path, self.identity, self._wanted)
        if not wanted.is_met_by(manifest, self._target, replace=replace, notes=notes):
            return None
        self._clear()  # left by a process that died after finishing
        return manifest

    def begin(self, notes: list[str], *, replace: bool = False) -> None:
        """Continues unfinished work of the same identity; discards other work and notes it.

        An export that is being replaced is invalid from here on: its manifest goes before its files do.
        """
        self._require_lease()
        found, manifest = self._marker(), self._manifest()
        makes_room = set() if manifest is None else {file.path for file in manifest.files}
        if found is not None:
            makes_room |= {*found.replaced, *self._intended()}
            if found.identity != self.identity:
                notes.append(f"{self.path}: removed unfinished work of another plan or with other options")
        self._aside.put(MARKER, _Mark(self.identity, tuple(sorted(makes_room))).to_json())
        if found is not None and found.identity != self.identity:
            self._drop(f"{found.identity}/")
        if replace:
            self._drop_lacking()
        self._target.delete(MANIFEST)
        self._drop(f"{self.identity}/{_SCRATCH}")  # left by a stopped run

    def committed(self) -> dict[tuple[str, int], ShardCommit]:
        """The committed shards, by output and number; withdraws the commit of a shard whose files are missing."""
        sizes = {info.path: info.size for info in self._target.list()}
        found: dict[tuple[str, int], ShardCommit] = {}
        for path, commit in self._commits():
            if all(sizes.get(file.path) == file.bytes for file in commit.written.files):
                found[commit.written.shard.output, commit.written.shard.number] = commit
            else:
                self._aside.delete(path)
        return found

    def join(
        self, export_format: ExportFormat, config: object, shards: Sequence[WrittenShard]
    ) -> tuple[FileRecord, ...]:
        """Joins the shards' files on this machine, if the format does so: downloads and uploads them once more."""
        join = export_format.joining(config)
        if join is None:
            return ()
        with temporary_folder("joined") as name:
            there, into = Path(name, "shards"), Path(name, "joined")
            for one in (file for shard in shards for file in shard.files):
                fetch(self._target, one.path, there)
            into.mkdir()
            records = file_records(into, [path for made in join(there, shards, into) for path in made.files])
            self.work.put(into, records, _JOINED)
            return records

    def finish(self, manifest: Manifest, closing_files: Mapping[str, bytes]) -> None:
        """Puts the closing files, removes files that are not of the export, then publishes by putting the manifest."""
        self._require_lease()
        expected = {file.path for file in manifest.files}
        marker = self._marker()
        replaced = marker.replaced if marker is not None else ()
        delete_objects(self._target, {*replaced, *self._intended()} - expected)
        for path, content in sorted(closing_files.items()):
            self._target.put(path, content)
        self._target.put(MANIFEST, manifest.to_json())
        self._clear()

    def _refuse_others(self) -> None:
        if others := [info.path for info in self._target.list()]:
            raise ExportError(
                f"{self.path}: contains files not written by winnow ({first_few(others)}); "
                "nothing was changed; choose an empty address"
            )

    def _manifest(self) -> Manifest | None:
        return bucket_manifest(self.path)

    def _marker(self) -> "_Mark | None":
        try:
            raw = self._aside.read(MARKER)
        except FileNotFoundError:
            return None
        return _Mark.from_json(raw, self._aside.root)

    def _commits(self) -> Iterator[tuple[str, ShardCommit]]:
        for info in list(self._aside.list(f"{self.identity}/{_COMMITS}")):
            yield info.path, ShardCommit.from_json(self._aside.read(info.path))

    def _intended(self) -> set[str]:
        """The files that runs have put, or were about to."""
        found: set[str] = set()
        for info in self._aside.list():
            if f"/{_INTENTS}" in info.path:
                found.update(orjson.loads(self._aside.read(info.path)))
        return found

    def _drop_lacking(self) -> None:
        """Withdraws the commits of shards with samples left out."""
        for path, commit in self._commits():
            if any(line.may_return for line in commit.left_out):
                self._aside.delete(path)

    def _clear(self) -> None:
        """Removes what was written; the marker goes last, the leases stay."""
        found = [info.path for info in self._aside.list()]
        delete_objects(self._aside, (path for path in found if path != MARKER and not path.startswith(layout.LEASES)))
        self._aside.delete(MARKER)

    def _drop(self, prefix: str) -> None:
        delete_objects(self._aside, [info.path for info in self._aside.list(prefix)])


@dataclass(frozen=True, slots=True)
class _Mark:
    """`unfinished.json`."""

    identity: str
    replaced: tuple[str, ...]  # the files of exports being replaced

    def to_json(self) -> bytes:
        return canonical_json({"winnow": OWN, **asdict(self)}).encode()

    @classmethod
    def from_json(cls, raw: bytes, where: str) -> "_Mark":
        try:
            found = orjson.loads(raw)
            if found.pop("winnow") != OWN:
                raise KeyError
            return read_value(cls, found)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ExportError(f"{where}: contains files not written by winnow; move them away") from None


def fetch(objects: ObjectStore, path: str, folder: Path) -> Path:
    """Downloads an object to a file of the same name under a folder."""
    into = folder / path
    into.parent.mkdir(parents=True, exist_ok=True)
    with closing(objects.open(path)) as source, open(into, "wb") as target:
        shutil.copyfileobj(source, target, _PIECE)
    return into
