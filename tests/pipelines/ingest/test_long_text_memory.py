"""A process needs less than 1 GiB for the longest text that it takes, in whatever format the text comes."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

TEXT_BYTES = 50_000_000
MOST_MIB = 900

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  texts: {root: texts, files: ["*"], class: web}
extract: {main: {}}
text: coalesce(extract.main.text, samples.text)
annotate: [text.length, text.digest]
"""
MEASURE = """
from pathlib import Path
from winnow.runners.commands.main import main
for stage in ("ingest", "annotate"):
    assert main([stage, "recipe.yaml", "--workers", "1", "--quiet"]) == 0
# The peak that getrusage tells begins with that of the process that started this one.
lines = Path("/proc/self/status").read_text().splitlines()
print(next(int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM:")))
"""


def text() -> str:
    """Lines that differ; one character makes Python hold each in four bytes."""
    lines = (f"Line {number:x} of a text that goes on and on.\n" for number in range(TEXT_BYTES // 34))
    return "".join(lines)[: TEXT_BYTES - 5] + "\U0001f600"


def write(folder: Path, ending: str) -> None:
    place = folder / f"long{ending}"
    if ending == ".parquet":
        pq.write_table(pa.table({"text": [text()]}), place)
    elif ending == ".jsonl":
        place.write_text(json.dumps({"text": text()}, ensure_ascii=False) + "\n")
    else:
        place.write_text(f"<html><body><p>{text()}</p></body></html>" if ending == ".html" else text())


@pytest.mark.processes
@pytest.mark.parametrize("ending", [".html", ".jsonl", ".parquet", ".txt"])
def test_a_text_of_50_megabytes_takes_less_than_a_gibibyte(ending: str, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    write(tmp_path / "texts", ending)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    done = subprocess.run([sys.executable, "-c", MEASURE], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) < MOST_MIB
