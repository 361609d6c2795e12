"""Reads evaluation sets: JSON lines, Parquet, or plain text with an item a line.

A set is refused rather than read in part: an item that is silently left out is one that training data may contain.
Records whose fields are empty are counted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import listed, one_line, shown
from winnow.schemas.recipe.checks import NOT_WRITTEN, Matching, NotEmpty, PathText

MAX_SET_BYTES: Final = 1 << 30  # of a file, uncompressed
SET_NAME: Final = Matching(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}", "a name of letters, digits, '_', '-' and '.'")

_TEXT_ENDINGS: Final = (".txt", ".text", ".md")
_MARKS: Final = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_PARQUET: Final = b"PAR1"
_PAST_EMPTY: Final = 8  # bytes in which UTF-16 without a mark shows by its NULs

Value: TypeAlias = str | int | float | bool | list["Value"] | dict[str, "Value"] | None


@dataclass(frozen=True, slots=True)
class SetConfig:
    """An evaluation set: its file, and the fields of a record that are searched for."""

    name: str = field(metadata=NOT_WRITTEN)
    file: Annotated[str, PathText("a path")]  # .jsonl, .parquet, or .txt with an item a line; perhaps .gz or .zst
    question: Annotated[tuple[str, ...], NotEmpty()] = ("question",)  # fields, joined; `choices.text` is within another
    answer: tuple[str, ...] = ()  # fields, joined; a set need not have answers


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """The items of a set that have text."""

    name: str
    numbers: list[int]  # of each item: its line in the file, or its row of a table, from 1
    questions: list[str]
    answers: list[str]
    empty: int  # records without any text in these fields

    def __len__(self) -> int:
        return len(self.numbers)


def read_set(config: SetConfig, path: Path) -> EvaluationSet:
    """The items of a set.

    Raises:
        RecipeError: The file is not readable as what it seems to be, or lacks a field; the message names the line.
    """
    with path.open("rb") as opened:
        start = opened.read(len(_PARQUET))
    if start == _PARQUET:
        return _of_records(config, path, _parquet_records(config, path))
    content = _decoded(path)
    if path.name.removesuffix(".gz").removesuffix(".zst").endswith(_TEXT_ENDINGS):
        return _of_items(config, path, ((number, line, "") for number, line in _lines(content)))
    return _of_records(config, path, _json_records(path, content))


def _decoded(path: Path) -> str:
    """The text of a file in UTF-8."""
    try:
        with pa.input_stream(path) as stream:  # decompressed by its ending
            content = stream.read(MAX_SET_BYTES + 1)
    except (OSError, pa.ArrowException) as error:
        raise RecipeError(f"{path.name}: cannot be read: {one_line(str(error))}") from error
    if len(content) > MAX_SET_BYTES:
        raise RecipeError(f"{path.name}: a set of at most {MAX_SET_BYTES:,} bytes is read; split it into several sets")
    try:
        text: str = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        name = _MARKS.get(content[:2])
        said = f"is {name}, not UTF-8" if name else f"line {line} is not UTF-8"
        source = name or "LATIN1"
        raise RecipeError(
            f"{path.name}: {said}; convert it, for example with: iconv -f {source} -t UTF-8 {path.name}"
        ) from None
    if "\0" in text[:_PAST_EMPTY]:
        raise RecipeError(
            f"{path.name}: is UTF-16 or binary, not UTF-8; convert it: iconv -f UTF-16 -t UTF-8 {path.name}"
        )
    return text


def _lines(content: str) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers."""
    for number, line in enumerate(content.split("\n"), 1):
        if line.strip():
            yield number, line


def _json_records(path: Path, content: str) -> Iterator[tuple[int, Mapping[str, Value]]]:
    for number, line in _lines(content):
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            whole = "; for plain text name the file .txt" if number == 1 and line.lstrip()[:1] not in "{[" else ""
            raise RecipeError(
                f"{path.name}:{number}: is not JSON: {one_line(error.msg)} (column {error.colno}){whole}"
            ) from None
        if not isinstance(record, dict):
            hint = f"; write one object a line: jq -c '.[]' {path.name}" if isinstance(record, list) else ""
            raise RecipeError(f"{path.name}:{number}: expected a JSON object with fields{hint}")
        yield number, record


def _parquet_records(config: SetConfig, path: Path) -> Iterator[tuple[int, Mapping[str, Value]]]:
    number, size = 0, 0
    try:
        table = pq.ParquetFile(path)
        wanted = {name.partition(".")[0] for name in (*config.question, *config.answer)}
        columns = [name for name in table.schema_arrow.names if name in wanted]
        if not columns:
            raise _missing(path, config.question, table.schema_arrow.names)
        for batch in table.iter_batches(columns=columns):
            size += batch.nbytes
            if size > MAX_SET_BYTES:
                raise RecipeError(f"{path.name}: a set of at most {MAX_SET_BYTES:,} bytes is read; split it")
            for record in batch.to_pylist():
                number += 1
                yield number, record
    except (OSError, pa.ArrowException) as error:
        raise RecipeError(f"{path.name}: is no valid Parquet file: {one_line(str(error))}") from error


def _of_records(config: SetConfig, path: Path, records: Iterator[tuple[int, Mapping[str, Value]]]) -> EvaluationSet:
    seen: dict[str, None] = {}
    present: set[str] = set()
    fields = (*config.question, *config.answer)

    def items() -> Iterator[tuple[int, str, str]]:
        for number, record in records:
            seen.update(dict.fromkeys(record))
            present.update(name for name in fields if _value(record, name) is not None)
            yield number, _joined(record, config.question), _joined(record, config.answer)

    found = _of_items(config, path, items(), allow_none=True)
    if lacking := [name for name in fields if name not in present]:
        raise _missing(path, lacking, list(seen))
    return found


def _of_items(
    config: SetConfig, path: Path, items: Iterator[tuple[int, str, str]], *, allow_none: bool = False
) -> EvaluationSet:
    found = EvaluationSet(config.name, [], [], [], 0)
    empty = 0
    for number, question, answer in items:
        if question or answer:
            found.numbers.append(number)
            found.questions.append(question)
            found.answers.append(answer)
        else:
            empty += 1
    if not found.numbers and not (allow_none and empty):
        raise RecipeError(f"{path.name}: has no item")
    return EvaluationSet(config.name, found.numbers, found.questions, found.answers, empty)


def _missing(path: Path, names: Sequence[str], there: Sequence[str]) -> RecipeError:
    lacking = listed([shown(name) for name in names])
    return RecipeError(
        f"{path.name}: no record has {lacking}; set 'question' and 'answer' to fields that are there: "
        f"{listed([one_line(name) for name in there], 10) or 'none'}"
    )


def _value(record: Mapping[str, Value], name: str) -> Value:
    """A field of a record, or of an object within it, by a dotted name."""
    value: Value = record.get(name)
    if value is None and "." in name:
        outer, _, inner = name.partition(".")
        within = record.get(outer)
        return _value(within, inner) if isinstance(within, dict) else None
    return value


def _joined(record: Mapping[str, Value], names: Sequence[str]) -> str:
    return " ".join(text for name in names if (text := _text(_value(record, name)).strip()))


def _text(value: Value) -> str:
    """What a field says: of lists and objects all values, such as the choices of a question."""
    if value is None:
        return ""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return " ".join(text for one in inner if (text := _text(one)))
    return str(value)
