"""Load a tokenizer by name or file, or compute only its digest."""

import hashlib
import os
import stat
from collections.abc import Callable
from typing import Final

from winnow.filters.language.tokenizers.json_files import JsonVocabulary
from winnow.filters.language.tokenizers.pieces import Cuts
from winnow.filters.language.tokenizers.rank_files import RankVocabulary
from winnow.filters.language.tokenizers.sentencepiece_files import SentencePieceVocabulary
from winnow.filters.language.tokenizers.tokenizer import Tokenizer
from winnow.filters.language.tokenizers.vocabulary import MAX_VOCABULARY, Vocabulary
from winnow.schemas.environment.local_files import here
from winnow.schemas.errors import WinnowError

BYTES: Final = "bytes"
"""The name of the tokenizer whose tokens are the bytes of UTF-8."""

MAX_TOKENIZER_BYTES: Final = 256 << 20

_KINDS: Final[dict[str, Callable[[str, bytes], Vocabulary]]] = {
    ".json": JsonVocabulary,
    ".tiktoken": RankVocabulary,
    ".model": SentencePieceVocabulary,
}
_EXPECTED: Final = (
    "expected 'bytes', a tokenizer.json (of the package tokenizers), a file of ranks (.tiktoken) or a SentencePiece "
    "model (.model)"
)


def load_tokenizer(name_or_path: str) -> Tokenizer:
    """Load the tokenizer with this name or file.

    Args:
        name_or_path: `bytes`, or the path of a file, whose ending gives its kind.

    Raises:
        WinnowError: It does not exist, is damaged, or its package is not installed.
    """
    if name_or_path == BYTES:
        return Tokenizer(BYTES, BYTES, 256, None, None, Cuts(False, False, False))
    kind, raw = _read(name_or_path)
    words = _KINDS[kind](name_or_path, raw)
    if not 0 < words.size <= MAX_VOCABULARY:
        problem = "has no tokens" if words.size <= 0 else f"numbers tokens up to {words.size - 1:,}"
        raise WinnowError(f"{name_or_path}: {problem}; expected a vocabulary of 1 to {MAX_VOCABULARY:,}")
    cuts = Cuts.of(lambda texts: [None if ids is None else ids.tolist() for ids in words.encode(texts)])
    name = os.path.basename(name_or_path)
    return Tokenizer(name, _digest(name_or_path, kind, raw), words.size, words.end, words, cuts)


def tokenizer_digest(name_or_path: str) -> str:
    """The tokenizer's digest, computed without its package.

    Raises:
        WinnowError: There is no such file.
    """
    return BYTES if name_or_path == BYTES else _digest(name_or_path, *_read(name_or_path))


def _digest(path: str, kind: str, raw: bytes) -> str:
    """A digest of the content and kind; the name of a rank file also counts, as it selects the pattern."""
    stem = os.path.splitext(os.path.basename(path))[0] if kind == ".tiktoken" else ""
    return hashlib.blake2b(b"\0".join((kind.encode(), stem.encode(), raw)), digest_size=16).hexdigest()


def _read(path: str) -> tuple[str, bytes]:
    """A file's kind by its name, and its content."""
    kind = os.path.splitext(path)[1].lower()
    try:
        file = here(path)
        mode = os.stat(file).st_mode
        if stat.S_ISDIR(mode):
            raise WinnowError(f"{path}: a folder; give the path of the file in it; {_EXPECTED}")
        if not stat.S_ISREG(mode):  # a pipe would block, a device may never end
            raise WinnowError(f"{path}: not a file; {_EXPECTED}")
        if kind not in _KINDS:
            raise WinnowError(f"{path}: unknown kind of file; {_EXPECTED}")
        with open(file, "rb") as stream:
            raw = stream.read(MAX_TOKENIZER_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise WinnowError(f"{path[:200]}: cannot read the tokenizer: {reason}; {_EXPECTED}") from None
    if len(raw) > MAX_TOKENIZER_BYTES:
        raise WinnowError(f"{path}: more than {MAX_TOKENIZER_BYTES:,} bytes; {_EXPECTED}")
    return kind, raw
