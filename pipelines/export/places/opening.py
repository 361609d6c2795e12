"""From the path or address of an export to its place, and to what stands there."""

from pathlib import Path

from winnow.pipelines.export.places.bucket import ExportBucket, bucket_manifest, is_unfinished
from winnow.pipelines.export.places.destination import ExportPlace
from winnow.pipelines.export.places.existing import read_manifest, unfinished_folder
from winnow.pipelines.export.places.folder import ExportFolder
from winnow.pipelines.export.places.manifest import Manifest, Outline


def export_place(path: str, identity: str, wanted: Outline | None = None) -> ExportPlace:
    """The place of an export, to write it."""
    return ExportBucket(path, identity, wanted) if "://" in path else ExportFolder(path, identity, wanted)


def standing_manifest(path: str) -> Manifest | None:
    """The record of the finished export that is there; None where there is none.

    Raises:
        ExportError: There are files, and no record of ours.
    """
    return bucket_manifest(path) if "://" in path else read_manifest(Path(path), path)


def being_made(path: str) -> bool:
    """Whether there is unfinished work on an export."""
    return is_unfinished(path) if "://" in path else unfinished_folder(path).exists()
