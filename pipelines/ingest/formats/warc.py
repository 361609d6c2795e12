"""WARC: archives of crawls, and the WET and WAT files that are made of them."""

from dataclasses import replace

from winnow.pipelines.ingest.archives.referrers import ReferrerReader
from winnow.pipelines.ingest.archives.warc import read_warc
from winnow.pipelines.ingest.formats import arc
from winnow.pipelines.ingest.formats.source_format import COMPRESSED

FORMAT = replace(
    arc.FORMAT,
    name="warc",
    aliases=("wet",),
    container="warc",
    called="WARC",
    endings=r"\.(warc|wet|wat)" + COMPRESSED,  # also *.warc.wet.gz
    marks=((0, b"WARC/"),),
    reader=lambda how: ReferrerReader(read_warc) if how.with_referrers else read_warc,
)
