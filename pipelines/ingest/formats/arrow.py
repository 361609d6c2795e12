"""Arrow IPC files and streams: like Parquet, with batches of rows."""

from dataclasses import replace

from winnow.pipelines.ingest.formats import parquet
from winnow.pipelines.ingest.tables.arrow import ArrowReader, open_arrow
from winnow.pipelines.ingest.tiling.counting import count_arrow

FORMAT = replace(
    parquet.FORMAT,
    name="arrow",
    container="arrow",
    called="Arrow",
    endings=r"\.(arrow|arrows|feather|ipc)",
    marks=((0, b"ARROW1"),),
    reader=lambda how: ArrowReader(how.columns, how.checked),
    table=open_arrow,
    count=count_arrow,
)
