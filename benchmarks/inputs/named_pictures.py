"""Small pictures with their names, out of Debian's packages: stamps, emoji and characters of fonts.

    python -m benchmarks.inputs.named_pictures

Stamps are a drawing program's, with captions in many languages (`benchmarks.inputs.stamps`). Emoji have the short names
of CLDR in as many; characters have those of Unicode, and are drawn in several fonts. A concept is what is shown: one
stamp, one emoji, one character. All pairs of a concept go together where a set is divided.
"""

import hashlib
import io
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from benchmarks.inputs.pages import CACHE, unpacked_packages
from benchmarks.inputs.stamps import stamps

SIDE: Final = 32
LANGUAGES: Final = ("en", "fr", "de", "es", "it", "nl")
FOREIGN: Final = ("fi", "hu", "tr", "vi", "sv", "cs")
"""Languages that no pair of a clean set has."""

FONTS: Final = ("DejaVuSans", "DejaVuSerif", "DejaVuSansMono", "DejaVuSans-Bold")
_PACKAGES: Final = ["fonts-noto-color-emoji", "fonts-dejavu-core", "fonts-dejavu-extra", "unicode-cldr-core"]
_EMOJI_SIZE: Final = 109  # the only one of its pictures
_TONES: Final = {chr(number) for number in range(0x1F3FB, 0x1F400)}
_LAST: Final = 0x1FFFF  # of the characters that fonts are asked for
_BLANK: Final = 6.0  # standard deviation of pixels below which nothing is drawn


@dataclass(frozen=True, slots=True)
class Named:
    """A picture with a name in one language, and the names of it in languages that the set does not have."""

    concept: str
    language: str
    picture: NDArray[np.uint8]  # SIDE × SIDE × 3
    name: str
    foreign: tuple[str, ...] = ()


@cache
def _folder(cache: Path = CACHE) -> Path:
    return unpacked_packages(_PACKAGES, "named-pictures", "named-pictures-packages", cache) / "usr/share"


def stamp_pairs() -> Iterator[Named]:
    """Each stamp with its captions."""
    for number, stamp in enumerate(stamps()):
        picture = _shrunk(Image.open(io.BytesIO(stamp.image)).convert("RGBA"))
        yield from _named(f"stamp {number}", picture, stamp.captions)


def emoji_pairs() -> Iterator[Named]:
    """Each emoji without a tone of skin, with its short names."""
    font = ImageFont.truetype(str(_folder() / "fonts/truetype/noto/NotoColorEmoji.ttf"), _EMOJI_SIZE)
    names = {language: _short_names(language) for language in (*LANGUAGES, *FOREIGN)}
    for emoji in sorted(names["en"]):
        if _TONES & set(emoji) or not any(ord(one) > 0x2300 for one in emoji):
            continue
        picture = Image.new("RGBA", (136, 128), (255, 255, 255, 255))
        ImageDraw.Draw(picture).text((0, 0), emoji, font=font, embedded_color=True)
        shrunk = _shrunk(picture)
        if shrunk.std() > _BLANK:
            yield from _named(f"emoji {emoji}", shrunk, {language: names[language].get(emoji) for language in names})


def character_pairs() -> Iterator[Named]:
    """Each character of some fonts, with its name in Unicode, in English alone."""
    drawn: dict[str, set[bytes]] = {}
    for name in FONTS:
        font = ImageFont.truetype(str(_folder() / f"fonts/truetype/dejavu/{name}.ttf"), 22)
        missing = _drawn(font, "\U0010fffd")
        for number in range(33, _LAST):
            called = unicodedata.name(chr(number), "")
            if not called or unicodedata.category(chr(number))[0] not in "LNPS":
                continue
            picture = _drawn(font, chr(number))
            if picture.std() <= _BLANK or np.array_equal(picture, missing):
                continue
            seen = drawn.setdefault(chr(number), set())
            if picture.tobytes() not in seen:
                seen.add(picture.tobytes())
                yield Named(f"character {number:x}", "en", picture, called.lower())


POOLS: Final[dict[str, Callable[[], Iterator[Named]]]] = {
    "stamps": stamp_pairs,
    "emoji": emoji_pairs,
    "characters": character_pairs,
}


def named_pictures(pool: str, most: int, cache: Path = CACHE) -> list[Named]:
    """The pairs of a pool, at most so many: whole concepts, in an order by hashes; they are made once."""
    kept = cache / "mimic" / f"named-{pool}.npz"
    if not kept.exists():
        made = list(POOLS[pool]())
        kept.parent.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_suffix(".unfinished.npz")
        np.savez(
            unfinished,
            picture=np.stack([one.picture for one in made]),
            concept=np.array([one.concept for one in made]),
            language=np.array([one.language for one in made]),
            name=np.array([one.name for one in made]),
            foreign=np.array(["\n".join(one.foreign) for one in made]),
        )
        unfinished.rename(kept)
    with np.load(kept) as held:
        columns = {name: held[name] for name in ("concept", "language", "picture", "name", "foreign")}
    order = sorted(
        range(len(columns["concept"])),
        key=lambda at: (hashlib.blake2b(str(columns["concept"][at]).encode()).digest(), at),
    )
    return [
        Named(
            str(columns["concept"][at]),
            str(columns["language"][at]),
            columns["picture"][at],
            str(columns["name"][at]),
            tuple(str(columns["foreign"][at]).split("\n")) if columns["foreign"][at] else (),
        )
        for at in order[:most]
    ]


def _named(concept: str, picture: NDArray[np.uint8], names: Mapping[str, str | None]) -> Iterator[Named]:
    known = {language: name for language in LANGUAGES if (name := names.get(language))}
    others = [name for language in FOREIGN if (name := names.get(language)) and name not in known.values()]
    for language, name in known.items():
        yield Named(concept, language, picture, name, tuple(others))


def _short_names(language: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for kind in ("annotationsDerived", "annotations"):
        file = _folder() / f"unicode/cldr/common/{kind}/{language}.xml"
        for one in ElementTree.parse(file).iterfind(".//annotation[@type='tts']"):
            if one.text:
                found[one.get("cp", "")] = one.text
    return found


def _shrunk(picture: Image.Image) -> NDArray[np.uint8]:
    white = Image.new("RGBA", picture.size, (255, 255, 255, 255))
    small = Image.alpha_composite(white, picture).convert("RGB").resize((SIDE, SIDE), Image.Resampling.BOX)
    return np.asarray(small, np.uint8)


def _drawn(font: ImageFont.FreeTypeFont, text: str) -> NDArray[np.uint8]:
    picture = Image.new("L", (SIDE, SIDE), 255)
    ImageDraw.Draw(picture).text((SIDE // 2, SIDE // 2), text, fill=0, font=font, anchor="mm")
    return np.repeat(np.asarray(picture, np.uint8)[..., None], 3, axis=2)


if __name__ == "__main__":
    for named in POOLS:
        found = named_pictures(named, 1 << 30)
        print(f"{named}: {len(found):,} pairs of {len({one.concept for one in found}):,} concepts")
