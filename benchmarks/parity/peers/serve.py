"""Judge documents with a peer's own code: JSON lines in, one JSON line out for each, in the same order.

Run by the peer's Python as `python serve.py FILE`. The first line in holds the settings; the first line out names the
peer's version. FILE is a module with `VERSION_OF`, the distribution whose version is told, and `open_peer(settings)`,
which gives the function from a document to what the peer says of it:

    {"reason": why the peer drops it, or null,
     "values": {name: number} of what it compared, "fired": {name: whether that comparison alone would drop it},
     "text": the text as the peer leaves it, where it changes texts}
"""

import importlib
import json
import math
import os
import sys
from importlib.metadata import version


def main() -> None:
    """Answer until the documents end."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the peer's code prints is no answer
    documents = sys.stdin.buffer
    folder, file = os.path.split(sys.argv[1])
    sys.path.insert(0, folder)
    peer = importlib.import_module(os.path.splitext(file)[0])
    judge = peer.open_peer(json.loads(documents.readline()))
    _answer(answers, {"version": version(peer.VERSION_OF)})
    for line in documents:
        document = json.loads(line)
        try:
            answer = judge(document)
            answer["values"] = {name: _finite(value) for name, value in answer["values"].items()}
        except Exception as error:  # noqa: BLE001 - whatever the peer raises is its answer
            answer = {"error": f"{type(error).__name__}: {error}", "values": {}}
        _answer(answers, answer)


def _finite(value):  # type: ignore[no-untyped-def]
    number = float(value)
    return number if math.isfinite(number) else None


def _answer(stream, answer) -> None:  # type: ignore[no-untyped-def]
    stream.write(json.dumps(answer) + "\n")
    stream.flush()


if __name__ == "__main__":
    main()
