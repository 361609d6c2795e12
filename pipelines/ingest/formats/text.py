"""Plain text: each file is a record. Files of unknown formats are read in the same way."""

from winnow.filters.web.sniff import is_page
from winnow.pipelines.ingest.files import FILE, FilesReader
from winnow.pipelines.ingest.formats.source_format import SourceFormat

FORMAT = SourceFormat(
    name="text",
    container=FILE,
    called="text",
    content="text",
    endings=r"\.(txt|text|md)",
    holds=lambda content: content.modality == "text" and not is_page(content.mime),
    is_auto=True,
    reader=lambda _: FilesReader(),
    split="nowhere",
    is_one_record=True,
    is_text=True,
    media="plain",
)
