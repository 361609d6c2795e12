"""Tokenizers from `.tiktoken` files (ranks of byte sequences), run by the package tiktoken.

The file specifies neither how texts are split before bytes are merged nor the end-of-document token. For published
vocabularies both are known, and the file's name selects one.
"""

import base64
import binascii
import os
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from winnow.filters.extras import one_line_errors, required_package
from winnow.filters.language.tokenizers.vocabulary import EXTRA, NEEDS, Ids, encoded_each
from winnow.schemas.errors import WinnowError


@dataclass(frozen=True, slots=True)
class _Published:
    """The known facts about a published vocabulary besides its ranks."""

    pattern: str
    end: int  # <|endoftext|>
    last: int  # the last special token; the end token is the first


# As in tiktoken_ext/openai_public.py of tiktoken 0.14. The package is not given the special tokens, so that no text
# can contain one.
_GPT2: Final = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
_CL100K: Final = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"""
    r"""|\s+(?!\S)|\s"""
)
_O200K: Final = "|".join(
    (
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}""",
        r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
        r"""\s*[\r\n]+""",
        r"""\s+(?!\S)""",
        r"""\s+""",
    )
)
PUBLISHED: Final = {
    "r50k_base": _Published(_GPT2, 50256, 50256),
    "p50k_base": _Published(_GPT2, 50256, 50256),
    "cl100k_base": _Published(_CL100K, 100257, 100276),
    "o200k_base": _Published(_O200K, 199999, 200018),
}


class RankVocabulary:
    """A vocabulary that can encode any text: every byte has a rank."""

    def __init__(self, path: str, raw: bytes) -> None:
        stem = os.path.splitext(os.path.basename(path))[0]
        known = PUBLISHED.get(stem)
        if known is None:
            names = ", ".join(f"{name}.tiktoken" for name in PUBLISHED)
            raise WinnowError(
                f"{path}: ranks alone do not define how texts are split; known names are {names}: rename the file if "
                "it is one of these, else convert it to a tokenizer.json"
            )
        package = required_package(NEEDS, "tiktoken", EXTRA)
        ranks = _ranks(path, raw)
        if taken := sorted(set(ranks.values()).intersection(range(known.end, known.last + 1))):
            raise WinnowError(
                f"{path}: has a token {taken[0]}, which is special in {stem}; is this another vocabulary?"
            )
        with one_line_errors(f"{path}: tiktoken rejects these ranks", kind=WinnowError):
            self._encoding: Any = package.Encoding(
                stem, pat_str=known.pattern, mergeable_ranks=ranks, special_tokens={}
            )
        self.size = max(known.last, *ranks.values()) + 1
        self.end: int | None = known.end
        self._ordinary = frozenset(ranks.values())

    def in_texts(self, token: int) -> bool:
        """Whether it has a rank."""
        return token in self._ordinary

    def counts(self, pieces: list[str]) -> list[int | None]:
        """Numbers of tokens."""
        return [None if ids is None else len(ids) for ids in self.encode(pieces)]

    def encode(self, pieces: list[str]) -> list[Ids | None]:
        """Ids."""

        def encode(texts: list[str]) -> list[Ids]:
            return [np.array(self._encoding.encode_ordinary(text), np.uint32) for text in texts]

        return encoded_each(encode, pieces)


def _ranks(path: str, raw: bytes) -> dict[bytes, int]:
    """Parse a file's ranks; every byte has one, and no two sequences share one."""
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(raw.splitlines(), 1):
        if not line:
            continue
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token, validate=True)] = int(rank)
        except (ValueError, binascii.Error):
            shown = line[:40].decode("utf-8", "replace")
            raise WinnowError(
                f"{path}:{number}: expected a token in base64 and its rank, not {shown!r}; not a rank file, or a "
                "damaged one"
            ) from None
    missing = [byte for byte in range(256) if bytes([byte]) not in ranks]
    if missing:
        raise WinnowError(f"{path}: {len(missing)} bytes have no rank, first {missing[0]:#04x}; the file is incomplete")
    if len(set(ranks.values())) < len(ranks) or min(ranks.values()) < 0 or b"" in ranks:
        raise WinnowError(f"{path}: tokens share a rank, or one is below 0 or empty; a damaged file")
    return ranks
