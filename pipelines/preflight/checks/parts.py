"""The parts of a recipe that are bound before anything is read: rules, the mixture with its laws, exports.

Presets of rules may judge what they were not made for: other settings of a measure, or other languages.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace

from winnow.filters.presets import find_preset
from winnow.pipelines.binding.operators import configure
from winnow.pipelines.binding.rule_presets import made_for, rule_lists
from winnow.pipelines.export.stage import bind_exports
from winnow.pipelines.mix.laws import read_laws
from winnow.pipelines.preflight.check import Check, DecidedRules, NewInput, WholeRecipe
from winnow.pipelines.rules.guards import require_accepted
from winnow.schemas.errors import WinnowError
from winnow.schemas.problems import Place, Problem
from winnow.schemas.recipe import PresetRules, Recipe
from winnow.schemas.recipe.nodes import MapNode


def _rules(about: WholeRecipe) -> Iterable[Problem]:
    recipe = about.recipe
    _ = recipe.rules, recipe.edits, recipe.captions
    return ()


def _mixture(about: WholeRecipe) -> Iterator[Problem]:
    """Binds the mixture, reads its laws, and loads its tokenizer: it may be damaged, or need a package."""
    recipe, mix = about.recipe, about.recipe.config.mix
    if mix is None:
        return
    _, layer = recipe.mixture, recipe.tokens
    assert layer is not None
    try:
        layer.bound.open_tokenizer()
    except WinnowError as error:
        yield Problem(mix.place, "mix.tokenizer", str(error))
    else:
        read_laws(recipe)


def _exports(about: WholeRecipe) -> Iterator[Problem]:
    config = about.recipe.config
    if config.export and config.mix is None:
        said = "'export' needs a mixture; write mix: {} to export everything"
        yield Problem(config.export[0].place, "", said)
    about.recipe.part(bind_exports)


def _other_settings(about: WholeRecipe) -> Iterator[str]:
    """A line for each measure that a preset's rules read and that the recipe configures differently."""
    recipe = about.recipe.config
    for phase, entries in rule_lists(recipe):
        for number, entry in enumerate(entries):
            if isinstance(entry, PresetRules):
                for note in _differences(recipe, entry):
                    yield f"{entry.place}: {phase}[{number}]: {note}"


def _other_languages(about: NewInput) -> Iterator[str]:
    """A line for each preset whose rules were made for some languages and judge all."""
    for phase, entries in rule_lists(about.recipe.config) if about.is_first else ():
        for number, entry in enumerate(entries):
            languages = find_preset(entry.preset).languages if isinstance(entry, PresetRules) else None
            if isinstance(entry, PresetRules) and languages is not None:
                named = made_for(entry.preset, languages)
                yield (
                    f"{entry.place}: {phase}[{number}]: {named}; the preset multilingual has thresholds for every "
                    "language"
                )


def _differences(recipe: Recipe, entry: PresetRules) -> list[str]:
    preset = find_preset(entry.preset)
    found = []
    for number, measure in enumerate(recipe.annotate):
        layer = entry.layer or measure.name
        if measure.name not in preset.operators or measure.layer != layer:
            continue
        where = f"annotate[{number}].{measure.name}"
        own = asdict(configure(measure, where)[1])
        plain = replace(measure, options=MapNode((), measure.place), preset=preset.name)
        theirs = asdict(configure(plain, where)[1])
        # What a preset has none of, such as evaluation sets, each recipe gives itself.
        differing = [name for name in theirs if theirs[name] != () and own[name] != theirs[name]]
        if differing:
            values = ", ".join(f"{name} {theirs[name]!r}, here {own[name]!r}" for name in differing)
            found.append(f"{preset.name} measures {layer} with {values}")
    return found


def _alarms(about: DecidedRules) -> Iterator[Problem]:
    """Refuses a plan with alarms on duplicates, guarded rules and edits that the recipe does not accept."""
    recipe = about.recipe
    of_rules = [alarm for alarm in about.rules.alarms if alarm.of in ("rule", "edit")]
    if recipe.config.dedupe is not None:
        others = [alarm for alarm in about.rules.alarms if alarm not in of_rules]
        require_accepted(recipe.config.dedupe, others, recipe.file)
    for alarm in of_rules:
        yield Problem(Place(recipe.file, 0), "", alarm.message)


CHECKS = (
    Check("rules", WholeRecipe, _rules, order=3),
    Check("mixture", WholeRecipe, _mixture, "mix", order=4),
    Check("exports", WholeRecipe, _exports, "export", order=5),
    Check("other-settings-than-a-preset", WholeRecipe, _other_settings, order=6, of_plan=True),
    Check("other-languages-than-a-preset", NewInput, _other_languages, order=7, of_plan=True),
    Check("alarms", DecidedRules, _alarms, "dedupe", order=1),
)
