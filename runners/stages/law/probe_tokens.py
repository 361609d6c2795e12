"""Tokenises texts for a probe with the user's `tokenizer.json`, in the format of the package `tokenizers`."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from winnow.filters.extras import one_line_errors, required_package
from winnow.schemas.errors import WinnowError
from winnow.scoring.probe.streams import Tokens

MAX_BYTES: Final = 64 << 20
MAX_VOCABULARY: Final = 1_000_000
ENDS: Final = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "[EOS]", "<|eos|>", "<|im_end|>", "<sep>", "[SEP]")
"""Usual names of the end-of-text token, which the file itself does not mark."""
_EXPECTED: Final = "expected a tokenizer.json of the package tokenizers"
_PIECE: Final = 1 << 16
"""Characters encoded at once, as the package needs some hundred times their size."""
_LEFT_OUT: Final = "\0left out"


@dataclass(frozen=True, slots=True)
class Encoded:
    """The tokens of a document, including the end token."""

    tokens: Tokens
    unknown: int = 0  # number of unknown tokens
    left_out: int = 0  # characters without a token


class Tokenizer:
    """A tokenizer, identified by its file's name and digest."""

    def __init__(self, path: Path, raw: bytes) -> None:
        self._path = path
        self.name = re.sub(r"[^\w.@+-]+", "-", path.name)[:60]
        self.digest = hashlib.sha256(raw).hexdigest()
        package = required_package("winnow law probe", "tokenizers", "torch")
        with one_line_errors(f"{path}: not a tokenizer file, or damaged", _EXPECTED, WinnowError):
            parsed = json.loads(raw)
            if not isinstance(parsed, dict):
                raise ValueError("not a mapping")
            self._tokenizer: Any = package.Tokenizer.from_str(raw.decode())
            model = dict(parsed["model"])
        if model.get("dropout"):
            raise WinnowError(f"{path}: its dropout makes tokens random; set model.dropout to null")
        known: dict[str, int] = self._tokenizer.get_vocab(with_added_tokens=True)
        last = max(known.values(), default=-1)
        if not 0 <= last < MAX_VOCABULARY:
            problem = "has no tokens" if last < 0 else f"numbers tokens up to {last:,}"
            raise WinnowError(f"{path}: {problem}; expected a vocabulary of 1 to {MAX_VOCABULARY:,}")
        special = {one["content"] for one in parsed.get("added_tokens") or () if one.get("special")}
        self.end = next((known[name] for name in ENDS if name in special and name in known), last + 1)
        self.vocabulary = max(last, self.end) + 1
        self.dtype: type[np.uint16] | type[np.uint32] = np.uint16 if self.vocabulary <= 1 << 16 else np.uint32
        self._unknown = model.get("unk_id", known.get(model.get("unk_token") or ""))
        # A BPE without all bytes and without an unknown token silently omits text. A second tokenizer with such a #
        # token counts the omissions; its tokens are not used, as it merges nothing across the gaps.
        bytewise = b'"ByteLevel"' in raw and known.keys() >= set(package.pre_tokenizers.ByteLevel.alphabet())
        bytewise |= bool(model.get("byte_fallback")) and known.keys() >= {f"<0x{byte:02X}>" for byte in range(256)}
        self._counter: Any = None
        if model.get("type") == "BPE" and self._unknown is None and not bytewise:
            model |= {"vocab": {**model["vocab"], _LEFT_OUT: last + 1}, "unk_token": _LEFT_OUT, "fuse_unk": False}
            with one_line_errors(f"{path}: not a tokenizer file, or damaged", _EXPECTED, WinnowError):
                self._counter = package.Tokenizer.from_str(json.dumps(parsed | {"model": model}))
        for one in (self._tokenizer, self._counter):
            if one is not None:
                one.no_padding()
                one.no_truncation()
                one.encode_special_tokens = True  # `</s>` in a text is ordinary text

    @property
    def units(self) -> dict[str, str]:
        """The units of D and of losses, for the table of runs."""
        return {"D": f"tokens of {self.name} (sha256 {self.digest}) of the whole mixture", "loss": "nats a token"}

    def encode(self, text: str) -> Encoded:
        """Encode a document, with the end token as its only special token."""
        parts: list[Tokens] = []
        unknown = missed = 0
        for piece in pieces(text):
            with one_line_errors(
                f"{self._path}: the tokenizer fails on a text of {len(text):,} characters", kind=WinnowError
            ):
                encoding = self._tokenizer.encode(piece, add_special_tokens=False)
                missed += self._left_out(piece)
            parts.append(np.array(encoding.ids, self.dtype))
            if self._unknown is not None:
                unknown += int(np.count_nonzero(parts[-1] == self._unknown))
        return Encoded(np.concatenate([*parts, np.array([self.end], self.dtype)]), unknown, missed)

    def _left_out(self, piece: str) -> int:
        """The number of characters without a token, not counting spaces."""
        if self._counter is None:
            return 0
        encoding = self._counter.encode(piece, add_special_tokens=False)
        missing = self._counter.token_to_id(_LEFT_OUT)
        found = zip(encoding.ids, encoding.offsets, strict=True)  # only for the few tokenizers that omit text
        return sum(not piece[start:end].isspace() for token, (start, end) in found if token == missing)


def tokenizer_at(name: str, grid: Path) -> Tokenizer:
    """Load the tokenizer that a grid names, relative to the grid file; WinnowError if it is missing, too large or
    invalid."""
    path = grid.parent / name
    try:
        if not path.is_file():
            raise WinnowError(f"{grid}: tokenizer: {path}: no such file; {_EXPECTED}")
        with open(path, "rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise WinnowError(f"{grid}: tokenizer: {name[:200]!r}: {reason}; {_EXPECTED}") from None
    if len(raw) > MAX_BYTES:
        raise WinnowError(f"{path}: more than {MAX_BYTES >> 20} MiB; {_EXPECTED}")
    return Tokenizer(path, raw)


def pieces(text: str) -> Iterator[str]:
    """Split a text into pieces of bounded length, before a line break or a space if possible."""
    start = 0
    while len(text) - start > _PIECE:
        cut = max(text.rfind("\n", start + 1, start + _PIECE), start)
        if cut == start:
            cut = max(text.rfind(" ", start + 1, start + _PIECE), start)
        end = cut if cut > start else start + _PIECE
        yield text[start:end]
        start = end
    yield text[start:]
