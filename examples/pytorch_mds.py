"""Train a small language model of bytes on an MDS export, and go on from a checkpoint in the middle of an epoch.

    python pytorch_mds.py EXPORT --steps 300 --stop-after 120 --checkpoint run.pt
    python pytorch_mds.py EXPORT --steps 300 --resume run.pt

The second run sees exactly the samples that the first did not: streaming's loader knows where in which epoch it is, and
the checkpoint keeps that beside the model. Shards are read in place; with `--cache` they are fetched into that folder
as they are needed, which compressed shards and remote folders (s3://…) require.
"""

import argparse
import hashlib
import json
import os
from pathlib import Path

import torch
from streaming import StreamingDataLoader, StreamingDataset
from streaming.base.util import clean_stale_shared_memory
from torch import nn

END = 256  # before and after each text
LENGTH = 128  # bytes of a text that are trained on


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


def encode(texts: list[str]) -> torch.Tensor:
    """Their tokens, filled up with -100."""
    rows = [[END, *text.encode()[:LENGTH], END] for text in texts]
    longest = max(map(len, rows))
    return torch.tensor([row + [-100] * (longest - len(row)) for row in rows])


def open_loader(arguments: argparse.Namespace) -> StreamingDataLoader:
    """The shuffled samples of an output."""
    folder = f"{arguments.export}/{arguments.output}"
    dataset = StreamingDataset(
        remote=folder if arguments.cache else None,
        local=f"{arguments.cache}/{arguments.output}" if arguments.cache else folder,
        batch_size=arguments.batch_size,
        shuffle=True,
        shuffle_seed=arguments.seed,
        num_canonical_nodes=1,  # or as many as there are nodes; the order depends on it
        validate_hash="sha1" if arguments.cache else None,  # of what is fetched
    )
    return StreamingDataLoader(dataset, batch_size=arguments.batch_size, num_workers=arguments.workers)


def order_of(arguments: argparse.Namespace) -> dict:
    """What the order of samples depends on, once the loader is open: none of it may differ when the run goes on."""
    index = Path(arguments.cache or arguments.export, arguments.output, "index.json")  # names shards by their hashes
    order = {name: getattr(arguments, name) for name in ("output", "seed", "batch_size")}
    return order | {"export": hashlib.sha256(index.read_bytes()).hexdigest()}


def train(arguments: argparse.Namespace) -> None:
    """Train, and write down where it stopped."""
    clean_stale_shared_memory()  # of runs that were killed
    torch.manual_seed(arguments.seed)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    loader = open_loader(arguments)
    order = order_of(arguments)
    step, position, seen = 0, None, ""
    if arguments.resume:
        state = torch.load(arguments.resume)
        if state["order"] != order:
            raise SystemExit(f"{arguments.resume}: made with {state['order']}; this run has {order}")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        loader.load_state_dict(state["loader"])
        step, position, seen = state["step"], state["loader"], state["seen"]

    stop = min(arguments.steps, arguments.stop_after or arguments.steps)
    log = arguments.log.open("w") if arguments.log else None
    while step < stop:
        for batch in loader:  # one epoch, or what is left of it
            step += 1
            tokens = encode(batch["text"])
            inputs, targets = tokens[:, :-1].clamp(min=0), tokens[:, 1:]
            loss = nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten(), ignore_index=-100)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            names = [f"{one}-{copy}" for one, copy in zip(batch["id"], batch["copy"].tolist(), strict=True)]
            seen = hashlib.sha256("\n".join([seen, *names]).encode()).hexdigest()
            print(f"step {step}  loss {loss.item():.4f}  {names[0]} and {len(names) - 1} more")
            if log:
                log.write(json.dumps({"step": step, "loss": loss.item(), "samples": names}) + "\n")
            if step >= stop:
                position = loader.state_dict()
                break
    print(f"all samples up to step {step}: {seen}")
    if log:
        log.close()
    if arguments.checkpoint:
        state = {"step": step, "seen": seen, "order": order, "loader": position, "model": model.state_dict()}
        state["optimizer"] = optimizer.state_dict()
        torch.save(state, f"{arguments.checkpoint}.new")
        os.replace(f"{arguments.checkpoint}.new", arguments.checkpoint)  # never half a checkpoint


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("export", help="folder of an MDS export, or its address")
    parser.add_argument("--output", default="train", help="which of the mixture's stages, or validation")
    parser.add_argument("--cache", type=Path, help="where to keep what is fetched")
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
