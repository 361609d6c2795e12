"""The recipe: one strict YAML file that defines a store, read into typed, located settings."""

from winnow.schemas.recipe.build import build_config
from winnow.schemas.recipe.checks import Between, Matching, NotEmpty
from winnow.schemas.recipe.dedupe import (
    AcceptedCluster,
    AcceptedLoss,
    DedupeConfig,
    GuardConfig,
)
from winnow.schemas.recipe.edits import EditEntry, PlaceholderTexts
from winnow.schemas.recipe.export import ExportEntry
from winnow.schemas.recipe.fetch import AddressList, ArchiveQuery, ArchiveSample, FetchConfig, Sitemaps
from winnow.schemas.recipe.known_harm import HarmListConfig
from winnow.schemas.recipe.mix import (
    BandLevel,
    FamilyLevel,
    LanguageLevel,
    MixConfig,
    Shares,
    SplitConfig,
    StageConfig,
    Step,
    Unit,
)
from winnow.schemas.recipe.model import (
    ClipsConfig,
    ColumnNames,
    ExtractorEntry,
    Limits,
    LossAlarms,
    OperatorEntry,
    PresetRules,
    Recipe,
    Rule,
    RuleOverride,
    Shuffle,
    SourceConfig,
    StoreConfig,
    ThresholdCells,
    ThresholdEntry,
    Variable,
)
from winnow.schemas.recipe.nodes import MapNode
from winnow.schemas.recipe.render import resolved_yaml, settings_of
from winnow.schemas.recipe.resolve import load_recipe, recipe_from_text
from winnow.schemas.recipe.score import (
    FilterConfig,
    ReferenceConfig,
    ScoreEntry,
    TargetConfig,
    TrainingConfig,
    TrajectoryConfig,
    VideoFrames,
)

__all__ = [
    "AcceptedCluster",
    "AcceptedLoss",
    "AddressList",
    "ArchiveQuery",
    "ArchiveSample",
    "BandLevel",
    "Between",
    "ClipsConfig",
    "ColumnNames",
    "DedupeConfig",
    "EditEntry",
    "ExportEntry",
    "ExtractorEntry",
    "FamilyLevel",
    "FetchConfig",
    "FilterConfig",
    "GuardConfig",
    "HarmListConfig",
    "LanguageLevel",
    "Limits",
    "LossAlarms",
    "MapNode",
    "Matching",
    "MixConfig",
    "NotEmpty",
    "OperatorEntry",
    "PlaceholderTexts",
    "PresetRules",
    "Recipe",
    "ReferenceConfig",
    "Rule",
    "RuleOverride",
    "ScoreEntry",
    "Shares",
    "Shuffle",
    "Sitemaps",
    "SourceConfig",
    "SplitConfig",
    "StageConfig",
    "Step",
    "StoreConfig",
    "TargetConfig",
    "ThresholdCells",
    "ThresholdEntry",
    "TrainingConfig",
    "TrajectoryConfig",
    "Unit",
    "Variable",
    "VideoFrames",
    "build_config",
    "load_recipe",
    "recipe_from_text",
    "resolved_yaml",
    "settings_of",
]
