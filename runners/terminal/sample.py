"""`winnow show`: one sample as it is known: where it is from, what was measured, what the rules say, its text.

The text is shown as it would be exported, with the recipe's edits put in; `--raw` shows it as it was read.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import orjson
import pyarrow as pa
from rich.console import Console
from rich.text import Text

from winnow.filters.edits import Edit
from winnow.pipelines.binding.bound_recipe import BoundRecipe, bind
from winnow.pipelines.binding.edits import BoundEdit, WhenNull, with_keys
from winnow.pipelines.query.columns import column_of
from winnow.pipelines.query.find_sample import Sample, Verdict, find_by_id, find_by_url, read_sample, verdict
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store, open_store
from winnow.pipelines.store.location import open_location
from winnow.runners.terminal.escaping import visible
from winnow.runners.terminal.quantities import grouped
from winnow.runners.terminal.rules import pinned_rules
from winnow.runners.terminal.tables import encodable, is_plain, print_line
from winnow.schemas.errors import RecipeError, WinnowError
from winnow.schemas.identity import Json
from winnow.schemas.recipe import load_recipe
from winnow.schemas.records import Generation

VALUE_CHARACTERS = 60
_PAYLOAD = ("text", "title", "links", "parts", "images", "metadata", "captions")  # what edits are for, unedited
_WIDE = (*_PAYLOAD, "media")
_INDENT = " " * 2


@dataclass(frozen=True)
class Shown:
    """A sample, and what the recipe makes of it."""

    sample: Sample
    verdict: Verdict | None
    undecided: str | None  # why the rules say nothing
    text: str | None
    edits: tuple[tuple[Edit, str], ...]  # each with what stands in its place
    not_edited: tuple["NotEdited", ...]

    @property
    def exported(self) -> bool:
        """Whether the edits let the text be exported at all; the rules are another matter."""
        return self.text is None or all(one.when_null == "keep" for one in self.not_edited)


@dataclass(frozen=True)
class NotEdited:
    """An edit whose spans are null, or not measured: what would have to go from the text is unknown."""

    column: str
    status: str | None  # of its layer
    when_null: WhenNull

    @property
    def said(self) -> str:
        """What becomes of the text, and why."""
        why = "not measured for this sample" if self.status is None else f"null here, status {self.status}"
        return f"{self.column} is {why}: {_WHEN_NULL[self.when_null]} (when_null: {self.when_null})"


_WHEN_NULL: Mapping[WhenNull, str] = {
    "keep": "it changes nothing in the text",
    "drop": "the text is not exported",
    "error": "no text is exported before this is settled",
}


def run_show(options: argparse.Namespace, console: Console) -> int:
    """`winnow show`."""
    if (options.id is None) == (options.url is None):
        raise WinnowError("show: give an id or --url URL, one of them")
    recipe = bind(load_recipe(options.recipe))
    store = open_store(open_location(recipe.place))
    generation = store.require_latest()
    find, wanted = (find_by_url, options.url) if options.id is None else (find_by_id, options.id)
    shown = look_up(recipe, store, generation, read_sample(store, generation, find(store, generation, wanted)))
    if options.json:
        sys.stdout.buffer.write(orjson.dumps(_json(shown, raw=options.raw)) + b"\n")
    else:
        _print(shown, console, raw=options.raw, most=options.characters or None)
    return 0


def look_up(recipe: BoundRecipe, store: Store, generation: Generation, sample: Sample) -> Shown:
    """What the recipe makes of a sample.

    Raises:
        RecipeError: Its edits are wrong, or a key that they need is not there.
    """
    said, undecided = None, None
    try:
        pinned = pinned_rules(recipe, store, generation)
        said = None if pinned is None else verdict(pinned, sample)
    except RecipeError as error:
        undecided = str(error).splitlines()[0]
    return shown_with(recipe, sample, said, undecided)


def shown_with(recipe: BoundRecipe, sample: Sample, said: Verdict | None = None, undecided: str | None = None) -> Shown:
    """A sample with the edits of the recipe; it needs no layers but those of texts and of edits."""
    columns = [column for name in recipe.config.text if (column := column_of(name, sample.layers)) is not None]
    text = sample.text(columns)
    measured = [one for one in recipe.edits if _measured(one, sample)]
    edits = with_keys(measured)
    columns_of_edits = {column.name: sample.column(column) for column in edits.columns}
    return Shown(
        sample,
        said,
        undecided,
        text,
        tuple(edits.of(text, columns_of_edits)) if text is not None else (),
        tuple(
            NotEdited(one.column.name, _status(one, sample), one.when_null)
            for one in recipe.edits
            if one not in measured
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
    said = sample.column(bound.status)[0].as_py()
    return None if said is None else str(said)


def _json(shown: Shown, *, raw: bool) -> dict[str, Json]:
    said = shown.verdict
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
        "kept": None if said is None else said.kept,
        "reasons": [] if said is None else list(said.reasons),
        "undecided": shown.undecided if said is None else ", ".join(said.undecided) or None,
        "edits": [
            {"start": edit.start, "end": edit.end, "kind": edit.kind, "written": written}
            for edit, written in shown.edits
        ],
        "not_edited": [
            {"column": one.column, "status": one.status, "when_null": one.when_null} for one in shown.not_edited
        ],
        "text": shown.text if raw else exported_text(shown),
    }


def _plain(value: object) -> Json:
    """A value of a column as JSON has it: bytes in hexadecimal, times in ISO 8601."""
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


def exported_text(shown: Shown) -> str | None:
    """The text as it would be exported; None where there is none, or where what to edit in it is unknown."""
    if shown.text is None or not shown.exported:
        return None
    return "".join(piece for piece, _ in _pieces(shown, raw=False))


def _pieces(shown: Shown, *, raw: bool) -> Iterator[tuple[str, Edit | None]]:
    """The text in pieces: those that stay, and those that an edit changes or has put in."""
    utf8, at = (shown.text or "").encode(), 0
    for edit, written in shown.edits:
        yield utf8[at : edit.start].decode(), None
        yield (utf8[edit.start : edit.end].decode() if raw else written), edit
        at = edit.end
    yield utf8[at:].decode(), None


def _print(shown: Shown, console: Console, *, raw: bool, most: int | None) -> None:
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
    for one in shown.not_edited:
        line(f"note     {one.said}")
    line("")
    if shown.text is None:
        line("no text")
        return
    if not shown.exported and not raw:
        line("text     not exported: what to edit in it is unknown (--raw shows it as it was read)", "bold")
        return
    changed = sum(edit.end - edit.start for edit, _ in shown.edits)
    what = "as it was read" if raw else "as it would be exported"
    line(f"text     {what}: {grouped(len(shown.edits))} edits of {grouped(changed)} bytes", "bold")
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
    yield "shard", f"{sample.place.shard.shard}, row {grouped(sample.place.row)}"


def _measures(batch: pa.RecordBatch) -> Iterator[str]:
    """Each column with its value, in short; long ones by how long they are."""
    for name in batch.schema.names:
        value = batch.column(name)[0].as_py()
        if value is None:
            continue
        if isinstance(value, list):
            yield f"{name} [{len(value)}]"
        elif name in _WIDE and isinstance(value, str):
            yield f"{name} ({grouped(len(value))} characters)"
        elif isinstance(value, float):
            yield f"{name} {value:.4g}"
        elif isinstance(value, bool) or not isinstance(value, int):
            text = str(_plain(value)).lower() if isinstance(value, bool) else str(_plain(value))
            yield f"{name} {text if len(text) <= VALUE_CHARACTERS else text[:VALUE_CHARACTERS] + '…'}"
        else:
            yield f"{name} {grouped(value)}"


def _wrapped(measures: Iterator[str], width: int) -> Iterator[str]:
    line = ""
    for measure in measures:
        if line and len(line) + len(measure) + 3 > width:
            yield line
            line = ""
        line = f"{line} · {measure}" if line else measure
    if line:
        yield line


def _of_rules(shown: Shown) -> str:
    said = shown.verdict
    if said is None:
        return "none" if shown.undecided is None else f"not decided: {shown.undecided}"
    if said.undecided:
        return f"the condition of {said.undecided[0]} is null here, and its rule says that this is an error"
    if said.kept:
        return "kept"
    more = f"; also: {', '.join(said.reasons[1:])}" if len(said.reasons) > 1 else ""
    return f"dropped: {said.reasons[0]}{more}"


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
    console.print(whole, soft_wrap=True)
    cut = sum(len(piece) for piece, _ in pieces) - (most or 0)
    if most is not None and cut > 0:
        console.print(Text(f"… and {grouped(cut)} characters more (--characters 0 shows all)"), soft_wrap=True)
