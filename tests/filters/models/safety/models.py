"""A small real model and its tokenizer: words have values, a text's logits are the means of those of its words."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "you", "are", "kind", "rude", "du", "bist", "nett", "gemein")
VALUES = np.zeros((len(WORDS), 2), np.float32)  # of each word: toxic, insult
VALUES[[WORDS.index("rude"), WORDS.index("gemein")]] = [[32, 16], [40, 8]]
VALUES[[WORDS.index("kind"), WORDS.index("nett")]] = [[-32, -16], [-40, -8]]


def tokenizer_json(words: Sequence[str] = WORDS, **changes: object) -> str:
    """Words in lower case between `[CLS]` and `[SEP]`, as `tokenizers` writes them."""
    numbers = {word: number for number, word in enumerate(words)}
    specials = {name: {"id": name, "ids": [numbers.get(name, 0)], "tokens": [name]} for name in ("[CLS]", "[SEP]")}
    made: dict[str, Any] = {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0},
        "padding": {
            **{"strategy": {"Fixed": 64}, "direction": "Right", "pad_to_multiple_of": None},
            **{"pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"},
        },
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
            ],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": specials,
        },
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": numbers, "unk_token": "[UNK]"},
    }
    return json.dumps(made | changes)


def inputs(kind: int = TensorProto.INT64, tokens: int | str = "tokens", texts: int | str = "texts") -> list[Any]:
    """What transformers' exports take."""
    return [helper.make_tensor_value_info(name, kind, [texts, tokens]) for name in ("input_ids", "attention_mask")]


def nodes() -> list[NodeProto]:
    """The masked mean of the words' values."""
    return [
        helper.make_node("Gather", ["values", "input_ids"], ["each"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["column"]),
        helper.make_node("Mul", ["each", "column"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "time"], ["sum"], keepdims=0),
        helper.make_node("ReduceSum", ["mask", "time"], ["count"], keepdims=1),
        helper.make_node("Div", ["sum", "count"], ["logits"]),
    ]


def model(
    given: Sequence[Any] | None = None,
    computed: Sequence[NodeProto] | None = None,
    constants: Mapping[str, Any] | None = None,
    outputs: Sequence[Any] | None = None,
    **options: Any,
) -> ModelProto:
    """An ONNX model of these parts, or of those above."""
    held: dict[str, Any] = {"values": VALUES, "last": np.array([2], np.int64), "time": np.array([1], np.int64)}
    graph = helper.make_graph(
        list(nodes() if computed is None else computed),
        "mean",
        list(inputs() if given is None else given),
        list(outputs or [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["texts", 2])]),
        [numpy_helper.from_array(array, name) for name, array in (held if constants is None else constants).items()],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18), *options.pop("opsets", [])], ir_version=9, **options
    )
