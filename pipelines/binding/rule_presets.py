"""Presets in a recipe's lists of rules, spelt out: the rules as they will run, each with its line and path.

Also notes where the recipe measures otherwise than the preset, whose thresholds then mean nothing.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace

from winnow.filters.presets import Preset, find_preset
from winnow.pipelines.binding.duplicates import wanted_kinds
from winnow.pipelines.binding.operators import configure
from winnow.schemas.conditions import columns_read
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import Problems, shown, suggestion
from winnow.schemas.recipe import PresetRules, Recipe, Rule, RuleOverride
from winnow.schemas.recipe.nodes import MapNode
from winnow.schemas.rows.duplicates import CHOSEN_IN, VIRTUAL
from winnow.schemas.rules import Phase


@dataclass(frozen=True, slots=True)
class SpeltRule:
    """A rule as it runs, and where the recipe has it.

    A rule has three shapes, each for what the others cannot say. `Rule` is one decision, the same whether a recipe, a
    preset or the search for duplicates says it; it is what is shown and hashed. `RuleOverride` is what a recipe says of
    a preset's rule, where each part may be left as it is. This one is a rule's place in the program: its list, and the
    path that messages name; it decides nothing, so it is no part of the hash.
    """

    rule: Rule
    phase: Phase
    path: str  # such as `keep[3]`, or `keep[3].rules.short` where a preset says it
    preset: str | None = None
    written: str | None = None  # the path of the recipe's own text of the condition; None where the preset's is used


def spelt_rules(recipe: Recipe) -> tuple[SpeltRule, ...]:
    """Every rule of a recipe: of `eligible`, of duplicates that another row stays for, of `keep`; presets spelt out.

    Raises:
        RecipeError: An unknown preset or reason, or a reason that two rules of a list share; one line each.
    """
    problems = Problems()
    spelt = (
        *_spelt_list(recipe.eligible, "eligible", problems),
        *_of_duplicates(recipe),
        *_spelt_list(recipe.keep, "keep", problems),
    )
    problems.stop_if_any()
    return spelt


def expand_presets(recipe: Recipe) -> Recipe:
    """The recipe with rules in the place of presets, to be shown and hashed; it decides the same."""
    spelt = spelt_rules(recipe)
    lists: dict[Phase, tuple[Rule, ...]] = {
        "eligible": tuple(one.rule for one in spelt if one.phase == "eligible"),
        "keep": tuple(one.rule for one in spelt if one.phase == "keep"),
    }
    texts = dict(recipe.written)
    written = {path: text for path, text in texts.items() if not path.startswith(("eligible[", "keep["))}
    numbers: dict[Phase, int] = dict.fromkeys(lists, 0)
    for one in (one for one in spelt if one.phase in lists):
        if one.written in texts:
            written[f"{one.phase}[{numbers[one.phase]}].drop"] = texts[one.written]
        numbers[one.phase] += 1
    return replace(recipe, eligible=lists["eligible"], keep=lists["keep"], written=tuple(written.items()))


def _of_duplicates(recipe: Recipe) -> Iterable[SpeltRule]:
    """A rule for each kind of duplicates that the recipe looks for, where it says who stays."""
    config = recipe.dedupe
    if config is None or not config.representative:
        return ()
    return (
        SpeltRule(Rule(f"{VIRTUAL}.{kind}", f"{VIRTUAL}_{kind}", config.place), "dedupe", f"dedupe.{kind}")
        for kind in CHOSEN_IN
        if kind in wanted_kinds(recipe)
    )


def _spelt_list(entries: Sequence[Rule | PresetRules], phase: Phase, problems: Problems) -> Iterable[SpeltRule]:
    found: list[SpeltRule] = []
    for number, entry in enumerate(entries):
        path = f"{phase}[{number}]"
        if isinstance(entry, Rule):
            found.append(SpeltRule(entry, phase, path, written=f"{path}.drop"))
        else:
            found += _spelt_preset(entry, phase, path, problems)
    first: dict[str, SpeltRule] = {}
    for one in found:
        other = first.setdefault(one.rule.reason, one)
        if other is not one:
            problems.add(
                one.rule.place,
                one.path,
                f"{other.path} (line {other.rule.place.line}) has the reason {one.rule.reason!r} already; reasons are "
                "unique in a list; give one preset a 'prefix', or leave its rule out by `rules: {reason: off}`",
            )
    return found


def _spelt_preset(entry: PresetRules, phase: Phase, path: str, problems: Problems) -> list[SpeltRule]:
    try:
        preset = find_preset(entry.preset)
    except RecipeError as error:
        problems.add(entry.place, f"{path}.preset", str(error))
        return []
    reasons = [rule.reason for rule in preset.rules]
    overrides = {override.name: override for override in entry.rules}
    for override in entry.rules:
        if override.name not in reasons:
            hint = suggestion(override.name, reasons)
            unknown = f"{preset.name} has no rule with the reason {shown(override.name)}{hint}"
            problems.add(override.place, f"{path}.rules", unknown)
    old = _renamed_layer(preset, entry, path, problems)
    found = []
    for rule in preset.rules:
        own = overrides.get(rule.reason)
        if own is not None and own.off:
            continue
        condition = rule.drop if old is None or entry.layer is None else with_layer(rule.drop, old, entry.layer)
        where = f"{path}.rules.{rule.reason}"
        reason = rule.reason if entry.prefix is None else f"{entry.prefix}{rule.reason}"
        spelt = replace(rule, drop=condition, reason=reason, place=entry.place)
        if own is not None:
            spelt = _overridden(spelt, own)
        written = f"{where}.drop" if own is not None and own.drop is not None else None
        found.append(SpeltRule(spelt, phase, where, preset.name, written))
    return found


def _overridden(rule: Rule, own: RuleOverride) -> Rule:
    return replace(
        rule,
        drop=rule.drop if own.drop is None else own.drop,
        place=own.place,
        when_null=rule.when_null if own.when_null is None else own.when_null,
    )


def _renamed_layer(preset: Preset, entry: PresetRules, path: str, problems: Problems) -> str | None:
    """The operator whose layer the recipe has under another name; None where nothing is renamed."""
    if entry.layer is None:
        return None
    if len(preset.operators) != 1:
        names = ", ".join(preset.operators) or "none"
        problems.add(entry.place, f"{path}.layer", f"{preset.name} reads several layers ({names}); 'layer' renames one")
        return None
    return next(iter(preset.operators))


def with_layer(condition: str, old: str, new: str) -> str:
    """The condition with one layer's columns read from another layer.

    Raises:
        RecipeError: The condition writes the columns in a way that cannot be replaced by text, such as quoted.
    """
    replaced = re.sub(rf"(?<![\w.\"']){re.escape(old)}(?=\.)", new, condition)
    wanted = [
        f"{new}{name.removeprefix(old)}" if name.startswith(f"{old}.") else name for name in columns_read(condition)
    ]
    if list(columns_read(replaced)) != list(dict.fromkeys(wanted)):
        raise RecipeError(f"the layer of {shown(condition)} cannot be renamed")
    return replaced


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
