"""What some records of a group of files hold, as far as their first bytes and what lies beside them tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from winnow.filters.web.sniff import sniff
from winnow.pipelines.ingest.caption_tables import CaptionTables, is_caption_table
from winnow.pipelines.ingest.formats import format_of
from winnow.pipelines.ingest.media_names import may_be_medium, may_be_video
from winnow.pipelines.ingest.planning.context import IngestSource
from winnow.pipelines.ingest.records import Record
from winnow.pipelines.ingest.rows import SNIFFED_BYTES, SourceRows
from winnow.pipelines.ingest.sidecars import SidecarFiles
from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.pipelines.store.facade import ObjectInfo
from winnow.pipelines.store.location import open_location
from winnow.runners.first_look.guesses import LIMITS
from winnow.runners.first_look.sample_rows import SampledRows, sampled_events
from winnow.schemas.errors import SourceError

RECORDS: Final = 96


@dataclass
class Contents:
    """How many of the records that were read hold what."""

    texts: int = 0
    pictures: int = 0
    videos: int = 0
    captioned: int = 0  # of those with media

    @property
    def media(self) -> int:
        """Records of pictures or videos."""
        return self.pictures + self.videos


def contents_of(root: str, format_name: str, columns: ColumnMapping, files: Sequence[ObjectInfo]) -> Contents:
    """Reads some records from all over the files."""
    found = Contents()
    objects = open_location(root)
    source = IngestSource(SourceRows("", "", "", ()), objects, format_name, columns)
    beside, tables = SidecarFiles(objects, columns), CaptionTables(objects, columns, LIMITS)
    in_folder = format_of(format_name, "").has_sidecars
    media = [info for info in files if not is_caption_table(info.path)] if in_folder else files
    for info, _, event in sampled_events(source, media, RECORDS, SampledRows()):
        if not isinstance(event, Record) or event.metadata.get("http_status", 200) != 200:
            continue
        if in_folder:
            try:
                beside.read(info.path, event)
                tables.add(info.path, event)
            except (OSError, SourceError):  # is said when it is read
                continue
        _count(found, event)
    return found


def _count(found: Contents, record: Record) -> None:
    kinds = [_modality(one) for one in record.items or (record,)]
    if "image" in kinds or "video" in kinds:
        found.pictures += "video" not in kinds
        found.videos += "video" in kinds
        found.captioned += bool(record.captions)
    else:
        found.texts += "text" in kinds


def _modality(record: Record) -> str:
    if record.names is not None and may_be_medium(record.names):
        return "video" if may_be_video(record.names) else "image"
    if record.text is not None:
        return "text"
    head = (record.body or record.head)[:SNIFFED_BYTES]
    return sniff(head, record.declared_mime, record.url).modality if head else ""
