"""ARC: the Internet Archive's format before WARC."""

from winnow.pipelines.ingest.archives.arc import read_arc
from winnow.pipelines.ingest.formats.source_format import COMPRESSED, SourceFormat
from winnow.pipelines.ingest.tiling.archives import check_tiling

FORMAT = SourceFormat(
    name="arc",
    called="ARC",
    content="archive",
    endings=r"\.arc" + COMPRESSED,
    marks=((0, b"filedesc://"),),
    is_auto=True,
    is_of_web=True,
    shows="any",
    reader=lambda _: read_arc,
    tile=lambda file, claims: check_tiling(file.stream, claims, file.limits),
)
