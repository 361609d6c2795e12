"""Tokenize a text into a model's input windows, with a tokenizer of the package tokenizers."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from winnow.filters.extras import one_line_errors, required_package
from winnow.schemas.errors import RecipeError

INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
"""The inputs that texts provide, with transformers' names."""


@dataclass(frozen=True, slots=True)
class Window:
    """The tokens that a model reads at once."""

    ids: list[int]
    types: list[int]

    def inputs(self, length: int = 0, pad: int = 0) -> Mapping[str, list[int]]:
        """The value of each of `INPUTS`, padded to a length."""
        rest = max(length - len(self.ids), 0)
        values = (
            self.ids + [pad] * rest,
            [1] * len(self.ids) + [0] * rest,
            self.types + [0] * rest,
            list(range(len(self.ids) + rest)),
        )
        return dict(zip(INPUTS, values, strict=True))


MAX_TOKENIZER_BYTES = 256 << 20

_EXPECTED = "expected a tokenizer.json"


@dataclass(frozen=True, slots=True)
class TextWindows:
    """The windows of a text, and whether it was truncated."""

    windows: list[Window]
    truncated: bool


class Tokenizer:
    """A `tokenizer.json` that splits texts into windows."""

    def __init__(self, operator: str, path: str, max_tokens: int, max_windows: int, max_bytes: int) -> None:
        self._path = path
        self._tokenizer = load_tokenizer(operator, "onnx", path)
        self._max_windows = max_windows
        self._max_bytes = max_bytes
        self.last: int = max(self._tokenizer.get_vocab(with_added_tokens=True).values(), default=0)
        padding = self._tokenizer.padding or {}
        self.pad: int = int(padding.get("pad_id", 0))
        self._tokenizer.no_padding()
        with one_line_errors(f"{path}: cannot split texts into windows of {max_tokens} tokens", "raise `max_tokens`"):
            self._tokenizer.enable_truncation(max_tokens)
            self._specials = len(self._tokenizer.encode("").ids)
        if self._specials >= max_tokens:
            raise RecipeError(
                f"{path}: it adds {self._specials} tokens to each text; raise `max_tokens` above {max_tokens}"
            )

    def read(self, text: memoryview) -> TextWindows:
        """The windows of a text in UTF-8; none if it has no tokens of its own."""
        head = bytes(text[: self._max_bytes]).decode("utf-8", "ignore")  # no more of it is ever decoded
        with one_line_errors(f"{self._path}: the tokenizer fails on a text of {len(head):,} characters", _EXPECTED):
            encoding = self._tokenizer.encode(head)
        windows = list(self._windows(encoding))
        cut = len(encoding.overflowing) >= self._max_windows or len(text) > self._max_bytes
        return TextWindows(windows, cut)

    def _windows(self, encoding: Any) -> Iterator[Window]:
        for part in [encoding, *encoding.overflowing[: self._max_windows - 1]]:
            if len(part.ids) > self._specials:
                yield Window(part.ids, part.type_ids)


def load_tokenizer(operator: str, extra: str, path: str) -> Any:
    """The tokenizer of a `tokenizer.json`, for an operator that an extra of winnow installs the package for.

    Raises:
        RecipeError: The package or the file is missing, or the file is not a tokenizer.
    """
    tokenizers = required_package(operator, "tokenizers", extra)
    try:
        with open(path, "rb") as stream:
            raw = stream.read(MAX_TOKENIZER_BYTES + 1)
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror or error}; {_EXPECTED}") from None
    if len(raw) > MAX_TOKENIZER_BYTES:
        raise RecipeError(f"{path}: more than {MAX_TOKENIZER_BYTES:,} bytes; {_EXPECTED}")
    with one_line_errors(f"{path}: not a tokenizer, or a damaged one", _EXPECTED):
        if not isinstance(json.loads(raw), dict):
            raise ValueError("not a mapping")
        return tokenizers.Tokenizer.from_str(raw.decode())
