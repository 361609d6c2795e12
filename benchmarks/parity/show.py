"""A comparison as text and as JSON: counts, what differs by how much, and the first documents that do."""

import orjson
from rich.console import Console
from rich.text import Text

from benchmarks.parity.adapters import Adapter
from benchmarks.parity.compare import Comparison
from winnow.runners.tables.escaping import shortened, visible
from winnow.runners.tables.quantities import grouped

EXCERPT_CELLS = 160


def as_json(found: Comparison, adapter: Adapter) -> bytes:
    """One object."""
    return orjson.dumps(
        {
            "preset": found.preset,
            "peer": found.peer,
            "version": found.version,
            "equal": found.equal,
            "documents": found.documents,
            "same": found.same,
            "explained": found.explained,
            "different": found.different,
            "left_out": dict(found.left_out.most_common()),
            "values": found.values,
            "dropped": {"ours": found.dropped[0], "theirs": found.dropped[1]},
            "reasons": [
                {"ours": ours, "theirs": theirs, "documents": count}
                for (ours, theirs), count in sorted(found.reasons.items())
            ],
            "differences": [
                {
                    "kind": kind,
                    "name": name,
                    "documents": count,
                    "examples": [
                        {"id": one.id, "ours": one.ours, "theirs": one.theirs, "excerpt": _excerpt(one.document)}
                        for one in found.examples[kind, name]
                    ],
                }
                for (kind, name), count in found.differences.most_common()
            ],
            "explanations": [
                {"name": one.name, "because": one.because, "differences": found.explanations[one.name]}
                for one in adapter.explained
                if found.explanations[one.name]
            ],
            "notes": list(adapter.notes),
        }
    )


def print_comparison(found: Comparison, adapter: Adapter, console: Console) -> None:
    """What `python -m benchmarks.parity` shows."""
    line = _line(console)
    line(f"{found.preset} beside {found.peer} {found.version}", "bold")
    line(
        f"  {grouped(found.documents)} documents: {grouped(found.same)} the same, {grouped(found.explained)} differ as "
        f"explained, {grouped(found.different)} differ" + left_out(found)
    )
    line(f"  {grouped(found.values)} values of the peer's compared")
    if found.reasons:
        line(f"  dropped: {grouped(found.dropped[0])} by winnow, {grouped(found.dropped[1])} by {found.peer}")
    line("")
    for (ours, theirs), count in sorted(found.reasons.items(), key=lambda item: (-item[1], item[0])):
        mark = "" if ours == theirs else "   winnow / " + found.peer
        line(f"  {grouped(count):>10}  {visible(ours if ours == theirs else f'{ours} / {theirs}')}{mark}")
    for one in adapter.explained:
        if found.explanations[one.name]:
            line(f"  explained {grouped(found.explanations[one.name])} times: {one.because}")
    for note in adapter.notes:
        line(f"  note: {note}")
    for (kind, name), count in found.differences.most_common():
        line("")
        line(f"  {kind} {visible(name)}: {grouped(count)}", "bold")
        for example in found.examples[kind, name]:
            ours, theirs = visible(example.ours[:EXCERPT_CELLS]), visible(example.theirs[:EXCERPT_CELLS])
            line(f"    {visible(example.id)}: winnow {ours}, {found.peer} {theirs}")
            line(f"      {_excerpt(example.document)}")
    line("")
    line("same" if found.equal else "not the same", "green" if found.equal else "red")


def left_out(found: Comparison) -> str:
    """How many documents were not compared, by language."""
    if not found.left_out:
        return ""
    by_language = ", ".join(f"{visible(name)} {grouped(count)}" for name, count in found.left_out.most_common())
    return f", {grouped(found.left_out.total())} left out ({by_language})"


def _excerpt(text: str) -> str:
    return shortened(visible(text[: 2 * EXCERPT_CELLS]), EXCERPT_CELLS)


def _line(console: Console):  # type: ignore[no-untyped-def]
    def line(text: str, style: str = "") -> None:
        console.print(Text(text, style=style), soft_wrap=True)

    return line
