"""The typed recipe: keys, defaults and allowed values.

Every class here is read by `build`: its annotations define the allowed values, and `docs/reference/recipe.md` is
checked against them. Names of sources and extractors become parts of object names and columns, so few characters are
allowed.
"""

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, Protocol, TypeAlias, TypeVar

from winnow.schemas.problems import Place, Problems, shown, suggestion
from winnow.schemas.recipe.checks import NOT_WRITTEN, Between, ByName, Listed, Matching, NotEmpty, PathText
from winnow.schemas.recipe.dedupe import DedupeConfig
from winnow.schemas.recipe.edits import EDITED, EachOnce, EditEntry
from winnow.schemas.recipe.export import FORMAT, ExportEntry, OwnFolders
from winnow.schemas.recipe.fetch import AddressList, ArchiveQuery, FetchConfig
from winnow.schemas.recipe.known_harm import HarmListConfig
from winnow.schemas.recipe.mix import MixConfig
from winnow.schemas.recipe.nodes import MapNode, Scalar
from winnow.schemas.recipe.score import SCORE, ScoreEntry
from winnow.schemas.rows.extraction import EXTRACTION
from winnow.schemas.rows.samples import SAMPLES

SLUG = Matching(r"[a-z0-9_-]{1,40}", "a name of 1 to 40 characters from a-z, 0-9, _ and -")
REASON = Matching(r"[a-z0-9_-]{1,60}", "a reason of 1 to 60 characters from a-z, 0-9, _ and -")
_REASON_OR_LAYER = Matching(
    r"[a-z0-9_-]{1,60}|[a-z0-9_]+\.[a-z0-9_.]+", "a reason of 1 to 60 characters from a-z, 0-9, _ and -, or a layer"
)
OPERATOR = Matching(
    r"[a-z][a-z0-9_]{0,39}\.[a-z][a-z0-9_]{0,39}", "a dotted name of a-z, 0-9 and _, such as text.gopher"
)
PRESET = Matching(r"[a-z0-9_]{1,40}(@[a-z0-9_-]{1,40})?", "a preset's name, such as gopher@datatrove")
TABLE_KEY = Matching(r"[^\x00-\x1f\x7f]{1,200}", "a key of the table")
VARIABLE = Matching(r"[A-Z_][A-Z0-9_]{0,99}", "a variable's name in capitals, such as DATA_ROOT")
LOCATION = PathText("a path or an address")

_TEXT_TYPES = ("string", "large_string")
_SQL_NAME = r'(?:[A-Za-z_][A-Za-z0-9_]*|"[^".\n]+")'
_SQL_COLUMN = rf"{_SQL_NAME}(?:\s*\.\s*{_SQL_NAME})*"


@dataclass(frozen=True)
class FilePattern:
    """A pattern of file names below a root: `*` and `?` inside one folder, `**` for any folders."""

    expects: str = "a file pattern"

    def complaint(self, value: object) -> str | None:
        """Reject patterns that leave the root or use unsupported syntax."""
        pattern = str(value)
        segments = pattern.split("/")
        if pattern.startswith("/"):
            return f"{shown(pattern)} is absolute; file patterns are relative to `root`"
        if ".." in segments:
            return f"{shown(pattern)} leaves the root; put the folder in `root` instead of `..`"
        if any(segment in ("", ".") for segment in segments):
            return f"{shown(pattern)} has an empty or `.` segment; write it like 2024/*.warc.gz"
        if (odd := re.search(r"[\x00-\x1f\x7f\\\[\]{}]", pattern)) is not None:
            return f"{shown(pattern)} contains {odd[0]!r}; only *, ** and ? are special"
        if any("**" in segment and segment != "**" for segment in segments):
            return f"{shown(pattern)} mixes ** with a name; ** stands alone between slashes"
        return None


@dataclass(frozen=True)
class TextExpression:
    """`coalesce(a.b, c.d)` or a single column: the first text that is not empty."""

    expects: str = "a column, or coalesce(column, …)"

    def parse(self, text: str) -> tuple[str, ...]:
        """The columns in order of preference."""
        call = re.fullmatch(r"\s*coalesce\s*\((.*)\)\s*", text, re.IGNORECASE | re.DOTALL)
        columns = []
        for piece in (call[1] if call else text).split(","):
            if re.fullmatch(_SQL_COLUMN, piece.strip()) is None:
                raise ValueError(f"{shown(piece.strip())} is not a column; expected {self.expects}")
            columns.append(".".join(name.strip('"') for name in re.findall(_SQL_NAME, piece)))
        if call is None and len(columns) > 1:
            raise ValueError(f"several columns without coalesce; expected {self.expects}")
        return tuple(columns)

    def render(self, value: object) -> str:
        """The expression that parses to these columns."""
        assert isinstance(value, tuple)
        columns = [".".join(self._quoted(name) for name in column.split(".")) for column in value]
        return columns[0] if len(columns) == 1 else f"coalesce({', '.join(columns)})"

    def _quoted(self, name: str) -> str:
        return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else f'"{name}"'


@dataclass(frozen=True)
class Variable:
    """An environment variable that the recipe may use as `${NAME}`."""

    name: str = field(metadata=NOT_WRITTEN)
    default: str | None = None


@dataclass(frozen=True)
class StoreConfig:
    """The location of the store and its size limits; fixed in `store.json` when the store is created."""

    path: Annotated[str, LOCATION]
    seed: Annotated[int, Between(0, (1 << 63) - 1)] = 0
    shard_rows: Annotated[int, Between(1, 1 << 20)] = 65_536
    shard_bytes: Annotated[int, Between(1 << 10, 1 << 30)] = 256 << 20
    row_group_rows: Annotated[int, Between(1, 1 << 20)] = 16_384
    row_group_bytes: Annotated[int, Between(1 << 10, 1 << 30)] = 64 << 20
    task_bytes: Annotated[int, Between(1 << 10, 1 << 40)] | None = None
    place: Place = field(default=Place("", 0), metadata=NOT_WRITTEN, compare=False)


@dataclass(frozen=True)
class ColumnNames:
    """The columns of a source of tables, or the keys of the JSON beside media, by content."""

    text: Annotated[str, NotEmpty()] = "text"
    url: str | None = "url"
    fetched_at: str | None = None
    media: Annotated[str, NotEmpty()] | None = None
    captions: Annotated[str, NotEmpty()] | None = None
    language: Annotated[str, NotEmpty()] | None = None


@dataclass(frozen=True)
class ClipsConfig:
    """Which parts of the videos of another store are samples here."""

    shots: Annotated[str, OPERATOR] = field(default="video.shots", metadata={"key": "from"})
    min_seconds: Annotated[float, Between(0.0, 86_400.0)] = 2.0  # Panda-70M, NeMo: shorter ones are left out
    max_seconds: Annotated[float, Between(0.1, 86_400.0)] = 60.0  # cosmos-curate: longer ones are cut

    def __post_init__(self) -> None:
        if self.min_seconds > self.max_seconds:
            raise ValueError(f"min_seconds is {self.min_seconds:g}, more than max_seconds: {self.max_seconds:g}")


_USUAL = {"usual": True}

FETCHED_FILES = ("warc/*.warc.gz",)
"""The files of a source that is fetched, in its folder of the store."""


@dataclass(frozen=True)
class SourceConfig:
    """One source: files of one origin, class and licence."""

    name: str = field(metadata=NOT_WRITTEN)
    root: Annotated[str, LOCATION] | None = field(default=None, metadata=_USUAL)  # None: `winnow fetch` writes it
    files: Annotated[tuple[Annotated[str, FilePattern()], ...], NotEmpty()] = field(default=(), metadata=_USUAL)
    source_class: Annotated[str, SLUG] = field(kw_only=True, metadata={"key": "class"})
    format: Annotated[str, FORMAT] = "auto"  # checked where the recipe is bound, as are the settings that it takes
    licence: Annotated[str, NotEmpty()] = "unknown"
    key: Annotated[str, NotEmpty()] | None = None
    columns: ColumnNames = ColumnNames()
    accept_status: Annotated[tuple[Annotated[int, Between(100, 599)], ...], NotEmpty()] = (200, 203)
    on_schema_mismatch: Literal["error", "quarantine"] = "error"
    clips: ClipsConfig | None = None
    commoncrawl: ArchiveQuery | None = None
    addresses: AddressList | None = None
    place: Place = field(default=Place("", 0), metadata=NOT_WRITTEN, compare=False)

    def __post_init__(self) -> None:
        if self.commoncrawl is not None and self.addresses is not None:
            raise ValueError("has 'commoncrawl' and 'addresses'; give each a source of its own")
        if not self.is_fetched:
            lacking = " and ".join(
                f"'{key}'" for key, value in (("root", self.root), ("files", self.files)) if not value
            )
            if lacking:
                raise ValueError(
                    f"{lacking} {'are' if ' ' in lacking else 'is'} missing: say where the files are, or what to fetch "
                    "with 'commoncrawl' or 'addresses'"
                )
        elif self.root is not None or self.files not in ((), FETCHED_FILES):
            raise ValueError(
                f"'root' and 'files' are not for {self.fetched_key!r}: `winnow fetch` puts files into the store"
            )
        elif self.format not in ("auto", "warc"):
            raise ValueError(f"'format: {self.format}' is not for {self.fetched_key!r}: what is fetched is WARC")
        else:
            object.__setattr__(self, "files", FETCHED_FILES)

    @property
    def is_fetched(self) -> bool:
        """Whether `winnow fetch` writes its files."""
        return bool(self.fetched_key)

    @property
    def fetched_key(self) -> str:
        """The key that says what is fetched; empty if the source's files are there already."""
        return "commoncrawl" if self.commoncrawl is not None else "addresses" if self.addresses is not None else ""


@dataclass(frozen=True)
class ExtractorEntry:
    """One HTML extractor: the rows it runs on, and its own options."""

    name: str = field(metadata=NOT_WRITTEN)
    options: MapNode
    where: Annotated[str, NotEmpty()] | None = None

    @property
    def place(self) -> Place:
        """Where the recipe configures it."""
        return self.options.place


@dataclass(frozen=True)
class OperatorEntry:
    """One measurement: the rows it runs on, its layer's name, and its own options."""

    name: str = field(metadata=NOT_WRITTEN)
    options: MapNode
    where: Annotated[str, NotEmpty()] | None = None
    preset: Annotated[str, PRESET] | None = None
    layer_name: Annotated[str, OPERATOR] | None = field(default=None, metadata={"key": "as"})

    @property
    def layer(self) -> str:
        """The layer that it writes."""
        return self.layer_name or self.name

    @property
    def place(self) -> Place:
        """Where the recipe configures it."""
        return self.options.place


_RESERVED = ("samples", "extract", "thresholds", "dedupe", "duplicate", "items", "score", "trace", "mix")


@dataclass(frozen=True)
class UniqueLayers:
    """Checks that no two measurements write the same layer."""

    expects: str = ""

    def complaint(self, value: object) -> str | None:
        """Name the first layer that is written twice or is reserved."""
        assert isinstance(value, tuple)
        first: dict[str, OperatorEntry] = {}
        for entry in value:
            if entry.layer.partition(".")[0] in _RESERVED:
                where = f"the entry in line {entry.place.line} writes the layer {entry.layer!r}"
                return f"{where}, which is reserved; choose another name with 'as'"
            if entry.layer in first:
                lines = f"lines {first[entry.layer].place.line} and {entry.place.line}"
                return f"two entries ({lines}) write the layer {entry.layer!r}; give one another name with 'as'"
            first[entry.layer] = entry
        return None


@dataclass(frozen=True)
class Rule:
    """One decision: rows for which the condition is true are dropped, for this reason."""

    drop: Annotated[str, NotEmpty()]
    reason: Annotated[str, REASON]
    place: Place = field(compare=False)
    when_null: Literal["keep", "drop", "error"] | None = None


@dataclass(frozen=True)
class RuleOverride:
    """An override of one preset rule, by its reason: another condition, or `off`."""

    name: str = field(metadata=NOT_WRITTEN)  # the reason
    place: Place = field(compare=False)
    drop: Annotated[str, NotEmpty()] | None = None
    when_null: Literal["keep", "drop", "error"] | None = None
    off: bool = field(default=False, metadata=NOT_WRITTEN)

    def __post_init__(self) -> None:
        if not self.off and self.drop is None and self.when_null is None:
            raise ValueError("has neither 'drop' nor 'when_null'; write off to disable the rule")


@dataclass(frozen=True)
class PresetRules:
    """A reference to a preset's rules, which are inserted later."""

    preset: Annotated[str, PRESET]
    place: Place = field(compare=False)
    layer: Annotated[str, OPERATOR] | None = None
    prefix: Annotated[str, SLUG] | None = None
    rules: Annotated[tuple[RuleOverride, ...], ByName(REASON, word="off")] = ()


@dataclass(frozen=True)
class UniqueReasons:
    """Checks that no two rules of a list share a reason: counts by reason would not show which rule dropped a row."""

    expects: str = ""

    def complaint(self, value: object) -> str | None:
        """Name the first two rules with one reason."""
        assert isinstance(value, tuple)
        first: dict[str, int] = {}
        for number, rule in enumerate(value):
            if not isinstance(rule, Rule):
                continue
            other = first.setdefault(rule.reason, number)
            if other != number:
                lines = f"lines {value[other].place.line} and {rule.place.line}"
                return f"rules {other} and {number} ({lines}) share the reason {rule.reason!r}; reasons are unique"
        return None


@dataclass(frozen=True)
class ThresholdCells:
    """Values of one row of a threshold table, by column."""

    name: str = field(metadata=NOT_WRITTEN)  # the row's key, such as `deu_Latn`
    values: MapNode


@dataclass(frozen=True)
class ThresholdEntry:
    """A threshold table from a file, or changed cells of a built-in one."""

    name: str = field(metadata=NOT_WRITTEN)
    place: Place = field(compare=False)
    file: Annotated[str, LOCATION] | None = None
    key: Annotated[str, NotEmpty()] | None = None
    by: Annotated[str, NotEmpty()] | None = None
    cells: Annotated[tuple[ThresholdCells, ...], ByName(TABLE_KEY)] = ()

    def __post_init__(self) -> None:
        if self.file is not None and self.key is None:
            raise ValueError("'file' needs 'key': the column of a sample that is looked up, such as text.language.code")
        if self.file is None and self.by is not None:
            raise ValueError("'by' names a column of 'file', which is missing")


@dataclass(frozen=True)
class LossAlarms:
    """Which losses of a language or a source to one rule are printed as alarms; they stop nothing.

    `expected` names rules by their reason, and guarded edits by the layer of their spans.
    """

    max_loss: Annotated[float, Between(0, 1)] = 0.9
    min_rows: Annotated[int, Between(1, 1 << 40)] = 20
    expected: tuple[Annotated[str, _REASON_OR_LAYER], ...] = ()
    place: Place = field(default=Place("", 0), metadata=NOT_WRITTEN, compare=False)


@dataclass(frozen=True)
class Limits:
    """Limits on what a reader loads into memory or traverses."""

    max_body_bytes: Annotated[int, Between(1 << 10, 2 << 30)] = 64 << 20
    max_header_bytes: Annotated[int, Between(1 << 10, 64 << 20)] = 1 << 20
    max_member_bytes: Annotated[int, Between(1 << 10, 1 << 50)] = 16 << 30
    batch_bytes: Annotated[int, Between(1 << 10, 1 << 30)] = 8 << 20
    max_text_bytes: Annotated[int, Between(1 << 10, 1 << 30)] = 64 << 20
    max_image_pixels: Annotated[int, Between(1, 1 << 30)] = 100_000_000
    max_image_frames: Annotated[int, Between(1, 1 << 30)] = 10_000
    max_image_scans: Annotated[int, Between(1, 1 << 20)] = 100
    max_video_pixels: Annotated[int, Between(1, 1 << 30)] = 8192 * 4352
    max_video_frames: Annotated[int, Between(1, 1 << 40)] = 2_000_000
    max_video_packets: Annotated[int, Between(1, 1 << 40)] = 8_000_000
    max_video_streams: Annotated[int, Between(1, 1000)] = 64
    max_exif_bytes: Annotated[int, Between(1, 1 << 30)] = 1 << 20
    max_icc_bytes: Annotated[int, Between(1, 1 << 30)] = 4 << 20


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_N = TypeVar("_N", bound=_Named)


def _named(items: Iterable[_N], name: str) -> _N:
    for item in items:
        if item.name == name:
            return item
    raise KeyError(name)


Shuffle: TypeAlias = Literal["auto", "engine", "files"]
"""How rows that meet travel between workers; decides no value."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A checked recipe. Recipes with equal settings are equal, wherever their files are."""

    version: Literal[1]
    extends: Annotated[str, LOCATION] | None = field(default=None, compare=False)
    environment: Annotated[tuple[Variable, ...], ByName(VARIABLE)] = ()
    store: StoreConfig
    sources: Annotated[tuple[SourceConfig, ...], ByName(SLUG), NotEmpty()]
    fetch: FetchConfig = field(default=FetchConfig())
    extract: Annotated[tuple[ExtractorEntry, ...], ByName(SLUG)] = ()
    text: Annotated[tuple[str, ...], TextExpression()] = ("samples.text",)
    captions: Annotated[tuple[str, ...], TextExpression()] = ("samples.captions",)
    annotate: Annotated[tuple[OperatorEntry, ...], Listed(OPERATOR), UniqueLayers()] = ()
    limits: Limits = Limits()
    known_harm: Annotated[tuple[HarmListConfig, ...], ByName(SLUG)] = ()
    thresholds: Annotated[tuple[ThresholdEntry, ...], ByName(SLUG)] = ()
    eligible: Annotated[tuple[Rule | PresetRules, ...], UniqueReasons()] = ()
    dedupe: DedupeConfig | None = None
    score: Annotated[tuple[ScoreEntry, ...], ByName(SCORE)] = ()
    items: Annotated[tuple[Rule | PresetRules, ...], UniqueReasons()] = ()
    no_items_left: Literal["drop", "keep"] = "drop"
    keep: Annotated[tuple[Rule | PresetRules, ...], UniqueReasons()] = ()
    loss_alarms: LossAlarms = LossAlarms()
    edits: Annotated[tuple[EditEntry, ...], Listed(EDITED), EachOnce()] = ()
    mix: MixConfig | None = None
    export: Annotated[tuple[ExportEntry, ...], Listed(FORMAT), OwnFolders()] = ()
    shuffle: Shuffle = "auto"
    file: str = field(default="recipe.yaml", compare=False, metadata=NOT_WRITTEN)
    written: tuple[tuple[str, str], ...] = field(default=(), compare=False, metadata=NOT_WRITTEN)
    """The raw text of each setting that uses a variable: plans show it instead of the value."""

    @property
    def folder(self) -> Path:
        """The folder of the recipe's file, to which relative paths refer."""
        return Path(self.file).parent

    def located(self, path: str) -> str:
        """A path or address of the recipe, relative to the current directory."""
        if "://" in path or posixpath.isabs(path):
            return path
        return str(self.folder / path)

    def source(self, name: str) -> SourceConfig:
        """The source of that name; KeyError if there is none."""
        return _named(self.sources, name)

    def extractor(self, name: str) -> ExtractorEntry:
        """The extractor of that name; KeyError if there is none."""
        return _named(self.extract, name)


def check_text(root: MapNode, problems: Problems) -> None:
    """Check that the text expression names existing columns; with extractors it is required."""
    extract, text = root.get("extract"), root.get("text")
    names = [entry.key for entry in extract.entries] if isinstance(extract, MapNode) else []
    if text is None and names:
        columns = TextExpression().render((*(f"extract.{name}.text" for name in names), "samples.text"))
        problems.add(root.place, "", f"the key 'text' is missing; with extractors it is required, such as {columns}")
    if not isinstance(text, Scalar) or not isinstance(text.value, str):
        return
    try:
        columns_read = TextExpression().parse(text.value)
    except ValueError:
        return  # already reported when the value was built
    fields = [item.name for item in EXTRACTION if str(item.type) in _TEXT_TYPES]
    known = [f"samples.{item.name}" for item in SAMPLES if str(item.type) in _TEXT_TYPES]
    known += [f"extract.{name}.{item}" for name in names for item in fields]
    for column in columns_read:
        if column not in known:
            problems.add(text.place, "text", f"unknown text column {shown(column)}{suggestion(column, known)}")
