"""How much of the text on pictures does `image.text_area` find, by script and height of a line?

    python -m benchmarks.pictures.text_scripts [--quick] [--json]

Lines of the Universal Declaration of Human Rights in twelve scripts are set in Noto's fonts (Debian's fonts-noto-core
and fonts-noto-cjk; shaped by raqm) and put on photographs of 640 pixels without text: white with a dark rim or black
with a bright one, as subtitles are, three lines each. *Found* is the share of the lines' boxes that the detector
covers; *lines* is the share of lines of which it covers more than half; *beside* is what it covers elsewhere, as a
share of the picture.
"""

import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import orjson
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont, features

from benchmarks.inputs.pages import CACHE, unpacked_packages
from benchmarks.inputs.photographs import cached_photographs
from benchmarks.measuring.environments import require_assets
from benchmarks.measuring.reporting import benchmark_arguments
from winnow.filters.image.models.networks import PictureNetwork
from winnow.filters.image.models.text_boxes import MODEL, covered_by, framing_for, text_boxes
from winnow.filters.image.text_area import OPERATOR, TextAreaConfig
from winnow.pipelines.assets import lookup

PACKAGES: Final = ["fonts-noto-core", "fonts-noto-cjk"]
PICTURES, QUICK_PICTURES, LINES = 10, 2, 3
HEIGHTS: Final = (12, 20, 32)  # of a font, in pixels of a picture of 640
TEXTS: Final = {
    "Latin": ("NotoSans-Regular.ttf", "All human beings are born free and equal in dignity"),
    "Cyrillic": ("NotoSans-Regular.ttf", "Все люди рождаются свободными и равными"),
    "Greek": ("NotoSans-Regular.ttf", "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι"),
    "Arabic": ("NotoNaskhArabic-Regular.ttf", "يولد جميع الناس أحراراً متساوين في الكرامة والحقوق"),
    "Hebrew": ("NotoSansHebrew-Regular.ttf", "כל בני האדם נולדו בני חורין ושווים בערכם"),
    "Devanagari": ("NotoSansDevanagari-Regular.ttf", "सभी मनुष्यों को गौरव और अधिकारों के मामले में"),
    "Bengali": ("NotoSansBengali-Regular.ttf", "সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার"),
    "Tamil": ("NotoSansTamil-Regular.ttf", "மனிதப் பிறவியினர் சகலரும் சுதந்திரமாகவே"),
    "Thai": ("NotoSansThai-Regular.ttf", "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกัน"),
    "Chinese": ("NotoSansCJK-Regular.ttc", "人人生而自由在尊严和权利上一律平等"),
    "Japanese": ("NotoSansCJK-Regular.ttc", "すべての人間は生まれながらにして自由であり"),
    "Korean": ("NotoSansCJK-Regular.ttc", "모든 인간은 태어날 때부터 자유로우며 그 존엄과"),
}
LEAST_FOUND: Final = 0.5  # at the greatest height, of every script

Marks = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of the texts of a script and height."""

    found: float
    lines: float
    beside: float


def written_on(
    picture: Image.Image, font: Path, text: str, height: int, draw: random.Random
) -> tuple[Image.Image, list[Marks]]:
    """A picture with lines of a text, and where each of them is."""
    changed = picture.copy()
    pen, face = ImageDraw.Draw(changed), ImageFont.truetype(str(font), height)
    marks = []
    for line in range(LINES):
        left, top, right, bottom = pen.textbbox((0, 0), text, font=face, stroke_width=1)
        x = draw.randint(0, max(0, int(picture.width - (right - left)))) - left
        y = (picture.height * line) // LINES + draw.randint(0, max(0, picture.height // LINES - 2 * height)) - top
        fill, rim = ("white", "black") if draw.random() < 0.5 else ("black", "white")
        pen.text((x, y), text, font=face, fill=fill, stroke_width=1, stroke_fill=rim)
        inside = np.zeros((picture.height, picture.width), np.bool_)
        inside[max(0, int(y + top)) : int(y + bottom), max(0, int(x + left)) : int(x + right)] = True
        marks.append(inside)
    return changed, marks


def measure(
    network: PictureNetwork, config: TextAreaConfig, pictures: list[Image.Image], font: Path, text: str, height: int
) -> Found:
    """Texts of one script and height on all pictures."""
    draw = random.Random(f"{text} {height}")
    shares, lines, beside = [], [], []
    for picture in pictures:
        changed, marks = written_on(picture, font, text, height, draw)
        (likely,) = network(np.asarray(changed))
        seen = covered_by(
            text_boxes(likely[0, 0, : changed.height, : changed.width], config.min_score), changed.height, changed.width
        )
        whole = np.logical_or.reduce(marks)
        shares.append(float(seen[whole].mean()))
        lines += [float(seen[inside].mean()) > 0.5 for inside in marks]
        beside.append(float((seen & ~whole).mean()))
    return Found(*(float(np.mean(one)) for one in (shares, lines, beside)))


def main() -> int:
    """Measure every script, and check that none is missed."""
    arguments = benchmark_arguments(__doc__ or "").parse_args()
    if not features.check("raqm"):
        raise SystemExit("benchmarks: this Pillow cannot shape text (no raqm)")
    require_assets(OPERATOR.declares)
    unpacked_packages(PACKAGES, "fonts", "fonts-packages")
    fonts = {path.name: path for path in sorted((CACHE / "fonts").rglob("*.tt[fc]"))}
    count = QUICK_PICTURES if arguments.quick else PICTURES
    pictures = [Image.open(path).convert("RGB") for path in sorted(cached_photographs(60).glob("*.jpg"))[:count]]
    config = TextAreaConfig()
    network = PictureNetwork(OPERATOR.name, lookup(MODEL.name), framing_for(config.side))
    table = {
        script: {height: measure(network, config, pictures, fonts[font], text, height) for height in HEIGHTS}
        for script, (font, text) in TEXTS.items()
    }
    print(f"{count} photographs, {LINES} lines on each\n")
    print("| script | " + " | ".join(f"found, {height} px | lines" for height in HEIGHTS) + " | beside |")
    print("|---" * (2 * len(HEIGHTS) + 2) + "|")
    for script, by_height in table.items():
        cells = [f"{one.found:.2f} | {one.lines:.2f}" for one in by_height.values()]
        print(f"| {script} | " + " | ".join(cells) + f" | {np.mean([one.beside for one in by_height.values()]):.3f} |")
    if arguments.json:
        said = {script: {str(height): one.found for height, one in each.items()} for script, each in table.items()}
        print(orjson.dumps({"name": "text_scripts", "found": said}).decode())
    return 0 if all(each[HEIGHTS[-1]].found >= LEAST_FOUND for each in table.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
