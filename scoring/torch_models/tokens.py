"""Tokenisers: bytes of UTF-8, or a `tokenizer.json`."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import ScoreError
from winnow.scoring.torch_models.packages import one_line, required_package

BYTES: Final = "bytes"
_EXPECTED: Final = "expected a tokenizer.json of the package tokenizers"

Tokens = NDArray[np.int32]


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
    """A file of the package tokenizers, without its special tokens, truncation and padding."""

    def __init__(self, task: str, path: str) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # worker processes are the parallelism
        package = required_package(task, "tokenizers")
        try:
            raw = Path(path).read_text("utf-8")
            self._tokenizer: Any = package.Tokenizer.from_str(raw)
            dropout = json.loads(raw)["model"].get("dropout")
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


def tokenizer_of(task: str, path: str) -> Tokenizer:
    """The tokenizer of a file, or of bytes if `path` is `bytes`."""
    return Bytes() if path == BYTES else JsonTokenizer(task, path)


def cut_to(text: str, max_bytes: int) -> tuple[str, bool]:
    """The start of a text within this many bytes of UTF-8, and whether it is the whole text."""
    if len(text) * 4 <= max_bytes:
        return text, True
    raw = text.encode("utf-8", "replace")
    return (text, True) if len(raw) <= max_bytes else (raw[:max_bytes].decode("utf-8", "ignore"), False)


def tokenizer_files(tokenizer: str) -> tuple[str, ...]:
    """The files that a tokenizer setting needs."""
    return () if tokenizer == BYTES else (tokenizer,)


def tokenizer_packages(tokenizer: str) -> tuple[str, ...]:
    """The packages that its tokens depend on."""
    return () if tokenizer == BYTES else ("tokenizers",)
