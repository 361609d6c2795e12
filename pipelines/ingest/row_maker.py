"""Makes the row of a record, including what lies beside its file and the media files that it names."""

from contextlib import closing

from winnow.filters.video.decode.opening import VideoLimits
from winnow.pipelines.decoding.probe import Probe, probe_bytes, probe_content, probe_file
from winnow.pipelines.ingest.archives.large_bodies import UnreadableBodyError, read_body
from winnow.pipelines.ingest.boundary import unless_it_fails
from winnow.pipelines.ingest.caption_tables import CaptionTables, is_caption_table, row_of_table
from winnow.pipelines.ingest.formats import format_of, media_place
from winnow.pipelines.ingest.media_names import is_named_as_medium
from winnow.pipelines.ingest.planning.context import IngestSource
from winnow.pipelines.ingest.records import Dropped, ReadLimits, Record, Unreadable
from winnow.pipelines.ingest.rows import Row, row_of
from winnow.pipelines.ingest.sidecars import SidecarFiles
from winnow.pipelines.ingest.tables.named_media import NamedFiles


class RowMaker:
    """Makes rows of one source; caches what lies in folders, and files that several records name.

    `limits` bound tables of captions, and reading archives again. `videos`: the limits of a video; None: only hash
    videos. `reads_large`: whether media that were too large to hold are read again, whatever their size.
    """

    def __init__(
        self, source: IngestSource, limits: ReadLimits, videos: VideoLimits | None = None, *, reads_large: bool = True
    ) -> None:
        self._source, self._limits, self._videos, self._reads_large = source, limits, videos, reads_large
        self._beside = SidecarFiles(source.objects, source.columns)
        self._tables = CaptionTables(source.objects, source.columns, limits)
        self._named = NamedFiles(source.objects, videos)

    def row(self, record: Record, path: str, etag: str) -> Row | Dropped | Unreadable:
        """Converts a record of the file at a path; an error costs only this record."""
        return unless_it_fails(record, self._row, record, path, etag)

    def _row(self, record: Record, path: str, etag: str) -> Row | Dropped | Unreadable:
        flaw_of = self._source.flaw_of
        if flaw_of is not None and (flaw := flaw_of(path, record.span.offset, record.url)) is not None:
            return Unreadable(record.span, "no_record", flaw, record.key)
        in_folder = format_of(self._source.format, path).has_sidecars
        if in_folder:
            if is_caption_table(path):
                return row_of_table(self._source.objects, path, record)
            self._beside.read(path, record)
            self._tables.add(path, record)
        named = self._named.find(record) if record.items else None
        try:
            row = row_of(record, path, etag, self._source.rows, named, self._probe)
        except UnreadableBodyError as error:  # a row without a hash could match nothing
            return Unreadable(record.span, error.reason, error.detail, record.key)
        if in_folder and is_named_as_medium(path) and isinstance(row, Row) and row.modality == "text":
            return Unreadable(record.span, "missing_media", f"the file is {row.mime}", record.key)
        return row

    def _probe(self, record: Record, path: str, mime: str) -> Probe:
        """Measures a medium; one that was too large to hold is read again, in pieces, where possible."""
        if record.body is not None:
            return probe_bytes(record.body, mime, self._videos)
        plain = media_place(record.container) == "plain"
        if not self._reads_large:
            return Probe()
        if not plain and record.large is None:
            raise UnreadableBodyError("bad_encoding", f"the codings of a payload of {record.body_bytes:,} bytes")
        with closing(self._source.objects.open(path)) as stream:
            if plain:
                return probe_file(stream, record.body_bytes, mime, record.span.offset, self._videos)
            with closing(read_body(stream, stream.seek(0, 2), record, self._limits)) as body:
                return probe_content(body.content, mime, self._videos, body.sha256)
