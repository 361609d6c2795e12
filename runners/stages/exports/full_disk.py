"""The error message when a disk is full during an export: which disk, and about how much space is missing."""

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from winnow.pipelines.export.planning.sizing import Cutting, Way
from winnow.pipelines.export.stage import Unfinished
from winnow.runners.tables.quantities import byte_size
from winnow.schemas.errors import ExportError


@dataclass(frozen=True)
class _Place:
    """A folder being written, and how much is still to be written there."""

    name: str
    folder: Path
    needs: int = 0  # bytes, before compression

    @property
    def device(self) -> int:
        return self.folder.stat().st_dev

    @property
    def free(self) -> int:
        return shutil.disk_usage(self.folder).free


def full_disk(cuttings: Mapping[Way, Cutting], exports: Sequence[Unfinished], message: str) -> ExportError:
    """The error for a full disk, with the folders on that disk; the system's error (`message`) usually names no
    file."""
    for one in exports:
        one.refresh()
    # Exchanged data is stored with the first export; the next run writes it again.
    travels = sum(size.bytes for cutting in cuttings.values() for size in cutting.outputs)
    places = [
        _Place(one.export.path, disk, _missing_bytes(one, cuttings[one.export.way]) + (0 if number else travels))
        for number, one in enumerate(exports)
        if (disk := one.place.disk) is not None
    ]
    places.append(_Place("temporary files", Path(tempfile.gettempdir())))
    full = _full(places, message)
    there = [place for place in places if place.device == full.device and (place.needs or place is full)]
    free, needs = full.free, sum(place.needs for place in there)
    needed = f", and up to {byte_size(needs)} more still have to be written there" if needs else ""
    names = ", ".join(place.name for place in there)
    return ExportError(
        f"{names}: {os.strerror(errno.ENOSPC)}: {byte_size(free)} are free on the disk of {full.folder}{needed}; "
        f"finished files are kept: free some space and run the same command again"
    )


def _full(places: Sequence[_Place], message: str) -> _Place:
    """The folder that the error names, or the one with the least free space."""
    named = re.search(r"'(/[^']*)'", message)
    if named is not None:
        for place in places:
            if Path(named[1]).is_relative_to(place.folder):
                return place
    return min(places, key=lambda place: place.free)


def _missing_bytes(one: Unfinished, cutting: Cutting) -> int:
    """The approximate size of the export's unwritten shards."""
    remaining = 0
    for size in cutting.outputs:
        committed = sum(count for number, count in enumerate(size.counts) if (size.output, number) in one.commits)
        remaining += size.bytes * (size.samples - committed) // max(1, size.samples)
    return remaining
