"""Scores of a user's own safety model, such as a multilingual toxicity classifier.

The model is an ONNX file, run by ONNX Runtime, or safetensors weights for a PyTorch module that a user's function
builds. Files that run code when read, such as PyTorch's checkpoints, are refused, and so are models that need other
files, custom operators or randomness. The recipe names the model's outputs, the harm that each detects, and the
languages that it knows: texts in other languages have no scores.

Texts are scored one at a time and on one thread, so that no score depends on other texts. Scores belong to the
pinned class and are rounded to 1e-4.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Annotated, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.filters.extras import required_model
from winnow.filters.models.code import code_identity
from winnow.filters.models.covered_languages import (
    LANGUAGE,
    NO_DETECTOR,
    NO_LANGUAGE,
    check_languages,
    covered,
    language_statuses,
)
from winnow.filters.models.formats import format_of
from winnow.filters.models.onnx.text_models import OnnxModel
from winnow.filters.models.safety.torch_models import TorchModel
from winnow.filters.models.text_windows import Tokenizer, Window
from winnow.filters.operators import STATUS, TEXT, Assets, Kernel, TextOperator
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import suggestion
from winnow.schemas.recipe.checks import NOT_WRITTEN, Between, Listed, Matching
from winnow.schemas.safety import subcategories

NAME = "text.safety_model"
NO_TOKENS = "no_tokens"
NOT_FINITE = "not_finite"
"""The model's answer is not a number."""

_DECIMALS = 4
_TAIL = (
    pa.field("tokens", pa.int32()),  # read by the model
    pa.field("truncated", pa.bool_()),  # whether the text has more
)
_TAKEN = {STATUS.name, *(column.name for column in _TAIL)}

Activation: TypeAlias = Literal["sigmoid", "softmax", "none"]
_Model: TypeAlias = Callable[[Window], npt.NDArray[np.float64]]


@lru_cache(maxsize=1)
def _detectable() -> tuple[str, ...]:
    """The taxonomy's subcategories for models."""
    return tuple(name for name, one in subcategories().items() if NAME in one.operators)


@dataclass(frozen=True, slots=True)
class Label:
    """One output of the model, written as a column."""

    name: str = field(metadata=NOT_WRITTEN)
    detects: str | None = None  # a subcategory of the taxonomy, such as language.toxic; none for `neutral`


@dataclass(frozen=True, slots=True)
class SafetyModelConfig:
    """The model, its outputs, and which texts it scores."""

    model: str = ""  # the path of an .onnx or .safetensors
    tokenizer: str = ""  # the path of its tokenizer.json
    architecture: str = ""  # for .safetensors: `module:function`, which makes the torch.nn.Module
    labels: Annotated[tuple[Label, ...], Listed(Matching("[a-z][a-z0-9_]*", "a column's name"))] = ()
    """The model's outputs, in its order."""
    languages: tuple[str, ...] = ()  # as ISO 639-3, such as eng; [any] if the model knows all
    activation: Activation = "sigmoid"  # for independent labels; softmax if they exclude each other
    max_tokens: Annotated[int, Between(2, 8_192)] = 512  # per window, with special tokens
    max_windows: Annotated[int, Between(1, 1_000)] = 1  # from the beginning; each score is the highest of all windows
    max_bytes: Annotated[int, Between(1, 2 << 20)] = (
        65_536  # of each text's beginning that is tokenized: takes some 300 times as much
    )

    def __post_init__(self) -> None:
        names = [label.name for label in self.labels]
        if len(set(names)) < len(names) or set(names) & _TAKEN:
            raise ValueError(f"labels: {', '.join(names)}; expected different names, none of {', '.join(_TAKEN)}")
        for label in self.labels:
            if label.detects is not None and label.detects not in _detectable():
                near = suggestion(label.detects, _detectable())
                raise ValueError(f"labels: {label.name}: no subcategory {label.detects!r} for models{near}")
        check_languages(self.languages)
        if self.architecture and not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", self.architecture):
            raise ValueError(f"architecture: {self.architecture!r}; expected module:function")


def writes(config: SafetyModelConfig) -> pa.Schema:
    """The layer's columns: one per label, and more."""
    return pa.schema([STATUS, *(pa.field(label.name, pa.float64()) for label in config.labels), *_TAIL])


def _languages(config: SafetyModelConfig) -> frozenset[str] | None:
    return covered(config.languages)


def activated(values: npt.NDArray[np.float64], activation: Activation) -> npt.NDArray[np.float64]:
    """Apply the activation to a model's outputs."""
    if activation == "softmax":
        powers = np.exp(values - values.max())
        return np.asarray(powers / powers.sum())
    if activation == "sigmoid":
        small = np.exp(-np.abs(values))  # of the sign that cannot overflow
        return np.asarray(np.where(values >= 0, 1.0, small) / (1.0 + small))
    return values


class _Measured:
    """A model and its tokenizer, ready to score."""

    def __init__(self, config: SafetyModelConfig, tokenizer: Tokenizer, model: _Model) -> None:
        self._config = config
        self._tokenizer = tokenizer
        self._model = model
        self._nothing = (None,) * (len(config.labels) + len(_TAIL))
        # Fail now, and not at some later text, if the vocabulary's last token has no row in the model.
        self._answer(Window([tokenizer.last], [0]))

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        rows = [self._row(text, status) for text, status in zip(batch[TEXT], self._statuses(batch), strict=True)]
        schema = writes(self._config)
        columns = list(zip(*rows, strict=True)) or [()] * len(schema)
        arrays = [pa.array(column, kept.type) for column, kept in zip(columns, schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _statuses(self, batch: pa.RecordBatch) -> list[str]:
        known = _languages(self._config)
        return ["ok"] * len(batch) if known is None else language_statuses(batch[LANGUAGE], known)

    def _row(self, text: pa.LargeStringScalar, status: str) -> tuple[object, ...]:
        if status != "ok":
            return (status, *self._nothing)
        read = self._tokenizer.read(memoryview(text.as_buffer()))
        if not read.windows:
            return (NO_TOKENS, *self._nothing)
        found = np.array([self._answer(window) for window in read.windows])
        if not np.isfinite(found).all():
            return (NOT_FINITE, *self._nothing)
        scores = np.array([activated(values, self._config.activation) for values in found])
        tokens = sum(len(window.ids) for window in read.windows)
        return ("ok", *scores.max(axis=0).round(_DECIMALS).tolist(), tokens, read.truncated)

    def _answer(self, window: Window) -> npt.NDArray[np.float64]:
        found = self._model(window)
        if len(found) != len(self._config.labels):
            names = len(self._config.labels)
            raise RecipeError(f"{self._config.model}: the model has {len(found)} outputs, but `labels` names {names}")
        return found


def _model_path(config: SafetyModelConfig) -> str:
    return required_model(NAME, config.model, "the path of an ONNX file, or of weights in safetensors")


def _tokenizer_path(config: SafetyModelConfig) -> str:
    if not config.tokenizer:
        raise RecipeError(f"{NAME}: `tokenizer` is not set; expected the path of the model's tokenizer.json")
    return config.tokenizer


def _assets(config: SafetyModelConfig) -> tuple[str, ...]:
    return (_model_path(config), _tokenizer_path(config))


def _loaded(config: SafetyModelConfig, model_path: str, tokenizer_path: str) -> _Measured:
    kind = format_of(model_path)
    if kind == "safetensors" and not config.architecture:
        raise RecipeError(
            f"{model_path}: only weights; set `architecture` to the module:function that builds their torch.nn.Module"
        )
    if kind == "onnx" and config.architecture:
        raise RecipeError(f"{model_path}: an ONNX file needs no `architecture`; remove it (it is for safetensors)")
    tokenizer = Tokenizer(NAME, tokenizer_path, config.max_tokens, config.max_windows, config.max_bytes)
    if kind == "safetensors":
        return _Measured(config, tokenizer, TorchModel(NAME, model_path, config.architecture))
    fits = partial(_label_problem, len(config.labels))
    return _Measured(config, tokenizer, OnnxModel(NAME, model_path, config.max_tokens, tokenizer.pad, fits))


def _label_problem(labels: int, shape: Sequence[int | str | None]) -> str:
    fits = len(shape) == 2 and (not isinstance(shape[1], int) or shape[1] == labels)
    return "" if fits else f"`labels` names {labels}"


def _load(config: SafetyModelConfig, assets: Assets) -> Kernel:
    model, tokenizer = (assets.path(name) for name in _assets(config))
    for name in ("labels", "languages"):
        if not getattr(config, name):
            raise RecipeError(f"{NAME}: `{name}` is not set; expected those that the model was made for")
    return _loaded(config, model, tokenizer)


OPERATOR = TextOperator(
    name=NAME,
    version=1,
    summary="scores of your own safety model: ONNX, or PyTorch with weights in safetensors",
    config=SafetyModelConfig,
    reads=lambda config: (TEXT,) if _languages(config) is None else (TEXT, LANGUAGE),
    writes=writes,
    load=_load,
    assets=_assets,
    resource="model",
    reasons=(NO_LANGUAGE, NO_DETECTOR, NO_TOKENS, NOT_FINITE),
    detects=lambda config: {label.name: label.detects for label in config.labels if label.detects is not None},
    languages=_languages,
    depends=lambda config: code_identity(config.architecture.partition(":")[0]) if config.architecture else (),
)
