"""`python -m winnow.runners.demo FOLDER` writes the demo crawl into a folder."""

import argparse
import sys
from pathlib import Path

from winnow.runners.demo.crawl import make_crawl
from winnow.schemas.errors import WinnowError


def main(arguments: list[str] | None = None) -> int:
    """Write the crawl; the exit status is 1 when the folder cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m winnow.runners.demo", description="Write winnow's demo crawl.")
    parser.add_argument("folder", type=Path, help="the folder to write into; created if it does not exist")
    folder: Path = parser.parse_args(arguments).folder
    try:
        make_crawl(folder)
    except (WinnowError, OSError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
