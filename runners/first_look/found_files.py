"""Finds the files below some places and groups them: each group is what one source of a recipe can read."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Final, Literal, TypeAlias

from winnow.filters.web.sniff import is_page, sniff
from winnow.pipelines.ingest.caption_tables import is_caption_table
from winnow.pipelines.ingest.files import read_range
from winnow.pipelines.ingest.media_names import PICTURES, TRANSPORT, VIDEOS
from winnow.pipelines.ingest.planning.formats import ending_of, is_compressed_tar, kind_of
from winnow.pipelines.store.facade import ObjectInfo, ObjectStore
from winnow.pipelines.store.location import open_location
from winnow.runners.first_look.unread import EMPTY, HIDDEN, ending_shown, unread_notes
from winnow.schemas.errors import SourceError

Content: TypeAlias = Literal["archive", "table", "tar", "text", "page", "picture", "video"]

MOST_FILES: Final = 200_000
"""Files of one place that are looked at; more are an error, as names alone would take minutes."""

_SNIFFED: Final = 512  # files without an ending whose first bytes are read
_HEAD_BYTES: Final = 2048
_BY_ENDING: Final[Mapping[Content, frozenset[str]]] = {
    "text": frozenset({"txt", "text", "md"}),
    "page": frozenset({"htm", "html", "xhtml"}),
    "picture": PICTURES,
    "video": VIDEOS,
}
_OWN: Final = frozenset({"store.json", "winnow.json"})  # what winnow's stores and exports have
_BESIDE: Final = frozenset({".txt", ".json", ".srt", ".vtt"})  # describe a picture or a video of the same name
_CONTENT: Final[Mapping[str, Content]] = {
    "warc": "archive",
    "arc": "archive",
    "jsonl": "table",
    "csv": "table",
    "parquet": "table",
    "arrow": "table",
    "tar": "tar",
}
_FROM_MIME: Final[Mapping[str, Content]] = {"image": "picture", "video": "video"}


@dataclass(frozen=True, slots=True)
class Group:
    """Files that one source can read."""

    name: str
    root: str  # a folder or an address
    patterns: tuple[str, ...]
    content: Content
    files: tuple[ObjectInfo, ...]

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True)
class Found:
    """What lies below some places."""

    groups: tuple[Group, ...]
    unread: Mapping[str, int] = field(default_factory=dict)  # files that no reader takes, by what their names end in
    beside: int = 0  # files that describe others beside them


def find_files(places: Sequence[str]) -> Found:
    """Finds the files at these places: folders, files, or addresses of buckets.

    Raises:
        SourceError: A place does not exist, or nothing can be read there.
    """
    groups: list[Group] = []
    unread: Counter[str] = Counter()
    beside = 0
    for root, infos, hidden in _listed(places):
        found = _grouped(root, infos)
        unread.update({HIDDEN: hidden} if hidden else {})
        groups += found.groups
        unread.update(found.unread)
        beside += found.beside
    if not groups:
        raise SourceError(
            "; ".join(
                [
                    f"{', '.join(places)}: no files that winnow reads",
                    *unread_notes(unread),
                    "it reads WARC, ARC, JSON lines, CSV, Parquet, Arrow, tars, HTML, text, pictures and videos",
                ]
            )
        )
    return Found(_named(groups), dict(sorted(unread.items(), key=lambda one: (-one[1], one[0]))), beside)


def _listed(places: Sequence[str]) -> Iterator[tuple[str, list[ObjectInfo], int]]:
    """Folders with the files in them and a count of hidden ones; single files are joined by the folder they lie in."""
    single: dict[str, list[str]] = {}
    for place in places:
        if "://" not in place and os.path.isfile(place):
            folder, name = os.path.split(place)
            single.setdefault(folder or ".", []).append(name)
        elif "://" not in place and not os.path.isdir(place):
            raise SourceError(f"{place}: no such file or folder")
        else:
            yield place, *_all_files(place, open_location(place))
    for folder, names in single.items():
        wanted = set(names)
        objects = open_location(folder)
        yield folder, [info for name in sorted(wanted) for info in objects.list(name) if info.path == name], 0


def _all_files(place: str, objects: ObjectStore) -> tuple[list[ObjectInfo], int]:
    """Every file of a place that is neither hidden nor part of a store or an export of winnow's.

    With it goes the number of hidden files that a reader would take.
    """
    infos: list[ObjectInfo] = []
    hidden = 0
    for info in objects.list(""):
        if any(part.startswith(".") for part in info.path.split("/")):
            hidden += _by_ending(info.path) is not None
            continue
        infos.append(info)
        if len(infos) > MOST_FILES:
            raise SourceError(f"{place}: more than {MOST_FILES:,} files; name a folder below it, or some of its files")
    own = {info.path.rpartition("/")[0] for info in infos if PurePosixPath(info.path).name in _OWN}
    made = tuple(f"{folder}/" if folder else "" for folder in own)
    files = (info for info in infos if not info.path.startswith(made))
    return sorted(files, key=lambda info: info.path), hidden


def _grouped(root: str, infos: Sequence[ObjectInfo]) -> Found:
    objects = open_location(root)
    shown = {str(PurePosixPath(info.path).with_suffix("")) for info in infos if _by_ending(info.path) in _SEEN}
    described = _described(infos)
    whole = {described[info.path] for info in infos if info.path in described and "/" not in info.path}
    budget = _SNIFFED
    by_place: dict[tuple[str, Content], list[ObjectInfo]] = {}
    unread: Counter[str] = Counter()
    beside = 0
    for info in infos:
        path = PurePosixPath(info.path)
        content = described.get(info.path) or _by_ending(info.path)
        if info.size == 0:
            unread[EMPTY] += content is not None
            continue
        if path.suffix.lower() in _BESIDE and str(path.with_suffix("")) in shown:
            beside += 1
            continue
        if content is None and path.suffix.lower() in ("", f".{TRANSPORT}") and budget > 0:
            budget -= 1
            content = _by_bytes(objects, info)
            if path.suffix and content != "video":
                content = None
        if content is None or is_compressed_tar("auto", info.path):
            unread[ending_shown(info.path)] += 1
            continue
        top = path.parts[0] if len(path.parts) > 1 and content not in whole else ""
        by_place.setdefault((top, content), []).append(info)
    return Found(tuple(_group(root, *place, files) for place, files in by_place.items()), unread, beside)


_SEEN: Final = ("picture", "video")


def _described(infos: Sequence[ObjectInfo]) -> dict[str, Content]:
    """The tables of captions, each with what lies in its folder or below and has captions from it."""
    media: dict[PurePosixPath, Content] = {}
    for info in infos:
        content = _by_ending(info.path)
        if content in _SEEN:
            media |= dict.fromkeys(PurePosixPath(info.path).parents, content)
    tables = (info.path for info in infos if is_caption_table(info.path))
    return {path: media[folder] for path in tables if (folder := PurePosixPath(path).parent) in media}


def _group(root: str, top: str, content: Content, files: Sequence[ObjectInfo]) -> Group:
    if not top:
        return Group(_slug(PurePosixPath(_absolute(root)).name), root, patterns_of(files), content, tuple(files))
    below = f"{root.rstrip('/')}/{top}"
    inner = tuple(replace(info, path=info.path[len(top) + 1 :]) for info in files)
    return Group(_slug(top), below, patterns_of(inner), content, inner)


def patterns_of(files: Sequence[ObjectInfo]) -> tuple[str, ...]:
    """Patterns of the endings of these files; the names of files that have none."""
    below = "**/" if any("/" in info.path for info in files) else ""
    tables = sorted({PurePosixPath(info.path).name for info in files if is_caption_table(info.path)})
    others = [info.path for info in files if not is_caption_table(info.path)]
    endings = sorted({_ending(path) for path in others} - {""})
    plain = [path for path in others if not _ending(path)]
    return (*(f"{below}*{ending}" for ending in endings), *(f"{below}{name}" for name in tables), *plain)


def _ending(path: str) -> str:
    known = ending_of(path)
    suffix = known or PurePosixPath(path).suffix
    return suffix if re.fullmatch(r"[.\w-]+", suffix) else ""


def _named(groups: Iterable[Group]) -> tuple[Group, ...]:
    """The groups, each with a name of its own."""
    ordered = sorted(groups, key=lambda group: (group.root, group.content))
    counts = Counter(group.name for group in ordered)
    named: list[Group] = []
    taken: set[str] = set()
    for group in ordered:
        wanted = group.name if counts[group.name] == 1 else f"{group.name}-{group.content}s"
        name, number = wanted, 2
        while name in taken:
            name, number = f"{wanted}-{number}", number + 1
        taken.add(name)
        named.append(replace(group, name=name))
    return tuple(named)


def _slug(name: str) -> str:
    """A name for a source."""
    cleaned = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:24].rstrip("-")
    return cleaned if re.match(r"[a-z]", cleaned) else f"data-{cleaned}".rstrip("-")


def _absolute(root: str) -> str:
    return root.rstrip("/") if "://" in root else str(Path(root).resolve())


def _by_ending(path: str) -> Content | None:
    kind = kind_of("auto", path)
    if kind != "file":
        return _CONTENT[kind]
    suffix = PurePosixPath(path).suffix.lower().removeprefix(".")
    return next((content for content, endings in _BY_ENDING.items() if suffix in endings), None)


def _by_bytes(objects: ObjectStore, info: ObjectInfo) -> Content | None:
    """What a file without an ending holds, by its first bytes; None if no reader takes it."""
    try:
        with closing(objects.open(info.path)) as stream:
            head = read_range(stream, 0, min(info.size, _HEAD_BYTES))
    except (OSError, SourceError):
        return None
    found = sniff(head, None, None)
    if found.modality == "text":
        return "page" if is_page(found.mime) else "text"
    return _FROM_MIME.get(found.modality)
