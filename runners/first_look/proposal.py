"""Proposes sources for found files: one for each folder and kind of content, and for each shape of its tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from operator import attrgetter
from typing import Final, Literal, TypeAlias

from winnow.pipelines.ingest.caption_tables import FILE_NAME, is_caption_table
from winnow.pipelines.ingest.formats import format_by_name
from winnow.pipelines.ingest.formats.source_format import SourceFormat
from winnow.pipelines.ingest.sidecars import CAPTION
from winnow.pipelines.ingest.tables.columns import ColumnMapping, listed_columns
from winnow.pipelines.store.facade import ObjectInfo
from winnow.pipelines.store.location import open_location
from winnow.runners.first_look.contents import Contents, contents_of
from winnow.runners.first_look.found_files import Found, Group, own_names, readable_pattern
from winnow.runners.first_look.guesses import TableGuess, guess_columns
from winnow.schemas.errors import RecipeError, SourceError

Medium: TypeAlias = Literal["texts", "captions", "pictures", "videos"]

_NEEDED: Final[Mapping[Medium, tuple[str, str]]] = {"pictures": ("image", "simplejpeg"), "videos": ("video", "av")}
"""The extra of each medium, and a package of it."""

_MOST_ARE: Final = 10  # of so many records all but one are media, where the source is one of media

MOST_TABLES = 64
"""Tables of one group whose columns are looked at; the others are taken to be like them."""


@dataclass(frozen=True, slots=True)
class ProposedSource:
    """A source that a recipe could have."""

    group: Group
    format: str  # as in a recipe
    columns: ColumnMapping | None = None  # of tables, and of tables of captions beside media
    contents: Contents = field(default_factory=Contents)  # of some records
    captions_alone: bool = False  # a table of what was said of media that are elsewhere
    addresses: str = ""  # the list whose pages are fetched, in place of files

    @property
    def name(self) -> str:
        """Its name in the recipe."""
        return self.group.name

    @property
    def kind(self) -> str:
        """What its files are, in a word."""
        if self.addresses:
            return "addresses"
        of = self.group.format
        first = format_by_name(self.group.files[0].path) or of
        return first.container if of.has_columns or of.has_captures else of.content

    @property
    def medium(self) -> Medium:
        """What its rows are, as far as names and columns tell: samples of different media need recipes of their own."""
        held = self.contents
        if self.captions_alone:
            return "captions"
        shows = self.group.format.shows
        if shows == "video":
            return "videos"
        names_media = self.columns is not None and self.columns.media is not None
        if (names_media or shows is not None) and held.media * _MOST_ARE > (held.media + held.texts) * (_MOST_ARE - 1):
            return "videos" if held.videos > held.pictures else "pictures"
        return "pictures" if shows == "image" or names_media else "texts"

    @property
    def is_captioned(self) -> bool:
        """Whether media of it have captions."""
        return self.contents.captioned > 0

    @property
    def has_pages(self) -> bool:
        """Whether texts are to be extracted from its pages."""
        return self.group.format.is_of_web and self.medium == "texts"


@dataclass(frozen=True, slots=True)
class Proposal:
    """The sources of a recipe for found files, and what a user should know of the others."""

    sources: tuple[ProposedSource, ...]
    notes: tuple[str, ...]

    @property
    def by_medium(self) -> dict[Medium, tuple[ProposedSource, ...]]:
        """The sources of each recipe."""
        media = dict.fromkeys(source.medium for source in self.sources)
        return {one: tuple(source for source in self.sources if source.medium == one) for one in media}


def propose(found: Found) -> Proposal:
    """Looks into tables, and proposes sources.

    Raises:
        SourceError: No file can be a source.
    """
    sources: list[ProposedSource] = []
    notes: list[str] = [*found.notes]
    described: dict[str, str] = {}  # groups of media that tables name, each with such a table
    for group in found.groups:
        in_recipe = group.format.in_recipe
        if group.format.has_columns:
            sources += _of_tables(group, notes, found, described)
        elif group.format.has_sidecars:
            sources.append(ProposedSource(group, in_recipe, _of_captions(group)))
        elif _takes_others(found, group.root, group.patterns):
            named = tuple(readable_pattern(info.path) for info in group.files)
            sources.append(ProposedSource(replace(group, patterns=named), in_recipe))
        else:
            sources.append(ProposedSource(group, in_recipe))
    notes += [
        f"{group.root}: its {group.content}s are read as {described[group.name]} names them; "
        "those that no row names are not read, give them a source of their own"
        for group in found.groups
        if group.name in described
    ]
    sources = [_looked_into(one) for one in sources if not one.group.format.has_sidecars or one.name not in described]
    if not sources:
        raise SourceError("\n".join(["no file can be a source", *notes]))
    for one in sources:
        if one.group.format.has_captures and one.medium == "texts" and one.contents.media:
            of = f"{one.contents.media:,} of {one.contents.media + one.contents.texts:,} records looked at"
            notes.append(
                f"{one.name}: {of} are pictures or videos, of which the recipe for texts measures nothing; "
                "a recipe of their own can read the same files"
            )
    names = own_names(source.name for source in sources)
    own = (replace(one, group=replace(one.group, name=name)) for one, name in zip(sources, names, strict=True))
    return Proposal(tuple(own), tuple(notes))


def _looked_into(source: ProposedSource) -> ProposedSource:
    """The source with what some of its records hold, where that decides how its recipe looks."""
    media = source.columns is not None and source.columns.media is not None
    if source.group.format.shows is None and not media:
        return source
    files = source.group.files
    found = contents_of(source.group.root, source.format, source.columns or ColumnMapping(), files)
    return replace(source, contents=found)


def lacking(proposal: Proposal) -> tuple[Medium, ...]:
    """The media of the proposal that this environment has no package for."""
    return tuple(one for one in proposal.by_medium if one in _NEEDED and not find_spec(_NEEDED[one][1]))


def installing(media: Sequence[Medium]) -> str:
    """The command that gets what these media need."""
    return f"pip install 'winnow[{','.join(_NEEDED[one][0] for one in media)}]'"


def without(proposal: Proposal, media: Sequence[Medium]) -> Proposal:
    """The sources of other media, with a note on those left out.

    Raises:
        RecipeError: There are none.
    """
    sources = tuple(one for one in proposal.sources if one.medium not in media)
    if not sources:
        raise RecipeError(f"there are {' and '.join(media)}, which need another package; run: {installing(media)}")
    left_out = [f"{' and '.join(media)} are not looked at; run: {installing(media)}"] if media else []
    return Proposal(sources, (*proposal.notes, *left_out))


def _takes_others(found: Found, root: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern would also take files that describe others beside them."""
    endings = found.beside.get(root, frozenset())
    return any("*" in pattern and pattern.endswith(ending) for pattern in patterns for ending in endings)


def _of_captions(group: Group) -> ColumnMapping | None:
    """The columns of the tables of captions among media; None if there are none, or all have their usual names."""
    objects = open_location(group.root)
    for info in group.files:
        if is_caption_table(info.path):
            found = guess_columns(objects, info).columns
            if found is None or found.media is None or found.captions is None:
                continue
            usual = found.media == FILE_NAME and found.captions in ("text", CAPTION)
            return None if usual else ColumnMapping(media=found.media, captions=found.captions)
    return None


def _shown_in(address: str, found: Found) -> Group | None:
    """The group of media that has this file."""
    for one in found.groups:
        if one.format.has_sidecars and address.startswith(f"{one.root}/"):
            path = address[len(one.root) + 1 :]
            if any(info.path == path for info in one.files):
                return one
    return None


def _of_tables(group: Group, notes: list[str], found: Found, described: dict[str, str]) -> Iterator[ProposedSource]:
    """A source for each kind of table and each choice of columns."""
    objects = open_location(group.root)
    by_shape: dict[tuple[SourceFormat, ColumnMapping], list[ObjectInfo]] = {}
    alone: set[tuple[SourceFormat, ColumnMapping]] = set()  # captions of what is elsewhere
    shards = _shards(found)
    about_shards: list[str] = []
    for kind in sorted({format_by_name(info.path) or group.format for info in group.files}, key=attrgetter("name")):
        files = [info for info in group.files if format_by_name(info.path) == kind]
        step = -(-len(files) // MOST_TABLES)
        last: ColumnMapping | None = None
        waiting: list[ObjectInfo] = []
        for number, info in enumerate(files):
            if (
                f"{group.root}/{info.path}".rpartition(".")[0] in shards
                and guess_columns(objects, info).describes_shard
            ):
                about_shards.append(info.path)
                continue
            if number % step and last is None:
                waiting.append(info)
                continue
            if number % step == 0:
                guess = guess_columns(objects, info)
                if last is None or not guess.has(last):
                    if guess.columns is None:
                        notes.append(f"{group.root}/{info.path}: left out: {_why_not(guess)}")
                        continue
                    last = guess.columns
                    alone.update({(kind, last)} if guess.captions_alone else ())
                for path in guess.media:
                    if shown := _shown_in(f"{group.root}/{path}", found):
                        described.setdefault(shown.name, f"{group.root}/{info.path}")
            assert last is not None
            by_shape.setdefault((kind, last), []).extend([*waiting, info])
            waiting = []
    if about_shards:
        count = f"{len(about_shards):,} tables say" if len(about_shards) > 1 else f"{about_shards[0]} says"
        notes.append(f"{group.root}: {count} what the shards of the same names hold, which is read there: left out")
    if alone:
        notes.append(
            f"{group.root}: captions of media at addresses, which are not fetched; with the media, such as in the "
            "shards that img2dataset or video2dataset writes, they become their captions"
        )
    kinds = [kind for kind, _ in by_shape]
    for (of, columns), files in by_shape.items():
        every = kinds.count(of) == 1 and len(files) == sum(format_by_name(one.path) == of for one in group.files)
        patterns = tuple(one for one in group.patterns if format_by_name(one) == of) if every else ()
        if not patterns or _takes_others(found, group.root, patterns):
            patterns = tuple(readable_pattern(info.path) for info in files)
        name = group.name if len(by_shape) == 1 else f"{group.name}-{of.name}"
        of_files = replace(group, format=of, name=name, patterns=patterns, files=tuple(files))
        yield ProposedSource(of_files, of.in_recipe, columns, captions_alone=(of, columns) in alone)


def _shards(found: Found) -> frozenset[str]:
    """The places of tars, and of folders with media, without what they end in."""
    shards: set[str] = set()
    for group in found.groups:
        if group.format.has_table_beside:
            shards.update(f"{group.root}/{info.path}".rpartition(".")[0] for info in group.files)
        elif group.format.has_sidecars:
            shards.update(f"{group.root}/{info.path}".rpartition("/")[0] for info in group.files)
    return frozenset(shards)


def _why_not(guess: TableGuess) -> str:
    return guess.problem or f"no column looks like a text or a picture; it has: {listed_columns(guess.names)}"
