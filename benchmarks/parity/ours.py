"""Our side: a preset's operators and rules on documents, as a run would have them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from benchmarks.parity.documents import Document
from winnow.filters.operators import CAPTIONS, TEXT, Kernel, TextOperator
from winnow.filters.presets import Preset, find_table
from winnow.filters.spans import edited
from winnow.filters.web.urls import registered_domain
from winnow.pipelines.annotate.rows import BatchRows, Excluded, measure
from winnow.pipelines.assets import AssetFiles
from winnow.pipelines.binding.operators import configure, layer_schema
from winnow.pipelines.ingest.files import FILE
from winnow.pipelines.reading.columns import MEDIA
from winnow.pipelines.reading.conditions import nested
from winnow.schemas.errors import RecipeError, WinnowError
from winnow.schemas.identity import canonical_json
from winnow.schemas.problems import Problems
from winnow.schemas.recipe.model import OperatorEntry
from winnow.schemas.recipe.nodes import parse_yaml
from winnow.schemas.rows.samples import SAMPLES
from winnow.schemas.rules.conditions import CLOSED, columns_read
from winnow.schemas.rules.thresholds import PREFIX, lookup

_LANGUAGE = "text.language"
_URL, _DOMAIN = "samples.url", "samples.domain"
MAX_TEXT_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Judgement:
    """What we say of one document."""

    reason: str | None  # of the first rule that drops it
    rules: Mapping[str, bool]  # by reason, whether that rule alone would drop it
    values: Mapping[str, float | bool | str | None]  # by the SQL that was asked for
    text: str | None = None  # without the spans that go
    comparable: bool = True  # whether `where` holds


class Preparation:
    """A preset made ready: its operators loaded, its rules and the values to show as one query.

    Args:
        preset: Whose operators and rules.
        values: SQL over the operators' columns, to be shown beside the verdict.
        removed: The column of deleted spans to apply to texts, if any.
        where: SQL that says which documents can be compared; None for all.
        by_language: Documents declare their languages, which stand for what `text.language` would find.
    """

    def __init__(
        self,
        preset: Preset,
        values: Sequence[str],
        removed: str | None = None,
        where: str | None = None,
        *,
        by_language: bool = False,
    ) -> None:
        self._preset = preset
        self._values = tuple(values)
        self._removed = removed
        self._where = where or "true"
        self._by_language = by_language
        self._operators = [
            _loaded(preset, name) for name in preset.operators if not (by_language and name == _LANGUAGE)
        ]
        read = {column for rule in preset.rules for column in columns_read(rule.drop)}
        self._thresholds = sorted(column for column in read if column.startswith(f"{PREFIX}."))
        self._query = self._sql()

    def judge(self, documents: Sequence[Document]) -> list[Judgement]:
        """What we say of each document, in order."""
        columns = self._measured(documents)
        measures = {name: array for name, array in columns.items() if name != TEXT}
        with engine(nested(measures, len(documents))) as connection:
            try:
                rows = connection.execute(self._query).fetchall()
            except duckdb.Error as error:
                raise RecipeError(f"preset {self._preset.name}: {str(error).splitlines()[0]}") from None
        removed = columns[self._removed].to_pylist() if self._removed else [None] * len(documents)
        return [
            self._judgement(row, document, spans) for row, document, spans in zip(rows, documents, removed, strict=True)
        ]

    def _measured(self, documents: Sequence[Document]) -> dict[str, pa.Array]:
        columns: dict[str, pa.Array] = {
            TEXT: pa.array([one.text for one in documents], pa.large_string()),
            _URL: pa.array([one.url for one in documents], pa.string()),
            _DOMAIN: pa.array([registered_domain(one.url) if one.url else None for one in documents], pa.string()),
        }
        if self._by_language:
            columns[f"{_LANGUAGE}.code"] = pa.array([one.language for one in documents], pa.string())
            columns[f"{_LANGUAGE}.score"] = pa.array([1.0] * len(documents))
        if any(CAPTIONS in operator.reads(config) for operator, config, _ in self._operators):
            columns |= _as_captions(documents)
        rows = BatchRows(columns)
        for operator, config, kernel in self._operators:
            reads = operator.reads(config)
            missing = [name for name in (*reads, *operator.needs) if name not in columns]
            if missing:
                raise WinnowError(f"{operator.name} reads {', '.join(missing)}, which these documents do not have")
            schema = layer_schema(operator, config)
            found = measure(operator, kernel, schema, reads, rows, Excluded(None, None), MAX_TEXT_BYTES)
            made = {f"{operator.name}.{name}": found.column(name) for name in found.schema.names}
            rows.add(made)
            columns |= made
        for name in self._thresholds:
            table = find_table(name.split(".")[1])
            if table is None:
                raise RecipeError(f"preset {self._preset.name}: there is no threshold table for {name}")
            columns[name] = lookup(table, columns[table.key], name.split(".", 2)[2])
        return columns

    def _sql(self) -> str:
        nulls = {"keep": "false", "drop": "true", "error": "error('null')"}
        rules = [f"coalesce(({rule.drop}), {nulls[rule.when_null or 'error']})" for rule in self._preset.rules]
        values = [f"({value})" for value in self._values]
        return f"SELECT coalesce(({self._where}), false), {', '.join([*rules, *values])} FROM rows"

    def _judgement(
        self, row: tuple[float | bool | str | None, ...], document: Document, spans: list[dict[str, int]] | None
    ) -> Judgement:
        comparable, *answers = row
        count = len(self._preset.rules)
        fired = [(rule.reason, bool(met)) for rule, met in zip(self._preset.rules, answers[:count], strict=True)]
        return Judgement(
            reason=next((reason for reason, met in fired if met), None),
            rules=dict(fired),
            values=dict(zip(self._values, answers[count:], strict=True)),
            text=edited(document.text, spans) if spans is not None else None,
            comparable=bool(comparable),
        )


def _as_captions(documents: Sequence[Document]) -> dict[str, pa.Array]:
    """Texts as the captions of a picture each."""
    reference = {"offset": 0, "length": 1, "container": FILE}
    media = [[{"mime": "image/jpeg", "ref": {**reference, "path": f"{one.id}.jpg"}}] for one in documents]
    captions = [[{"text": one.text, "origin": "txt"}] for one in documents]
    return {
        CAPTIONS: pa.array(captions, SAMPLES.field("captions").type),
        MEDIA.name: pa.array(media, SAMPLES.field("media").type),
    }


def _loaded(preset: Preset, name: str) -> tuple[TextOperator, Any, Kernel]:
    problems = Problems()
    options = parse_yaml(canonical_json(dict(preset.operators[name])), f"preset {preset.name}", problems)
    problems.stop_if_any()
    operator, config = configure(OperatorEntry(name=name, options=options), f"preset {preset.name}")
    assert isinstance(operator, TextOperator)
    return operator, config, operator.load(config, AssetFiles())


@contextmanager
def engine(rows: pa.RecordBatch) -> Iterator[duckdb.DuckDBPyConnection]:
    """SQL over one table, `rows`, with no way to files."""
    with duckdb.connect(config=CLOSED) as connection:
        connection.register("rows", pa.Table.from_batches([rows]))
        yield connection
