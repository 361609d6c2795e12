"""Parquet: a footer, and groups of rows."""

from winnow.pipelines.ingest.formats.source_format import SourceFormat
from winnow.pipelines.ingest.tables.parquet import ParquetReader, open_table
from winnow.pipelines.ingest.tiling.counting import count_parquet

FORMAT = SourceFormat(
    name="parquet",
    called="Parquet",
    content="table",
    endings=r"\.(parquet|pq)",
    marks=((0, b"PAR1"),),
    is_auto=True,
    reader=lambda how: ParquetReader(how.columns, how.checked),
    split="groups",
    table=open_table,
    count=count_parquet,
    media="cells",
)
