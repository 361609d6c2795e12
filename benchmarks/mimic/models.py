"""Small language models on the passages of `benchmarks.mimic.passages`: references, and checkpoints on their way.

Three trainings of one transformer, each kept under `.cache/benchmarks`. `reference` learns the trusted subset from
nothing; `pool` learns the pool, half of which is spoilt, from the same start; `adapted` goes on from the pool's last
checkpoint on the trusted subset.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.inputs.pages import CACHE
from benchmarks.mimic.passages import DECLARED, SEED, Texts
from winnow.schemas.identity import digest, fingerprint_of
from winnow.scoring.probe.grid import Run, Schedule, Shape
from winnow.scoring.probe.streams import Stream, Tokens
from winnow.scoring.probe.training import Training, deterministic
from winnow.scoring.protocol import Weights

END: Final = "<|endoftext|>"
_TESTED_SHARE = 0.02  # of a part's passages: where the loss of a finished model is read


@dataclass(frozen=True, slots=True)
class Plan:
    """What is trained."""

    shape: Shape = field(default_factory=lambda: Shape(layers=4, width=128, heads=4, learning_rate=0.003))
    schedule: Schedule = field(default_factory=lambda: Schedule(context=256, batch=4))
    vocabulary: int = 4096
    reference_tokens: int = 1_100_000
    pool_tokens: int = 600_000
    adapted_tokens: int = 250_000
    adapted_rate: float = 0.001  # lower than from nothing: it should stay near where it starts
    early: tuple[float, ...] = (0.1, 0.2, 0.3)  # of the reference's steps: checkpoints before it is one
    late: tuple[float, ...] = (0.5, 0.75, 1.0)  # of the pool's steps


@dataclass(frozen=True, slots=True)
class Models:
    """Weights, and the tokens that they are of."""

    tokenizer: Path
    references: dict[str, Weights]  # `reference`, `adapted`
    early: list[Weights]  # of the reference's own training
    pool: list[Weights]

    @property
    def families(self) -> dict[str, tuple[list[Weights], str]]:
        """Checkpoints that passages are scored at, each kind with its reference."""
        return {
            "pool": (self.pool, "reference"),
            "early": (self.early, "reference"),
            "adapted": (self.pool, "adapted"),
        }


def trained_models(texts: Texts, plan: Plan, cache: Path = CACHE) -> Models:
    """The models of a plan, trained once."""
    package: Any = import_module("safetensors.numpy")
    shown = {item.name: repr(getattr(plan, item.name)) for item in fields(plan)}
    content = digest(*(text for part in (texts.trusted, texts.pool) for held in part.values() for text in held)).hex()
    folder = cache / f"mimic-text-{fingerprint_of({**shown, 'texts': content})}"
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.exists():
        train_tokenizer((text for held in texts.trusted.values() for text in held), tokenizer, plan.vocabulary)
    trusted, pool = streams_of(texts.trusted, tokenizer), streams_of(texts.pool, tokenizer)

    def once(name: str, of: Mapping[str, Stream], tokens: int, at: tuple[float, ...], start: Weights | None) -> None:
        if all(_file(folder, name, share).exists() for share in at):
            return
        for share, weights in _trained(name, plan, of, tokens, at, start).items():
            package.save_file(dict(weights), _file(folder, name, share))

    def loaded(name: str, share: float) -> Weights:
        found: Weights = package.load_file(_file(folder, name, share))
        return found

    once("reference", trusted, plan.reference_tokens, (*plan.early, 1.0), None)
    once("pool", pool, plan.pool_tokens, plan.late, None)
    once("adapted", trusted, plan.adapted_tokens, (1.0,), loaded("pool", plan.late[-1]))
    return Models(
        tokenizer,
        {name: loaded(name, 1.0) for name in ("reference", "adapted")},
        [loaded("reference", share) for share in plan.early],
        [loaded("pool", share) for share in plan.late],
    )


def encoder_of(tokenizer: Path) -> Any:
    """A tokenizer of the package tokenizers."""
    return import_module("tokenizers").Tokenizer.from_file(str(tokenizer))


def streams_of(part: Mapping[str, list[str]], tokenizer: Path) -> dict[str, Stream]:
    """A part's passages as tokens, a family a language, each passage between ends."""
    encoder = encoder_of(tokenizer)
    end = encoder.token_to_id(END)

    def joined(texts: list[str]) -> Tokens:
        encoded = encoder.encode_batch(texts, add_special_tokens=False)
        return np.concatenate([np.array([end], np.uint16), *(np.array([*one.ids, end], np.uint16) for one in encoded)])

    found = {}
    for language in DECLARED:
        texts = part[language]
        held_out = max(1, round(len(texts) * _TESTED_SHARE))
        found[language] = Stream(language, joined(texts[held_out:]), joined(texts[:held_out]))
    return found


def train_tokenizer(texts: Iterable[str], target: Path, vocabulary: int) -> None:
    """A byte-level BPE of the trusted subset."""
    package: Any = import_module("tokenizers")
    tokenizer = package.Tokenizer(package.models.BPE())
    tokenizer.pre_tokenizer = package.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = package.decoders.ByteLevel()
    trainer = package.trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END],
        initial_alphabet=package.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.save(str(target))


def _trained(
    name: str,
    plan: Plan,
    streams: Mapping[str, Stream],
    tokens: int,
    kept: tuple[float, ...],
    start: Weights | None,
) -> dict[float, Weights]:
    """Weights at some shares of a training's steps."""
    torch: Any = import_module("torch")
    shares = tuple((language, 1 / len(streams)) for language in streams)
    shape = plan.shape if start is None else replace(plan.shape, learning_rate=plan.adapted_rate)
    run = Run(shape, tokens, shares, SEED, plan.schedule, held_out_tokens=4096)
    found: dict[float, Weights] = {}
    with deterministic("cpu", 1):
        training = Training(run, streams, vocabulary=plan.vocabulary)
        if start is not None:
            with torch.no_grad():
                for key, value in training.parameters.items():
                    value.copy_(torch.from_numpy(start[key]))
        steps = {max(1, round(share * run.steps)): share for share in kept}
        while not training.finished:
            training.advance()
            if training.step in steps:
                found[steps[training.step]] = {
                    key: value.detach().numpy().copy() for key, value in training.parameters.items()
                }
                losses = training.losses()
                mean = sum(losses.values()) / len(losses)
                print(f"{name}: step {training.step:,} of {run.steps:,}, {mean:.3f} nats a token", flush=True)
    return found


def _file(folder: Path, name: str, share: float) -> Path:
    return folder / f"{name}-{share:g}.safetensors"
