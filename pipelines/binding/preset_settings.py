"""Whether a preset's rules see what the preset measures: its thresholds mean nothing under other settings."""

from dataclasses import asdict, replace

from winnow.filters.presets import find_preset
from winnow.pipelines.binding.operators import configure
from winnow.schemas.recipe import PresetRules, Recipe
from winnow.schemas.recipe.nodes import MapNode


def preset_notes(recipe: Recipe) -> list[str]:
    """A line for each measure that a preset's rules read and that the recipe configures otherwise than the preset."""
    notes = []
    for phase, entries in (("eligible", recipe.eligible), ("keep", recipe.keep)):
        for number, entry in enumerate(entries):
            if isinstance(entry, PresetRules):
                notes += [f"{entry.place}: {phase}[{number}]: {note}" for note in _differences(recipe, entry)]
    return notes


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
        differing = [name for name in theirs if own[name] != theirs[name]]
        if differing:
            values = ", ".join(f"{name} {theirs[name]!r}, here {own[name]!r}" for name in differing)
            found.append(f"{preset.name} measures {layer} with {values}")
    return found
