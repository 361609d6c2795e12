"""One sample: its text as read and as exported, its spans, every layer of its row, and why it stays or goes."""

import math
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.query.find_sample import Sample, Verdict, read_sample, verdict
from winnow.pipelines.reading.columns import column_of
from winnow.pipelines.store import layout
from winnow.runners.inspect.finding import place_of
from winnow.runners.inspect.frame import Frame, frame_of
from winnow.runners.inspect.listing import text_columns
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.pictures import blurred_items
from winnow.runners.inspect.view import Answer, Asked, View
from winnow.runners.stages.samples.sample import SampleView, exported_text, sample_json, view_with_edits
from winnow.schemas.counts import count_of
from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import Json
from winnow.schemas.rows.duplicates import DUPLICATES, VIRTUAL
from winnow.schemas.rows.extraction import EXTRACTED
from winnow.schemas.rules.conditions import columns_read

_MOST_CHARACTERS = 200_000
_MOST_VALUES = 64


def _answer(opened: Opened, asked: Asked) -> Answer:
    frame = frame_of(opened)
    place = place_of(opened, frame, asked.get("id"), asked.get("row"))
    sample = read_sample(opened.store, opened.generation, place)
    row = frame.row(place.shard.shard, place.row)
    shown, exported, why_not_exported = _shown(opened, frame, sample)
    facts, text = sample_json(shown, raw=True), shown.text
    places = _Places((text or "").encode())
    return {
        "id": place.id,
        "row": row,
        "url": sample.layers[layout.SAMPLES].column("url")[0].as_py(),
        "source": frame.sources[int(frame.source[row])],
        "language": frame.languages[int(frame.language[row])],
        "text": {"raw": _cut(text), "exported": _cut(exported), "cut": len(text or "") > _MOST_CHARACTERS},
        "spans": list(_spans(sample, places)),
        "edits": [
            {"from": places.at(edit.start), "to": places.at(edit.end), "kind": edit.kind, "written": written}
            for edit, written in shown.edits
        ],
        "not_edited": [one.message for one in shown.not_edited],
        "layers": _finite(facts["layers"]),
        "decision": _decision(frame, sample, row, shown.verdict),
        "undecided": frame.why_no_rules,
        "why_undecided": frame.why_no_rules,
        "why_not_exported": why_not_exported,
        **media_of(sample),
        "captions": facts["captions"],
    }


def _shown(opened: Opened, frame: Frame, sample: Sample) -> tuple[SampleView, str | None, str | None]:
    """The sample with its edits and the rules' verdict, its text as exported, and why that is not known."""
    why: str | None = "there is no recipe, which says how texts are exported; run: winnow inspect RECIPE"
    undecided, decided = frame.why_no_rules, None
    if undecided is None and frame.rules.rules:
        decided = verdict(frame.pinned, sample, lambda: frame.duplicates)
    if opened.recipe is not None:
        try:
            shown = view_with_edits(opened.recipe, sample, decided, undecided)
            return shown, exported_text(shown), None
        except RecipeError as error:  # such as a key of pseudonyms that is not here
            why = str(error).splitlines()[0]
    columns = [column for name in text_columns(opened) if (column := column_of(name, sample.layers)) is not None]
    return SampleView(sample, decided, undecided, sample.text(columns), (), ()), None, why


class _Places:
    """Places in a text: bytes of its UTF-8 as stores count them, and UTF-16 units as pages do."""

    def __init__(self, utf8: bytes) -> None:
        raw = np.frombuffer(utf8, np.uint8)
        units = ((raw & 0xC0) != 0x80).astype(np.int64) + (raw >= 0xF0)
        self._units: NDArray[np.int64] = np.concatenate([[0], np.cumsum(units)])

    def at(self, byte: int) -> int:
        """The place in units."""
        return int(self._units[min(max(byte, 0), len(self._units) - 1)])


def _spans(sample: Sample, places: _Places) -> Iterator[dict[str, Json]]:
    """The parts of the text that layers mark, by their kind."""
    for layer, batch in sample.layers.items():
        for field in batch.schema if not layer.startswith(EXTRACTED) else ():
            if _has_spans(field.type):
                for span in batch.column(field.name)[0].as_py() or ():
                    yield {
                        "from": places.at(span["start"]),
                        "to": places.at(span["end"]),
                        "kind": span.get("kind") or field.name,
                        "layer": layer,
                    }


def _has_spans(kind: pa.DataType) -> bool:
    if not pa.types.is_list(kind) or not pa.types.is_struct(kind.value_type):
        return False
    return {"start", "end"} <= {field.name for field in kind.value_type}


def _cut(text: str | None) -> str | None:
    return text if text is None else text[:_MOST_CHARACTERS]


def _finite(value: Json) -> Json:
    """JSON that pages can read: no infinite numbers, and no more of a long list than a person reads."""
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list):
        more = [f"… {len(value):,} in all"] if len(value) > _MOST_VALUES else []
        return [*(_finite(one) for one in value[:_MOST_VALUES]), *more]
    return value


def media_of(sample: Sample) -> dict[str, Json]:
    """The first of its media, and how many more there are."""
    items = sample.layers[layout.SAMPLES].column("media")[0].as_py()
    names = ("mime", "bytes", "width", "height", "seconds", "sha256")
    blurred = blurred_items(sample.layers)
    shown: list[Json] = [
        {"item": number, "blurred": number in blurred} | {name: _finite(one.get(name)) for name in names}
        for number, one in enumerate(items[:_MOST_VALUES])
    ]
    return {"media": shown, "more_media": len(items) - len(shown)}


def _decision(frame: Frame, sample: Sample, row: int, found: Verdict | None) -> dict[str, Json]:
    fires, stays = frame.firing(row), _representative(frame, sample)
    reasons = tuple(frame.rules.reasons[number] for number in fires)
    clusters = list(_clusters(sample))
    return {
        "kept": None if frame.why_no_rules else bool(frame.kept[row]),
        "reasons": list(reasons),
        "first": reasons[0] if reasons else None,
        "words": list(_words(frame, fires, found, clusters, stays)),
        "rules": [_rule(frame, number, number in fires, found, sample) for number in range(len(frame.rules.rules))],
        "clusters": clusters,
        "representative": stays,
        "items": [] if found is None else [list(one) for one in found.items],
    }


def _rule(frame: Frame, number: int, fires: bool, found: Verdict | None, sample: Sample) -> dict[str, Json]:
    one = frame.rules.rules[number]
    read = {column.name: column for column in frame.rules.columns if column.name in columns_read(one.rule.drop)}
    values = {name: sample.column(column)[0].as_py() for name, column in read.items()}
    return {
        "reason": one.rule.reason,
        "list": one.phase,
        "condition": one.rule.drop,
        "fires": fires,
        "values": {
            name: _finite(value if isinstance(value, bool | int | float) else str(value)[:100])
            for name, value in values.items()
            if value is not None
        },
        "compared": [
            {"column": each.cut.column, "op": each.cut.operator, "value": _finite(each.value), "limit": each.limit}
            for each in (() if found is None else found.compared)
            if each.reason == one.rule.reason
        ],
    }


def _clusters(sample: Sample) -> Iterator[dict[str, Json]]:
    """The clusters of more than one row, or item, that the sample is in."""
    for layer, batch in sample.layers.items():
        if not layer.startswith(DUPLICATES) or not {"cluster", "size"} <= {*batch.schema.names}:
            continue
        clusters, sizes = (batch.column(name)[0].as_py() for name in ("cluster", "size"))
        listed = zip(clusters or (), sizes or (), strict=True) if isinstance(clusters, list) else [(clusters, sizes)]
        for item, (cluster, size) in enumerate(listed):
            if cluster is not None and (size or 0) > 1:
                of_item: dict[str, Json] = {"item": item} if isinstance(clusters, list) else {}
                yield {"kind": layer.removeprefix(DUPLICATES), "id": cluster.hex(), "size": size} | of_item


def _representative(frame: Frame, sample: Sample) -> str | None:
    """The id of the sample that is kept in place of this one, if it is dropped as a duplicate."""
    shard = sample.place.shard
    if not frame.duplicates.lost:
        return None
    found = frame.duplicates.replacement_ids(shard.shard, shard.rows)[sample.place.row].as_py()
    return None if found is None else found.hex()


def _words(
    frame: Frame,
    fires: tuple[int, ...],
    found: Verdict | None,
    clusters: list[dict[str, Json]],
    stays: str | None,
) -> Iterator[str]:
    """Why the sample stays or goes, in sentences."""
    if frame.why_no_rules is not None:
        yield f"Not decided: {frame.why_no_rules}."
        return
    if not frame.rules.rules:
        yield "Kept: the recipe has no rules."
    elif not fires:
        yield f"Kept: none of {count_of(len(frame.rules.rules), 'rule')} drops it."
    for at, number in enumerate(fires):
        one = frame.rules.rules[number]
        reason = one.rule.reason
        begin = "Dropped by" if at == 0 else "It would also be dropped by"
        if one.phase == "dedupe":
            kind = one.rule.drop.removeprefix(f"{VIRTUAL}.")
            kept = f"; {stays} is kept in its place" if stays else ""
            yield f"{begin} {reason}: another sample stands for its cluster of {kind} duplicates{kept}."
            continue
        compared = [each for each in (() if found is None else found.compared) if each.reason == reason]
        beyond = " and ".join(
            f"{each.cut.column} is {each.value:.6g} and the rule drops {each.cut.operator} {each.limit:.6g}"
            for each in compared
        )
        yield f"{begin} {reason} ({one.phase}): {beyond or one.rule.drop}."
    for cluster in clusters if not fires else ():
        yield (
            f"It stands for its cluster of {cluster['kind']} duplicates, {cluster['id']}, "
            f"or no rule drops others of its {cluster['size']:,}."
        )


VIEW = View(_answer)
