"""What the store holds: the first thing that the page asks for. It reads records alone, never rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.query.generation import layer_names
from winnow.pipelines.rules.pinning import stage_of
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.hidden_rows import hidden_rows
from winnow.pipelines.store.leases.lease import writer
from winnow.runners.inspect.frame import Frame, progress_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import Answer, Asked, View
from winnow.runners.stages.rule_decisions import decisions_if_kept
from winnow.schemas.languages import language_name
from winnow.schemas.records import Generation

DECIDED_SECONDS: Final = 0.6  # that the first view waits for what a command has decided


def answer(opened: Opened, _asked: Asked) -> Answer:
    """Its sources, languages, layers and columns, what is still missing, and who writes to it."""
    record = opened.store.latest_record()
    known: Answer = {
        "name": opened.store.root,
        "recipe": None if opened.recipe is None else opened.recipe.file,
        "reasons": [] if opened.recipe is None else list(dict.fromkeys(opened.recipe.rules.reasons)),
        "latest": 0 if record is None else record.number,
    }
    if record is None:
        nothing: Answer = {
            **dict.fromkeys(("generation", "rows", "bytes"), 0),
            **{name: [] for name in ("sources", "languages", "layers", "columns")},
            "progress": None,
        }
        command = f"winnow ingest {known['recipe'] or 'RECIPE'}"
        missing: list[Answer] = [{"what": "nothing has been ingested yet", "command": command}]
        return {**known, **nothing, "missing": missing, "state": _state(opened.store, "empty")}
    generation = opened.generation
    missing = [] if opened.recipe is None else list(_missing(opened.recipe, generation))
    return {
        **known,
        "generation": generation.number,
        "rows": _rows(opened.store, generation),
        "bytes": sum(entry.bytes for entry in generation.layers.values()),
        "sources": _sources(opened.store, generation),
        "languages": _languages(opened),
        "layers": [{"name": name, "rows": entry.rows} for name, entry in sorted(generation.layers.items())],
        "columns": [
            {"name": name, "type": str(kind), "numeric": _is_numeric(kind)}
            for name, kind in opened.tables.columns.items()
        ],
        "progress": {"frame": _frame_progress(opened)} if layout.SAMPLES in generation.layers else None,
        "missing": missing,
        "state": _state(opened.store, "unfinished" if missing else "finished"),
    }


def _rows(store: Store, generation: Generation) -> int:
    samples = generation.layers.get(layout.SAMPLES)
    hidden = sum(len(found.rows) for found in hidden_rows(store, generation).values())
    return 0 if samples is None else samples.rows - hidden


def _sources(store: Store, generation: Generation) -> list[Answer]:
    """Samples have a key of their own for each source."""
    samples = generation.layers.get(layout.SAMPLES)
    held = store.generation_record(generation.number).layers[layout.SAMPLES].keys
    keys = {} if samples is None else samples.keys
    return [{"name": name, "rows": held[key].rows if key in held else 0} for name, key in sorted(keys.items())]


def _languages(opened: Opened) -> list[Answer]:
    """By rows, as far as it is known which are kept: from the frame of rows, or as a command has decided it."""
    frame: Frame | None = opened.kept.find("frame")
    if frame is None:
        decided = opened.kept.within("decided languages", lambda: _Decided(_decided(opened)), DECIDED_SECONDS)
        counted = {} if decided is None else decided.counts  # of very many shards: the page asks again
    else:
        counted = frame.by_language
    is_decided = frame is None or frame.why_no_rules is None
    return [
        {"code": code, "name": language_name(code), "rows": rows, "kept": kept if is_decided else None}
        for code, (rows, kept) in sorted(counted.items(), key=lambda one: (-one[1][0], one[0]))
    ]


@dataclass(frozen=True)
class _Decided:
    """Rows and kept rows by language, as a command has decided it."""

    counts: dict[str, tuple[int, int]]
    nbytes: int = 1 << 14


def _decided(opened: Opened) -> dict[str, tuple[int, int]]:
    decided = decisions_if_kept(opened.recipe, opened.store, opened.generation)
    summary = None if decided is None else decided.summary_if_decided
    counted: dict[str, tuple[int, int]] = {}
    for group in () if summary is None else summary.groups:
        rows, kept = counted.get(group.language, (0, 0))
        counted[group.language] = rows + group.rows.rows, kept + group.kept.rows
    return counted


def _frame_progress(opened: Opened) -> Answer:
    """How many shards are decided of the rows that most other views count, or why they cannot be."""
    progress = progress_of(opened)
    if opened.kept.find("frame") is not None:
        return {"done": progress.of, "of": progress.of, "failed": None}
    shards = progress.of or opened.generation.layers[layout.SAMPLES].shards
    done = min(progress.done, max(0, shards - 1))  # the last is done when the frame is there
    return {"done": done, "of": shards, "failed": progress.failed}


def _missing(recipe: BoundRecipe, generation: Generation) -> Iterator[Answer]:
    """The layers of the recipe that do not cover the store, with the command that makes them."""
    shards = generation.layers[layout.SAMPLES].shards if layout.SAMPLES in generation.layers else 0
    for layer in sorted({layout.SAMPLES, *layer_names(recipe)} - set(generation.layers)):
        there = generation.partial.get(layer, 0)
        covered = f"is there for {there:,} of {shards:,} shards" if there else "is not there"
        yield {"what": f"layer {layer} {covered}", "command": f"winnow {stage_of(layer)} {recipe.file}"}


def _state(store: Store, otherwise: str) -> str:
    """In words."""
    holder = writer(store.objects)
    if holder is None:
        return otherwise
    since = f" since {holder.since}" if holder.since else ""
    return f"being written by process {holder.process} on {holder.host}{since}"


def _is_numeric(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


VIEW = View(answer)
