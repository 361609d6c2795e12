"""Explains why a stage has no samples to take, from the whole store or from one source, and what to do."""

from collections.abc import Mapping, Sequence
from typing import Final

from winnow.pipelines.binding.mixture import BoundStage
from winnow.pipelines.mix.candidates import EMPTY, OF_MEDIA
from winnow.pipelines.mix.inventory import Inventory
from winnow.pipelines.mix.tokens import EDIT_UNMEASURED, LEFT_OUT, NO_TEXT, STATUSES, UNENCODABLE
from winnow.schemas.mixture import Amount, Stratum
from winnow.schemas.problems import shown
from winnow.schemas.recipe import MixConfig, Unit
from winnow.schemas.tombstones import FORGOTTEN
from winnow.scoring.mixture.cells import Absent

_WHY: Final = {  # of one sample, and of several
    STATUSES[NO_TEXT]: ("has no text", "have no text"),
    STATUSES[LEFT_OUT]: ("kills the worker that reads it", "kill the worker that reads them"),
    FORGOTTEN: ("is forgotten", "are forgotten"),
    STATUSES[EDIT_UNMEASURED]: ("has edits that were not measured", "have edits that were not measured"),
    STATUSES[UNENCODABLE]: (
        "has a text that the tokenizer cannot encode",
        "have a text that the tokenizer cannot encode",
    ),
}
_EMPTY_TEXT: Final = ("has an empty text", "have an empty text")
_EMPTY: Final[Mapping[Unit, tuple[str, str]]] = {
    "pixels": ("has no picture that can be decoded", "have no picture that can be decoded"),
    "seconds": ("has no video that can be watched", "have no video that can be watched"),
}


def explain_empty(inventory: Inventory, stage: BoundStage, mix: MixConfig) -> str:
    """Return why no stratum of a stage has any samples."""
    rows, kept = inventory.rules.rows.rows, inventory.kept.samples
    return f"no sample may be taken: {_why('the store', rows, kept, inventory.left_out, stage, mix)}"


def explain_missing(inventory: Inventory, stage: BoundStage, strata: Sequence[Stratum], mix: MixConfig) -> Absent:
    """Return, for each source and class without samples for the stage, why it has none."""
    there = {one.source for one in strata}
    rows: dict[str, int] = {}
    kept: dict[str, int] = {}
    for group in inventory.rules.groups:
        rows[group.source] = rows.get(group.source, 0) + group.rows.rows
        kept[group.source] = kept.get(group.source, 0) + group.kept.rows
    found: dict[tuple[str, str], str] = {}
    for source in rows.keys() - there:
        why = _why("it", rows[source], kept[source], inventory.left_out_by_source.get(source, {}), stage, mix)
        found["source", source] = f"no sample of source {shown(source)} may be taken: {why}"
    sources: dict[str, set[str]] = {}
    for cell in inventory.cells:
        sources.setdefault(cell.source_class, set()).add(cell.source)
    for name in sources.keys() - {one.source_class for one in strata}:
        of_class: dict[str, Amount] = {}
        for source in sources[name]:
            for reason, amount in inventory.left_out_by_source.get(source, {}).items():
                of_class[reason] = of_class.get(reason, Amount()) + amount
        total, those = (sum(counts.get(source, 0) for source in sources[name]) for counts in (rows, kept))
        why = _why("it", total, those, of_class, stage, mix)
        found["class", name] = f"no sample of class {shown(name)} may be taken: {why}"
    return found


def _why(what: str, rows: int, kept: int, left_out: Mapping[str, Amount], stage: BoundStage, mix: MixConfig) -> str:
    """Return the first reason that excludes all samples, in the order in which they are filtered."""
    if not rows:
        return f"{what} has no samples; see winnow stats"
    if not kept:
        found = "do not keep its only sample" if rows == 1 else f"keep none of the {rows:,} samples"
        return f"the rules {found}; see winnow plan"
    if kept > sum(amount.samples for amount in left_out.values()):
        return _held_out(kept, stage, long=mix.max_share_of_sample is not None)
    unit = mix.unit
    why = {**_WHY, EMPTY: _EMPTY.get(unit, _EMPTY_TEXT)}
    media = unit not in OF_MEDIA and STATUSES[NO_TEXT] in left_out
    hint = "; to take media without text, write unit: samples" if media else ""
    if kept == len(left_out) == 1:
        (reason,) = left_out
        return f"the only sample that the rules keep cannot be counted in {unit}: it {why[reason][0]}{hint}"
    reasons = ", ".join(
        f"{amount.samples:,} {why[reason][amount.samples != 1]}" for reason, amount in sorted(left_out.items())
    )
    return f"none of the {kept:,} samples that the rules keep can be counted in {unit}: {reasons}{hint}"


def _held_out(kept: int, stage: BoundStage, *, long: bool) -> str:
    """Return why a stage takes none of the samples that can be counted."""
    only, too_long = kept == 1, ", or longer than mix.max_share_of_sample allows" if long else ""
    if stage.config.where is None:
        found = "the only sample that the rules keep is" if only else f"all {kept:,} samples that the rules keep are"
        return f"{found} held out (mix.split){too_long}" if long else f"{found} held out; see mix.split"
    if only:
        return f"the only sample that the rules keep does not meet {stage.path}.where, or is held out{too_long}"
    none = f"none of the {kept:,} samples that the rules keep meets {stage.path}.where"
    return f"{none}, or all that do are held out{too_long}"
