"""A page's metadata and their limits, and how addresses, images and labels are read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, NamedTuple

from winnow.filters.extraction.candidates import MOST_CANDIDATES, OF_AN_IMAGE, shown_first
from winnow.filters.web.urls import MAX_URL_CHARACTERS, canonical_url, resolve
from winnow.schemas.recipe.checks import Between


@dataclass(frozen=True, slots=True)
class PageLimits:
    """Limits for one page's metadata; anything beyond them is left out."""

    max_links: Annotated[int, Between(1, 1_000_000)] = 2_000  # distinct URLs
    max_images: Annotated[int, Between(1, 1_000_000)] = 1_000
    max_label_characters: Annotated[int, Between(1, 1_000_000)] = 2_000  # title, alt, caption


class Image(NamedTuple):
    """An <img> as its page declares it; nothing is verified."""

    src: str
    alt: str | None
    title: str | None
    caption: str | None
    width: int | None
    height: int | None
    candidates: tuple[str, ...] = ()  # other addresses of the same picture


@dataclass(frozen=True, slots=True)
class Facts:
    """A page's metadata. Links are distinct, in order of appearance, with the `rel` of the first."""

    title: str | None
    canonical_url: str | None
    language: str | None
    links: dict[str, str | None]
    images: dict[int, Image]  # by their number, in order of appearance


_MOST_PARENTS = 32
CANDIDATES_AN_IMAGE = 8  # per page, on average
_PIXELS = re.compile(r"\s*+([0-9]{1,6})(?:\.[0-9]++)?(?:px)?\s*+")
LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:[-_][A-Za-z0-9]{1,8})*+")
# Addresses that are canonical as written: a URL, a path, a relative path. They have no port and no entity, and only
# escapes in canonical spelling. One with "/." in it is not canonical; testing that in the pattern would be slow.
_HOST = r"https?://(?:[a-z0-9]++(?:-[a-z0-9]++)*+\.){1,4}[a-z]++"
_ESCAPES = "%(?:[89A-F][0-9A-F]|2[0-9A-CF]|3[A-F])"
_RELATIVE, _PATH = (
    rf"(?:[{more}A-Za-z0-9/._~!$'()*+,;=@&-]++|{_ESCAPES})*+(?:\?[!$%&(-;=?-~]*+)?+" for more in ("", ":")
)
_PLAIN = re.compile(rf"(?:({_HOST}/{_PATH})|(/(?!/){_PATH})|([A-Za-z0-9_]{_RELATIVE}))(?:#.*+)?", re.DOTALL)
_HOST_ALONE = re.compile(_HOST)
_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*+:")
_PARENTS = re.compile(r"(?:\.\./)*+")
_ORIGIN = re.compile(r"https?://[^/]++")


class Addresses:
    """Resolves a page's references to absolute canonical URLs; common forms are not parsed."""

    __slots__ = ("base", "folders", "root")

    def __init__(self, base: str | None) -> None:
        self.base = base
        self.root, self.folders = _folders(base[: base.rfind("/", 0, _path_end(base)) + 1]) if base else ("", ())

    def absolute(self, reference: str) -> str | None:
        """The URL that a reference points to, or None if it is not an http or https URL."""
        up = 0
        if reference.startswith("../"):
            parents = _PARENTS.match(reference)
            up = parents.end() // 3 if parents else 0
            if len(reference) == 3 * up and self.folders:
                return self.folders[min(up, len(self.folders) - 1)]
        found = _PLAIN.fullmatch(reference, 3 * up)
        if found and "/." not in reference[3 * up :]:
            if found[3] is not None:
                if self.folders:
                    return self.folders[min(up, len(self.folders) - 1)] + found[3]
            elif not up:
                if found[1]:
                    return found[1]
                if self.root:
                    return self.root + found[2]
        if _OTHER_SCHEME.match(reference):
            return None
        if reference.startswith("//") and self.root:
            found = _PLAIN.fullmatch(self.root.partition("/")[0] + reference)
            if found and found[1] and "/." not in found[1]:
                return found[1]
        elif _HOST_ALONE.fullmatch(reference):
            return f"{reference}/"
        return resolve(self.base, reference) if len(reference) <= MAX_URL_CHARACTERS else None


def _path_end(url: str) -> int:
    ends = [at for at in (url.find("?"), url.find("#")) if at >= 0]
    return min(ends) if ends else len(url)


@lru_cache(maxsize=4_096)
def _folders(base: str) -> tuple[str, tuple[str, ...]]:
    # The origin of a page in the folder `base`; then that folder, its parent, and so on up to the root.
    folder = canonical_url(base)
    origin = _ORIGIN.match(folder) if folder else None
    if folder is None or origin is None or folder[-1] != "/" or folder.count("/") > _MOST_PARENTS:
        return "", ()
    folders = [folder]
    while len(folder) > origin.end() + 1:
        folder = folder[: folder.rindex("/", 0, -1) + 1]
        folders.append(folder)
    return origin[0], tuple(folders)


def link(reference: str, addresses: Addresses) -> str | None:
    """The URL of a link; None for a position on the same page."""
    reference = reference.strip()
    return None if not reference or reference[0] == "#" else addresses.absolute(reference)


def image_of(
    attributes: Mapping[str, str], sources: list[str], addresses: Addresses, limits: PageLimits, room: int
) -> Image | None:
    """The image that these attributes declare; None without an address."""
    found: dict[str, None] = {}
    for address in dict.fromkeys(shown_first(attributes, sources)):
        if address and address[:5].lower() != "data:":
            url = addresses.absolute(address) if addresses.base else address[:MAX_URL_CHARACTERS]
            if url:
                found[url] = None
                if len(found) > min(room, MOST_CANDIDATES):
                    break
    if not found:
        return None
    src, *others = found
    alt, title, width, height = map(attributes.get, OF_AN_IMAGE)
    return Image(src, label(alt, limits), label(title, limits), None, _pixels(width), _pixels(height), tuple(others))


def label(text: str | None, limits: PageLimits) -> str | None:
    """A short text on one line; None if it is blank."""
    return " ".join(text.split())[: limits.max_label_characters] or None if text else None


def _pixels(value: str | None) -> int | None:
    found = _PIXELS.fullmatch(value) if value else None
    return int(found[1]) if found else None
