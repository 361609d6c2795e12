"""Finds the files below some places and groups them: each group is what one source of a recipe can read."""

import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Final

from winnow.filters.web.sniff import sniff
from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.caption_tables import is_caption_table
from winnow.pipelines.ingest.formats import format_by_name, formats
from winnow.pipelines.ingest.formats.source_format import SourceFormat
from winnow.pipelines.ingest.media_names import TRANSPORT, UNREAD_PICTURES
from winnow.pipelines.store.facade import ObjectInfo, ObjectStore
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.location import open_location
from winnow.pipelines.store.names import object_name
from winnow.runners.first_look.unread import DESCRIBING, EMPTY, HIDDEN, ending_shown, irregular_notes, unread_notes
from winnow.schemas.errors import SourceError

MOST_FILES: Final = 200_000
"""Files of one place that are looked at; more are an error, as names alone would take minutes."""

MOST_FOLDERS: Final = 4
"""Folders of one content beside one another that are sources of their own; more are one source."""

_SNIFFED: Final = 512  # files without an ending whose first bytes are read
_HEAD_BYTES: Final = 2048
_OWN: Final = frozenset({"store.json", "winnow.json"})  # what winnow's stores and exports have
_BESIDE: Final = frozenset({".txt", ".json", ".srt", ".vtt"})  # describe a picture or a video of the same name
_STATISTICS: Final = "_stats.json"  # beside a shard of the same name, as img2dataset and video2dataset write them
_SHARDS: Final = (".tar", ".parquet", ".tfrecord")


@dataclass(frozen=True, slots=True)
class Group:
    """Files that one source can read."""

    name: str
    root: str  # a folder or an address
    patterns: tuple[str, ...]
    format: SourceFormat  # or the first of several that are read in one way
    files: tuple[ObjectInfo, ...]

    @property
    def content(self) -> str:
        """What the files have, in a word."""
        return self.format.content

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True)
class Found:
    """What lies below some places."""

    groups: tuple[Group, ...]
    unread: Mapping[str, int] = field(default_factory=dict)  # files that no reader takes, by what their names end in
    beside: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """What the names of files that describe others beside them end in, by the root of a group."""
    irregular: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # pipes, links and the like, by kind
    notes: tuple[str, ...] = ()


def find_files(places: Sequence[str]) -> Found:
    """Finds the files at these places: folders, files, or addresses of buckets.

    Raises:
        SourceError: A place does not exist, or nothing can be read there.
    """
    groups: list[Group] = []
    unread: Counter[str] = Counter()
    beside: dict[str, frozenset[str]] = {}
    irregular: dict[str, tuple[str, ...]] = {}
    notes: list[str] = []
    for place in _listed(places):
        found = _grouped(place)
        unread.update({HIDDEN: place.hidden} if place.hidden else {})
        groups += found.groups
        unread.update(found.unread)
        beside |= found.beside
        notes += found.notes
        for kind, paths in place.irregular.items():
            irregular[kind] = (*irregular.get(kind, ()), *paths)
    if not groups:
        named = (one.called.removeprefix("a ") for one in formats().values() if one.endings)
        raise SourceError(
            "; ".join(
                [
                    f"{', '.join(places)}: no files that winnow reads",
                    *unread_notes(unread),
                    *irregular_notes(irregular),
                    f"it reads {', '.join(dict.fromkeys(named))}",
                ]
            )
        )
    ordered = dict(sorted((+unread).items(), key=lambda one: (-one[1], one[0])))
    return Found(_named(groups), ordered, beside, irregular, tuple(notes))


@dataclass(frozen=True)
class _Place:
    """A folder, and what of it is looked at."""

    root: str
    files: Sequence[ObjectInfo]
    hidden: int = 0  # files with a hidden name that a reader would take
    irregular: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_named: bool = False  # whether somebody named these files alone
    is_whole: bool = False  # whether a pattern finds nothing but these files


def _listed(places: Sequence[str]) -> Iterator[_Place]:
    """Folders with the files in them; single files are joined by the folder they lie in."""
    single: dict[str, list[str]] = {}
    for place in places:
        if "://" in place or os.path.isdir(place):
            yield _all_files(place, open_location(place))
        elif os.path.isfile(place):
            folder, name = os.path.split(place)
            single.setdefault(folder or ".", []).append(name)
        elif os.path.lexists(place):
            raise SourceError(f"{place}: {irregular_kind(place) or 'no file or folder'}, expected a file or a folder")
        else:
            raise SourceError(f"{place}: no such file or folder")
    for folder, names in single.items():
        wanted = set(names)
        objects = open_location(folder)
        infos = [info for name in sorted(wanted) for info in objects.list(name) if info.path == name]
        yield _Place(folder, infos, is_named=True)


def _all_files(place: str, objects: ObjectStore) -> _Place:
    """Every file of a place that is neither hidden nor part of a store or an export of winnow's."""
    infos: list[ObjectInfo] = []
    hidden = 0
    for info in objects.list(""):
        if any(part.startswith(".") for part in info.path.split("/")):
            hidden += format_by_name(info.path) is not None
            continue
        infos.append(info)
        if len(infos) > MOST_FILES:
            raise SourceError(f"{place}: more than {MOST_FILES:,} files; name a folder below it, or some of its files")
    own = {info.path.rpartition("/")[0] for info in infos if PurePosixPath(info.path).name in _OWN}
    made = tuple(f"{folder}/" if folder else "" for folder in own)
    files = [info for info in infos if not info.path.startswith(made)]
    irregular = _irregular_files(place) if isinstance(objects, LocalStore) else {}
    files.sort(key=_path)
    return _Place(place, files, hidden, irregular, is_whole=not hidden and not made)


def _irregular_files(place: str) -> Mapping[str, tuple[str, ...]]:
    """What below a folder is neither a file nor a folder, by kind; links to files, too, which are read."""
    found: dict[str, list[str]] = {}
    for folder, folders, names in os.walk(place):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted([*folders, *names]):
            path = os.path.join(folder, name)
            if not name.startswith(".") and (kind := irregular_kind(path)) is not None:
                found.setdefault(kind, []).append(object_name(os.fsencode(path)))
    return {kind: tuple(paths) for kind, paths in sorted(found.items())}


def irregular_kind(path: str) -> str | None:
    """What a file is that is no plain file or folder; None if it is one. Opens nothing."""
    try:
        mode = os.lstat(path).st_mode
        if not stat.S_ISLNK(mode):
            return next((kind for is_kind, kind in _KINDS if is_kind(mode)), None)
        mode = os.stat(path).st_mode
    except OSError:
        return "a link that leads nowhere"
    if stat.S_ISDIR(mode):
        return "a link to a folder"
    return "a link to a file" if stat.S_ISREG(mode) else "a link to no file"


_KINDS: Final = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def _grouped(place: _Place) -> Found:
    root, infos = place.root, place.files
    objects = open_location(root)
    media = {info.path: of for info in infos if (of := format_by_name(info.path)) is not None and of.has_sidecars}
    shown = {str(PurePosixPath(path).with_suffix("")) for path in media}
    unseen = {str(PurePosixPath(info.path).with_suffix("")) for info in infos if _is_unread_picture(info.path)} - shown
    described = _described(infos, media)
    whole = {described[info.path] for info in infos if info.path in described and "/" not in info.path}
    paths = {info.path for info in infos}
    budget = _SNIFFED
    by_place: dict[tuple[str, SourceFormat], list[ObjectInfo]] = {}
    unread: Counter[str] = Counter()
    beside: dict[str, set[str]] = {}
    for info in infos:
        path = PurePosixPath(info.path)
        content = described.get(info.path) or format_by_name(info.path)
        if info.size == 0:
            unread[EMPTY] += content is not None
            continue
        stem = str(path.with_suffix(""))
        describes = path.suffix.lower() in _BESIDE and (stem in shown or stem in unseen)
        shard = info.path.removesuffix(_STATISTICS)
        if describes or (shard != info.path and any(shard + ending in paths for ending in _SHARDS)):
            unread[DESCRIBING] += stem in unseen
            for folder in (root, f"{root.rstrip('/')}/{path.parts[0]}"):
                beside.setdefault(folder, set()).add(path.suffix)
            continue
        if content is None and path.suffix.lower() in ("", f".{TRANSPORT}") and budget > 0:
            budget -= 1
            content = _by_bytes(objects, info)
            if path.suffix and (content is None or content.shows != "video"):
                content = None
        if content is None or content.why_not(info.path):
            unread[ending_shown(info.path)] += 1
            continue
        content = _grouped_with(content)
        top = path.parts[0] if len(path.parts) > 1 and content not in whole else ""
        by_place.setdefault((top, content), []).append(info)
    joined, notes = _joined(place, by_place)
    if place.is_named:
        joined = [replace(one, patterns=tuple(readable_pattern(info.path) for info in one.files)) for one in joined]
    ending = {folder: frozenset(endings) for folder, endings in beside.items()}
    return Found(tuple(joined), unread, ending, notes=tuple(notes))


def _joined(
    place: _Place, by_place: Mapping[tuple[str, SourceFormat], Sequence[ObjectInfo]]
) -> tuple[list[Group], list[str]]:
    """A group for each folder and content; many folders of one content, or those that number the parts, are one."""
    groups: list[Group] = []
    notes: list[str] = []
    for content in dict.fromkeys(content for _, content in by_place):
        tops = [top for top, of in by_place if of == content and top]
        are_parts = len(tops) > 1 and len({re.sub(r"\d+", "0", top) for top in tops}) == 1
        if not are_parts and len(tops) <= MOST_FOLDERS:
            groups += (_group(place.root, top, of, files) for (top, of), files in by_place.items() if of == content)
            continue
        files = sorted((info for (_, of), some in by_place.items() if of == content for info in some), key=_path)
        group = _group(place.root, "", content, files)
        if not place.is_whole:  # below the root there is what a pattern for all of it would find, too
            endings = [pattern.rpartition("/")[2] for pattern in group.patterns]
            plain = [pattern for pattern in group.patterns if "*" not in pattern]
            wild = [ending for ending in endings if "*" in ending]
            inner = [f"{readable_pattern(top)}/**/{ending}" for top in tops for ending in wild]
            group = replace(group, patterns=(*(wild if ("", content) in by_place else ()), *inner, *plain))
        groups.append(group)
        if not are_parts:
            notes.append(
                f"{place.root}: {content.content}s in {len(tops)} folders are one source; name the folders to have "
                "one of each"
            )
    return groups, notes


def _path(info: ObjectInfo) -> str:
    return info.path


def readable_pattern(path: str) -> str:
    """A pattern that finds this path: characters that patterns cannot have stand as `?`."""
    return re.sub(r"[\x00-\x1f\x7f\\\[\]{}]", "?", path)


def _is_unread_picture(path: str) -> bool:
    return PurePosixPath(path).suffix.lower().removeprefix(".") in UNREAD_PICTURES


def _grouped_with(of: SourceFormat) -> SourceFormat:
    """The first of the formats whose files make one source: of one content, which a recipe reads by one setting."""
    return next(one for one in formats().values() if (one.content, one.in_recipe) == (of.content, of.in_recipe))


def _described(infos: Sequence[ObjectInfo], media: Mapping[str, SourceFormat]) -> dict[str, SourceFormat]:
    """The tables of captions, each with what lies in its folder or below and has captions from it."""
    below = {folder: of for path, of in media.items() for folder in PurePosixPath(path).parents}
    tables = (info.path for info in infos if is_caption_table(info.path))
    return {path: below[folder] for path in tables if (folder := PurePosixPath(path).parent) in below}


def _group(root: str, top: str, content: SourceFormat, files: Sequence[ObjectInfo]) -> Group:
    if not top:
        return Group(slug(PurePosixPath(_absolute(root)).name), root, patterns_of(files), content, tuple(files))
    below = f"{root.rstrip('/')}/{top}"
    inner = tuple(replace(info, path=info.path[len(top) + 1 :]) for info in files)
    return Group(slug(top), below, patterns_of(inner), content, inner)


def patterns_of(files: Sequence[ObjectInfo]) -> tuple[str, ...]:
    """Patterns of the endings of these files; the names of files that have none."""
    below = "**/" if any("/" in info.path for info in files) else ""
    tables = sorted({PurePosixPath(info.path).name for info in files if is_caption_table(info.path)})
    others = [info.path for info in files if not is_caption_table(info.path)]
    endings = sorted({_ending(path) for path in others} - {""})
    plain = [path for path in others if not _ending(path)]
    names = (readable_pattern(path) for path in plain)
    return (*(f"{below}*{ending}" for ending in endings), *(f"{below}{name}" for name in tables), *names)


def _ending(path: str) -> str:
    of = format_by_name(path)
    suffix = PurePosixPath(path).suffix if of is None else of.ending(path)
    return suffix if re.fullmatch(r"[.\w-]+", suffix) else ""


def _named(groups: Iterable[Group]) -> tuple[Group, ...]:
    """The groups, each with a name of its own."""
    ordered = sorted(groups, key=lambda group: (group.root, group.content))
    counts = Counter(group.name for group in ordered)
    wanted = (one.name if counts[one.name] == 1 else f"{one.name}-{one.content}s" for one in ordered)
    return tuple(replace(group, name=name) for group, name in zip(ordered, own_names(wanted), strict=True))


def own_names(wanted: Iterable[str]) -> Iterator[str]:
    """The names, numbered from the second of one on."""
    taken: set[str] = set()
    for one in wanted:
        name, number = one, 2
        while name in taken:
            name, number = f"{one}-{number}", number + 1
        taken.add(name)
        yield name


def slug(name: str) -> str:
    """A name for a source: that of a folder, in Latin letters."""
    cleaned = re.sub(r"[^a-z0-9]+", "-", _in_latin(name).lower()).strip("-")[:24].rstrip("-")
    return cleaned if re.match(r"[a-z]", cleaned) else f"data-{cleaned}".rstrip("-")


def _in_latin(name: str) -> str:
    if name.isascii():
        return name
    from anyascii import anyascii

    # Of `手册` ShouCe: each letter of a script without small ones begins a word of its own.
    return "".join(f" {latin}" if ord(letter) > 0x2E7F else latin for letter in name for latin in [anyascii(letter)])


def _absolute(root: str) -> str:
    return root.rstrip("/") if "://" in root else str(Path(root).resolve())


def _by_bytes(objects: ObjectStore, info: ObjectInfo) -> SourceFormat | None:
    """What a file without an ending holds, by its first bytes; None if no reader takes it."""
    try:
        with closing(objects.open(info.path)) as stream:
            head = read_range(stream, 0, min(info.size, _HEAD_BYTES))
    except (OSError, SourceError):
        return None
    found = sniff(head, None, None)
    return next((one for one in formats().values() if one.holds is not None and one.holds(found)), None)
