"""Resolves the path or address of an export to its place, and to the export that exists there."""

from pathlib import Path

from winnow.pipelines.export.places.bucket import ExportBucket, bucket_manifest, is_unfinished
from winnow.pipelines.export.places.destination import ExportPlace
from winnow.pipelines.export.places.existing import (
    absolute_folder,
    read_manifest,
    refuse_strangers,
    require_own_folder,
    unfinished_folder,
)
from winnow.pipelines.export.places.folder import ExportFolder
from winnow.pipelines.export.places.manifest import Manifest, Outline
from winnow.pipelines.store.local import LocalStore


def export_place(path: str, identity: str, wanted: Outline | None = None) -> ExportPlace:
    """The place to write an export."""
    return ExportBucket(path, identity, wanted) if "://" in path else ExportFolder(path, identity, wanted)


def existing_manifest(path: str) -> Manifest | None:
    """The manifest of the finished export there; None if there is none. ExportError for files without a manifest of
    ours."""
    return bucket_manifest(path) if "://" in path else read_manifest(Path(path), path)


def require_place(path: str, *, replace: bool) -> Manifest | None:
    """The manifest of the finished export there, if any; ExportError for what a writer would refuse: foreign files, or
    a place where no folder can be made."""
    if "://" in path:
        return bucket_manifest(path)
    target = absolute_folder(path)
    require_own_folder(target, path)
    manifest = read_manifest(target, path)
    if manifest is not None and replace:
        refuse_strangers(LocalStore(target), manifest, path)
    return manifest


def is_being_written(path: str) -> bool:
    """Whether there is unfinished work on an export."""
    return is_unfinished(path) if "://" in path else unfinished_folder(path).exists()
