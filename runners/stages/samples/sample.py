"""`winnow show`: one sample: its origin, its measurements, the rules' decision, and its text.

The text is shown as it would be exported, with the recipe's edits applied; `--raw` shows it as read.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import pyarrow as pa
from rich.console import Console
from rich.text import Text

from winnow.filters.edits import Edit
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.query.find_sample import Compared, Sample, Verdict, read_sample, verdict
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.query.recipe_rules import pinned_rules
from winnow.pipelines.query.search_tasks import Wanted, wanted_id
from winnow.pipelines.reading.columns import column_of
from winnow.pipelines.reading.text_edits import BoundEdit, WhenNull, with_keys
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.runners.stages.opening import bound_recipe, store_of
from winnow.runners.stages.rule_decisions import representatives
from winnow.runners.stages.samples.item_facts import (
    MOST_VALUES,
    SHOTS,
    caption_lines,
    measure,
    media_lines,
    shot_lines,
    unread_lines,
)
from winnow.runners.stages.searching import find_one
from winnow.runners.tables.escaping import visible
from winnow.runners.tables.quantities import grouped
from winnow.runners.terminal.tables import encodable, is_plain, print_json, print_line
from winnow.schemas.counts import count_of
from winnow.schemas.errors import RecipeError, WinnowError
from winnow.schemas.identity import Json
from winnow.schemas.records import Generation

VALUE_CHARACTERS = 64
_PAYLOAD = ("text", "title", "links", "parts", "images", "metadata", "captions")  # unedited content
_WIDE = (*_PAYLOAD, "media")
_INDENT = " " * 2


@dataclass(frozen=True)
class SampleView:
    """A sample with the recipe's decision and edits."""

    sample: Sample
    verdict: Verdict | None
    undecided: str | None  # why the rules decide nothing
    text: str | None
    edits: tuple[tuple[Edit, str], ...]  # each with its replacement
    not_edited: tuple["NotEdited", ...]

    @property
    def exported(self) -> bool:
        """Whether the edits allow the text to be exported; the rules may still drop it."""
        return self.text is None or all(one.when_null == "keep" for one in self.not_edited)


@dataclass(frozen=True)
class NotEdited:
    """An edit that cannot be applied, as its spans are null or not measured."""

    column: str
    status: str | None  # of its layer
    when_null: WhenNull

    @property
    def message(self) -> str:
        """What happens to the text, and why."""
        why = "not measured for this sample" if self.status is None else f"null here, status {self.status}"
        return f"{self.column} is {why}: {_WHEN_NULL[self.when_null]} (when_null: {self.when_null})"


_WHEN_NULL: Mapping[WhenNull, str] = {
    "keep": "the text is exported without this edit",
    "drop": "the text is not exported",
    "error": "winnow export stops with an error",
}


def run_show(options: argparse.Namespace, console: Console) -> int:
    """`winnow show`."""
    if (options.id is None) == (options.url is None):
        raise WinnowError("show: expected either an id or --url URL; --reason, --language and --source list some")
    recipe = bound_recipe(options.recipe)
    store = store_of(recipe)
    generation = require_latest_for(recipe, store)
    wanted = Wanted(url=options.url) if options.id is None else wanted_id(options.id)
    place = find_one(store, generation, wanted)
    shown = view_sample(recipe, store, generation, read_sample(store, generation, place))
    if options.json:
        print_json(sample_json(shown, raw=options.raw))
    else:
        _print(shown, console, raw=options.raw, most=options.characters or None)
    return 0


def view_sample(recipe: BoundRecipe, store: Store, generation: Generation, sample: Sample) -> SampleView:
    """Apply the recipe's rules and edits to a sample; RecipeError if the edits are invalid, or their key is missing."""
    decision, undecided = None, None
    try:
        pinned = pinned_rules(recipe, store, generation)
        decision = (
            None
            if pinned is None
            else verdict(pinned, sample, partial(representatives, pinned, generation, [sample.place.shard.shard]))
        )
    except RecipeError as error:
        undecided = str(error).splitlines()[0]
    return view_with_edits(recipe, sample, decision, undecided)


def view_with_edits(
    recipe: BoundRecipe, sample: Sample, decision: Verdict | None = None, undecided: str | None = None
) -> SampleView:
    """Apply the recipe's edits to a sample, which needs only the layers of texts and edits."""
    columns = [column for name in recipe.config.text if (column := column_of(name, sample.layers)) is not None]
    text = sample.text(columns)
    measured = [edit for edit in recipe.edits if _measured(edit, sample)]
    edits = with_keys(measured)
    columns_of_edits = {column.name: sample.column(column) for column in edits.columns}
    return SampleView(
        sample,
        decision,
        undecided,
        text,
        tuple(edits.of(text, columns_of_edits)) if text is not None else (),
        tuple(
            NotEdited(edit.column.name, _status(edit, sample), edit.when_null)
            for edit in recipe.edits
            if edit not in measured
        ),
    )


def _measured(bound: BoundEdit, sample: Sample) -> bool:
    try:
        return bool(sample.column(bound.column).is_valid()[0].as_py())
    except KeyError:
        return False


def _status(bound: BoundEdit, sample: Sample) -> str | None:
    if bound.status is None or bound.status.layer not in sample.layers:
        return None
    status = sample.column(bound.status)[0].as_py()
    return None if status is None else str(status)


def sample_json(shown: SampleView, *, raw: bool) -> dict[str, Json]:
    """Everything of a sample as plain values; `raw`: its content as read, not as exported."""
    decision = shown.verdict
    return {
        "id": shown.sample.place.id,
        "shard": shown.sample.place.shard.shard,
        "row": shown.sample.place.row,
        "layers": {
            layer: {
                name: _plain(batch.column(name)[0].as_py())
                for name in batch.schema.names
                if name != "text" and (raw or name not in _PAYLOAD)
            }
            for layer, batch in shown.sample.layers.items()
        },
        "kept": None if decision is None else decision.kept,
        "reasons": [] if decision is None else list(decision.reasons),
        "items": [] if decision is None else [list(reasons) for reasons in decision.items],  # of each medium
        "compared": [] if decision is None else [_compared_json(one) for one in decision.compared],
        "undecided": shown.undecided if decision is None else ", ".join(decision.undecided) or None,
        "edits": [
            {"start": edit.start, "end": edit.end, "kind": edit.kind, "written": written}
            for edit, written in shown.edits
        ],
        "not_edited": [
            {"column": one.column, "status": one.status, "when_null": one.when_null} for one in shown.not_edited
        ],
        "captions": _plain(shown.sample.layers[layout.SAMPLES].column("captions")[0].as_py()),  # exported as they are
        "text": shown.text if raw else exported_text(shown),
    }


def _compared_json(compared: Compared) -> Json:
    facts: dict[str, Json] = {
        "reason": compared.reason,
        "column": compared.cut.column,
        "operator": compared.cut.operator,
    }
    return facts | {"value": compared.value, "threshold": compared.limit, "table": compared.cut.table or None}


def _plain(value: object) -> Json:
    """A column's value as JSON: bytes in hexadecimal, times in ISO 8601."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    assert value is None or isinstance(value, bool | int | float | str)
    return value


def exported_text(shown: SampleView) -> str | None:
    """The text as it would be exported; None if there is none, or if an edit cannot be applied."""
    if shown.text is None or not shown.exported:
        return None
    return "".join(piece for piece, _ in _pieces(shown, raw=False))


def _pieces(shown: SampleView, *, raw: bool) -> Iterator[tuple[str, Edit | None]]:
    """The text in pieces: unchanged ones, and those that an edit changes."""
    utf8, at = (shown.text or "").encode(), 0
    for edit, written in shown.edits:
        yield utf8[at : edit.start].decode(), None
        yield (utf8[edit.start : edit.end].decode() if raw else written), edit
        at = edit.end
    yield utf8[at:].decode(), None


def _print(shown: SampleView, console: Console, *, raw: bool, most: int | None) -> None:
    plain = is_plain(console)
    line = partial(print_line, console)

    for name, value in _origin(shown.sample):
        line(f"{name:<9}{value}")
    for layer, batch in shown.sample.layers.items():
        if layer != layout.SAMPLES:
            line("")
            line(layer, "bold")
            for text in _wrapped(_measures(batch), max(40, console.width - len(_INDENT))):
                line(_INDENT + text)
    line("")
    line(f"rules    {_of_rules(shown)}", "bold")
    for text in (*_compared(shown), *_of_items(shown)):
        line(text)
    for one in shown.not_edited:
        line(f"note     {one.message}")
    line("")
    if shown.text is None:
        line("no text")
        return
    if not shown.exported and not raw:
        line("text     not exported: an edit cannot be applied (--raw shows the text as read)", "bold")
        return
    changed = sum(edit.end - edit.start for edit, _ in shown.edits)
    what = "as read" if raw else "as exported"
    line(f"text     {what}: {count_of(len(shown.edits), 'edit')} of {count_of(changed, 'byte')}", "bold")
    line("")
    _print_text(list(_pieces(shown, raw=raw)), console, plain=plain, raw=raw, most=most)


def _origin(sample: Sample) -> Iterator[tuple[str, str]]:
    batch = sample.layers[layout.SAMPLES]
    values = {name: batch.column(name)[0].as_py() for name in batch.schema.names if name not in _WIDE}
    source = values["source"]
    yield "id", sample.place.id
    yield "source", f"{source['name']} ({values['source_class']}, licence {values['licence']})"
    range_ = f"{grouped(source['offset'])} + {grouped(source['length'])} {source['unit']}"
    yield "file", f"{source['path']}  {range_}, record {source['record']}"
    for name in ("url", "mime", "modality"):
        if values.get(name) is not None:
            yield name, str(values[name])
    yield from media_lines(batch.column("media")[0].as_py())
    if SHOTS in sample.layers:
        yield from shot_lines(sample.layers[SHOTS].column("begin_seconds")[0].as_py())
    yield from caption_lines(batch.column("captions")[0].as_py())
    yield from unread_lines(batch.column("metadata")[0].as_py() or "{}", len(batch.column("media")[0].as_py()))
    yield "shard", f"{sample.place.shard.shard}, row {grouped(sample.place.row)}"


def _measures(batch: pa.RecordBatch) -> Iterator[str]:
    """Each column with its value, or its length for long values."""
    for name in batch.schema.names:
        value = batch.column(name)[0].as_py()
        if value is None:
            continue
        if name == "captions":
            yield from (line for _, line in caption_lines(value))
        elif name in _WIDE and isinstance(value, str):
            yield f"{name} ({grouped(len(value))} characters)"
        else:
            shown = None if name in _WIDE else measure(value, VALUE_CHARACTERS)
            if shown is None:
                shown = _lengths(value) if isinstance(value, list) else _cut(str(_plain(value)))
            yield f"{name} {shown}"


def _lengths(value: list[object]) -> str:
    """How long a list is, or, of lists for each item or caption, how long each is."""
    inner = [one if isinstance(one, list) else None for one in value]
    if len(value) <= MOST_VALUES and all(
        one is not None or whole is None for one, whole in zip(inner, value, strict=True)
    ):
        return f"[{', '.join('null' if one is None else f'[{grouped(len(one))}]' for one in inner)}]"
    return f"[{len(value)}]"


def _cut(text: str) -> str:
    return text if len(text) <= VALUE_CHARACTERS else text[:VALUE_CHARACTERS] + "…"


def _wrapped(measures: Iterator[str], width: int) -> Iterator[str]:
    line = ""
    for one in measures:
        if line and len(line) + len(one) + 3 > width:
            yield line
            line = ""
        line = f"{line} · {one}" if line else one
    if line:
        yield line


def _of_rules(shown: SampleView) -> str:
    decision = shown.verdict
    if decision is None:
        return "no rules" if shown.undecided is None else f"not decided: {shown.undecided}"
    if decision.undecided:
        return f"error: the condition of {decision.undecided[0]} is null for this sample (when_null: error)"
    if decision.kept:
        return "kept"
    more = f"; also: {', '.join(decision.reasons[1:])}" if len(decision.reasons) > 1 else ""
    return f"dropped: {decision.reasons[0]}{more}"


def _compared(shown: SampleView) -> Iterator[str]:
    """A line for each measure that is beyond a threshold, with that threshold."""
    for one in () if shown.verdict is None else shown.verdict.compared:
        table = f" ({one.cut.table} for this sample)" if one.cut.table else ""
        yield f"{_INDENT}{one.reason}: {one.cut.column} is {one.value:.6g} {one.cut.operator} {one.limit:.6g}{table}"


def _of_items(shown: SampleView) -> Iterator[str]:
    """A line for each medium that rules of `items` drop, up to as many as media are shown."""
    items = () if shown.verdict is None else shown.verdict.items
    dropped = [(number, reasons) for number, reasons in enumerate(items, 1) if reasons]
    for number, reasons in dropped[:MOST_VALUES]:
        yield f"         medium {number} of {len(items)} dropped: {', '.join(reasons)}"
    if len(dropped) > MOST_VALUES:
        yield f"         and {grouped(len(dropped) - MOST_VALUES)} more media (--json shows all)"


def _print_text(
    pieces: Sequence[tuple[str, Edit | None]], console: Console, *, plain: bool, raw: bool, most: int | None
) -> None:
    whole, left = Text(), most
    for piece, edit in pieces:
        taken = piece if left is None else piece[:left]
        text = encodable(visible(taken, keep="\n\t"), console)
        if edit is None:
            whole.append(text)
        elif plain and raw:
            whole.append(f"[[{edit.kind or 'deleted'}: {text}]]")
        else:
            whole.append(text, style="" if plain else "reverse red" if edit.kind is None else "reverse green")
        left = None if left is None else left - len(taken)
    console.print(whole)
    cut = sum(len(piece) for piece, _ in pieces) - (most or 0)
    if most is not None and cut > 0:
        console.print(Text(f"… and {grouped(cut)} more characters (--characters 0 shows all)"))
