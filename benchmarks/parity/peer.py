"""A peer at work: a process of the peer's own Python that judges documents in the order in which they are sent."""

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Self

import orjson

from benchmarks.parity.documents import Document
from winnow.schemas.errors import WinnowError
from winnow.schemas.identity import Json

_PEERS = Path(__file__).parent / "peers"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the peer says of one document."""

    has_verdict: bool  # a tagger has none: it only measures
    reason: str | None  # why it drops the document; None keeps it
    values: Mapping[str, float | None] = field(default_factory=dict)
    fired: Mapping[str, bool] = field(default_factory=dict)  # by the name of a value
    text: str | None = None  # as the peer leaves it, where it changes texts
    error: str | None = None
    skipped: bool = False


class Peer:
    """The process; documents go in and answers come out at the same time, so neither pipe can fill up for good."""

    def __init__(self, python: Path, module: str, settings: Mapping[str, Json]) -> None:
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            [python, _PEERS / "serve.py", _PEERS / f"{module}.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
        )
        self._send([orjson.dumps(settings)])
        self.version = str(self._receive()["version"])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._complaints.close()

    def judge(self, documents: Sequence[Document]) -> "Answers":
        """Begin with these documents; the answers come when asked for, one batch at a time."""
        lines = [
            orjson.dumps(
                {"text": document.text, "language": document.language} if document.language else {"text": document.text}
            )
            for document in documents
        ]
        sender = Thread(target=self._send, args=(lines,), daemon=True)
        sender.start()
        return Answers(self, len(lines), sender)

    def _send(self, lines: Sequence[bytes]) -> None:
        assert self._process.stdin is not None
        try:
            for line in lines:
                self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:  # the peer has ended; whoever waits for its answers says why
            return

    def _receive(self) -> dict[str, Json]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            self._process.wait()
            self._complaints.seek(0)
            said = self._complaints.read().decode("utf-8", "replace").strip().splitlines() or ["it said nothing"]
            raise WinnowError(f"the peer's process ended with status {self._process.returncode}: {said[-1][:300]}")
        answer: dict[str, Json] = orjson.loads(line)
        return answer


class Answers:
    """The answers to one batch, on their way."""

    def __init__(self, peer: Peer, count: int, sender: Thread) -> None:
        self._peer = peer
        self._count = count
        self._sender = sender

    def all(self) -> list[Answer]:
        """Wait for every answer of the batch."""
        found = [_answer(self._peer._receive()) for _ in range(self._count)]
        self._sender.join()
        return found


def _answer(said: Mapping[str, Json]) -> Answer:
    values = said.get("values")
    fired = said.get("fired")
    text = said.get("text")
    reason, error = said.get("reason"), said.get("error")
    return Answer(
        has_verdict="reason" in said,
        reason=None if reason is None else str(reason),
        values={name: _number(value) for name, value in values.items()} if isinstance(values, dict) else {},
        fired={name: bool(value) for name, value in fired.items()} if isinstance(fired, dict) else {},
        text=text if isinstance(text, str) else None,
        error=None if error is None else str(error),
        skipped=bool(said.get("skipped")),
    )


def _number(value: Json) -> float | None:
    return float(value) if isinstance(value, int | float) else None
