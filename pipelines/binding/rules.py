"""Binds a recipe's rules: expands presets, checks every column, and collects what the rules read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

import pyarrow as pa

from winnow.filters.duplicates.kind import find_kind, kinds_chosen_in
from winnow.filters.operators import TextOperator, operator_names
from winnow.pipelines.binding.duplicates import DIGEST, asked_kinds, compares_digests, max_clusters
from winnow.pipelines.binding.operators import measurements
from winnow.pipelines.binding.preferences import Choice, bind_preferences
from winnow.pipelines.binding.rule_presets import ProgramRule, expand_rules
from winnow.pipelines.binding.threshold_tables import ThresholdTables
from winnow.pipelines.reading.columns import MEDIA, Column, leaves
from winnow.pipelines.reading.item_lists import DROPPED, KEPT, SHOWN, fact_of
from winnow.schemas.problems import Problem, Problems, recipe_error, shown, suggestion
from winnow.schemas.recipe import LossAlarms, Recipe
from winnow.schemas.rows.duplicates import VIRTUAL
from winnow.schemas.rows.extraction import EXTRACTED
from winnow.schemas.rows.interleaved import LAYER as INTERLEAVED_LAYER
from winnow.schemas.rows.interleaved import OF_DOCUMENTS
from winnow.schemas.rows.samples import MEDIA as MEDIUM
from winnow.schemas.rules.checking import ColumnInfo, Phase, check_rules
from winnow.schemas.rules.conditions import ConditionError, columns_read, is_text
from winnow.schemas.rules.thresholds import PREFIX, ThresholdTable
from winnow.schemas.tombstones import FORGOTTEN

PHASES: tuple[Phase, ...] = ("eligible", "items", "keep")  # the lists of rules in a recipe

CAPTION_LANGUAGE = "caption.language.code"
MEASURED_LANGUAGES = ("text.language.code", CAPTION_LANGUAGE)
"""The columns of measured languages: of a row's text or else, as for a picture, of its captions."""
SIZE = "bytes"
"""An integer column of this name, in any operator's layer, is the size of the text."""


@dataclass(frozen=True, slots=True)
class GuardedEdit:
    """An edit whose cuts are counted, as too much of them is an alarm."""

    share: Column  # of a text's words that it cuts
    words: Column  # of the text

    @property
    def layer(self) -> str:
        """The layer of its spans."""
        return self.share.layer


@dataclass(frozen=True)
class RuleProgram:
    """Rules in order (of `eligible`, of duplicates, of `items`, of `keep`), and all that they read. Picklable."""

    rules: tuple[ProgramRule, ...]
    columns: tuple[Column, ...]  # of layers, in order of first use
    tables: tuple[ThresholdTable, ...]  # only with the columns that rules read
    languages: tuple[Column, ...] = ()  # the columns that can give a sample's language, the best first
    size: Column | None = None  # the column with a text's bytes, if there is one
    text_statuses: tuple[Column, ...] = ()  # what says of each sample that it has no text, if all of these do
    choice: Choice | None = None  # how representatives are chosen, if duplicates are dropped
    loss_alarms: LossAlarms = field(default_factory=LossAlarms)
    guarded: frozenset[str] = frozenset()  # reasons whose loss of half a source is an alarm that stops a plan
    guarded_edits: tuple[GuardedEdit, ...] = ()  # of which the same holds
    item_lists: frozenset[str] = frozenset()  # the columns that have a value for each medium, for rules of `items`
    no_items_left: Literal["drop", "keep"] = "drop"  # what becomes of a row whose media are all dropped

    @property
    def duplicate_columns(self) -> tuple[str, ...]:
        """The columns that rules read and no layer has: whether a row's cluster is represented by another row."""
        of_items = _names_read(rule for rule in self.rules if rule.phase == "items") - set(self.duplicate_lists)
        read = of_items | _names_read(rule for rule in self.rules if rule.phase != "items")
        return tuple(name for name in (self.choice.names if self.choice else ()) if name in read)

    @property
    def duplicate_lists(self) -> tuple[str, ...]:
        """Those that rules of `items` read: whether each medium's cluster is represented by another medium."""
        return tuple(f"{VIRTUAL}.{kind}" for kind in (self.choice.by_item if self.choice else ()))

    @property
    def judges_items(self) -> bool:
        """Whether there are rules of `items`."""
        return any(rule.phase == "items" for rule in self.rules)

    @property
    def eligible(self) -> int:
        """The number of rules that decide on eligibility; they come first."""
        return sum(rule.phase == "eligible" for rule in self.rules)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reason of each rule."""
        return tuple(rule.rule.reason for rule in self.rules)

    @property
    def all_reasons(self) -> tuple[str, ...]:
        """The reason of each rule, followed by the reason of forgotten rows, which rules do not read."""
        return (*self.reasons, FORGOTTEN)

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers that the program reads, each once."""
        columns = (*self.columns, *(self.choice.columns if self.choice else ()))
        return tuple(dict.fromkeys(column.layer for column in columns))

    def only_eligible(self) -> "RuleProgram":
        """Return the program that runs before duplicates are known: what it drops represents nothing.

        It has the rules of `eligible`, and those of `items` that need no duplicates or scores.
        """
        columns = {column.name: column for column in self.columns}
        early = tuple(rule for rule in self.rules if rule.phase == "items" and not rule.late)
        first = _program((*self.rules[: self.eligible], *early), columns, self.tables)
        return replace(
            first,
            languages=self.languages,
            size=self.size,
            item_lists=self.item_lists,
            no_items_left=self.no_items_left,
        )


def rule_program(recipe: Recipe, columns: Mapping[Column, ColumnInfo]) -> RuleProgram:
    """Return the recipe's rules, checked against `columns`, in which layers of duplicates and scores have the phase
    `keep`.

    RecipeError, one line each, for unknown presets, tables and columns, conditions that do not fit their columns'
    types, columns that are computed after the rule, and a missing `when_null`.
    """
    rules = expand_rules(recipe)
    tables = ThresholdTables(recipe)
    tables.check()
    known = {column.name: info for column, info in columns.items()}
    of_media = media_lists(recipe, known)
    by_name = {column.name: column for column in columns}
    choice = _bind_choice(recipe, known, by_name)
    if choice is not None:
        known |= dict.fromkeys(choice.names, ColumnInfo(nullable=False, type=pa.bool_(), phase="keep"))
    if recipe.items:
        known |= dict.fromkeys((KEPT, DROPPED), ColumnInfo(nullable=False, type=pa.int64(), phase="keep"))
    problems = _add_table_columns(rules, tables, known)
    edits = _guarded_edits(recipe, by_name)
    problems += _unknown_expected(recipe, rules, edits)
    unmeasured = [_unmeasured(rule, known, recipe, tables) for rule in rules]
    problems += dict.fromkeys(chain.from_iterable(unmeasured))  # a measure that a whole preset lacks is reported once
    named = [one for one, found in zip(rules, unmeasured, strict=True) if not found]
    columns_of_items = columns_of_media(known, of_media)
    for phase in PHASES:
        listed = [one for one in named if one.phase == phase]
        there = columns_of_items if phase == "items" else known
        problems += check_rules([one.rule for one in listed], there, phase, [one.path for one in listed])
        if phase == "items":
            problems += blind_to_media(listed, of_media, columns_of_items)
    if problems:
        raise recipe_error(problems)
    late = {name for name, info in columns_of_items.items() if info.phase == "keep"}
    rules = tuple(replace(rule, late=not late.isdisjoint(columns_read(rule.rule.drop))) for rule in rules)
    wanted = _table_columns_read(rules)
    program = _program(rules, by_name, [tables.table(name, wanted[name]) for name in tables.names if name in wanted])
    if choice is not None:
        read = _names_read(rule for rule in rules if rule.phase == "items")
        by_item = tuple(
            kind for kind in choice.of_items if find_kind(kind).unit.of_media and f"{VIRTUAL}.{kind}" in read
        )
        choice = replace(choice, by_item=by_item)
    return replace(
        program,
        languages=language_columns(recipe, by_name),
        size=_size(by_name, known),
        choice=choice,
        loss_alarms=recipe.loss_alarms,
        guarded=_guarded(recipe, rules),
        guarded_edits=tuple(one for one in edits if one.layer not in recipe.loss_alarms.expected),
        item_lists=frozenset(of_media) & _names_read(rule for rule in rules if rule.phase == "items"),
        no_items_left=recipe.no_items_left,
    )


def _guarded(recipe: Recipe, rules: Iterable[ProgramRule]) -> frozenset[str]:
    """Return the reasons of rules that read a layer whose losses are guarded, and are not expected."""
    layers = {one.entry.layer for one in measurements(recipe) if one.operator.guarded}
    read = {one.rule.reason: columns_read(one.rule.drop) for one in rules}
    found = {reason for reason, names in read.items() if layers & {".".join(name.split(".")[:2]) for name in names}}
    return frozenset(found - set(recipe.loss_alarms.expected))


def _guarded_edits(recipe: Recipe, columns: Mapping[str, Column]) -> tuple[GuardedEdit, ...]:
    """Return the edits by spans of operators that say how much of a text these cover, and whose losses are guarded."""
    edited = {".".join(entry.name.split(".")[:2]) for entry in recipe.edits}
    return tuple(
        GuardedEdit(*(columns[f"{one.entry.layer}.{name}"] for name in one.operator.covered))
        for one in measurements(recipe)
        if one.operator.guarded and one.operator.covered and one.entry.layer in edited
    )


def _names_read(rules: Iterable[ProgramRule]) -> frozenset[str]:
    return frozenset(name for rule in rules for name in columns_read(rule.rule.drop))


def _bind_choice(recipe: Recipe, known: Mapping[str, ColumnInfo], columns: Mapping[str, Column]) -> Choice | None:
    """Return how representatives are chosen; None if no duplicates are dropped."""
    config = recipe.dedupe
    if config is None or not config.representative:
        return None
    asked = asked_kinds(recipe)
    kinds = tuple(kind.name for kind in kinds_chosen_in(one.kind.name for one in asked))
    if not kinds:
        return None
    preferences = bind_preferences(config, known, columns)
    sources = tuple(source.name for source in recipe.sources)
    problems = Problems()
    for one in config.guard.sources:
        if one.name not in sources:
            unknown = f"there is no source {shown(one.name)}{suggestion(one.name, sources)}"
            problems.add(config.place, f"dedupe.guard.sources.{one.name}", unknown)
    problems.stop_if_any()
    digest = Column(DIGEST, "digest") if compares_digests(recipe) else None
    return Choice(kinds, preferences, sources, config, max_clusters(asked), digest, shuffle=recipe.shuffle)


def _program(
    rules: tuple[ProgramRule, ...], columns: Mapping[str, Column], tables: Iterable[ThresholdTable]
) -> RuleProgram:
    names = dict.fromkeys(name for rule in rules for name in columns_read(rule.rule.drop))
    if any(rule.phase == "items" for rule in rules):
        facts = [fact_of(name).name for name in names]
        names |= dict.fromkeys((MEDIA.name, SHOWN.name, *facts))
    read = []
    for table in tables:
        wanted = {column: values for column, values in table.columns.items() if table.column_name(column) in names}
        if wanted:
            read.append(ThresholdTable(table.name, table.key, table.keys, wanted))
    for table in read:
        names[table.key] = None
    return RuleProgram(rules, tuple(columns[name] for name in names if name in columns), tuple(read))


def language_columns(recipe: Recipe, columns: Mapping[str, Column]) -> tuple[Column, ...]:
    """Return the columns of measured languages, then those that pages declare, in the order of `text`."""
    layers = dict.fromkeys(".".join(name.split(".")[:2]) for name in recipe.text if name.startswith(EXTRACTED))
    names = (*MEASURED_LANGUAGES, *(f"{layer}.language" for layer in layers))
    return tuple(columns[name] for name in names if name in columns)


def _size(columns: Mapping[str, Column], known: Mapping[str, ColumnInfo]) -> Column | None:
    measures = (column for column in columns.values() if column.leaf == SIZE)
    return next((column for column in measures if pa.types.is_integer(known[column.name].type)), None)


def _table_columns_read(rules: Iterable[ProgramRule]) -> dict[str, list[str]]:
    """Return the columns of each threshold table that rules read."""
    found: dict[str, list[str]] = {}
    for rule in rules:
        for name in _columns(rule):
            prefix, _, rest = name.partition(".")
            table, _, column = rest.partition(".")
            if prefix == PREFIX and column not in found.setdefault(table, []):
                found[table].append(column)
    return found


def _add_table_columns(
    rules: Sequence[ProgramRule], tables: ThresholdTables, known: dict[str, ColumnInfo]
) -> list[Problem]:
    """Add the columns of the tables that rules read to the known columns; return the problems."""
    problems = []
    for name in _table_columns_read(rules):
        if name not in tables.names:
            continue  # `_unmeasured` reports it, with the rule's line
        key = tables.key(name)
        info = known.get(key)
        if info is None or not is_text(info.type):
            what = "which no layer of this recipe has" if info is None else f"which is {info.type}, not text"
            place = next(
                rule.rule.place for rule in rules if any(f"{PREFIX}.{name}." in read for read in _columns(rule))
            )
            problems.append(Problem(place, f"thresholds.{name}", f"rows are looked up by {key}, {what}"))
        phase = "eligible" if info is None else info.phase
        for column in tables.columns(name):
            known[f"{PREFIX}.{name}.{column}"] = ColumnInfo(nullable=True, type=pa.float64(), phase=phase)
    return problems


def _unmeasured(
    program_rule: ProgramRule, known: Mapping[str, ColumnInfo], recipe: Recipe, tables: ThresholdTables
) -> list[Problem]:
    """Return problems with operators that the recipe does not run, and with tables that do not exist."""
    layers = {entry.layer for entry in recipe.annotate}
    complaints = []
    for name in dict.fromkeys(".".join(name.split(".")[:2]) for name in _columns(program_rule) if name not in known):
        prefix, _, table = name.partition(".")
        if prefix == PREFIX and table not in tables.names:
            complaints.append(f"no threshold table {shown(table)}{suggestion(table, tables.names)}")
        elif name in operator_names() and name not in layers:
            entry = f"{name}: {{preset: {program_rule.preset}}}" if program_rule.preset else name
            complaints.append(f"{name} is not measured; add `{entry}` to 'annotate'")
        elif (
            program_rule.preset
            and name not in layers
            and not any(f"{column}.".startswith(f"{name}.") for column in known)
        ):
            complaints.append(f"no layer is called {shown(name)}{suggestion(name, layers)}; it is the preset's 'layer'")
    where = program_rule.path.partition(".rules.")[0] if program_rule.preset else program_rule.path
    return [Problem(program_rule.rule.place, where, complaint) for complaint in complaints]


def _unknown_expected(recipe: Recipe, rules: Sequence[ProgramRule], edits: Iterable[GuardedEdit]) -> list[Problem]:
    """Return a problem for each expected loss to a rule, or a guarded edit, that does not exist."""
    reasons = sorted({one.rule.reason for one in rules if one.phase in PHASES} | {one.layer for one in edits})
    return [
        Problem(
            recipe.loss_alarms.place,
            "loss_alarms.expected",
            f"no rule has the reason {shown(name)}{suggestion(name, reasons)}",
        )
        for name in recipe.loss_alarms.expected
        if name not in reasons
    ]


def _columns(program_rule: ProgramRule) -> tuple[str, ...]:
    try:
        return columns_read(program_rule.rule.drop)
    except ConditionError:
        return ()  # reported where the rule is checked


def media_lists(recipe: Recipe, known: Mapping[str, ColumnInfo]) -> frozenset[str]:
    """Return the columns that are lists aligned with the media of their rows, those about duplicates among them."""
    if not recipe.items:
        return frozenset()
    looking = [
        measurement for measurement in measurements(recipe) if not isinstance(measurement.operator, TextOperator)
    ]
    of_media = [asked.kind for asked in asked_kinds(recipe) if asked.kind.unit.of_media]
    layers = {INTERLEAVED_LAYER, *(one.entry.layer for one in looking), *(kind.layer for kind in of_media)}
    not_of_media = {f"{INTERLEAVED_LAYER}.{leaf}" for leaf in OF_DOCUMENTS}
    lists = {
        name
        for name, info in known.items()
        if ".".join(name.split(".")[:2]) in layers
        and info.type is not None
        and pa.types.is_list(info.type)
        and name not in not_of_media
    }
    return frozenset(lists | {f"{VIRTUAL}.{kind.name}" for kind in of_media})


def columns_of_media(known: Mapping[str, ColumnInfo], lists: frozenset[str]) -> dict[str, ColumnInfo]:
    """Return the columns that a condition on one medium may name; `lists` are those with a value for each medium."""
    found = {name: info for name, info in known.items() if name != MEDIA.name and not name.startswith("items.")}
    for name in lists & found.keys():
        kind = found[name].type
        if kind is not None and pa.types.is_list(kind):
            found[name] = replace(found[name], type=kind.value_type, nullable=True)
    return found | {f"{MEDIA.name}.{name}": info for name, info in leaves(MEDIUM)}


def blind_to_media(
    rules: Sequence[ProgramRule], lists: frozenset[str], known: Mapping[str, ColumnInfo]
) -> list[Problem]:
    """Return a problem for each rule of `items` that is equal for all media of a row."""
    complaint = "reads nothing of a medium, so it treats all media of a row the same; write it under 'keep'"
    return [Problem(rule.rule.place, rule.path, complaint) for rule in rules if _is_blind(rule, lists, known)]


def _is_blind(program_rule: ProgramRule, lists: frozenset[str], known: Mapping[str, ColumnInfo]) -> bool:
    try:
        read = columns_read(program_rule.rule.drop)
    except ConditionError:
        return False  # reported where the rule is checked
    of_media = any(name in lists or name.startswith(f"{MEDIA.name}.") for name in read)
    return bool(read) and not of_media and all(name in known for name in read)
