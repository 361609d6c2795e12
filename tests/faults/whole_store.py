"""A small store with every kind of file, made by the commands that make them, and what was exported from it."""

import gzip
import hashlib
import json
import random
from pathlib import Path

from tests.faults.winnow import run_here
from winnow.pipelines.running.ledger.worker_deaths import STRIKES, Mark, Position, record_deaths
from winnow.pipelines.running.tasks import put_task_list
from winnow.pipelines.store.location import open_store_at

RECIPE = """
version: 1
store: {{path: store, seed: {seed}, shard_rows: 24, task_bytes: 16 KiB}}
sources:
  crawl: {{root: crawl, files: ["*.warc.gz"], class: web}}
  lines: {{root: lines, files: ["*.jsonl"], class: public, key: id}}
extract: {{main: {{}}}}
text: coalesce(extract.main.text, samples.text)
annotate: [text.length]
known_harm: {{own: {{path: harm.txt, kind: sha256}}}}
dedupe: {{exact: {{}}, near: {{preset: fineweb, min_similarity: {similarity}}}}}
score:
  mimic:
    task: next_byte
    buckets: 64
    reference: {{train_on: "samples.source.name = 'lines'", training: {{epochs: 1, batch: 8}}}}
    trajectory: {{checkpoints: 1, training: {{epochs: 1, batch: 8}}}}
keep:
- {{drop: text.length.characters < 9, reason: short, when_null: drop}}
- {{drop: score.mimic.keep < 0.01, reason: mimic, when_null: keep}}
mix: {{unit: tokens, tokenizer: bytes}}
export: [{{jsonl: {{path: {out}}}}}]
"""
ALONE = ("--workers", "1")
FORGOTTEN = "site-0-3.example"
WORDS = [hashlib.blake2b(b"%d" % number, digest_size=3).hexdigest() for number in range(400)]


def write_recipe(
    folder: Path, name: str = "recipe.yaml", seed: int = 7, similarity: float = 0.75, out: str = "out"
) -> Path:
    recipe = folder / name
    recipe.write_text(RECIPE.format(seed=seed, similarity=similarity, out=out))
    return recipe


def make_whole_store(folder: Path, seed: int = 7, settings: int = 7) -> None:
    """Sources, `store` and `out`; a source has grown once, a page was forgotten, a row has killed workers.

    Args:
        folder: Where to put them.
        seed: Of the sources.
        settings: The store's own seed. Stores with the same settings have the same identity.
    """
    (folder / "crawl").mkdir(parents=True)
    (folder / "lines").mkdir()
    write_recipe(folder, seed=settings)
    (folder / "harm.txt").write_text(hashlib.sha256(b"%d" % seed).hexdigest())
    rows = [{"id": str(number), "text": _text(seed, number // 2, changed=number % 2)} for number in range(40)]
    (folder / "lines" / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for archive in range(2):
        records = [_page(seed, archive, number) for number in range(6)]
        records.append(_answer(b"404 Not Found", b"https://x.example/", b""))
        stream = b"".join(gzip.compress(record, 1, mtime=0) for record in records)
        (folder / "crawl" / f"{archive}.warc.gz").write_bytes(stream + b"\x1f\x8b\x08 no member")
        if not archive:
            ready(folder, "ingest", *ALONE)
    ready(folder, "forget", "--domain", FORGOTTEN, "--reason", f"asked {seed} times")
    objects = open_store_at(folder / "store").objects
    record_deaths(objects, [Mark("lines", "a-task", Position("z.jsonl", seed, 0))] * STRIKES)
    ready(folder, "run", *ALONE)
    put_task_list(objects, "annotate.cpu", [b'{"seed": %d}' % seed])  # as a run leaves it that is stopped


def ready(folder: Path, command: str, *arguments: str) -> None:
    done = run_here(folder, command, "recipe.yaml", *arguments)
    assert done.status == 0, done.err


def _text(seed: int, number: int, *, changed: int = 0) -> str:
    """Some two hundred words; with one in forty changed."""
    chosen = random.Random(1000 * seed + number)
    words = [chosen.choice(WORDS) for _ in range(193 + seed)]
    for at in range(0, len(words), 40) if changed else ():
        words[at] = "changed"
    return " ".join(words)


def _page(seed: int, archive: int, number: int) -> bytes:
    body = f"<html><title>{number}</title><body><article><p>{_text(seed, 100 + 10 * archive + number)}</p></article>"
    return _answer(b"200 OK", b"https://site-%d-%d.example/" % (archive, number), body.encode())


def _answer(status: bytes, address: bytes, body: bytes) -> bytes:
    block = b"HTTP/1.1 " + status + b"\r\nContent-Type: text/html\r\n\r\n" + body
    identity = hashlib.blake2b(address + body, digest_size=8).hexdigest().encode()
    head = (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:%s>\r\n"
        b"WARC-Target-URI: %s\r\nContent-Length: %d\r\n\r\n"
    )
    return head % (identity, address, len(block)) + block + b"\r\n\r\n"
