"""The records of an export: each file with its hash, the committed shards, and the samples left out."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

import orjson

from winnow.pipelines.export.formats.protocol import FileRecord, ShardName, WrittenShard
from winnow.schemas.errors import ExportError
from winnow.schemas.identity import Json, canonical_json, fingerprint_of
from winnow.schemas.problems import shown
from winnow.schemas.typed_json import read_json, read_value

MANIFEST = "winnow.json"
VERSION = 1
OWN = "winnow-export"
"""The marker by which winnow recognises its records."""


MEDIA_GONE = "media_gone"
MEDIA_UNCHANGEABLE = "media_unchangeable"
FACES_UNMEASURED = "faces_unmeasured"
DOCUMENT_TOO_LARGE = "document_too_large"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A line of the ledger: planned samples that could not be exported."""

    reason: str  # one of the names above
    file: str
    detail: str
    samples: int

    @property
    def may_return(self) -> bool:
        """Whether writing the export again may help: a missing file may be back, but a picture stays as it is."""
        return self.reason not in (MEDIA_UNCHANGEABLE, DOCUMENT_TOO_LARGE)


@dataclass(frozen=True, slots=True)
class ShardCommit:
    """A shard whose files are complete."""

    written: WrittenShard
    left_out: tuple[LeftOut, ...] = ()

    def to_json(self) -> bytes:
        """The bytes of the commit file."""
        return canonical_json(asdict(self)).encode()

    @classmethod
    def from_json(cls, raw: bytes) -> "ShardCommit":
        """The inverse of `to_json`."""
        return read_json(cls, raw, complete=True)


def commit_name(shard: ShardName) -> str:
    """The file name of a shard's commit."""
    return f"{shard.output}-{shard.number:05d}.json"


@dataclass(frozen=True)
class Outline:
    """Everything that an export's bytes depend on: equal outlines give equal files."""

    made: int  # the version of the code that selects, orders and edits a shard's rows for a plan
    plan: str
    format: str
    options: Json
    shard_bytes: int

    @property
    def identity(self) -> str:
        """The outline's hash."""
        return fingerprint_of(
            {
                "version": self.made,
                "plan": self.plan,
                "format": self.format,
                "options": self.options,
                "shard_bytes": self.shard_bytes,
            }
        )


@dataclass(frozen=True)
class Manifest:
    """`winnow.json`: describes an export and each of its files."""

    format: str
    plan: str
    store: str
    unit: str
    options: Json
    shard_bytes: int
    identity: str  # of the plan, the format and its options: equal identities mean equal bytes
    winnow_version: str
    outputs: Mapping[str, Mapping[str, Json]]
    files: tuple[FileRecord, ...]
    left_out: tuple[LeftOut, ...]  # by file; the shards' own counts are lost
    notes: tuple[str, ...] = ()
    version: int = VERSION

    def to_json(self) -> bytes:
        """The bytes of the manifest, readable for people too."""
        raw = {"winnow": OWN, **asdict(self)}
        return orjson.dumps(raw, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)

    def unlike(self, wanted: Outline | None) -> str:
        """How this export differs from the wanted one, for a message."""
        if wanted is None:
            return f"contains an export of plan {self.plan} with other contents or options"
        other = ", ".join(self.other_options(wanted))
        if self.plan != wanted.plan:
            more = f", and other options: {other}" if other else ""
            return f"contains an export of plan {self.plan}, but the recipe's plan is {wanted.plan}{more}"
        if other:
            return f"contains an export of plan {self.plan}, but with other options: {other}"
        return f"contains an export of plan {self.plan} by winnow {self.winnow_version}, which writes it differently"

    def other_options(self, wanted: Outline) -> Iterator[str]:
        """Each option that differs from the wanted one, with both values; the plans are not compared."""
        options_of_both: tuple[dict[str, Json], dict[str, Json]] = (
            {"format": self.format, "shard_bytes": self.shard_bytes},
            {"format": wanted.format, "shard_bytes": wanted.shard_bytes},
        )
        if self.format == wanted.format:
            for all_, options in zip(options_of_both, (self.options, wanted.options), strict=True):
                all_.update(options if isinstance(options, Mapping) else {"options": options})
        here, there = options_of_both
        for name in [*here, *(name for name in there if name not in here)]:
            if name not in here or name not in there or here[name] != there[name]:
                values = [_shown(one[name]) if name in one else "nothing" for one in options_of_both]
                yield f"{name} ({values[0]} there, {values[1]} in the recipe)"

    @classmethod
    def from_json(cls, raw: bytes, where: str) -> "Manifest":
        """The inverse of `to_json`."""
        try:
            read = orjson.loads(raw)
        except orjson.JSONDecodeError:
            read = None
        if not isinstance(read, dict) or read.pop("winnow", None) != OWN:
            raise ExportError(f"{where}: not a manifest of winnow; write to another folder, or move it")
        try:
            return read_value(cls, read, complete=True)
        except ValueError as error:
            said = f"{where} is invalid: {error}"
            raise ExportError(f"{said}; write to another folder, or move it") from None


def _shown(value: Json) -> str:
    return shown(value) if isinstance(value, str) else canonical_json(value)[:60]


def file_records(folder: Path, paths: Sequence[str]) -> tuple[FileRecord, ...]:
    """Hashes the files written there."""
    records = []
    for path in sorted(paths):
        parts = PurePosixPath(path)
        if parts.is_absolute() or ".." in parts.parts or path in (MANIFEST, ""):
            raise ExportError(f"a format wrote {path!r}, which is not a valid file name for an export")
        records.append(FileRecord(path, (folder / path).stat().st_size, sha256_of(folder / path)))
    return tuple(records)


def content_records(closing: Mapping[str, bytes]) -> tuple[FileRecord, ...]:
    """The records of small files."""
    return tuple(
        FileRecord(path, len(content), hashlib.sha256(content).hexdigest()) for path, content in sorted(closing.items())
    )


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
