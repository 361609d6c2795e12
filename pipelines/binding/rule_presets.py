"""Expands presets in a recipe's lists of rules: the rules as they will run, each with its line and path.

It also notes measures that the recipe configures differently from the preset, as thresholds then mean little.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from winnow.filters.duplicates.kind import kinds_chosen_in
from winnow.filters.presets import Preset, find_preset
from winnow.pipelines.binding.duplicates import duplicate_kinds, spelt_out
from winnow.schemas.errors import RecipeError
from winnow.schemas.languages import language_name
from winnow.schemas.problems import Problems, shown, suggestion
from winnow.schemas.recipe import PresetRules, Recipe, Rule, RuleOverride
from winnow.schemas.rows.duplicates import VIRTUAL
from winnow.schemas.rules.checking import Phase
from winnow.schemas.rules.conditions import columns_read


@dataclass(frozen=True, slots=True)
class ProgramRule:
    """A rule as it runs, with its list and its path in the recipe.

    `Rule` is one decision, from a recipe, a preset or the search for duplicates; `RuleOverride` changes parts of a
    preset's rule. The path is for messages only, so it is not hashed.
    """

    rule: Rule
    phase: Phase
    path: str  # such as `keep[3]`, or `keep[3].rules.short` for a preset's rule
    preset: str | None = None
    written: str | None = None  # the path of the condition in the recipe; None if it is the preset's
    late: bool = False  # it reads what is known only once representatives are chosen


def expand_rules(recipe: Recipe) -> tuple[ProgramRule, ...]:
    """Return every rule of a recipe in order: `eligible`, duplicates, `items`, `keep`, with presets expanded.

    RecipeError, one line each, for unknown presets and reasons, and a reason that two rules of a list share.
    """
    problems = Problems()
    expanded = (
        *_expand_list(recipe.eligible, "eligible", problems),
        *_duplicate_rules(recipe),
        *_expand_list(recipe.items, "items", problems),
        *_expand_list(recipe.keep, "keep", problems),
    )
    problems.stop_if_any()
    return expanded


def expand_presets(recipe: Recipe) -> Recipe:
    """Return the recipe with its presets replaced by their rules, for showing and hashing; its decisions are equal."""
    expanded = expand_rules(recipe)
    lists: dict[Phase, tuple[Rule, ...]] = {
        "eligible": tuple(one.rule for one in expanded if one.phase == "eligible"),
        "items": tuple(one.rule for one in expanded if one.phase == "items"),
        "keep": tuple(one.rule for one in expanded if one.phase == "keep"),
    }
    texts = dict(recipe.written)
    written = {path: text for path, text in texts.items() if not path.startswith(("eligible[", "items[", "keep["))}
    numbers: dict[Phase, int] = dict.fromkeys(lists, 0)
    for one in (one for one in expanded if one.phase in lists):
        if one.written in texts:
            written[f"{one.phase}[{numbers[one.phase]}].drop"] = texts[one.written]
        numbers[one.phase] += 1
    return replace(
        spelt_out(recipe),
        eligible=lists["eligible"],
        items=lists["items"],
        keep=lists["keep"],
        written=tuple(written.items()),
    )


def rule_lists(recipe: Recipe) -> tuple[tuple[Phase, Sequence[Rule | PresetRules]], ...]:
    """Return the lists of rules that a recipe writes, by their phase."""
    return ("eligible", recipe.eligible), ("items", recipe.items), ("keep", recipe.keep)


def _duplicate_rules(recipe: Recipe) -> Iterable[ProgramRule]:
    """Return a rule for each kind of duplicates, if the recipe says how representatives are chosen."""
    config = recipe.dedupe
    if config is None or not config.representative:
        return ()
    return (
        ProgramRule(Rule(f"{VIRTUAL}.{kind.name}", f"{VIRTUAL}_{kind.name}", config.place), "dedupe", kind.layer)
        for kind in kinds_chosen_in(duplicate_kinds(recipe))
    )


def _expand_list(entries: Sequence[Rule | PresetRules], phase: Phase, problems: Problems) -> Iterable[ProgramRule]:
    found: list[ProgramRule] = []
    for number, entry in enumerate(entries):
        path = f"{phase}[{number}]"
        if isinstance(entry, Rule):
            found.append(ProgramRule(entry, phase, path, written=f"{path}.drop"))
        else:
            found += _expand_preset(entry, phase, path, problems)
    first: dict[str, ProgramRule] = {}
    for one in found:
        other = first.setdefault(one.rule.reason, one)
        if other is not one:
            problems.add(
                one.rule.place,
                one.path,
                f"{other.path} (line {other.rule.place.line}) has the reason {one.rule.reason!r} already; reasons are "
                "unique in a list; give the preset a 'prefix', or switch its rule off with `rules: {reason: off}`",
            )
    return found


def _expand_preset(entry: PresetRules, phase: Phase, path: str, problems: Problems) -> list[ProgramRule]:
    try:
        preset = find_preset(entry.preset)
    except RecipeError as error:
        problems.add(entry.place, f"{path}.preset", str(error))
        return []
    rules = preset.items if phase == "items" else preset.rules
    if not rules and phase == "items":
        said = f"{preset.name} has no rules that decide on a medium alone; write it under 'keep'"
        problems.add(entry.place, f"{path}.preset", said)
        return []
    reasons = [rule.reason for rule in rules]
    overrides = {override.name: override for override in entry.rules}
    for override in entry.rules:
        if override.name not in reasons:
            hint = suggestion(override.name, reasons)
            unknown = f"{preset.name} has no rule with the reason {shown(override.name)}{hint}"
            problems.add(override.place, f"{path}.rules", unknown)
    old = _renamed_layer(preset, entry, path, problems)
    found = []
    for rule in rules:
        own = overrides.get(rule.reason)
        if own is not None and own.off:
            continue
        condition = rule.drop if old is None or entry.layer is None else with_layer(rule.drop, old, entry.layer)
        where = f"{path}.rules.{rule.reason}"
        reason = rule.reason if entry.prefix is None else f"{entry.prefix}{rule.reason}"
        expanded = replace(rule, drop=condition, reason=reason, place=entry.place)
        if own is not None:
            expanded = _override(expanded, own)
        written = f"{where}.drop" if own is not None and own.drop is not None else None
        found.append(ProgramRule(expanded, phase, where, preset.name, written))
    return found


def _override(rule: Rule, own: RuleOverride) -> Rule:
    return replace(
        rule,
        drop=rule.drop if own.drop is None else own.drop,
        place=own.place,
        when_null=rule.when_null if own.when_null is None else own.when_null,
    )


def _renamed_layer(preset: Preset, entry: PresetRules, path: str, problems: Problems) -> str | None:
    """Return the operator whose layer has another name in the recipe; None if it has its own."""
    if entry.layer is None:
        return None
    if len(preset.operators) != 1:
        names = ", ".join(preset.operators) or "none"
        problems.add(
            entry.place, f"{path}.layer", f"{preset.name} reads these layers: {names}; 'layer' needs exactly one"
        )
        return None
    return next(iter(preset.operators))


def with_layer(condition: str, old: str, new: str) -> str:
    """Return a condition that reads another layer; RecipeError if its columns cannot be replaced as text, such as
    quoted ones."""
    replaced = re.sub(rf"(?<![\w.\"']){re.escape(old)}(?=\.)", new, condition)
    wanted = [
        f"{new}{name.removeprefix(old)}" if name.startswith(f"{old}.") else name for name in columns_read(condition)
    ]
    if list(columns_read(replaced)) != list(dict.fromkeys(wanted)):
        raise RecipeError(f"the layer of {shown(condition)} cannot be renamed")
    return replaced


def made_for(preset: str, languages: Iterable[str]) -> str:
    """Return the statement that a preset was made for some languages."""
    return f"{preset} was made for {', '.join(map(language_name, languages))}"
