"""CSV and TSV with a header: read from the file's start, as nothing else tells whether a line end is inside quotes."""

from functools import partial

from winnow.pipelines.ingest.formats.source_format import COMPRESSED, SourceFormat
from winnow.pipelines.ingest.tables.csv_rows import CsvReader, parse_rows
from winnow.pipelines.ingest.tiling.csv_rows import check_csv

FORMAT = SourceFormat(
    name="csv",
    called="CSV",
    content="table",
    endings=r"\.(csv|tsv)" + COMPRESSED,  # a compressed one is refused
    is_auto=True,
    is_text=True,
    reader=lambda how: CsvReader(how.columns, how.checked),
    split="nowhere",
    rows=partial(parse_rows, checked=True),
    no_rows=lambda _: "no rows can be read: expected a line of column names, then a row a line",
    tile=lambda file, claims: check_csv(file.stream, file.path, claims, file.size),
)
