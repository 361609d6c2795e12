"""Tokenizers of a few hundred tokens, each made by the trainer of its own package."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

TEXTS = (
    "the cat sat down on the mat, and then the other cat said what the first one had said before.",
    "Österreich und die Schweiz haben Berge; das ist so, und das bleibt auch so.\nEs regnet oft.",
    "да это слово тут, и это слово там. И так далее, и так далее.",
    "第一行。\n第二行。这是一个句子，那也是一个句子。",
    "def main(argv):\n    if argv:\n        return [int(one) for one in argv]  # 1234567\n",
    "",
    " ",
    "a  b\t\tc\n\n\nd \r\n e",
    "emoji 😀😀 and é, e\u0301, ﬁ, \u00ad, \u200b, NUL \0 and 0x00",
)
SPECIAL = "a <|endoftext|> b </s> c <s> d <unk> e <0x0A> f"

NAMES = ("bpe.json", "llama.json", "unigram.json", "cl100k_base.tiktoken", "unigram.model", "bpe.model")


def make(folder: Path, name: str) -> Path:
    """The tokenizer of one of the names."""
    place = folder / name
    kind, _, ending = name.partition(".")
    if ending == "json":
        {"bpe": byte_level, "llama": metaspace, "unigram": unigram}[kind](place)
    elif ending == "tiktoken":
        ranks(place)
    else:
        sentencepiece(place, model_type=kind)
    return place


def byte_level(place: Path, **settings: Any) -> None:
    """As GPT-2's, with its end among its words."""
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.BPE(**settings))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    _train(made, tokenizers.trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, special_tokens=["</s>"]))
    made.save(str(place))


def metaspace(place: Path) -> None:
    """As Llama 2's: a space is put before a text, and what is unknown becomes bytes."""
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    normal = tokenizers.normalizers
    made.normalizer = normal.Sequence([normal.Prepend("▁"), normal.Replace(" ", "▁")])
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(prepend_scheme="never")
    special = ["<unk>", "<s>", "</s>"]
    fallback = [f"<0x{byte:02X}>" for byte in range(256)]
    _train(made, tokenizers.trainers.BpeTrainer(vocab_size=500, special_tokens=special + fallback))
    said = json.loads(made.to_str())
    said["added_tokens"] = [one for one in said["added_tokens"] if one["content"] in special]
    place.write_text(json.dumps(said | {"pre_tokenizer": None}))


def unigram(place: Path) -> None:
    """As T5's: its special tokens are among the words that the model looks for."""
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.Unigram())
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    special = ["<unk>", "</s>"]
    _train(made, tokenizers.trainers.UnigramTrainer(vocab_size=200, unk_token="<unk>", special_tokens=special))
    made.save(str(place))


def ranks(place: Path) -> None:
    """All bytes, and a few merges."""
    found = [bytes([byte]) for byte in range(256)] + [b"th", b"he", b" t", b" th", b" the", b"  ", b"at", b"cat"]
    lines = (base64.b64encode(token) + f" {rank}\n".encode() for rank, token in enumerate(found))
    place.write_bytes(b"".join(lines))


def sentencepiece(place: Path, **settings: Any) -> None:
    """With bytes for what it does not know, unless the settings say otherwise."""
    package = pytest.importorskip("sentencepiece")
    corpus = place.with_suffix(".txt")
    corpus.write_text("\n".join(line for text in TEXTS for line in text.replace("\0", "").split("\n") if line.strip()))
    package.SentencePieceTrainer.train(
        **{"vocab_size": 400, "byte_fallback": True, "hard_vocab_limit": False} | settings,
        input=str(corpus),
        model_prefix=str(place.with_suffix("")),
        minloglevel=2,
        num_threads=1,
    )


def library_ids(place: Path, texts: list[str]) -> list[list[int]]:
    """What the package itself says of texts that hold no special tokens."""
    ending = place.suffix
    if ending == ".json":
        tokenizer = pytest.importorskip("tokenizers").Tokenizer.from_file(str(place))
        return [list(tokenizer.encode(text, add_special_tokens=False).ids) for text in texts]
    if ending == ".model":
        processor = pytest.importorskip("sentencepiece").SentencePieceProcessor(model_file=str(place))
        return [processor.encode(text) for text in texts]
    tiktoken = pytest.importorskip("tiktoken")
    public = pytest.importorskip("tiktoken_ext.openai_public")
    loaded = pytest.importorskip("tiktoken.load").load_tiktoken_bpe(str(place))
    with pytest.MonkeyPatch.context() as patch:  # the package's own pattern, with the ranks of this file
        patch.setattr(public, "load_tiktoken_bpe", lambda *_, **__: loaded)
        said = getattr(public, place.stem)()
    said.pop("explicit_n_vocab", None)
    encoding = tiktoken.Encoding(**said)
    return [encoding.encode_ordinary(text) for text in texts]


def _train(tokenizer: Any, trainer: Any) -> None:
    trainer.show_progress = False
    tokenizer.train_from_iterator(TEXTS, trainer)
