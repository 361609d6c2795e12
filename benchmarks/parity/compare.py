"""Documents judged by both sides, and everything that is not the same."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from benchmarks.parity.adapters import Adapter, Difference, Kind
from benchmarks.parity.documents import Document, batched
from benchmarks.parity.ours import Judgement, Preparation
from benchmarks.parity.peer import Answer, Peer
from winnow.filters.presets import Preset

EXAMPLES = 3
"""Documents that are shown for each way in which they differ."""

_CLOSE = 1e-12  # the last digit of a double may differ where the peer divides in another order


@dataclass(slots=True)
class Comparison:
    """What was the same and what was not."""

    preset: str
    peer: str
    version: str
    documents: int = 0
    same: int = 0
    explained: int = 0  # everything that differs is meant
    different: int = 0
    left_out: Counter[str] = field(default_factory=Counter)  # that one side cannot judge, by declared language
    values: int = 0  # that were compared
    dropped: tuple[int, int] = (0, 0)  # by us, by the peer
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)  # ours and theirs, "kept" among them
    differences: Counter[tuple[Kind, str]] = field(default_factory=Counter)
    explanations: Counter[str] = field(default_factory=Counter)
    examples: dict[tuple[Kind, str], list[Difference]] = field(default_factory=dict)

    @property
    def equal(self) -> bool:
        """Whether nothing differs but what is meant to."""
        return not self.different


def compare(
    preset: Preset,
    adapter: Adapter,
    python: Path,
    documents: Iterator[Document],
    progress: Callable[[int], None] | None = None,
) -> Comparison:
    """Judge every document on both sides. Memory is that of one batch, however many there are."""
    expressions = list(dict.fromkeys(check.ours for check in adapter.checks))
    preparation = Preparation(preset, expressions, adapter.text, adapter.where, by_language=adapter.code_of is not None)
    with Peer(python, adapter.module, adapter.settings()) as peer:
        found = Comparison(preset.name, adapter.peer, peer.version)
        for batch in batched(_coded(documents, adapter)):
            answers = peer.judge(batch)
            judgements = preparation.judge(batch)
            for document, ours, theirs in zip(batch, judgements, answers.all(), strict=True):
                _add(found, adapter, document, ours, theirs)
            if progress:
                progress(found.documents)
    return found


def _coded(documents: Iterator[Document], adapter: Adapter) -> Iterator[Document]:
    """The documents with their languages named as the peer does."""
    code_of = adapter.code_of
    if code_of is None:
        return (replace(document, language=None) for document in documents)
    remembered = lru_cache(maxsize=None)(code_of)
    return (
        replace(document, language=remembered(document.language) if document.language else None)
        for document in documents
    )


def _add(found: Comparison, adapter: Adapter, document: Document, ours: Judgement, theirs: Answer) -> None:
    found.documents += 1
    if theirs.skipped or not ours.comparable:
        found.left_out[document.language or "no known language"] += 1
        return
    found.values += len(theirs.values)
    differences = list(differences_of(adapter, document, ours, theirs))
    if theirs.has_verdict:
        reason = _renamed(adapter.reasons, theirs.reason)
        found.dropped = (found.dropped[0] + bool(ours.reason), found.dropped[1] + bool(reason))
        found.reasons[ours.reason or "kept", reason or "kept"] += 1
    meant = 0
    for difference in differences:
        explanation = next((one for one in adapter.explained if one.covers(difference)), None)
        if explanation:
            meant += 1
            found.explanations[explanation.name] += 1
            continue
        key = difference.kind, difference.name
        found.differences[key] += 1
        examples = found.examples.setdefault(key, [])
        if len(examples) < EXAMPLES:
            examples.append(difference)
    if len(differences) > meant:
        found.different += 1
    elif meant:
        found.explained += 1
    else:
        found.same += 1


def differences_of(adapter: Adapter, document: Document, ours: Judgement, theirs: Answer) -> Iterator[Difference]:
    """Everything that both sides say of one document and that is not the same."""
    reason = _renamed(adapter.reasons, theirs.reason)
    both = (ours.reason, reason)

    def difference(kind: Kind, name: str, mine: object, other: object) -> Difference:
        return Difference(document.id, kind, name, str(mine), str(other), document.text, both)

    if theirs.error is not None:
        yield difference("error", theirs.error.partition(":")[0], ours.reason or "kept", theirs.error)
        return
    if theirs.has_verdict and ours.reason != reason:
        kind: Kind = "reason" if ours.reason and reason else "verdict"
        mine, other = ours.reason or "kept", reason or "kept"
        yield difference(kind, f"{mine} / {other}", mine, other)
    for check in adapter.checks:
        value = theirs.values.get(check.peer)
        if value is not None and not _same(ours.values[check.ours], value, check.digits):
            yield difference("value", check.ours, ours.values[check.ours], value)
        fired = theirs.fired.get(check.peer)
        if check.rule and fired is not None and ours.rules[check.rule] != fired:
            yield difference("rule", check.rule, ours.rules[check.rule], fired)
    if theirs.text is not None and ours.text is not None and not (ours.reason or reason):
        mine, other = _lines(ours.text), _lines(theirs.text)
        if mine != other:
            at = next(
                (number for number, pair in enumerate(zip(mine, other, strict=False)) if pair[0] != pair[1]),
                min(len(mine), len(other)),
            )
            yield difference("text", "edited", mine[max(0, at - 20) : at + 80], other[max(0, at - 20) : at + 80])


def _renamed(names: Mapping[str, str], reason: str | None) -> str | None:
    return None if reason is None else names.get(reason, reason)


def _same(ours: float | bool | str | None, theirs: float, digits: int | None) -> bool:
    if ours is None or isinstance(ours, str):
        return False
    mine = round(float(ours), digits) if digits is not None else float(ours)
    return mine == theirs or math.isclose(mine, theirs, rel_tol=_CLOSE)


def _lines(text: str) -> str:
    """The text with a newline for every kind of line break: the peer joins lines by it, we leave what was there."""
    return "\n".join(text.splitlines()).strip()
