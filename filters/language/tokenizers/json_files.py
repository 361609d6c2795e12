"""Tokenizers from `tokenizer.json`, run by the package tokenizers."""

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from winnow.filters.extras import one_line_errors, required_package
from winnow.filters.language.tokenizers.vocabulary import EXTRA, NEEDS, Ids, encoded_each
from winnow.filters.language.tokenizers.words import word_tokens
from winnow.schemas.errors import WinnowError

ENDS: Final = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "[EOS]", "<|eos|>", "<|im_end|>", "<sep>", "[SEP]")
"""Usual names of the end-of-document token; the file itself does not say which one it is."""

_EXPECTED: Final = "expected a tokenizer.json of the package tokenizers"
_LEFT_OUT: Final = "\0left out"
_LEFT_OUT_ID: Final = (1 << 31) - 1  # used by no other token, whatever numbers the package assigns to added ones


class JsonVocabulary:
    """A vocabulary that never finds special tokens in a text, whatever the file's model would do."""

    def __init__(self, path: str, raw: bytes) -> None:
        os.environ["TOKENIZERS_PARALLELISM"] = "false"  # worker processes are the parallelism
        package = required_package(NEEDS, "tokenizers", EXTRA)
        self._path = path
        with one_line_errors(f"{path}: not a tokenizer, or a damaged one", _EXPECTED, WinnowError):
            parsed = json.loads(raw)
            if not isinstance(parsed, dict) or not isinstance(parsed.get("model"), dict):
                raise ValueError("not a mapping with a model")
            special = {str(one["content"]) for one in parsed.get("added_tokens") or () if one.get("special")}
            known: Mapping[str, int] = package.Tokenizer.from_str(raw.decode()).get_vocab(with_added_tokens=True)
            named = _unreachable(parsed, special, hashlib.blake2b(raw, digest_size=16).hexdigest())
            self._tokenizer: Any = package.Tokenizer.from_str(raw.decode() if named is None else json.dumps(named))
        model = (named or parsed)["model"]
        if model.get("dropout"):
            raise WinnowError(f"{path}: its dropout makes tokens random; set model.dropout to null")
        self.size = max(known.values(), default=-1) + 1
        self.end: int | None = next((known[name] for name in ENDS if name in special and name in known), None)
        # A BPE that lacks some bytes and has no unknown token silently omits what it does not know. A copy with such a
        # token counts the omissions; its tokens are not used, as it does not merge across the gaps.
        bytewise = b'"ByteLevel"' in raw and known.keys() >= set(package.pre_tokenizers.ByteLevel.alphabet())
        bytewise |= bool(model.get("byte_fallback")) and known.keys() >= {f"<0x{byte:02X}>" for byte in range(256)}
        self._counter: Any = None
        unknown = model.get("unk_token")
        if "merges" in model and (unknown is None or unknown not in model["vocab"]) and not bytewise:
            model |= {"vocab": {**model["vocab"], _LEFT_OUT: _LEFT_OUT_ID}, "unk_token": _LEFT_OUT, "fuse_unk": False}
            with one_line_errors(f"{path}: not a tokenizer, or a damaged one", _EXPECTED, WinnowError):
                self._counter = package.Tokenizer.from_str(json.dumps((named or parsed) | {"model": model}))
        for one in (self._tokenizer, self._counter):
            if one is not None:
                one.no_padding()
                one.no_truncation()
                one.encode_special_tokens = True  # `</s>` in a text is text
        outside = {known[name] for name in special & known.keys()}
        # The unknown token occurs in texts, unless bytes replace it.
        outside -= {known[unknown]} if unknown in known and not bytewise else set()
        self._ordinary = frozenset(known.values()) - outside
        self._by_words = word_tokens(named or parsed, self._tokenizer, package)

    def in_texts(self, token: int) -> bool:
        """Whether it is not special, or is the unknown token."""
        return token in self._ordinary

    def counts(self, pieces: list[str]) -> list[int | None]:
        """The number of tokens of each piece."""
        if self._by_words is not None:
            return [*self._by_words.counts(pieces)]
        return [None if one is None else len(one) for one in self._encoded(pieces)]

    def encode(self, pieces: list[str]) -> list[Ids | None]:
        """Ids."""
        if self._by_words is not None:
            return [*self._by_words.encode(pieces)]
        return [None if one is None else np.array(one.ids, np.uint32) for one in self._encoded(pieces)]

    def _encoded(self, pieces: list[str]) -> list[Any]:
        """The package's encodings; None for a piece that it rejects or would encode incompletely."""

        def encode(texts: list[str]) -> list[Any]:
            return list(self._tokenizer.encode_batch_fast(texts, add_special_tokens=False))

        found = encoded_each(encode, pieces)
        if self._counter is not None:
            found = [None if self._leaves_out(piece) else one for piece, one in zip(pieces, found, strict=True)]
        return found

    def _leaves_out(self, piece: str) -> bool:
        """Whether any character other than a space is in no token."""
        encoding = self._counter.encode(piece, add_special_tokens=False)
        found = zip(encoding.ids, encoding.offsets, strict=True)  # only for the few tokenizers that omit something
        return any(token == _LEFT_OUT_ID and not piece[start:end].isspace() for token, (start, end) in found)


def _unreachable(parsed: Mapping[str, Any], special: set[str], mark: str) -> dict[str, Any] | None:
    """The file with unique names for special tokens that its model could otherwise find in a text.

    `encode_special_tokens` keeps the package from searching for them, but not a model that has them among its words.
    None if the model has none of them, or builds its words only by merges.
    """
    model = dict(parsed["model"])
    listed = model.get("vocab")
    if "merges" in model and not model.get("ignore_merges"):
        return None
    names = {name: f"\uffff{mark}:{number}" for number, name in enumerate(sorted(special))}
    if isinstance(listed, list):  # a Unigram model: words with their scores
        if not any(word in names for word, _ in listed):
            return None
        model["vocab"] = [[names.get(word, word), score] for word, score in listed]
    elif isinstance(listed, dict):
        if not names.keys() & listed.keys():
            return None
        model["vocab"] = {names.get(word, word): number for word, number in listed.items()}
    if model.get("unk_token") in names:
        model["unk_token"] = names[model["unk_token"]]
    added = [
        {**one, "content": names.get(one["content"], one["content"])} if one.get("special") else one
        for one in parsed.get("added_tokens") or ()
    ]
    return {
        **parsed,
        "model": model,
        "added_tokens": added,
        "post_processor": None,
        "truncation": None,
        "padding": None,
    }
