"""Resolves the path or address of an export to its place, and to the export that exists there."""

from pathlib import Path

from winnow.pipelines.export.places.bucket import ExportBucket, bucket_manifest, is_unfinished
from winnow.pipelines.export.places.destination import ExportPlace
from winnow.pipelines.export.places.existing import read_manifest, unfinished_folder
from winnow.pipelines.export.places.folder import ExportFolder
from winnow.pipelines.export.places.manifest import Manifest, Outline


def export_place(path: str, identity: str, wanted: Outline | None = None) -> ExportPlace:
    """The place to write an export."""
    return ExportBucket(path, identity, wanted) if "://" in path else ExportFolder(path, identity, wanted)


def existing_manifest(path: str) -> Manifest | None:
    """The manifest of the finished export there; None if there is none.

    Raises:
        ExportError: There are files, but no manifest of ours.
    """
    return bucket_manifest(path) if "://" in path else read_manifest(Path(path), path)


def is_being_written(path: str) -> bool:
    """Whether there is unfinished work on an export."""
    return is_unfinished(path) if "://" in path else unfinished_folder(path).exists()
