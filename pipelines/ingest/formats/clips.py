"""Clips: parts of the videos of another store, whose samples are read instead of files (`ingest/clips.py`)."""

import re

from winnow.pipelines.ingest.formats.source_format import CLIPS_APART, HowRead, SourceFormat
from winnow.pipelines.ingest.records import Reader
from winnow.pipelines.ingest.tiling.counting import count_parquet
from winnow.schemas.errors import SourceError
from winnow.schemas.recipe import SourceConfig
from winnow.schemas.recipe.model import SLUG


def _reader(how: HowRead) -> Reader:
    raise SourceError(f"{how.path}: a clip is read from the store of the whole videos")


def _refuses(source: SourceConfig) -> str:
    if source.clips is None:
        return CLIPS_APART
    if len(source.files) > 1 or not re.fullmatch(SLUG.pattern, source.files[0]):
        return "'files' of clips names one source of the recipe that 'root' names, such as [films]"
    return ""


FORMAT = SourceFormat(
    name="clips", called="clips", content="clips", reader=_reader, count=count_parquet, shows="video", refuses=_refuses
)
