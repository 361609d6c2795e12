"""The mixture: what each output asks for and is given, by source and stratum, and how often it repeats."""

from typing import Final

from winnow.runners.facts.mixture import by_source, exposures, left_out, outputs, strata
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.summaries import drawn_mixture
from winnow.runners.inspect.view import Answer, Asked, UnavailableError, View
from winnow.runners.tables.table import Table
from winnow.schemas.identity import Json
from winnow.schemas.mixture import MixturePlan

SHOWN_STRATA: Final = 1_000


def answer(opened: Opened, _: Asked) -> Answer:
    """The tables of the drawn plan; amounts are in the plan's unit."""
    plan = required_mixture(opened)
    return {
        "plan": plan.name,
        "unit": plan.unit,
        "sample": plan.sample,
        "max_epochs": plan.max_epochs,
        "asked": {name: value for name, value in plan.asked.items() if name.startswith("mix.")},
        "kept": {"samples": plan.kept.samples, "units": plan.kept.units},
        "outputs": _numbers(outputs(plan)),
        "exposures": exposures(plan).to_json(),
        "by_output": [
            {
                "name": output.name,
                "budget": output.budget,
                "sources": _numbers(by_source(plan, output)),
                "strata": _numbers(strata(plan, output, SHOWN_STRATA)),
                "notes": list(output.notes),
            }
            for output in plan.outputs
        ],
        "left_out": left_out(plan).to_json(),
        "notes": list(plan.notes),
    }


def _numbers(found: Table) -> list[dict[str, Json]]:
    """The rows of a table; null where it has a dash, as nothing is available."""
    return [{name: None if value == "-" else value for name, value in row.items()} for row in found.to_json()]


def required_mixture(opened: Opened) -> MixturePlan:
    """The drawn plan; UnavailableError, with the command that draws it, if there is none."""
    plan = drawn_mixture(opened)
    if plan is not None:
        return plan
    if opened.recipe is None:
        raise UnavailableError("a mixture is that of a recipe; run: winnow inspect RECIPE")
    if opened.recipe.config.mix is None:
        raise UnavailableError(f"{opened.recipe.file} has no section 'mix', so it asks for no mixture")
    raise UnavailableError(f"the mixture that the recipe asks for is not drawn; run: winnow mix {opened.recipe.file}")


VIEW = View(answer)
