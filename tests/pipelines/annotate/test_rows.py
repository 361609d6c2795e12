"""Which rows an operator measures, in which form, and the status of those that it does not (law 2)."""

import re
import unicodedata
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.filters.text.test_gopher import NoAssets
from tests.messages import assert_refused
from winnow.filters.language.folding.composed import has_spans
from winnow.filters.operators import STATUS, TEXT, Kernel, TextOperator, find_operator
from winnow.filters.spans import SPANS
from winnow.pipelines.annotate.rows import BatchRows, Excluded, measure
from winnow.pipelines.binding.operators import layer_schema
from winnow.schemas.errors import StageError


@dataclass(frozen=True)
class NoConfig:
    pass


def operator(*fields: pa.Field, reasons: tuple[str, ...] = ()) -> TextOperator:
    return TextOperator(
        name="text.length",
        version=1,
        summary="how long",
        config=NoConfig,
        reads=lambda _config: (TEXT,),
        writes=lambda _config: pa.schema(list(fields)),
        load=lambda _config, _assets: lambda batch: batch,
        reasons=reasons,
    )


LENGTH = operator(pa.field("bytes", pa.int64()))


def lengths(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pc.binary_length(batch.column(TEXT)).cast(pa.int64())], names=["bytes"])


def texts(*values: str | None) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(values, pa.large_string())], names=[TEXT])


def run(
    batch: pa.RecordBatch,
    kernel: Kernel = lengths,
    of: TextOperator = LENGTH,
    selected: list[bool] | None = None,
    left_out: list[bool] | None = None,
    max_text_bytes: int = 10_000,
    config: object = NoConfig(),  # it has no settings
) -> list[dict[str, object]]:
    def mask(values: list[bool] | None) -> "np.ndarray[tuple[int], np.dtype[np.bool_]] | None":
        return None if values is None else np.array(values, np.bool_)

    schema = layer_schema(of, config)
    columns = BatchRows({TEXT: batch.column(TEXT)})
    rows: list[dict[str, object]] = measure(
        of, kernel, schema, (TEXT,), columns, Excluded(mask(selected), mask(left_out)), max_text_bytes
    ).to_pylist()
    return rows


def test_every_unmeasured_row_has_a_status() -> None:
    batch = texts("four", None, "x" * 10_001, "unasked", "deadly", "")
    found = run(batch, selected=[True, True, True, False, True, True], left_out=[False] * 4 + [True, False])
    assert found == [
        {"status": "ok", "bytes": 4},
        {"status": "no_text", "bytes": None},
        {"status": "too_large", "bytes": None},
        {"status": "not_selected", "bytes": None},
        {"status": "left_out", "bytes": None},
        {"status": "ok", "bytes": 0},
    ]


def test_a_kernel_gets_only_rows_that_it_can_measure() -> None:
    seen: list[list[str]] = []

    def noting(batch: pa.RecordBatch) -> pa.RecordBatch:
        seen.append(batch.column(TEXT).to_pylist())
        return lengths(batch)

    run(texts(None, "a", None, "b"), noting)
    assert seen == [["a", "b"]]


def test_operators_that_measure_the_same_rows_get_the_same_array() -> None:
    rows = BatchRows({TEXT: pa.array(["a", None, "b"], pa.large_string())})
    first, second = (rows.chosen((TEXT,), np.array([0, 2])).column(0) for _ in range(2))
    assert first.to_pylist() == ["a", "b"]
    assert [buffer.address for buffer in first.buffers() if buffer] == [
        buffer.address for buffer in second.buffers() if buffer
    ]


def test_an_operator_may_add_its_own_statuses() -> None:
    def picky(batch: pa.RecordBatch) -> pa.RecordBatch:
        short = pc.less(pc.utf8_length(batch.column(TEXT)), 3)
        status = pc.if_else(short, "too_short", "ok")
        bytes_ = pc.if_else(short, pa.scalar(None, pa.int64()), lengths(batch).column(0))
        return pa.RecordBatch.from_arrays([status, bytes_], names=["status", "bytes"])

    of = operator(STATUS, pa.field("bytes", pa.int64()), reasons=("too_short",))
    assert [row["status"] for row in run(texts("long", "x", None), picky, of)] == ["ok", "too_short", "no_text"]


def test_an_empty_batch_gives_an_empty_layer() -> None:
    assert run(texts()) == []


def ratio(value: float) -> Kernel:
    return lambda batch: pa.RecordBatch.from_arrays([pa.array([value] * batch.num_rows)], names=["ratio"])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_refused(value: float) -> None:
    with assert_refused(StageError, "text.length", "'ratio'"):
        run(texts("a"), ratio(value), operator(pa.field("ratio", pa.float64())))


def test_a_kernel_that_loses_a_row_is_refused() -> None:
    with pytest.raises(StageError, match="returned 1 rows for 2"):
        run(texts("a", "b"), lambda batch: lengths(batch.slice(1)))


def test_a_kernel_that_is_refused_a_file_is_named() -> None:
    def reads(batch: pa.RecordBatch) -> pa.RecordBatch:
        open("/no/such/list")  # noqa: SIM115
        return batch

    with assert_refused(FileNotFoundError, "text.length", "'/no/such/list'"):
        run(texts("one"), reads)


def test_a_kernel_that_returns_another_type_is_refused() -> None:
    with assert_refused(StageError, "'bytes'", "int64"):
        run(texts("a"), lambda batch: pa.RecordBatch.from_arrays([pa.array([1.0])], names=["bytes"]))


PAGES = (
    "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi. " * 4,
    "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. " * 4,
    "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. " * 4,
)


@pytest.mark.parametrize("name", ["text.gopher", "text.fineweb", "text.refinedweb", "text.minhash"])
def test_a_page_measures_the_same_however_its_letters_are_written(name: str) -> None:
    of = find_operator(name)
    assert isinstance(of, TextOperator)
    kernel = of.load(of.config(), NoAssets())
    one, other = (
        run(texts(*(unicodedata.normalize(form, text) for text in PAGES)), kernel, of, config=of.config())
        for form in ("NFC", "NFD")
    )
    spans = {field.name for field in of.writes(of.config()) if has_spans(field.type)}
    assert [{name: row[name] for name in row.keys() - spans} for row in one] == [
        {name: row[name] for name in row.keys() - spans} for row in other
    ]


def test_spans_mark_the_text_as_it_is_written() -> None:
    seen: list[str] = []

    def words(batch: pa.RecordBatch) -> pa.RecordBatch:
        """Marks every `tôi`."""
        seen.extend(batch.column(TEXT).to_pylist())
        spans = [
            [{"start": match.start(), "end": match.end()} for match in re.finditer("tôi".encode(), text.encode())]
            for text in batch.column(TEXT).to_pylist()
        ]
        return pa.RecordBatch.from_arrays([pa.array(spans, SPANS)], names=["spans"])

    apart = unicodedata.normalize("NFD", "Gọi cho tôi, tôi ở nhà")
    found = run(texts("tôi", None, apart, "other"), words, operator(pa.field("spans", SPANS)))
    assert seen == ["tôi", unicodedata.normalize("NFC", apart), "other"]
    assert found[0]["spans"] == [{"start": 0, "end": 4}]
    marked = [apart.encode()[span["start"] : span["end"]].decode() for span in found[2]["spans"]]  # type: ignore[attr-defined]
    assert marked == [unicodedata.normalize("NFD", "tôi")] * 2


@pytest.mark.parametrize("name", ["text.digest", "text.length"])
def test_digests_and_lengths_are_those_of_the_text_as_it_is_written(name: str) -> None:
    of = find_operator(name)
    assert isinstance(of, TextOperator)
    apart = unicodedata.normalize("NFD", PAGES[0])
    (row,) = run(texts(apart), of.load(of.config(), NoAssets()), of, max_text_bytes=1_000, config=of.config())
    assert len(apart.encode()) in row.values()
