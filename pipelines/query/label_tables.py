"""Reads tables of labels, and of a language model's answers, as labels by sample.

A table is JSON lines, CSV or Parquet. Its column `id`, `key` or `text`, the first that it has, says which sample a row
is about: the sample's id in hexadecimal digits, its key in the source (`samples.source.record`), or its whole text.
"""

import glob
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import duckdb
import numpy as np
from numpy.typing import NDArray

from winnow.filters.extras import one_line
from winnow.filters.models.heads.curves import Answer
from winnow.filters.models.training.grades import grade_of, in_range
from winnow.schemas.errors import SourceError
from winnow.schemas.identity import digest
from winnow.schemas.problems import shown, suggestion

Key: TypeAlias = Literal["id", "key", "text"]
KEYS: Final[tuple[Key, ...]] = ("id", "key", "text")

ANSWER: Final = "answer"
"""The column of a table of answers."""

_JSON = "read_json(?, format = 'newline_delimited', maximum_depth = 1)"  # every column as JSON: types may be mixed
_CSV = "read_csv(?, header = true, all_varchar = true)"
_READERS: Final = (
    (re.compile(r".*\.(jsonl|ndjson|json)(\.gz|\.zst)?", re.IGNORECASE), _JSON, "({} ->> '$')"),
    (re.compile(r".*\.(csv|tsv)(\.gz|\.zst)?", re.IGNORECASE), _CSV, "{}"),
    (re.compile(r".*\.(parquet|pq)", re.IGNORECASE), "read_parquet(?)", "CAST({} AS VARCHAR)"),
)
_SETTINGS: Final[dict[str, str | bool | int | float | list[str]]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "threads": "1",
}
_WORDS: Final = {"true": 1.0, "false": 0.0}
_DIGEST_BYTES = 16
_ROWS = 4096


@dataclass(frozen=True)
class Labels:
    """One label for each sample that tables name."""

    key: Key
    names: tuple[bytes, ...]  # ids, keys, or hashes of texts, in order
    values: NDArray[np.float64]
    texts: tuple[str, ...] = ()  # of `names`, where these are hashes of texts
    left_out: Counter[str] = field(default_factory=Counter)  # rows by reason
    several: int = 0  # samples with several labels that became one

    @property
    def places(self) -> dict[bytes, int]:
        """The number of each name."""
        return {name: number for number, name in enumerate(self.names)}


def read_labels(pattern: str, column: str, answer: Answer) -> Labels:
    """The labels in the files that match a pattern. Of answers (`column` is `answer`), their grades.

    A sample with several grades has their mean; one that is labelled both wanted and unwanted is left out.

    Raises:
        SourceError: There is no file, or no label; a file is not a table or lacks a column.
    """
    files = sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
    if not files:
        raise SourceError(f"{pattern}: no such file; expected a table of labels in JSON lines, CSV or Parquet")
    parse = grade_of if column == ANSWER else _number
    left_out: Counter[str] = Counter()
    found: dict[bytes, list[float]] = {}
    texts: dict[bytes, str] = {}
    key: Key | None = None
    rows = 0
    for path in files:
        own, pairs = _rows(path, column)
        if key not in (None, own):
            raise SourceError(f"{path}: names samples by {own!r}, and {files[0]} by {key!r}; label files alike")
        key = own
        for name, value in pairs:  # the files of a training, not the store
            rows += 1
            raw = None if name is None else _name(own, name)
            label = None if value is None else parse(value)
            reason = _refused(label, answer, "unparsable answer" if column == ANSWER else "not a number")
            if raw is None or reason or label is None:
                left_out[reason or "not an id"] += 1
                continue
            found.setdefault(raw, []).append(label)
            if own == "text":
                texts[raw] = name or ""
    if not found or key is None:
        why = ", ".join(f"{count:,} {reason}" for reason, count in left_out.most_common()) or "no rows"
        raise SourceError(f"{pattern}: no label of {rows:,} rows can be used ({why})")
    return _merged(key, found, texts, answer, left_out)


def _merged(
    key: Key, found: dict[bytes, list[float]], texts: dict[bytes, str], answer: Answer, left_out: Counter[str]
) -> Labels:
    names = sorted(found)
    if answer == "probability":
        both = [name for name in names if len(set(found[name])) > 1]
        left_out["labelled both ways"] += sum(len(found[name]) for name in both)
        names = sorted(set(names).difference(both))
        if not names:
            raise SourceError(f"all {len(both):,} labelled samples are labelled both ways; correct the labels")
    several = sum(len(found[name]) > 1 for name in names)
    values = np.array([math.fsum(found[name]) / len(found[name]) for name in names])
    return Labels(key, tuple(names), values, tuple(texts[name] for name in names if texts), +left_out, several)


def _rows(path: str, column: str) -> tuple[Key, Iterator[tuple[str | None, str | None]]]:
    """How a file names samples, and its rows: names and values, as text."""
    reader, cast = next(((reader, cast) for name, reader, cast in _READERS if name.fullmatch(path)), ("", ""))
    if not reader:
        raise SourceError(f"{path}: not a table of labels; expected a name that ends in .jsonl, .csv or .parquet")
    if os.path.getsize(path) == 0:
        raise SourceError(f"{path}: an empty file; expected a table of labels")
    engine = duckdb.connect(config=_SETTINGS)
    known = [name for name, *_ in _run(engine, path, f"SELECT * FROM {reader} LIMIT 0").description]
    key = next((one for one in KEYS if one in known), None)
    columns = ", ".join(known[:20])
    if key is None:
        raise SourceError(f"{path}: no column id, key or text says which samples its labels are for; it has {columns}")
    if column not in known:
        hint = suggestion(column, known)
        raise SourceError(f"{path}: no column {shown(column)}{hint}; it has {columns}; choose one by --label-column")
    names, values = (cast.format('"' + one.replace('"', '""') + '"') for one in (key, column))
    cursor = _run(engine, path, f"SELECT {names}, {values} FROM {reader}")

    def rows() -> Iterator[tuple[str | None, str | None]]:
        while True:
            try:
                group = cursor.fetchmany(_ROWS)
            except duckdb.Error as error:
                raise _damaged(path, error) from None
            if not group:
                return
            yield from group

    return key, rows()


def _run(engine: duckdb.DuckDBPyConnection, path: str, query: str) -> duckdb.DuckDBPyConnection:
    try:
        return engine.execute(query, [glob.escape(path)])
    except (duckdb.Error, UnicodeDecodeError) as error:
        raise _damaged(path, error) from None


def _damaged(path: str, error: Exception) -> SourceError:
    return SourceError(f"{path}: cannot be read as a table: {one_line(error).partition(' LINE ')[0]}")


def _number(value: str) -> float | None:
    word = value.strip().lower()
    try:
        return _WORDS[word] if word in _WORDS else float(word)
    except ValueError:
        return None


_in_range: dict[Answer, Callable[[float], bool]] = {"grade": in_range, "probability": lambda label: label in (0, 1)}


def _refused(label: float | None, answer: Answer, unparsable: str) -> str:
    if label is None or math.isnan(label):
        return unparsable
    if not _in_range[answer](label):
        return "not from 0 to 5" if answer == "grade" else "neither 0 nor 1"
    return ""


def _name(key: Key, value: str) -> bytes | None:
    """What a name is compared by; None if it cannot be one."""
    if key == "text":
        return name_of_text(value)
    if key == "key":
        return value.encode()
    try:
        raw = bytes.fromhex(value)
    except ValueError:
        return None
    return raw if len(raw) == _DIGEST_BYTES else None


def name_of_text(text: str) -> bytes:
    """The name of a sample that is known by its text."""
    return digest(text.encode("utf-8", "replace"), size=_DIGEST_BYTES)
