"""`docs/reference/recipe.md` says what the code does: its tables are compared with the model, key by key."""

import dataclasses
import re
from pathlib import Path

from winnow.filters.duplicates.kind import all_kinds
from winnow.filters.duplicates.kinds.url import CanonicalConfig
from winnow.schemas.recipe import (
    AcceptedCluster,
    AcceptedLoss,
    AddressList,
    ArchiveQuery,
    ArchiveSample,
    BandLevel,
    ClipsConfig,
    ColumnNames,
    DedupeConfig,
    EditEntry,
    ExportEntry,
    ExtractorEntry,
    FamilyLevel,
    FetchConfig,
    FilterConfig,
    GuardConfig,
    HarmListConfig,
    LanguageLevel,
    Limits,
    LossAlarms,
    MixConfig,
    OperatorEntry,
    PresetRules,
    Recipe,
    ReferenceConfig,
    Rule,
    RuleOverride,
    ScoreEntry,
    Sitemaps,
    SourceConfig,
    SplitConfig,
    StageConfig,
    Step,
    StoreConfig,
    TargetConfig,
    ThresholdEntry,
    TrainingConfig,
    TrajectoryConfig,
    Variable,
    VideoFrames,
    recipe_from_text,
)
from winnow.schemas.recipe.build import Setting, expected, settings
from winnow.schemas.rules.conditions import FUNCTIONS

PAGE = (Path(__file__).parents[3] / "docs/reference/recipe.md").read_text(encoding="utf-8")
TABLES = [
    Recipe,
    StoreConfig,
    SourceConfig,
    ArchiveQuery,
    ArchiveSample,
    AddressList,
    Sitemaps,
    ClipsConfig,
    ColumnNames,
    FetchConfig,
    ExtractorEntry,
    OperatorEntry,
    DedupeConfig,
    *dict.fromkeys(kind.settings for kind in all_kinds() if dataclasses.fields(kind.settings)),
    CanonicalConfig,
    GuardConfig,
    AcceptedLoss,
    AcceptedCluster,
    ScoreEntry,
    VideoFrames,
    TargetConfig,
    ReferenceConfig,
    TrajectoryConfig,
    TrainingConfig,
    FilterConfig,
    Limits,
    ThresholdEntry,
    Rule,
    PresetRules,
    RuleOverride,
    HarmListConfig,
    LossAlarms,
    EditEntry,
    MixConfig,
    FamilyLevel,
    LanguageLevel,
    BandLevel,
    Step,
    SplitConfig,
    StageConfig,
    ExportEntry,
    Variable,
]  # as on the page


def default_shown(setting: Setting) -> str:
    value = setting.default
    if setting.required:
        return "required"
    if setting.key in ("text", "captions") and isinstance(value, tuple):
        return f"`{value[0]}`"
    if expected(setting) == "a mapping from names" or dataclasses.is_dataclass(value):
        return "`{}`"
    if isinstance(value, tuple):
        return f"`[{', '.join(str(item) for item in value)}]`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if value == "":
        return '`""`'
    return f"`{value:_}`" if isinstance(value, int) else f"`{'null' if value is None else value}`"


def test_the_tables_list_every_key_with_what_it_takes_and_its_default() -> None:
    tables = re.findall(r"(?:^\|.*\n)+", PAGE.partition("## Top level")[2], re.MULTILINE)
    shown = [[tuple(row.split(" | ")[:3]) for row in table.splitlines()[2:]] for table in tables]
    of_kinds = [(f"| `{kind.name}`", "a mapping or null", "`null`") for kind in all_kinds()]
    assert shown == [
        [
            *(of_kinds if table is DedupeConfig else ()),
            *((f"| `{setting.key}`", expected(setting), default_shown(setting)) for setting in settings(table)),
        ]
        for table in TABLES
    ]
    assert all(len(row.split(" | ")) == 4 for table in tables for row in table.splitlines()[2:])


def test_the_page_lists_every_function_that_a_condition_may_call() -> None:
    listed = re.findall(r"^- \*\*(?!operators).*", PAGE, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(listed))) == {name for name in FUNCTIONS if name[0].isalpha()}


def test_the_pages_example_is_a_recipe() -> None:
    example = re.search(r"^    environment:(?:.*\n)+?\n", PAGE, re.MULTILINE)
    assert example is not None
    lines = [line.removeprefix("    ") for line in example[0].splitlines()]
    recipe = recipe_from_text("\n".join(["version: 1", "store: {path: s}", *lines]))
    assert recipe.source("crawl").root == "./data/crawl"
