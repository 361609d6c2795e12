"""What is planted among the demo's pictures: copies, captions and defects."""

import hashlib
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal, get_args

import numpy as np

from winnow.runners.demo import media
from winnow.runners.demo.photos.drawing import animation, halved, jpeg, landscape, turned_jpeg, webp
from winnow.runners.demo.writing import write_files
from winnow.schemas.identity import canonical_json

Kind = Literal["picture", "copy", "no_caption", "useless", "animation", "broken", "harmful"]
KINDS: Final[tuple[str, ...]] = get_args(Kind)

FILES: Final = "files"
HARM: Final = "lists/known-harm.txt"
BOMB_SIDE: Final = 12_000  # pixels: more than are decoded, in a file of a few kilobytes

CAPTIONS: Final = (
    ("lake", "en", "A white sailing boat on a quiet lake below green hills"),
    ("lake", "de", "Ein weißes Segelboot auf einem stillen See unter grünen Hügeln"),
    ("lake", "ja", "緑の丘のふもとの静かな湖に浮かぶ白いヨット"),
    ("village", "fr", "Des maisons rouges au pied d'une colline en été"),
    ("village", "es", "Casas rojas al pie de una colina en verano"),
    ("village", "sv", "Röda hus vid foten av en kulle en sommardag"),
    ("forest", "sv", "En tät granskog under en blek morgonhimmel"),
    ("forest", "ru", "Густой еловый лес под бледным утренним небом"),
    ("forest", "de", "Ein dichter Tannenwald unter einem blassen Morgenhimmel"),
    ("night", "el", "Το φεγγάρι πάνω από σκοτεινά βουνά και μερικά αστέρια"),
    ("night", "ar", "القمر فوق جبال مظلمة وبعض النجوم في السماء"),
    ("night", "en", "The moon above dark mountains and a few stars"),
    ("desert", "ar", "شمس كبيرة فوق كثبان الرمال في الصحراء"),
    ("desert", "hi", "रेगिस्तान में रेत के टीलों के ऊपर बड़ा सूरज"),
    ("desert", "es", "Un sol grande sobre las dunas del desierto"),
    ("balloons", "fr", "Trois montgolfières au-dessus des champs dorés"),
    ("balloons", "ja", "黄金色の畑の上を飛ぶ三つの熱気球"),
    ("balloons", "en", "Three hot-air balloons above golden fields"),
    ("winter", "ru", "Заснеженный домик под тёмными елями зимой"),
    ("winter", "hi", "सर्दियों में बर्फ से ढका घर और देवदार के पेड़"),
    ("winter", "el", "Ένα χιονισμένο σπίτι δίπλα σε έλατα τον χειμώνα"),
    ("sea", "es", "Veleros en el mar al atardecer"),
    ("sea", "el", "Ιστιοφόρα στη θάλασσα το ηλιοβασίλεμα"),
    ("sea", "en", "Sailing boats on the sea at sunset"),
)
"""Of each picture: what it shows, the language of its caption, and the caption."""


@dataclass(frozen=True, slots=True)
class Planted:
    """A file and the truth about it."""

    name: str
    content: bytes
    kind: Kind
    case: str
    caption: str = ""  # in NAME.txt
    of: str = ""  # the picture that it is a copy of


def make_photos(folder: Path) -> None:
    """Write the pictures and the list of known harm into the folder."""
    write_files(folder, photo_files())


def photo_files() -> dict[str, bytes]:
    """Every file: its path in the folder and its bytes."""
    files, truth = {}, []
    for scenery, language, caption in CAPTIONS:
        name = f"{scenery}-{language}.jpg"
        files[f"{FILES}/{name}"] = jpeg(_scene(scenery, language))
        described = {"caption": caption, "lang": language}
        files[f"{FILES}/{scenery}-{language}.json"] = json.dumps(described, ensure_ascii=False).encode()
        truth.append({"file": name, "kind": "picture", "case": scenery, "of": ""})
    for one in planted():
        files[f"{FILES}/{one.name}"] = one.content
        if one.caption:
            files[f"{FILES}/{one.name.rpartition('.')[0]}.txt"] = one.caption.encode()
        truth.append({"file": one.name, "kind": one.kind, "case": one.case, "of": one.of})
    harmful = hashlib.sha256(files[f"{FILES}/listed.jpg"]).hexdigest()
    files[HARM] = (
        f"# The demo's own list: a landscape that stands for what must never be kept.\nsha256 {harmful}\n".encode()
    )
    files["truth.jsonl"] = "".join(canonical_json(line) + "\n" for line in truth).encode()
    return files


def _scene(scenery: str, language: str) -> media.Pixels:
    return landscape(scenery, f"{scenery}-{language}")


def planted() -> Iterator[Planted]:
    """All files but the ordinary pictures."""
    yield from _copies()
    alone = partial(landscape, "village")
    yield Planted("uncaptioned.jpg", jpeg(alone("uncaptioned")), "no_caption", "nothing is said of it")
    yield Planted("IMG_2043.jpg", jpeg(alone("IMG_2043")), "no_caption", "its file name", "IMG_2043")
    yield Planted("badge.gif", media.badge(), "useless", "48 pixels wide", "A striped badge of a web site")
    flat = media.png(np.full((240, 320, 3), 200, np.uint8))
    yield Planted("grey.png", flat, "useless", "one colour", "A picture that did not load")
    waving = [halved(landscape("balloons", f"waving {frame}")) for frame in range(4)]
    yield Planted("waving.gif", animation(waving), "animation", "four frames", "Balloons that jump about")
    whole = jpeg(landscape("sea", "cut"))
    yield Planted("cut.jpg", whole[: len(whole) // 2], "broken", "half of the file", "A sea of which half arrived")
    yield Planted("bomb.png", _bomb(), "broken", "144 million pixels", "A very large white square")
    yield Planted("lie.png", media.lying_png(), "broken", "a false size", "A picture that claims too much")
    page = b"<!doctype html><title>Not found</title><p>This picture was removed."
    yield Planted("page.jpg", page, "broken", "an HTML page", "A picture that was removed")
    yield Planted("listed.jpg", jpeg(landscape("night", "listed")), "harmful", "on the list", "The moon over a valley")


def _copies() -> Iterator[Planted]:
    for scenery, language in (("lake", "en"), ("forest", "ru"), ("sea", "el")):
        yield _copy(scenery, language, "-small.jpg", jpeg(halved(_scene(scenery, language))), "half the size")
    for scenery, language in (("night", "ar"), ("balloons", "fr"), ("village", "fr")):
        yield _copy(scenery, language, "-again.jpg", jpeg(_scene(scenery, language), 35), "recompressed")
    yield _copy("winter", "ru", "-other.png", media.png(_scene("winter", "ru")), "another format")
    yield _copy("balloons", "ja", "-other.webp", webp(_scene("balloons", "ja")), "another format")
    yield _copy("lake", "de", "-same.jpg", jpeg(_scene("lake", "de")), "the same bytes")
    yield _copy("village", "sv", "-turned.jpg", turned_jpeg(_scene("village", "sv")), "EXIF orientation 6")


def _copy(scenery: str, language: str, suffix: str, content: bytes, case: str) -> Planted:
    name = f"{scenery}-{language}"
    (caption,) = (said for *of, said in CAPTIONS if of == [scenery, language])
    return Planted(name + suffix, content, "copy", case, caption, f"{name}.jpg")


def _bomb() -> bytes:
    """A PNG that holds what it claims: a white square too large to decode."""
    header = BOMB_SIDE.to_bytes(4, "big") * 2 + bytes([1, 0, 0, 0, 0])  # one bit a pixel
    packer = zlib.compressobj(9)
    row = b"\0" + b"\xff" * (BOMB_SIDE // 8)
    packed = b"".join(packer.compress(row) for _ in range(BOMB_SIDE)) + packer.flush()
    chunks = ((b"IHDR", header), (b"IDAT", packed), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(media.chunk(kind, content) for kind, content in chunks)
