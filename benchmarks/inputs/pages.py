"""Real multilingual pages in quantity: a distribution's help packages, wrapped into WARC.

The packages come through the system's own package tool (`apt-get download`), which needs no root. Pages are
real HTML in over thirty languages; their URLs are made up. Everything is cached under `.cache/benchmarks`.
"""

import argparse
import gzip
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

CACHE = Path(".cache/benchmarks")
LANGUAGES = (
    *("ca", "cs", "da", "de", "el", "es", "et", "eu", "fi", "fr", "gl", "hi", "hu", "id", "it", "ja", "km", "ko"),
    *("nl", "pl", "pt", "ru", "sk", "sl", "sv", "tr", "vi", "zh-cn", "zh-tw"),
)
PAGE_BYTES = 9_000  # joins small help pages to a mean of about 15 kB, the size of page of the published figures


def help_pages(cache: Path = CACHE) -> list[Path]:
    """Every page of the help packages, unpacked once."""
    return packaged_pages([f"libreoffice-help-{language}" for language in LANGUAGES], "help", "packages", cache)


def packaged_pages(names: list[str], folder: str, packages: str, cache: Path = CACHE) -> list[Path]:
    """Every HTML page of a distribution's packages, unpacked once into a folder of the cache."""
    unpacked = unpacked_packages(names, folder, packages, cache)
    return sorted(path for path in unpacked.rglob("*.html") if path.is_file() and not path.is_symlink())


def unpacked_packages(names: list[str], folder: str, packages: str, cache: Path = CACHE) -> Path:
    """A folder of the cache with a distribution's packages, fetched and unpacked once."""
    unpacked = cache / folder
    done = unpacked / "done"
    if not done.exists():
        if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
            sys.exit(f"benchmarks: {' '.join(names)}: needs apt-get and dpkg-deb, a Debian system")
        held = cache / packages
        held.mkdir(parents=True, exist_ok=True)
        fetched = subprocess.run(["apt-get", "download", "-qq", *names], cwd=held, capture_output=True, text=True)
        if fetched.returncode:
            reason = (fetched.stderr.strip().splitlines() or ["apt-get download failed"])[-1]
            sys.exit(f"benchmarks: {' '.join(names)}: {reason}; bring the list of packages up to date: apt-get update")
        for package in sorted(held.glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", package, unpacked], check=True)
        done.touch()
    return unpacked


def joined_pages(paths: list[Path]) -> Iterator[tuple[str, bytes]]:
    """Pages of about the size of web pages: the bodies of small pages of one language, one after the other."""
    group: list[bytes] = []
    held = 0
    for path in paths:
        raw = path.read_bytes()
        group.append(raw if not group else raw[raw.find(b"<body") :])
        held += len(group[-1])
        if held >= PAGE_BYTES:
            yield f"https://help.example/{path.parts[-3]}/{path.stem}", b"\n".join(group)
            group, held = [], 0


def write_warc(target: Path, pages: int) -> int:
    """A WARC of this many pages, in an order that mixes the languages; returns how many it holds."""
    found = help_pages()
    by_folder: dict[str, list[Path]] = {}
    for path in found:
        by_folder.setdefault(str(path.parent), []).append(path)
    documents = [page for folder in sorted(by_folder) for page in joined_pages(by_folder[folder])]
    documents.sort(key=lambda page: hashlib.blake2b(page[0].encode()).digest())
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(".unfinished")
    with open(unfinished, "wb") as stream:
        stream.write(gzip.compress(warc_record(b"warcinfo", 0, b"", b"software: benchmark\r\n"), 6, mtime=0))
        for number in range(pages):
            url, html = documents[number % len(documents)]
            body = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + html
            address = f"{url}?{number // len(documents)}".encode()
            stream.write(
                gzip.compress(warc_record(b"request", 3 * number, address, b"GET / HTTP/1.1\r\n\r\n"), 6, mtime=0)
            )
            stream.write(gzip.compress(warc_record(b"response", 3 * number + 1, address, body), 6, mtime=0))
            stream.write(
                gzip.compress(warc_record(b"metadata", 3 * number + 2, address, b"fetchTimeMs: 7\r\n"), 6, mtime=0)
            )
    unfinished.rename(target)
    return pages


def warc_record(kind: bytes, number: int, url: bytes, block: bytes) -> bytes:
    """One record of a WARC, not compressed."""
    mime = {b"response": b"application/http; msgtype=response", b"request": b"application/http; msgtype=request"}
    head = [
        b"WARC/1.0",
        b"WARC-Type: " + kind,
        b"WARC-Record-ID: <urn:uuid:%032x>" % number,
        b"WARC-Date: 2026-01-01T00:00:00Z",
        b"Content-Type: " + mime.get(kind, b"application/warc-fields"),
        b"Content-Length: %d" % len(block),
    ]
    if url:
        head.insert(4, b"WARC-Target-URI: " + url)
    return b"\r\n".join(head) + b"\r\n\r\n" + block + b"\r\n\r\n"


def cached_warc(pages: int) -> Path:
    """The WARC of this many pages, made once."""
    target = CACHE / f"pages-{pages}.warc.gz"
    if not target.exists():
        write_warc(target, pages)
    return target


def main() -> None:
    """`python -m benchmarks.inputs.pages N`: make the WARC and say where it is."""
    parser = argparse.ArgumentParser(description="Wrap real help pages into a WARC.")
    parser.add_argument("pages", type=int)
    target = cached_warc(parser.parse_args().pages)
    print(f"{target}  {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
