"""Train a small language model of bytes on an ArrayRecord export with grain, and go on in the middle of an epoch.

    python grain_arrayrecord.py EXPORT --steps 300 --stop-after 120 --checkpoint run.npz
    python grain_arrayrecord.py EXPORT --steps 300 --resume run.npz

The second run sees exactly the samples that the first did not: grain's iterator knows where it is, and the checkpoint
keeps that beside the model. The order is that of indices, shuffled anew in each epoch: there is no shuffle buffer.
"""

import argparse
import hashlib
import json
import os
import runpy
from pathlib import Path

import grain
import numpy as np

END = 256  # before and after each text
FILLED = -1
LENGTH = 128  # bytes of a text that are trained on
RATE = 2.0


def varint(raw: bytes, at: int) -> tuple[int, int]:
    """A number of a protocol buffer, and where the next thing begins."""
    number = shift = 0
    while True:
        number |= (raw[at] & 0x7F) << shift
        shift += 7
        at += 1
        if raw[at - 1] < 0x80:
            return number, at


def fields(raw: bytes) -> list[tuple[int, bytes]]:
    """The fields of a protocol buffer whose fields all have a length."""
    found, at = [], 0
    while at < len(raw):
        tag, at = varint(raw, at)
        size, at = varint(raw, at)
        found.append((tag >> 3, raw[at : at + size]))
        at += size
    return found


def features(record: bytes) -> dict[str, bytes | int]:
    """The values of a tf.train.Example; with TensorFlow Datasets at hand, `builder_from_directory` does this."""
    values: dict[str, bytes | int] = {}
    for _, entry in fields(fields(record)[0][1]):
        (_, name), (_, feature) = fields(entry)
        kind, held = fields(feature)[0]
        _, value = fields(held)[0]
        values[name.decode()] = value if kind == 1 else varint(value, 0)[0]
    return values


def encode(record: bytes) -> dict[str, np.ndarray]:
    """A sample as arrays of one size: its name, and its tokens filled up with -1."""
    sample = features(record)
    tokens = np.full(LENGTH + 2, FILLED, np.int32)
    text = [END, *sample["text"][:LENGTH], END]
    tokens[: len(text)] = text
    name = bytes.fromhex(sample["id"].decode()) + sample["copy"].to_bytes(2, "big")
    return {"name": np.frombuffer(name, np.uint8), "tokens": tokens}


def open_samples(arguments: argparse.Namespace) -> grain.IterDataset:
    """The shuffled batches of an output, epoch after epoch: a mixture of the datasets that the export says it is."""
    components = runpy.run_path(arguments.export / "axlearn_mixture.py")["COMPONENTS"][arguments.output]
    parts = []
    for component in components:
        name, version = component["name"].split(":")
        files = sorted((arguments.export / name / version).glob(f"{name}-{component['split']}.array_record-*"))
        source = grain.sources.ArrayRecordDataSource([str(file) for file in files])
        parts.append(grain.MapDataset.source(source).seed(arguments.seed).shuffle().repeat())
    mixed = grain.MapDataset.mix(parts, [component["weight"] for component in components])
    batches = mixed.map(encode).batch(arguments.batch_size).to_iter_dataset()
    return batches.mp_prefetch(grain.MultiprocessingOptions(num_workers=arguments.workers))


def learn(logits: np.ndarray, tokens: np.ndarray) -> float:
    """One step down the loss of what each byte says of the next, in place; the loss before it."""
    before, after = tokens[:, :-1].ravel(), tokens[:, 1:].ravel()
    before, after = before[after >= 0], after[after >= 0]
    chances = np.exp(logits[before] - logits[before].max(1, keepdims=True))
    chances /= chances.sum(1, keepdims=True)
    loss = float(-np.log(chances[np.arange(len(after)), after]).mean())
    chances[np.arange(len(after)), after] -= 1
    np.subtract.at(logits, before, RATE / len(after) * chances)
    return loss


def train(arguments: argparse.Namespace) -> None:
    """Train, and write down where it stopped."""
    # What the order depends on: none of it may differ when the run goes on.
    order = {name: getattr(arguments, name) for name in ("output", "seed", "batch_size", "workers")} | {
        "export": json.loads((arguments.export / "winnow.json").read_bytes())["identity"]
    }
    logits = np.zeros((257, 257))
    batches = iter(open_samples(arguments))
    step, digest = 0, ""
    if arguments.resume:
        with np.load(arguments.resume) as state:
            logits = state["logits"]
            position = json.loads(state["position"].tobytes())
        if position["order"] != order:
            raise SystemExit(f"{arguments.resume}: made with {position['order']}; this run has {order}")
        step, digest = position["step"], position["digest"]
        batches.set_state(position["batches"])

    stop = min(arguments.steps, arguments.stop_after or arguments.steps)
    log = arguments.log.open("w") if arguments.log else None
    while step < stop:
        batch = next(batches)
        step += 1
        loss = learn(logits, batch["tokens"])
        names = [f"{name[:16].tobytes().hex()}-{int.from_bytes(name[16:].tobytes(), 'big')}" for name in batch["name"]]
        digest = hashlib.sha256(" ".join([digest, *names]).encode()).hexdigest()
        print(f"step {step}  loss {loss:.4f}  {names[0]} and {len(names) - 1} more")
        if log:
            log.write(json.dumps({"step": step, "loss": loss, "samples": names}) + "\n")
    if log:
        log.close()
    print(f"all samples up to step {step}: {digest[:16]}")
    if arguments.checkpoint:
        position = {"step": step, "digest": digest, "order": order, "batches": batches.get_state()}
        written = arguments.checkpoint.with_name(f"{arguments.checkpoint.name}.new")
        with written.open("wb") as stream:
            np.savez(stream, logits=logits, position=np.frombuffer(json.dumps(position).encode(), np.uint8))
        os.replace(written, arguments.checkpoint)  # never half a checkpoint


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("export", type=Path, help="folder of an ArrayRecord export")
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
