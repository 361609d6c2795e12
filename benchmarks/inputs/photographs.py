"""Photographs in the sizes of a crawl: overlapping crops of those in scikit-image's wheel, 640 pixels, as JPEG."""

import subprocess
from pathlib import Path

from benchmarks.inputs.pages import CACHE
from benchmarks.measuring.environments import peer_python

_MAKE = """
import random, sys
from pathlib import Path
import skimage
from PIL import Image
target, count = Path(sys.argv[1]), int(sys.argv[2])
folder = Path(skimage.__file__).parent / "data"
names = "astronaut.png chelsea.png coffee.png ihc.png motorcycle_left.png retina.jpg rocket.jpg hubble_deep_field.jpg"
whole = [Image.open(folder / name).convert("RGB") for name in names.split()]
draw = random.Random(7)
for number in range(count):
    picture = whole[number % len(whole)]
    width, height = (int(side * draw.uniform(0.4, 1)) for side in picture.size)
    left, top = draw.randint(0, picture.width - width), draw.randint(0, picture.height - height)
    scale = 640 / max(width, height)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    crop = picture.crop((left, top, left + width, top + height)).resize(size, Image.Resampling.BICUBIC)
    crop.save(target / f"{number:05}.jpg", quality=draw.randint(85, 92))
(target / "made").touch()
"""


def cached_photographs(count: int, peer: str = "images") -> Path:
    """A folder of so many photographs, made in a peer's environment that has scikit-image."""
    folder = (CACHE / f"photographs-{count}").absolute()
    if not (folder / "made").exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([str(peer_python(peer)), "-c", _MAKE, str(folder), str(count)], check=True)
    return folder
