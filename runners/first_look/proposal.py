"""Proposes sources for found files: one for each folder and kind of content, and for each shape of its tables."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import islice
from typing import Final, Literal, TypeAlias

from winnow.pipelines.ingest.archives.flows import FileFlow
from winnow.pipelines.ingest.archives.tar import units
from winnow.pipelines.ingest.caption_tables import FILE_NAME, is_caption_table
from winnow.pipelines.ingest.media_names import may_be_medium, may_be_video
from winnow.pipelines.ingest.planning.formats import kind_of
from winnow.pipelines.ingest.sidecars import CAPTION
from winnow.pipelines.ingest.tables.columns import ColumnMapping, listed_columns
from winnow.pipelines.store.facade import ObjectInfo
from winnow.pipelines.store.location import open_location
from winnow.runners.first_look.found_files import Found, Group, patterns_of
from winnow.runners.first_look.guesses import LIMITS, TableGuess, guess_columns
from winnow.schemas.errors import RecipeError, SourceError

Medium: TypeAlias = Literal["texts", "pictures", "videos"]

_NEEDED: Final[Mapping[Medium, tuple[str, str]]] = {"pictures": ("image", "simplejpeg"), "videos": ("video", "av")}
"""The extra of each medium, and a package of it."""

_MEMBERS: Final = 64  # of a tar, whose names are looked at

MOST_TABLES = 64
"""Tables of one group whose columns are looked at; the others are taken to be like them."""


@dataclass(frozen=True, slots=True)
class ProposedSource:
    """A source that a recipe could have."""

    group: Group
    format: str  # as in a recipe
    columns: ColumnMapping | None = None  # of tables, and of tables of captions beside media
    shows: Medium | None = None  # what the members of a tar, or the files that a table names, are

    @property
    def name(self) -> str:
        """Its name in the recipe."""
        return self.group.name

    @property
    def kind(self) -> str:
        """What its files are, in a word."""
        return self.group.content if self.group.content not in ("table", "archive") else kind_of("auto", self.first)

    @property
    def first(self) -> str:
        """The path of its first file."""
        return self.group.files[0].path

    @property
    def medium(self) -> Medium:
        """What its rows are, as far as names and columns tell: samples of different media need recipes of their own."""
        names_pictures = self.columns is not None and self.columns.media is not None
        if self.shows is not None:
            return self.shows
        if self.group.content == "video":
            return "videos"
        return "pictures" if self.group.content == "picture" or names_pictures else "texts"

    @property
    def has_pages(self) -> bool:
        """Whether texts are to be extracted from its pages."""
        return self.group.content in ("archive", "page")


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
    notes: list[str] = []
    described: dict[str, str] = {}  # groups of media that tables name, each with such a table
    for group in found.groups:
        if group.content == "table":
            sources += _of_tables(group, notes, found, described)
        elif group.content == "picture":
            sources.append(ProposedSource(group, "image_folder", _of_captions(group)))
        elif group.content == "video":
            sources.append(ProposedSource(group, "video_folder", _of_captions(group)))
        elif group.content == "tar":
            sources.append(ProposedSource(group, "auto", shows=_held_by(group)))
        elif group.content == "text" and _has_others(found, group):
            named = tuple(info.path for info in group.files)
            sources.append(ProposedSource(replace(group, patterns=named), "auto"))
        else:
            sources.append(ProposedSource(group, "auto"))
    notes += [
        f"{group.root}: its {group.content}s are read as {described[group.name]} names them; "
        "those that no row names are not read, give them a source of their own"
        for group in found.groups
        if group.name in described
    ]
    sources = [one for one in sources if one.group.content not in _SEEN or one.name not in described]
    if not sources:
        raise SourceError("\n".join(["no file can be a source", *notes]))
    return Proposal(_with_own_names(sources), tuple(notes))


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


def _held_by(group: Group) -> Medium:
    """What most of the media among the first members of a tar are, by their names; texts if there are none."""
    objects = open_location(group.root)
    names: list[str] = []
    try:
        with closing(objects.open(group.files[0].path)) as stream:
            flow = FileFlow(stream, group.files[0].size)
            names = [one.name for one in islice(units(flow, 0, LIMITS.max_header_bytes), _MEMBERS)]
    except (OSError, SourceError):
        return "pictures"  # what is wrong with it is said when it is read
    media = [name for name in names if may_be_medium(name)]
    if not media:
        return "texts"
    return "videos" if 2 * sum(map(may_be_video, media)) > len(media) else "pictures"


def _has_others(found: Found, group: Group) -> bool:
    """Whether files beside pictures end like these texts, so that a pattern would take them for texts, too."""
    return found.beside > 0 and any(
        one.root == group.root and one.content in ("picture", "video") for one in found.groups
    )


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


_SEEN: Final = ("picture", "video")


def _shown_in(address: str, found: Found) -> Group | None:
    """The group of media that has this file."""
    for one in found.groups:
        if one.content in _SEEN and address.startswith(f"{one.root}/"):
            path = address[len(one.root) + 1 :]
            if any(info.path == path for info in one.files):
                return one
    return None


def _of_tables(group: Group, notes: list[str], found: Found, described: dict[str, str]) -> Iterator[ProposedSource]:
    """A source for each kind of table and each choice of columns."""
    objects = open_location(group.root)
    by_shape: dict[tuple[str, ColumnMapping], list[ObjectInfo]] = {}
    videos: set[tuple[str, ColumnMapping]] = set()
    for kind in sorted({kind_of("auto", info.path) for info in group.files}):
        files = [info for info in group.files if kind_of("auto", info.path) == kind]
        last: ColumnMapping | None = None
        for info in files[:MOST_TABLES]:
            guess = guess_columns(objects, info)
            if last is None or not guess.has(last):
                if guess.columns is None:
                    notes.append(f"{group.root}/{info.path}: left out: {_why_not(guess)}")
                    continue
                last = guess.columns
                if guess.shows_videos:
                    videos.add((kind, last))
            for path in guess.media:
                if shown := _shown_in(f"{group.root}/{path}", found):
                    described.setdefault(shown.name, f"{group.root}/{info.path}")
            by_shape.setdefault((kind, last), []).append(info)
        if last is not None:
            by_shape[kind, last] += files[MOST_TABLES:]
    kinds = [kind for kind, _ in by_shape]
    for (of, columns), files in by_shape.items():
        alone = kinds.count(of) == 1 and len(files) == sum(kind_of("auto", one.path) == of for one in group.files)
        patterns = patterns_of(files) if alone else tuple(info.path for info in files)
        name = group.name if len(by_shape) == 1 else f"{group.name}-{of}"
        of_files = replace(group, name=name, patterns=patterns, files=tuple(files))
        yield ProposedSource(of_files, "auto", columns, "videos" if (of, columns) in videos else None)


def _why_not(guess: TableGuess) -> str:
    return guess.problem or f"no column looks like a text or a picture; it has: {listed_columns(guess.names)}"


def _with_own_names(sources: Sequence[ProposedSource]) -> tuple[ProposedSource, ...]:
    taken: set[str] = set()
    named = []
    for source in sources:
        name, number = source.name, 2
        while name in taken:
            name, number = f"{source.name}-{number}", number + 1
        taken.add(name)
        named.append(replace(source, group=replace(source.group, name=name)))
    return tuple(named)
