"""The environment that pinned values depend on: versions and instruction set, recorded in every commit (law 4)."""

import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata

from winnow.schemas.identity import fingerprint_of

PACKAGES = (
    *("winnow", "apache-beam", "pyarrow", "numpy", "duckdb", "resiliparse", "trafilatura", "lxml", "tldextract"),
    *("isal", "numba", "fasttext-community", "pycld2", "regex"),
)
"""Packages that affect the values of all stages."""

OPTIONAL = (
    *("wordfreq", "ftfy", "spacy", "jieba", "sudachipy", "sudachidict_core", "kiwipiepy", "pyvi", "pythainlp"),
    *("pyidaungsu-numpy2", "khmer-nltk", "laonlp", "kenlm", "phonenumbers", "python-stdnum"),
    *("onnxruntime", "sentencepiece", "tiktoken", "tokenizers", "torch", "safetensors"),
    *("pillow", "simplejpeg", "av"),  # each brings its own decoders
)
"""Packages that some operators use if installed."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The environment that computed an object."""

    python: str
    machine: str
    packages: Mapping[str, str]

    @property
    def name(self) -> str:
        """A short hash; commits with different names may hold different pinned values."""
        return fingerprint_of({"python": self.python, "machine": self.machine, "packages": dict(self.packages)})


@lru_cache(maxsize=1)
def current_fingerprint() -> Fingerprint:
    """The fingerprint of this process."""
    return Fingerprint(
        python=".".join(map(str, sys.version_info[:2])),
        machine=platform.machine(),
        packages={package: metadata.version(package) for package in PACKAGES} | _installed(OPTIONAL),
    )


def _installed(packages: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
