"""From a tokenizer's name or file to a tokenizer, and to its digest alone."""

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
    """The tokenizer of a name or a file, made ready for this process.

    Args:
        name_or_path: `bytes`, or the path of a file, whose ending tells what it is.

    Raises:
        WinnowError: There is none, it is damaged, or its package is not installed.
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
    """The digest that the tokenizer has, without its package.

    Raises:
        WinnowError: There is no such file.
    """
    return BYTES if name_or_path == BYTES else _digest(name_or_path, *_read(name_or_path))


def _digest(path: str, kind: str, raw: bytes) -> str:
    """Of the content, and of what tells its meaning: of ranks the file's name says which pattern is theirs."""
    stem = os.path.splitext(os.path.basename(path))[0] if kind == ".tiktoken" else ""
    return hashlib.blake2b(b"\0".join((kind.encode(), stem.encode(), raw)), digest_size=16).hexdigest()


def _read(path: str) -> tuple[str, bytes]:
    """What a file is by its name, and what it holds."""
    kind = os.path.splitext(path)[1].lower()
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise WinnowError(f"{path}: a folder; name the file in it; {_EXPECTED}")
        if not stat.S_ISREG(mode):  # a pipe would block, a device may never end
            raise WinnowError(f"{path}: not a file; {_EXPECTED}")
        if kind not in _KINDS:
            raise WinnowError(f"{path}: its name does not tell what it is; {_EXPECTED}")
        with open(path, "rb") as stream:
            raw = stream.read(MAX_TOKENIZER_BYTES + 1)
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        raise WinnowError(f"{path[:200]}: no tokenizer: {said}; {_EXPECTED}") from None
    if len(raw) > MAX_TOKENIZER_BYTES:
        raise WinnowError(f"{path}: more than {MAX_TOKENIZER_BYTES:,} bytes; {_EXPECTED}")
    return kind, raw
