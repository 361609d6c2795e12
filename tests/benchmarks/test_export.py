"""What the benchmark of exports gives to all sides, and how it tells what they wrote."""

import io
import tarfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.export.peers import Content, content_of, split_by_source
from benchmarks.export.stores import SHARES, cut_by_source
from winnow.pipelines.export.formats.megatron_index import write_index


def test_sources_share_all_texts_of_a_corpus(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number in range(2):
        ids = [f"{number}-{row}" for row in range(40)]
        table = pa.table({"id": ids, "text": [f"text {one}" for one in ids]})
        pq.write_table(table, corpus / f"part-{number:05d}.parquet")
    cut_by_source(corpus, tmp_path / "store", 64)
    given = {name: pq.read_table(tmp_path / "store" / name)["id"].to_pylist() for name in SHARES}
    assert {name: len(ids) for name, ids in given.items()} == {"web": 32, "forums": 16, "books": 8, "code": 8}
    assert len({one for ids in given.values() for one in ids}) == 64


def test_peers_read_every_row_of_an_export_once(tmp_path: Path) -> None:
    (tmp_path / "export/data").mkdir(parents=True)
    table = pa.table({"id": ["a", "b", "c"], "source": ["web", "books", "web"], "text": ["é", "", "xyz"]})
    pq.write_table(table, tmp_path / "export/data/train-00000-of-00001.parquet")
    split_by_source(tmp_path / "export", tmp_path / "rows")
    rows = {one.name: pq.read_table(one)["id"].to_pylist() for one in (tmp_path / "rows").iterdir()}
    assert rows == {"web": ["a", "c"], "books": ["b"]}
    assert content_of("bare_pyarrow", tmp_path / "rows") == content_of("parquet", tmp_path / "export") == Content(3, 5)


def test_texts_of_a_tar_are_counted_by_its_headers(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "train.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, size in (("a-0.json", 700), ("a-0.txt", 512), ("b-0.json", 1), ("b-0.txt", 0)):
            member = tarfile.TarInfo(name)
            member.size = size
            tar.addfile(member, io.BytesIO(b"x" * size))
    assert content_of("webdataset", tmp_path) == content_of("bare_tarwriter", tmp_path) == Content(2, 512)


def test_both_tokenised_layouts_are_counted_alike(tmp_path: Path) -> None:
    ids = np.arange(5, dtype="<u2").tobytes()
    (tmp_path / "train.bin").write_bytes(ids)
    write_index(tmp_path / "train.idx", "uint16", np.array([2, 3]))
    (tmp_path / "merged").mkdir()
    (tmp_path / "merged/000_merged.ds").write_bytes(ids)
    np.array([2, 5], "<u8").tofile(tmp_path / "merged/000_merged.ds.index")
    assert content_of("megatron", tmp_path) == content_of("datatrove", tmp_path) == Content(2, 5)
