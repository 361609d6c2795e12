"""CSV and TSV with a header: read from the file's start, as nothing else tells whether a line end is inside quotes."""

from winnow.pipelines.ingest.formats.source_format import COMPRESSED, SourceFormat
from winnow.pipelines.ingest.tables.csv_rows import CsvReader, first_csv_rows
from winnow.pipelines.ingest.tiling.csv_rows import check_csv

FORMAT = SourceFormat(
    name="csv",
    container="csv",
    called="CSV",
    content="table",
    endings=r"\.(csv|tsv)" + COMPRESSED,  # a compressed one is refused
    is_auto=True,
    is_text=True,
    reader=lambda how: CsvReader(how.columns, how.checked),
    split="nowhere",
    rows=first_csv_rows,
    no_rows=lambda _: "no rows can be read: expected a line of column names, then a row a line",
    tile=lambda file, claims: check_csv(file.stream, file.path, claims, file.size),
)
