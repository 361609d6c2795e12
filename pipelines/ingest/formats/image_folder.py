"""Folders of pictures, each with what lies beside it: captions, metadata, tables of captions."""

from dataclasses import replace

from winnow.pipelines.ingest.caption_tables import caption_table_reader, is_caption_table
from winnow.pipelines.ingest.files import FilesReader
from winnow.pipelines.ingest.formats import text
from winnow.pipelines.ingest.formats.source_format import HowRead
from winnow.pipelines.ingest.media_names import PICTURES
from winnow.pipelines.ingest.records import Reader
from winnow.pipelines.ingest.sidecars import BESIDE


def _reader(how: HowRead) -> Reader:
    return caption_table_reader(how.path, how.columns) if is_caption_table(how.path) else FilesReader(BESIDE)


FORMAT = replace(
    text.FORMAT,
    name="image_folder",
    called="pictures",
    content="picture",
    endings=rf"\.({'|'.join(sorted(PICTURES))})",
    holds=lambda content: content.modality == "image",
    is_auto=False,
    reader=_reader,
    has_sidecars=True,
    shows="image",
    own_keys="the files' names are the keys",
)
