"""Train one model on one mixture step by step, and measure its loss on each family.

Deterministic: the same run on the same device with the same number of threads gives the same losses to the last bit,
also when resumed from a checkpoint. Finished runs make the table that `runs_from_csv` reads.
"""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from winnow.schemas.errors import SourceError
from winnow.scoring.probe.grid import VERSION, Run
from winnow.scoring.probe.model import (
    Parameters,
    counted_parameters,
    initial_parameters,
    mean_loss,
    total_parameters,
)
from winnow.scoring.probe.streams import VOCABULARY, Stream, Windows, held_out_windows, windows_of
from winnow.scoring.scaling_law.runs import COLUMNS, RUN

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found, unused-ignore]

UNITS = {
    "N": "parameters without embeddings",
    "D": "bytes of the whole mixture",
    "loss": "nats a byte",
}
"""The units for models over bytes."""

_BETAS = (0.9, 0.95)  # GPT-3's
_EPSILON = 1e-8


@dataclass(frozen=True, slots=True)
class RunResult:
    """The results of a finished run."""

    version: int
    run: str
    n: int  # parameters without embeddings
    n_total: int
    d: int  # tokens of the whole mixture
    seed: int
    shares: Mapping[str, float]
    losses: Mapping[str, float]  # nats per token or byte on each family's held-out text; without NaN
    passes: Mapping[str, float]  # passes over each family's text
    torch: str
    device: str
    threads: int

    @property
    def diverged(self) -> bool:
        """Whether a loss is NaN."""
        return len(self.losses) < len(self.shares)


class Training:
    """One run, from its first step or from a checkpoint."""

    def __init__(
        self,
        run: Run,
        streams: Mapping[str, Stream],
        device: str = "cpu",
        threads: int = 1,
        vocabulary: int = VOCABULARY,
    ) -> None:
        import torch

        self.run, self.device, self.threads, self.step = run, device, threads, 0
        self._streams = streams
        self._windows = Windows(streams, run.shares, run.schedule.context, run.schedule.batch, run.seed)
        fresh = initial_parameters(run.shape, vocabulary, run.schedule.context, run.seed)
        self.parameters: Parameters = {
            name: value.detach().to(device).requires_grad_() for name, value in fresh.items()
        }
        matrices = [value for value in self.parameters.values() if value.ndim > 1]
        scales = [value for value in self.parameters.values() if value.ndim == 1]
        groups = [{"params": matrices}, {"params": scales, "weight_decay": 0.0}]
        decay = run.schedule.weight_decay
        self._optimiser = torch.optim.AdamW(groups, 0.0, _BETAS, _EPSILON, weight_decay=decay, fused=True)

    @property
    def finished(self) -> bool:
        """Whether every step is done."""
        return self.step >= self.run.steps

    def advance(self) -> None:
        """Take one step. The loss is not read, which would wait for the device."""
        import torch

        windows = torch.from_numpy(self._windows.batch(self.step)).to(self.device, non_blocking=True)
        for group in self._optimiser.param_groups:
            group["lr"] = learning_rate(self.run, self.step)
        self._optimiser.zero_grad(set_to_none=True)
        mean_loss(self.parameters, self.run.shape, windows).backward()
        torch.nn.utils.clip_grad_norm_(self.parameters.values(), self.run.schedule.clip)
        self._optimiser.step()
        self.step += 1

    def losses(self) -> dict[str, float]:
        """Nats per token or byte on the held-out text of each family of the mixture."""
        return {family: self.loss_of(family) for family, _ in self.run.shares}

    def loss_of(self, family: str) -> float:
        """Nats per token or byte on one family's held-out text."""
        import torch

        schedule = self.run.schedule
        windows = held_out_windows(self._streams[family].held_out, schedule.context, self.run.held_out_tokens)
        total = 0.0
        with torch.no_grad():
            for start in range(0, len(windows), schedule.batch):
                part = torch.from_numpy(windows[start : start + schedule.batch]).to(self.device)
                total += float(mean_loss(self.parameters, self.run.shape, part)) * len(part)
        return total / len(windows)

    def measured(self, name: str) -> RunResult:
        """The results of the finished run."""
        import torch

        context = self.run.schedule.context
        passes = {
            family: round(int(drawn) / windows_of(self._streams[family].train, context), 4)
            for (family, _), drawn in zip(self.run.shares, self._windows.drawn, strict=True)
        }
        return RunResult(
            version=VERSION,
            run=name,
            n=counted_parameters(self.parameters),
            n_total=total_parameters(self.parameters),
            d=self.run.d,
            seed=self.run.seed,
            shares=dict(self.run.shares),
            losses={family: loss for family, loss in self.losses().items() if math.isfinite(loss)},
            passes=passes,
            torch=torch.__version__,
            device=self.device,
            threads=self.threads,
        )

    def state(self) -> dict[str, "Tensor"]:
        """The full state of training, as tensors."""
        import torch

        found = {
            "run.step": torch.tensor([self.step]),
            "run.environment": torch.tensor(list(self._environment())),
            "run.drawn": torch.from_numpy(self._windows.drawn.copy()),
        }
        for name, value in self.parameters.items():
            found[f"parameter.{name}"] = value.detach()
            for key, kept in self._optimiser.state.get(value, {}).items():
                found[f"optimiser.{key}.{name}"] = kept
        return found

    def _environment(self) -> bytes:
        """The environment that the last bits of a step depend on."""
        import torch

        return f"{torch.__version__} {self.device} {self.threads}".encode()

    def restore(self, state: Mapping[str, "Tensor"]) -> None:
        """Resume from a state of the same run.

        Raises:
            SourceError: The state belongs to another run.
        """
        import torch

        moments = ("step", "exp_avg", "exp_avg_sq")
        wanted = {f"parameter.{name}": value.shape for name, value in self.parameters.items()}
        wanted["run.drawn"] = torch.Size([len(self.run.shares)])
        step = int(state["run.step"][0]) if "run.step" in state else -1
        if step > 0:
            for name, value in self.parameters.items():
                wanted |= {f"optimiser.{key}.{name}": value.shape for key in moments[1:]}
                wanted[f"optimiser.step.{name}"] = torch.Size([])
        of = bytes(state["run.environment"].tolist()) if "run.environment" in state else b""
        if (
            step < 0
            or of != self._environment()
            or any(name not in state or state[name].shape != shape for name, shape in wanted.items())
        ):
            raise SourceError("the checkpoint is not of this run")
        self.step = step
        self._windows.drawn = np.array(state["run.drawn"].tolist(), np.int64)
        with torch.no_grad():
            for name, value in self.parameters.items():
                value.copy_(state[f"parameter.{name}"])
                if step:
                    kept = {key: state[f"optimiser.{key}.{name}"].to(self.device) for key in moments}
                    self._optimiser.state[value] = kept


def learning_rate(run: Run, step: int) -> float:
    """Linear warm-up, then half a cosine down to the final share of the highest rate."""
    schedule, highest = run.schedule, run.shape.learning_rate
    warm = math.ceil(schedule.warmup_share * run.steps)
    if step < warm:
        return highest * (step + 1) / warm
    done = (step - warm) / max(1, run.steps - warm)
    return highest * (schedule.final_share + (1 - schedule.final_share) * 0.5 * (1 + math.cos(math.pi * done)))


@contextmanager
def deterministic(device: str, threads: int) -> Iterator[None]:
    """Set PyTorch so that equal runs give equal bits; restores settings at exit."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel  # type: ignore[import-not-found, unused-ignore]

    before = torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(threads)
    kernels = [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]  # the memory-efficient one is not deterministic on CUDA
    try:
        with sdpa_kernel(kernels) if device == "cuda" else nullcontext():
            yield
    finally:
        torch.use_deterministic_algorithms(before[0])
        torch.set_num_threads(before[1])


def checkpoint_bytes(training: Training) -> bytes:
    """A safetensors checkpoint of a run in progress."""
    from safetensors.torch import save  # type: ignore[import-not-found, unused-ignore]

    found: bytes = save({name: value.cpu().contiguous() for name, value in training.state().items()})
    return found


def restore_checkpoint(training: Training, raw: bytes) -> bool:
    """Resume from a checkpoint's bytes; False if they are damaged or belong to another run."""
    from safetensors import SafetensorError  # type: ignore[import-not-found, unused-ignore]
    from safetensors.torch import load

    try:
        training.restore(load(raw))
    except (SafetensorError, SourceError):
        return False
    return True


def runs_csv(measured: Iterable[RunResult], units: Mapping[str, str] = UNITS) -> str:
    """One row per run and family, in the order of runs, without diverged runs."""
    written = io.StringIO(newline="")
    for name, unit in units.items():
        written.write(f"# unit.{name}: {unit}\n")
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([*COLUMNS, RUN])
    for run in measured:
        if not run.diverged:
            writer.writerows(
                [family, run.n, run.d, repr(share), repr(run.losses[family]), run.seed, run.run]
                for family, share in sorted(run.shares.items())
            )
    return written.getvalue()
