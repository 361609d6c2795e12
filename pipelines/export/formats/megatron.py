"""Megatron-LM: each sample's token ids, and an index of their offsets, for `--data-path`.

A shard is a separate dataset, `train_00000_of_00012_text_document.bin` and `.idx`; `train_data_path.txt` lists them
with their weights in tokens, for `--data-args-path`. Megatron blends such datasets: it draws from each by
weight and shuffles inside each. With `merge: true` an output becomes one dataset, `train_text_document`, which
Megatron shuffles as a whole.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.language.tokenizers import BYTES, Tokenizer, load_tokenizer, tokenizer_digest
from winnow.pipelines.export.formats.counting import Counted, indexed_samples, output_of
from winnow.pipelines.export.formats.megatron_index import MAX_LENGTH, IdType, beside, join_indexed, write_index
from winnow.pipelines.export.formats.protocol import About, ExportFormat, Join, Made, ShardName, WrittenShard
from winnow.schemas.errors import ExportError, WinnowError
from winnow.schemas.identity import Json
from winnow.schemas.recipe.checks import Between, Matching

SUFFIX = "_text_document"  # preprocess_data.py names datasets <prefix>_<JSON key>_<level>
UINT16_VOCABULARY = 65_500  # megatron.core.datasets.indexed_dataset.DType.optimal_dtype
_PORTION_BYTES = 4 << 20  # of text encoded at once


@dataclass(frozen=True)
class MegatronConfig:
    """The tokenizer and the width of ids."""

    tokenizer: Annotated[str, Matching(r"[^\x00-\x1f\x7f]{0,4096}", "bytes or the path of a tokenizer's file")] = ""
    end: bool = True  # the end-of-document token after each sample: Megatron's --append-eod
    end_token: Annotated[int, Between(0, MAX_LENGTH)] | None = None  # its id, if the tokenizer does not define one
    dtype: Literal["auto", "uint16", "int32"] = "auto"
    merge: bool = False


@dataclass(frozen=True)
class _Coding:
    """Encodes texts as ids: the config with its loaded tokenizer."""

    tokenizer: Tokenizer
    end: int | None
    dtype: IdType

    def ids(self, rows: pa.RecordBatch) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """The concatenated ids of all texts, each followed by the end token, and the length of each."""
        texts = rows.column("text")
        try:
            flat, offsets = self.tokenizer.encode(texts)
        except WinnowError:
            row = pc.index(self.tokenizer.count(texts).is_null(), True).as_py()
            if row < 0:
                raise
            raise ExportError(
                f"megatron: {self.tokenizer.name} cannot encode some characters of sample {_name(rows, row)}; "
                "drop it with a rule, or use a tokenizer with byte fallback"
            ) from None
        lengths: npt.NDArray[np.int64] = np.diff(offsets)
        if self.end is None:
            return flat, lengths
        ids = np.full(len(flat) + len(lengths), self.end, np.uint32)
        inside = np.ones(len(ids), bool)
        inside[offsets[1:] + np.arange(len(lengths))] = False
        ids[inside] = flat
        return ids, lengths + 1


def _coding(config: MegatronConfig) -> _Coding:
    if not config.tokenizer:
        raise ExportError("megatron: `tokenizer` is not set; expected bytes or the path of a tokenizer file")
    tokenizer = _loaded(config.tokenizer, tokenizer_digest(config.tokenizer))
    end = config.end_token if config.end_token is not None else tokenizer.end
    if config.end and end is None:
        raise ExportError(
            f"megatron: {config.tokenizer} defines no end-of-document token; write {_advice(tokenizer)}, or end: false"
        )
    if config.end and config.end_token is not None:
        _require_apart(tokenizer, config.end_token)
    largest = max(tokenizer.vocabulary - 1, end if config.end and end is not None else 0)
    dtype = _dtype(config.dtype, largest)
    return _Coding(tokenizer, end if config.end else None, dtype)


def _require_apart(tokenizer: Tokenizer, end: int) -> None:
    """Checks that no text contains the end token, and that a model with one extra id has room for it."""
    if tokenizer.in_texts(end):
        wrong = f"is an ordinary token of {tokenizer.name}, so documents would seem to end early"
    elif end > tokenizer.vocabulary:
        wrong = f"is out of range for {tokenizer.name}, which has {tokenizer.vocabulary:,} ids"
    else:
        return
    raise ExportError(f"megatron: end_token: {end} {wrong}; write {_advice(tokenizer)}")


def _advice(tokenizer: Tokenizer) -> str:
    """What to write as the end token."""
    after = tokenizer.vocabulary
    if tokenizer.end is not None:
        return f"end_token: {tokenizer.end}, this tokenizer's end-of-document token, or leave it out"
    if tokenizer.name == BYTES:
        return f"end_token: {after} (bytes have the ids 0 to {after - 1})"
    return f"as end_token the id of a special token, or {after}, the first unused id"


@lru_cache(maxsize=2)
def _loaded(path: str, digest: str) -> Tokenizer:  # noqa: ARG001
    """A tokenizer, loaded once per worker and again if its file changes."""
    return load_tokenizer(path)


def _dtype(asked: Literal["auto", "uint16", "int32"], largest: int) -> IdType:
    if asked == "auto":
        return "uint16" if largest + 1 < UINT16_VOCABULARY else "int32"
    if asked == "uint16" and largest > np.iinfo(np.uint16).max:
        raise ExportError(f"megatron: uint16 cannot hold the tokenizer's last id, {largest}; write dtype: auto")
    return asked


class _Megatron(ExportFormat):
    name = "megatron"
    config = MegatronConfig

    def check(self, config: MegatronConfig) -> None:
        _coding(config)

    def identity(self, config: MegatronConfig) -> Json:
        coding = _coding(config)
        return {
            "tokenizer": coding.tokenizer.digest,
            "end": coding.end,
            "dtype": coding.dtype,
            "merge": config.merge,
        }

    def write(self, config: MegatronConfig, folder: Path, shard: ShardName, rows: Iterator[pa.RecordBatch]) -> Made:
        coding = _coding(config)
        prefix = folder / (shard.stem("_") + SUFFIX)
        binary, index = beside(prefix, ".bin"), beside(prefix, ".idx")
        lengths = [np.zeros(0, np.int64)]
        with binary.open("wb") as stream:
            for batch in rows:
                for portion in _portions(batch):
                    ids, counts = coding.ids(portion)
                    _check(coding, portion, ids, counts)
                    stream.write(ids.astype(np.dtype(coding.dtype).newbyteorder("<")).tobytes())
                    lengths.append(counts)
        every = np.concatenate(lengths)
        if not every.any():
            # numpy and Megatron cannot map an empty file.
            raise ExportError(f"megatron: the {len(every)} texts of {prefix.name} have no tokens; write end: true")
        write_index(index, coding.dtype, every)
        facts: dict[str, Json] = {"tokens": int(every.sum()), "dtype": coding.dtype}
        return Made((binary.name, index.name), len(every), facts)

    def finish(self, config: MegatronConfig, shards: Sequence[WrittenShard], about: About) -> Mapping[str, bytes]:
        """For each output, its datasets with their weights in tokens; paths relative to the export's folder."""
        lists: dict[str, bytes] = {}
        for output in about.outputs:
            mine = [shard for shard in shards if shard.shard.output == output]
            tokens = [(_tokens(one), one.shard.stem("_") + SUFFIX) for one in mine]
            if config.merge and tokens:
                tokens = [(sum(count for count, _ in tokens), output + SUFFIX)]
            if tokens:
                lists[f"{output}_data_path.txt"] = "".join(f"{count} {name}\n" for count, name in tokens).encode()
        return lists

    def joining(self, config: MegatronConfig) -> Join | None:
        return self.join if config.merge else None

    def join(self, folder: Path, shards: Sequence[WrittenShard], into: Path) -> Sequence[Made]:
        """Joins the shards in `folder` into one dataset per output under `into`, which replaces them.

        A crash leaves the shards unchanged: `into` may be emptied and written again.
        """
        made = []
        for output in dict.fromkeys(shard.shard.output for shard in shards):
            mine = sorted((shard for shard in shards if shard.shard.output == output), key=lambda one: one.shard.number)
            dtype: IdType = "uint16" if mine[0].facts["dtype"] == "uint16" else "int32"
            prefix = into / (output + SUFFIX)
            samples = join_indexed([folder / (one.shard.stem("_") + SUFFIX) for one in mine], prefix, dtype)
            files = (beside(prefix, ".bin").name, beside(prefix, ".idx").name)
            made.append(Made(files, samples, {"tokens": sum(map(_tokens, mine)), "dtype": dtype}))
        return made

    def count(self, folder: Path, path: str) -> Sequence[Counted]:
        """Counts for the audit: the sequences in each index, whose tokens must fill the .bin beside it."""
        shard = rf"(?P<output>[a-z][a-z0-9_]*?)(_\d{{5,}}_of_\d{{5,}})?{SUFFIX}\.idx"
        output = output_of(shard, path)
        if output is None:
            return []
        index = folder / path
        return [Counted(output, indexed_samples(index, index.with_name(index.name.removesuffix(".idx") + ".bin")))]


def _portions(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows in parts with a bounded size of text; every row has a text."""
    texts = batch.column("text")
    if texts.null_count:
        row = pc.index(texts.is_null(), True).as_py()
        raise ExportError(
            f"megatron: sample {_name(batch, row)} has no text; drop such samples with a rule, or export another format"
        )
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    start = 0
    while start < len(texts):
        fits = int(np.searchsorted(offsets, offsets[start] + _PORTION_BYTES, "right")) - 1
        stop = max(start + 1, fits)
        yield batch.slice(start, stop - start)
        start = stop


def _check(coding: _Coding, rows: pa.RecordBatch, ids: npt.NDArray[np.uint32], lengths: npt.NDArray[np.int64]) -> None:
    """Checks that no length or id is too large for the files."""
    if len(lengths) and int(lengths.max()) > MAX_LENGTH:
        name = _name(rows, int(lengths.argmax()))
        raise ExportError(f"megatron: sample {name} has {lengths.max()} tokens; an index allows {MAX_LENGTH}")
    if len(ids) and int(ids.max()) > np.iinfo(coding.dtype).max:
        name = _name(rows, int(np.searchsorted(np.cumsum(lengths), int(ids.argmax()), "right")))
        raise ExportError(f"megatron: sample {name} has the token id {ids.max()}, too large for {coding.dtype}")


def _name(rows: pa.RecordBatch, row: int) -> str:
    name: str = rows.column("id")[row].as_py().hex()
    return name


def _tokens(shard: WrittenShard) -> int:
    return int(str(shard.facts["tokens"]))


FORMAT = _Megatron()
