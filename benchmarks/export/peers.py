"""Peers that write what trainers read: each from the same rows as Parquet, a folder a source, to files of its own.

The rows are those of an export of winnow, with all its columns: what a peer is spared is the store, the plan and, but
for datatrove and datasets, the shuffle.

- `pyarrow`: a loop over row groups, read and written; zstd, the row groups and the options of our files. No order.
- `webdataset`: a loop over the rows, each a dict of text and JSON to its ShardWriter (a TarWriter a shard). No order.
- `datatrove`: DocumentTokenizer, which shuffles inside each file, then DocumentTokenizerMerger, which shuffles all.
- `datasets`: interleave_datasets by the weights of the plan until each sample was given once, then to_parquet;
  `datasets_to_disk`: the same with save_to_disk, uncompressed Arrow.
"""

import mmap
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.export.stores import END, pinned
from benchmarks.measuring.environments import peer_python, trainers_python
from benchmarks.measuring.reporting import Measured, measure

SHARD_BYTES = 256 << 20  # winnow's default: the texts of a shard
ROW_GROUP = 16_384

PYARROW = """
import sys
from pathlib import Path
import pyarrow as pa
import pyarrow.parquet as pq
pa.set_cpu_count(1)
pa.set_io_thread_count(1)
rows, out = Path(sys.argv[1]), Path(sys.argv[2])
writer, held, number = None, 0, 0
for path in sorted(rows.glob("*/*.parquet")):
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, use_threads=False)
            if writer is None or held >= SHARD_BYTES:
                if writer is not None:
                    writer.close()
                writer, held = pq.ParquetWriter(
                    out / f"{number:05d}.parquet",
                    table.schema,
                    compression="zstd",
                    use_dictionary=["source", "class", "language", "family", "licence"],
                    write_statistics=["source", "class", "language", "family", "licence", "copy"],
                    write_page_checksum=True,
                    store_schema=False,
                ), 0
                number += 1
            writer.write_table(table, row_group_size=ROW_GROUP)
            held += table["text"].nbytes
writer.close()
"""

WEBDATASET = """
import sys
from pathlib import Path
import pyarrow.parquet as pq
import webdataset
rows, out = Path(sys.argv[1]), Path(sys.argv[2])
with webdataset.ShardWriter(str(out / "%05d.tar"), maxcount=1 << 40, maxsize=SHARD_BYTES, verbose=0) as sink:
    for path in sorted(rows.glob("*/*.parquet")):
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(4096, use_threads=False):
                for row in batch.to_pylist():
                    text = row.pop("text")
                    sink.write({"__key__": f"{row['id']}-{row['copy']}", "txt": text, "json": row})
"""

DATATROVE = """
import sys
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import ParquetReader
from datatrove.pipeline.tokens import DocumentTokenizer, DocumentTokenizerMerger

if __name__ == "__main__":
    rows, out, tokenizer, tasks = sys.argv[1:]
    LocalPipelineExecutor(
        pipeline=[
            ParquetReader(rows, glob_pattern="*/*.parquet"),
            DocumentTokenizer(out + "/tokens", tokenizer_name_or_path=tokenizer, eos_token="END", seed=0),
        ],
        tasks=int(tasks),
        workers=1,
        logging_dir=out + "/logs-tokens",
    ).run()
    LocalPipelineExecutor(
        pipeline=[DocumentTokenizerMerger(out + "/tokens", out + "/merged", save_filename="merged", seed=0)],
        tasks=1,
        workers=1,
        logging_dir=out + "/logs-merged",
    ).run()
"""

DATASETS = """
import os, sys
from pathlib import Path
import datasets
rows, out, how = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
datasets.disable_progress_bars()
sources = [
    datasets.load_dataset("parquet", data_files=sorted(map(str, folder.glob("*.parquet"))), split="train",
                          cache_dir=str(out / "cache"))
    for folder in sorted(rows.iterdir())
]
total = sum(map(len, sources))
mixed = datasets.interleave_datasets(
    sources, probabilities=[len(one) / total for one in sources], seed=0,
    stopping_strategy="all_exhausted_without_replacement",
)
if how == "to_parquet":
    mixed.to_parquet(str(out / "mixed.parquet"))
else:
    mixed.save_to_disk(str(out / "mixed"))
"""


@dataclass(frozen=True, slots=True)
class Content:
    """What an export holds, however it is written: the same for all, or a ratio says nothing."""

    samples: int
    amount: int  # bytes of texts, or tokens with the ends of documents


def split_by_source(export: Path, rows: Path) -> None:
    """The rows of an export as Parquet, a folder a source, in the row groups and with the options of the export."""
    table = pq.ParquetDataset(export / "data")
    for name in sorted(set(pc.unique(table.read(columns=["source"])["source"]).to_pylist())):
        folder = rows / name
        folder.mkdir(parents=True)
        for number, path in enumerate(sorted((export / "data").glob("*.parquet"))):
            part = pq.read_table(path, filters=[("source", "=", name)])
            pq.write_table(
                part.replace_schema_metadata(None),
                folder / f"{number:05d}.parquet",
                compression="zstd",
                row_group_size=ROW_GROUP,
                store_schema=False,
            )


def run_peer(name: str, rows: Path, out: Path, tokenizer: Path) -> Measured:
    """One peer, from rows to files below `out`, an empty folder."""
    python, code, arguments = _COMMANDS[name]
    more = [str(tokenizer), str(len(list(rows.glob("*/*.parquet"))))] if name == "datatrove" else arguments
    script = out.with_name("peer.py")
    for word, value in (("SHARD_BYTES", SHARD_BYTES), ("ROW_GROUP", ROW_GROUP), ("END", END)):
        code = code.replace(word, str(value))
    script.write_text(code)
    single = dict.fromkeys(("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "HF_HUB_OFFLINE"), "1")
    return measure(pinned([str(python()), str(script), str(rows), str(out), *more]), single)


def content_of(name: str, out: Path) -> Content:
    """What one of the cases has written, told from its files."""
    return _READERS[name](out)


def _of_tables(tables: Iterable[pa.Table]) -> Content:
    samples = size = 0
    for table in tables:
        samples += table.num_rows
        size += pc.sum(pc.binary_length(table["text"])).as_py() or 0
    return Content(samples, size)


def _of_parquet(out: Path) -> Content:
    return _of_tables(
        pa.Table.from_batches([batch])
        for path in sorted(out.rglob("*.parquet"))
        if "cache" not in path.parts
        for batch in pq.ParquetFile(path).iter_batches(columns=["text"])
    )


def _of_arrow(out: Path) -> Content:
    def tables() -> Iterable[pa.Table]:
        for path in sorted((out / "mixed").glob("*.arrow")):
            with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as stream:
                for batch in stream:
                    yield pa.Table.from_batches([batch])

    return _of_tables(tables())


def _of_tar(out: Path) -> Content:
    """By the headers alone: names of 100 bytes, and sizes in octal digits."""
    samples = size = 0
    for path in sorted(out.rglob("*.tar")):
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw:
            at = 0
            while at < len(raw) and raw[at]:
                length = int(raw[at + 124 : at + 136].strip(b"\0 "), 8)
                if raw[at : at + 100].rstrip(b"\0").endswith(b".txt"):
                    samples, size = samples + 1, size + length
                at += 512 + -(-length // 512) * 512
    return Content(samples, size)


def _of_megatron(out: Path) -> Content:
    samples = tokens = 0
    for index in sorted(out.glob("*.idx")):
        samples += int(np.fromfile(index, "<u8", 1, offset=18)[0])
        tokens += index.with_suffix(".bin").stat().st_size // 2
    return Content(samples, tokens)


def _of_datatrove(out: Path) -> Content:
    merged = sorted((out / "merged").glob("*.ds"))
    samples = sum(Path(f"{path}.index").stat().st_size // 8 for path in merged)
    return Content(samples, sum(path.stat().st_size // 2 for path in merged))


_READERS: dict[str, Callable[[Path], Content]] = {
    "parquet": _of_parquet,
    "webdataset": _of_tar,
    "megatron": _of_megatron,
    "bare_pyarrow": _of_parquet,
    "bare_tarwriter": _of_tar,
    "datatrove": _of_datatrove,
    "datasets": _of_parquet,
    "datasets_to_disk": _of_arrow,
}

_COMMANDS: dict[str, tuple[Callable[[], Path], str, list[str]]] = {
    "bare_pyarrow": (lambda: Path(sys.executable), PYARROW, []),
    "bare_tarwriter": (trainers_python, WEBDATASET, []),
    "datatrove": (lambda: peer_python("datatrove"), DATATROVE, []),
    "datasets": (trainers_python, DATASETS, ["to_parquet"]),
    "datasets_to_disk": (trainers_python, DATASETS, ["save_to_disk"]),
}
