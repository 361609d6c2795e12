"""What tasks read that no column holds: the bytes of images, read again where they were found."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa

from winnow.pipelines.media import Gone, MediaFinder, MediaSources
from winnow.pipelines.score.binding import MEDIA


@dataclass(frozen=True)
class Inputs:
    """Where images are read; None where no task does. Picklable."""

    media: MediaSources | None

    def images(self, read: Mapping[str, pa.Array], source: str) -> pa.Array:
        """The bytes of each row's first image; null where it has none, or it is gone."""
        assert self.media is not None
        found: list[bytes | None] = []
        with closing(MediaFinder(self.media, source)) as finder:
            for media in read[MEDIA.name]:  # each is a read of a file
                first = next((one for one in media.as_py() or () if (one["mime"] or "").startswith("image/")), None)
                medium = None if first is None else finder.find(first)
                found.append(None if medium is None or isinstance(medium, Gone) else medium["bytes"])
        return pa.array(found, pa.large_binary())
