"""Train a small language model of bytes on a WebDataset export, and go on from a checkpoint in the middle of an epoch.

    python pytorch_webdataset.py EXPORT --steps 300 --stop-after 120 --checkpoint run.pt
    python pytorch_webdataset.py EXPORT --steps 300 --resume run.pt

The second run sees exactly the samples that the first did not: both together take the steps of one that never stopped.
One number says where a run is, the batches that it was given, since the order is a function of the seed, the epoch and
the worker alone. To go on, each worker reads its shards again up to there, without decoding what it reads.
"""

import argparse
import hashlib
import itertools
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import torch
import webdataset as wds
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

END = 256  # before and after each text
LENGTH = 128  # bytes of a text that are trained on


class Samples(IterableDataset):
    """The samples of an export, epoch after epoch without end; in each epoch every sample comes once.

    Workers take shards in turns, from an order that is new in every epoch. They never run out, so that batches come
    from them in turns as well: worker `w` of `n` has given (k - w) / n of the first k batches, rounded up.
    """

    def __init__(self, shards: list[Path], seed: int, batch_size: int, given: int) -> None:
        self.shards = [str(shard) for shard in shards]
        self.seed = seed
        self.batch_size = batch_size
        self.given = given  # batches, in earlier runs

    def __iter__(self) -> Iterator[dict]:
        info = get_worker_info()
        workers = info.num_workers if info else 1
        # The loader asks its first worker first; it plays the one whose turn it was.
        worker = ((info.id if info else 0) + self.given) % workers
        seen = (self.given - worker + workers - 1) // workers * self.batch_size
        for sample in itertools.islice(self.read(worker, workers), seen, None):
            yield {"text": sample["txt"], **json.loads(sample["json"])}

    def read(self, worker: int, workers: int) -> Iterator[dict]:
        """What one worker gives, not decoded."""
        for epoch in itertools.count():
            order = random.Random(f"{self.seed}/{epoch}").sample(self.shards, len(self.shards))
            yield from wds.DataPipeline(
                wds.SimpleShardList(order[worker::workers]),
                wds.tarfile_to_samples(),
                wds.shuffle(1000, rng=random.Random(f"{self.seed}/{epoch}/{worker}")),
            )


class Model(nn.Module):
    """Bytes in, what it thinks of the next byte out."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.embedding = nn.Embedding(257, width)
        self.memory = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, 257)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits of the token after each."""
        return self.head(self.memory(self.embedding(tokens))[0])


def collate(samples: list[dict]) -> tuple[list[str], torch.Tensor]:
    """Their names, and their tokens, filled up with -100."""
    texts = [[END, *sample["text"][:LENGTH], END] for sample in samples]
    longest = max(map(len, texts))
    tokens = torch.tensor([text + [-100] * (longest - len(text)) for text in texts])
    return [f"{sample['id']}-{sample['copy']}" for sample in samples], tokens


def train(arguments: argparse.Namespace) -> None:
    """Train, and write down where it stopped."""
    shards = sorted(arguments.export.glob(f"{arguments.output}-*-of-*.tar"))
    if len(shards) < max(1, arguments.workers):
        raise SystemExit(
            f"{arguments.export}: {len(shards)} shards of {arguments.output}; each worker needs one of its own"
        )
    torch.manual_seed(arguments.seed)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    # What the order depends on: none of it may differ when the run goes on.
    order = {name: getattr(arguments, name) for name in ("output", "seed", "batch_size", "workers")} | {
        "export": json.loads((arguments.export / "winnow.json").read_bytes())["identity"]
    }
    start, seen = 0, ""
    if arguments.resume:
        state = torch.load(arguments.resume)
        if state["order"] != order:
            raise SystemExit(f"{arguments.resume}: made with {state['order']}; this run has {order}")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        start, seen = state["step"], state["seen"]

    samples = Samples(shards, arguments.seed, arguments.batch_size, given=start)
    loader = DataLoader(samples, arguments.batch_size, num_workers=arguments.workers, collate_fn=collate)
    stop = min(arguments.steps, arguments.stop_after or arguments.steps)
    log = arguments.log.open("w") if arguments.log else None
    step = start
    for step, (names, tokens) in zip(range(start + 1, stop + 1), loader, strict=False):
        inputs, targets = tokens[:, :-1].clamp(min=0), tokens[:, 1:]
        loss = nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen = hashlib.sha256("\n".join([seen, *names]).encode()).hexdigest()
        print(f"step {step}  loss {loss.item():.4f}  {names[0]} and {len(names) - 1} more")
        if log:
            log.write(json.dumps({"step": step, "loss": loss.item(), "samples": names}) + "\n")
    print(f"all samples up to step {step}: {seen}")
    if log:
        log.close()
    if arguments.checkpoint:
        state = {"step": step, "seen": seen, "order": order, "model": model.state_dict()}
        state["optimizer"] = optimizer.state_dict()
        torch.save(state, f"{arguments.checkpoint}.new")
        os.replace(f"{arguments.checkpoint}.new", arguments.checkpoint)  # never half a checkpoint


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("export", type=Path, help="folder of a WebDataset export")
    parser.add_argument("--output", default="train", help="which of the mixture's stages, or validation")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--stop-after", type=int, metavar="STEP", help="stop there, as if the time were up")
    parser.add_argument("--checkpoint", type=Path, help="where to write it when the run ends")
    parser.add_argument("--resume", type=Path, metavar="CHECKPOINT", help="go on from here")
    parser.add_argument("--log", type=Path, help="write each step's loss and samples as JSON lines")
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
