"""Were the weights that traces are made with made where the traces were? Their values are pinned to an environment."""

import orjson

from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.schemas.records import Generation
from winnow.schemas.scores import TRACES


def check_weights(store: Store, generation: Generation, findings: Findings) -> None:
    """Weights and traces of one generation that were made in several environments may differ in pinned values."""
    for layer in sorted(generation.layers):
        if not layer.startswith(TRACES):
            continue
        score = layer.removeprefix(TRACES)
        rows = store.manifest(generation, layer)
        made = {row.fingerprint for row in rows}
        for key in sorted({row.key for row in rows}):
            made |= _weights_made(store, score, key)
        if len(made) > 1:
            findings.notes.append(
                f"{layer} and its weights were made in {len(made)} different environments ({', '.join(sorted(made))})"
            )


def _weights_made(store: Store, score: str, trace: str) -> set[str]:
    """The environments that a trace's weights were made in, as far as they are written down."""
    found = set()
    for key in _said(store, layout.weights_use(score, trace)) or []:
        record = _said(store, layout.weights_record(score, key)) if key else None
        if isinstance(record, dict) and record.get("fingerprint"):
            found.add(str(record["fingerprint"]))
    return found


def _said(store: Store, path: str) -> list[str] | dict[str, object] | None:
    """What a record says; None where it is gone or damaged: weights may be collected while their traces stand."""
    try:
        said: list[str] | dict[str, object] = orjson.loads(store.objects.read(path))
    except (FileNotFoundError, orjson.JSONDecodeError):
        return None
    return said
