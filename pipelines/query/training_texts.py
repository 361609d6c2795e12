"""Reads texts for training a classifier, from files or from a store by a rule, with their language if known."""

import glob
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, TypeAlias

import pyarrow as pa

from winnow.pipelines.ingest.archives.inflate import Damage, codec_of, inflated
from winnow.pipelines.ingest.formats import container_reader
from winnow.pipelines.ingest.records import ReadLimits, Record, Unreadable
from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.pipelines.ingest.tables.lines import split_lines
from winnow.pipelines.query.store_rows import rows_of_store
from winnow.pipelines.reading.chosen_text import first_text
from winnow.pipelines.reading.columns import Column, column_of
from winnow.pipelines.reading.conditions import selected_rows
from winnow.pipelines.store.generations import Store
from winnow.schemas.errors import RecipeError, SourceError
from winnow.schemas.problems import shown
from winnow.schemas.records import FilePart
from winnow.schemas.rules.conditions import ConditionError, columns_read

LANGUAGE = "text.language.code"
"""The store column with a text's language, if it exists."""

_FILES = re.compile(r".*\.(jsonl|ndjson|json|txt)(\.gz|\.zst)?|.*\.(parquet|pq)", re.IGNORECASE | re.DOTALL)
_LINES = re.compile(r".*\.txt(\.gz|\.zst)?", re.IGNORECASE | re.DOTALL)
_BLOCK_BYTES = 1 << 20

Text: TypeAlias = tuple[str, str | None]
"""A text, and its language if known."""


@dataclass(slots=True)
class Losses:
    """Counts of records that are not texts, by reason."""

    reasons: Counter[str] = field(default_factory=Counter)


def names_files(value: str) -> bool:
    """Whether a value is a pattern of file names rather than a rule: it ends in a text file's extension."""
    return _FILES.fullmatch(value) is not None


def texts_of_files(pattern: str, column: str, losses: Losses) -> Iterator[Text]:
    """Every text of the files that match a pattern, ordered by file name.

    JSON lines and Parquet provide the column `column`, and `language` if present; a plain text file has one
    text per line.
    """
    files = sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
    if not files:
        raise SourceError(f"{pattern}: no such file; expected JSON lines, Parquet, or plain text, one text per line")
    for path in files:
        with open(path, "rb") as stream:
            if _LINES.fullmatch(path):
                yield from ((line, None) for line in _lines(stream, losses))
            else:
                yield from _records(stream, path, column, losses)


def _records(stream: BinaryIO, path: str, column: str, losses: Losses) -> Iterator[Text]:
    size = os.fstat(stream.fileno()).st_size
    read = container_reader("auto", path, ColumnMapping(text=column))
    for event in read(stream, FilePart(path, size, 0, size), ReadLimits()):
        if isinstance(event, Record) and event.text is not None:
            language = event.metadata.get("language")
            yield event.text, language if isinstance(language, str) else None
        elif isinstance(event, Unreadable):
            losses.reasons[event.reason] += 1


def _lines(stream: BinaryIO, losses: Losses) -> Iterator[str]:
    size = os.fstat(stream.fileno()).st_size
    limits = ReadLimits()
    codec = codec_of(stream.read(8))
    stream.seek(0)
    blocks: Iterable[bytes | Damage] = (
        iter(lambda: stream.read(_BLOCK_BYTES), b"") if codec is None else inflated(stream, size, codec, limits)
    )
    for line in split_lines(_sound(blocks, losses), 0, limits.max_body_bytes):
        if line.content is None:
            losses.reasons["too_large"] += 1
            continue
        try:
            text = line.content.decode()
        except UnicodeDecodeError:
            losses.reasons["bad_utf8"] += 1
            continue
        if text.strip():
            yield text


def _sound(blocks: Iterable[bytes | Damage], losses: Losses) -> Iterator[bytes]:
    for block in blocks:
        if isinstance(block, Damage):
            losses.reasons[block.reason] += 1
        else:
            yield block


def texts_of_store(store: Store, texts: Sequence[str], rule: str, losses: Losses) -> Iterator[Text]:
    """The text of every row of the latest generation that meets a rule, in order of shards and rows.

    `texts`: the columns in the recipe's `text`, in order of preference. `rule`: a SQL condition over columns of
    `samples` and of layers, such as `text.gopher.words > 100`. `losses` counts the rows that meet it but have no text.
    """
    generation = store.require_latest()
    layers = sorted(generation.layers)
    asked = columns_of_rule(rule)
    languages = [LANGUAGE] if column_of(LANGUAGE, layers) else []
    columns = [column_in(name, layers, rule) for name in dict.fromkeys([*asked, *texts, *languages])]
    for rows in rows_of_store(store, generation, columns):
        yield from _chosen(rows, rule, asked, texts, languages, losses)


def _chosen(
    rows: dict[str, pa.Array],
    rule: str,
    asked: Sequence[str],
    texts: Sequence[str],
    languages: Sequence[str],
    losses: Losses,
) -> Iterator[Text]:
    count = len(rows[texts[0]])
    met = pa.array(selected_rows(rule, {name: rows[name] for name in asked}, count))
    text = first_text([rows[name].filter(met) for name in texts])
    language = rows[languages[0]].filter(met) if languages else pa.nulls(len(text), pa.string())
    for value, code in zip(text, language, strict=True):
        if value.is_valid:
            yield value.as_py(), code.as_py()
        else:
            losses.reasons["no_text"] += 1


def columns_of_rule(rule: str) -> tuple[str, ...]:
    """The columns that a condition reads; RecipeError if it is none."""
    try:
        return tuple(columns_read(rule))
    except ConditionError as error:
        raise RecipeError(f"rule {shown(rule)}: {error}") from None


def column_in(name: str, layers: Sequence[str], rule: str) -> Column:
    """A column that a rule reads; RecipeError if no layer has it."""
    column = column_of(name, layers)
    if column is None:
        raise RecipeError(
            f"rule {shown(rule)}: no layer of the store has a column {shown(name)}; layers: {', '.join(layers)}"
        )
    return column
