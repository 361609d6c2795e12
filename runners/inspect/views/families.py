"""Language families: their share of the documents, of what the rules keep, and of what a mixture asks for and gives."""

from collections import Counter
from typing import Any

from winnow.runners.facts.mixture import by_part
from winnow.runners.inspect.frame import Frame, frame_of
from winnow.runners.inspect.measures import frame_layers
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.summaries import drawn_mixture
from winnow.runners.inspect.view import Answer, Asked, UnavailableError, View
from winnow.runners.inspect.views.mixture import required_mixture
from winnow.schemas.languages.counts import LANGUAGE_LAYER, family_of
from winnow.schemas.mixture import PlannedOutput, PlannedStratum


def answer(opened: Opened, _: Asked) -> Answer:
    """Families by documents, and by output of the drawn mixture; a share is of all families together."""
    frame, plan = frame_of(opened), drawn_mixture(opened)
    if plan is None and LANGUAGE_LAYER not in frame_layers(opened):
        raise UnavailableError(
            f"languages are not measured yet; list {LANGUAGE_LAYER} under annotate and run: winnow annotate RECIPE"
        )
    missing = None
    if plan is None:
        try:
            required_mixture(opened)
        except UnavailableError as error:
            missing = str(error)
    documents, kept = _by_family(frame)
    names = sorted(documents, key=lambda name: (-documents[name], name))
    return {
        "families": [{"family": name, "documents": documents[name], "kept": kept.get(name)} for name in names],
        "unit": None if plan is None else plan.unit,
        "outputs": [] if plan is None else [_given(output) for output in plan.outputs],
        "missing": missing,
    }


def _by_family(frame: Frame) -> tuple[Counter[str], Counter[str]]:
    """The rows of each family, and those that the rules keep; none of these if that is not decided."""
    documents, kept = Counter[str](), Counter[str]()
    for code, (rows, of_them) in frame.by_language.items():
        documents[family_of(code)] += rows
        if frame.why_no_rules is None:
            kept[family_of(code)] += of_them
    return documents, kept


def _given(output: PlannedOutput) -> dict[str, Any]:
    """The families of an output, as its stage groups languages, with planned and given shares."""
    families = by_part(output, "family")
    asked, given = sum(one.asked for one in families), output.given.units

    def row(one: PlannedStratum) -> dict[str, Any]:
        return {
            "family": str(one.stratum),
            "available": one.available.units,
            "asked": one.asked,
            "given": one.given.units,
            "samples": one.given.samples,
            "share_asked": one.asked / asked if asked else None,
            "share_given": one.given.units / given if given else None,
            "epochs": one.given.units / one.available.units if one.available.units else None,
        }

    return {"name": output.name, "asked": asked, "given": given, "families": [row(one) for one in families]}


VIEW = View(answer)
