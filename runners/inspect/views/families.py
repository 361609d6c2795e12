"""Language families: their share of the documents, of what the rules keep, and of what a mixture asks for and gives."""

from collections import Counter
from typing import Any

from winnow.pipelines.rules.summary import RulesSummary
from winnow.runners.facts.figures import effects_by
from winnow.runners.facts.mixture import by_part
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.summaries import drawn_mixture, rules_summary, store_summary
from winnow.runners.inspect.view import Answer, Asked, UnavailableError, View
from winnow.runners.inspect.views.mixture import required_mixture
from winnow.schemas.languages.counts import LANGUAGE_LAYER, family_of, language_counts
from winnow.schemas.mixture import PlannedOutput, PlannedStratum


def answer(opened: Opened, _: Asked) -> Answer:
    """Families by documents, and by output of the drawn mixture; a share is of all families together."""
    counted = language_counts(store_summary(opened))
    plan, rules = drawn_mixture(opened), rules_summary(opened)
    if counted is None and plan is None:
        raise UnavailableError(
            f"languages are not measured yet; list {LANGUAGE_LAYER} under annotate and run: winnow annotate RECIPE"
        )
    missing = None
    if plan is None:
        try:
            required_mixture(opened)
        except UnavailableError as error:
            missing = str(error)
    rows, kept = _decided(rules)
    documents = rows or ({} if counted is None else counted.families)
    names = sorted(documents, key=lambda name: (-documents[name], name))
    return {
        "families": [{"family": name, "documents": documents[name], "kept": kept.get(name)} for name in names],
        "unit": None if plan is None else plan.unit,
        "outputs": [] if plan is None else [_given(output) for output in plan.outputs],
        "missing": missing,
    }


def _decided(rules: RulesSummary | None) -> tuple[Counter[str], Counter[str]]:
    """The rows of each family, and those that the rules keep; none if that is not decided."""
    rows, kept = Counter[str](), Counter[str]()
    for code, effect in () if rules is None else effects_by(rules, "language").items():
        rows[family_of(code)] += effect.rows.rows
        kept[family_of(code)] += effect.kept.rows
    return rows, kept


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
