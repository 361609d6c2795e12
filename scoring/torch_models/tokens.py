"""Tokenisers: bytes of UTF-8, a `tokenizer.json`, or CLIP's file of byte pairs."""

import gzip
import html
import io
import json
import os
import string
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.assets import Asset
from winnow.schemas.errors import ScoreError
from winnow.scoring.torch_models.packages import one_line, required_package

BYTES: Final = "bytes"
_EXPECTED: Final = "expected a tokenizer.json of the package tokenizers"

CLIP: Final = Asset(
    name="clip.pairs",
    summary="CLIP's byte pairs: the tokenizer of pairs and alignment with `layout: clip`",
    registry="pip",
    package="open_clip_torch==3.3.0",
    member="open_clip/bpe_simple_vocab_16e6.txt.gz",
    size_bytes=1_356_917,
    sha256="924691ac288e54409236115652ad4aa250f48203de50a9e4722a6ecd48d6804a",
    licence="MIT",
    optional=True,
)
CLIP_START, CLIP_END = "<|startoftext|>", "<|endoftext|>"

Cleaning: TypeAlias = Literal["none", "whitespace", "lower", "canonicalize"]
"""What becomes of a text before its tokens, as in open_clip: nothing; repaired, unescaped, with single spaces; that in
lower case; that without punctuation."""

Tokens = NDArray[np.int32]

_GZIP: Final = b"\x1f\x8b"
_MERGES: Final = 49_152 - 256 - 2  # of the file's lines, those that CLIP was trained with
_WORD_END: Final = "</w>"
_WORDS: Final = r"(?i)'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
_MOST_TEXT: Final = 16 << 20  # bytes of the unpacked file, which has 3 MB


class Tokenizer(Protocol):
    """Converts texts to numbers below `size`."""

    @property
    def size(self) -> int:
        """The size of the vocabulary."""

    def of(self, texts: Sequence[str]) -> Sequence[Tokens | None]:
        """The tokens of each text, without special tokens; None for a rejected text."""

    def number(self, token: str, key: str = "start") -> int:
        """The number of a token; ScoreError, naming the setting, if there is none."""


class Bytes:
    """Bytes of UTF-8. Zero, which occurs in no text, is the token `end`."""

    size = 256

    def of(self, texts: Sequence[str]) -> list[Tokens]:
        """The bytes of each text."""
        raw = [text.replace("\0", " ").encode("utf-8", "replace") for text in texts]
        return [np.frombuffer(one, np.uint8).astype(np.int32) for one in raw]

    def number(self, token: str, key: str = "start") -> int:
        """The number of `end`, the only named token."""
        if token == "end":
            return 0
        raise ScoreError(f"`{key}`: bytes have no token {token[:60]!r}; expected 'end', or a tokenizer.json")


class JsonTokenizer:
    """A file of the package tokenizers, without its special tokens, truncation and padding; or CLIP's byte pairs."""

    def __init__(self, task: str, path: str) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # worker processes are the parallelism
        package = required_package(task, "tokenizers")
        try:
            raw = Path(path).read_bytes()
            made = raw if not raw.startswith(_GZIP) else json.dumps(_clip_pairs(raw))
            self._tokenizer: Any = package.Tokenizer.from_str(made if isinstance(made, str) else made.decode("utf-8"))
            dropout = json.loads(made)["model"].get("dropout")
        except OSError as error:
            raise ScoreError(f"{path}: {error.strerror or error}; {_EXPECTED}") from None
        except Exception as error:  # noqa: BLE001, the package's own errors have no class in common with others
            raise ScoreError(f"{path}: not a tokenizer, or a damaged one: {one_line(error)}; {_EXPECTED}") from None
        if dropout:
            raise ScoreError(f"{path}: its dropout makes tokens random; set model.dropout to null")
        self._path = path
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True  # `</s>` in a text is text
        self.size = max(self._tokenizer.get_vocab(with_added_tokens=True).values(), default=-1) + 1

    def of(self, texts: Sequence[str]) -> Sequence[Tokens | None]:
        """The tokens of each text; None if the package rejects it, for example for unknown words."""
        try:
            found = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        except Exception:  # noqa: BLE001, the package's own errors have no class in common with others
            return [None] if len(texts) == 1 else [tokens for text in texts for tokens in self.of([text])]
        return [np.array(one.ids, np.int32) for one in found]

    def number(self, token: str, key: str = "start") -> int:
        """The number of a token of the file."""
        found: int | None = self._tokenizer.token_to_id(token)
        if found is None:
            raise ScoreError(f"`{key}`: {self._path}: no token {token[:60]!r}; expected one that the file lists")
        return found


class CleanedTokenizer:
    """A tokenizer of cleaned texts."""

    def __init__(self, task: str, inner: Tokenizer, cleaning: Cleaning) -> None:
        self._inner, self.size = inner, inner.size
        self._repaired: Callable[[str], str] = required_package(task, "ftfy").fix_text
        self._cleaning = cleaning

    def of(self, texts: Sequence[str]) -> Sequence[Tokens | None]:
        """The tokens of each text."""
        return self._inner.of([self._cleaned(text) for text in texts])

    def number(self, token: str, key: str = "start") -> int:
        """The number of a token."""
        return self._inner.number(token, key)

    def _cleaned(self, text: str) -> str:
        """As open_clip's `clean`."""
        clean = html.unescape(html.unescape(self._repaired(text)))
        if self._cleaning == "canonicalize":
            clean = clean.replace("_", " ").translate(_NO_PUNCTUATION)
        clean = " ".join(clean.split())
        return clean if self._cleaning == "whitespace" else clean.lower()


_NO_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


def _clip_pairs(raw: bytes) -> Mapping[str, object]:
    """A `tokenizer.json` of CLIP's file: a header, then a pair of tokens to merge on each line."""
    with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
        text = file.read(_MOST_TEXT).decode("utf-8")
    merges = [line.split() for line in text.split("\n")[1 : _MERGES + 1]]
    if len(merges) < _MERGES or any(len(pair) != 2 for pair in merges):
        raise ValueError(f"{len(merges):,} pairs of tokens; expected {_MERGES:,}, as in bpe_simple_vocab_16e6.txt.gz")
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    letters = [chr(one) for one in plain] + [chr(256 + place) for place in range(256 - len(plain))]
    joined = ["".join(pair) for pair in merges]
    tokens = [*letters, *(f"{one}{_WORD_END}" for one in letters), *joined, CLIP_START, CLIP_END]
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": _WORDS}, "behavior": "Removed", "invert": True},
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
            ],
        },
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": _WORD_END,
            "fuse_unk": False,
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": merges,
        },
    }


def tokenizer_of(task: str, path: str, cleaning: Cleaning = "none") -> Tokenizer:
    """The tokenizer of a file, or of bytes if `path` is `bytes`, for texts that are cleaned before."""
    found = Bytes() if path == BYTES else JsonTokenizer(task, path)
    return found if cleaning == "none" else CleanedTokenizer(task, found, cleaning)


def cut_to(text: str, max_bytes: int) -> tuple[str, bool]:
    """The start of a text within this many bytes of UTF-8, and whether it is the whole text."""
    if len(text) * 4 <= max_bytes:
        return text, True
    raw = text.encode("utf-8", "replace")
    return (text, True) if len(raw) <= max_bytes else (raw[:max_bytes].decode("utf-8", "ignore"), False)


def tokenizer_files(tokenizer: str) -> tuple[str, ...]:
    """The files that a tokenizer setting needs."""
    return () if tokenizer in ("", BYTES) else (tokenizer,)


def tokenizer_packages(tokenizer: str) -> tuple[str, ...]:
    """The packages that its tokens depend on."""
    return () if tokenizer == BYTES else ("tokenizers",)
