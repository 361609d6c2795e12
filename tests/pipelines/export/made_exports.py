"""Small exports, made step by step wherever they go: a folder of a disk, or an address."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from winnow.pipelines.export.formats.protocol import FileRecord, ShardName, WrittenShard
from winnow.pipelines.export.places.destination import ExportPlace
from winnow.pipelines.export.places.manifest import Manifest, ShardCommit, content_records, file_records
from winnow.pipelines.export.places.opening import export_place

ONE = {"data/a.txt": b"alpha", "data/b.txt": b"beta"}
TWO = {"data/a.txt": b"gamma", "c.txt": b"delta"}
CLOSING = {"README.md": b"a card"}


class StoppedError(Exception):
    """The process ends here."""


def make(
    path: str | Path,
    identity: str,
    files: Mapping[str, bytes],
    *,
    replace: bool = False,
    notes: list[str] | None = None,
    stop_after: int | None = None,
) -> bool:
    """An export with a shard for each of the files; whether it was written, or stood already."""
    with export_place(str(path), identity) as place:
        if place.finished_manifest(replace=replace, notes=notes) is not None:
            return False
        place.begin([] if notes is None else notes, replace=replace)
        standing = place.committed()
        for number, (name, content) in enumerate(sorted(files.items())):
            if number == stop_after:
                raise StoppedError
            if ("train", number) not in standing:
                write_shard(place, number, name, content)
        records = [file for one in place.committed().values() for file in one.written.files]
        place.finish(manifest(identity, [*records, *content_records(CLOSING)]), CLOSING)
        return True


def write_shard(place: ExportPlace, number: int, name: str, content: bytes) -> None:
    with place.work.writing() as made:
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_bytes(content)
        written = WrittenShard(ShardName("train", number, 2), 1, file_records(made, [name]), {})
        place.work.commit(made, ShardCommit(written))


def manifest(identity: str, records: Sequence[FileRecord]) -> Manifest:
    return Manifest("text", f"plan-{identity}", "s", "samples", {}, 1, identity, "0", {}, tuple(records), ())


def without_marks(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """What an export holds, but for what winnow says of it."""
    return {path: content for path, content in files.items() if path not in ("winnow.json", *CLOSING)}
