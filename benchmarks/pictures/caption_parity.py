"""What do rules on captions cost each language? The same pictures, with captions in up to 78 languages, say.

    python -m benchmarks.pictures.caption_parity [--preset NAME] [--examples N] [--json]

The captions are those of the stamps of a drawing program (see `benchmarks.inputs.stamps`), written by its
translators. Of each preset only the rules that read captions alone count. A language is shown if it has
`LEAST` captions.
"""

import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import orjson

from benchmarks.inputs.stamps import stamps
from benchmarks.measuring.reporting import machine
from benchmarks.parity.documents import Document
from benchmarks.parity.ours import Preparation
from winnow.filters.presets import Preset, find_preset
from winnow.schemas.rules.conditions import columns_read

PRESETS: Final = ("captions", "captions@short", "laion@pre-filter", "datacomp@basic")
LEAST: Final = 30
CAPTION: Final = "caption."


@dataclass(slots=True)
class Kept:
    """What is kept of a language's captions, and why others are not."""

    captions: int = 0
    kept: int = 0
    reasons: Counter[str] = field(default_factory=Counter)  # of the first rule that drops each
    dropped: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The share that is kept."""
        return self.kept / self.captions


def on_captions(preset: Preset) -> Preset:
    """The part of a preset that reads captions alone."""
    rules = (rule for rule in preset.rules if all(name.startswith(CAPTION) for name in columns_read(rule.drop)))
    operators = {name: settings for name, settings in preset.operators.items() if name.startswith(CAPTION)}
    return replace(preset, operators=operators, rules=tuple(rules))


def retained(preset: Preset, captions: Iterable[tuple[str, str]]) -> dict[str, Kept]:
    """What a preset keeps of captions, each with its language; by language."""
    documents = [Document(str(number), text, language) for number, (language, text) in enumerate(captions)]
    found: dict[str, Kept] = {}
    for document, judgement in zip(documents, Preparation(on_captions(preset), ()).judge(documents), strict=True):
        one = found.setdefault(document.language or "", Kept())
        one.captions += 1
        if judgement.reason is None:
            one.kept += 1
        else:
            one.reasons[judgement.reason] += 1
            one.dropped.append(document.text)
    return found


def shown(found: Mapping[str, Mapping[str, Kept]], examples: int) -> Iterable[str]:
    """A line for each language, those that lose most by the first preset before others."""
    first = next(iter(found.values()))
    languages = sorted((one for one in first if first[one].captions >= LEAST), key=lambda one: (first[one].share, one))
    yield f"{'language':<10}{'captions':>9}  " + "  ".join(f"{name:>16}" for name in found) + "  most of it lost by"
    for language in languages:
        shares = "  ".join(f"{100 * of[language].share:>14.1f} %" for of in found.values())
        reason = next((f"{name} ({count})" for name, count in first[language].reasons.most_common(1)), "")
        yield f"{language:<10}{first[language].captions:>9,}  {shares}  {reason}".rstrip()
        yield from (f"{'':<12}{caption}" for caption in first[language].dropped[:examples])
    for name, of in found.items():
        least = min((of[one].share for one in languages), default=1.0)
        total = sum(of[one].kept for one in languages) / max(1, sum(of[one].captions for one in languages))
        yield f"{name}: {100 * total:.1f} % of all, {100 * least:.1f} % of the language that loses most"


def main(arguments: Sequence[str] | None = None) -> int:
    """The table; with `--json` an object with every number."""
    parser = ArgumentParser(
        prog="python -m benchmarks.pictures.caption_parity", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--preset", action="append", choices=PRESETS, help=f"default: {', '.join(PRESETS)}")
    parser.add_argument("--examples", type=int, default=0, metavar="N", help="show N dropped captions of each language")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    captions = [(language, text) for stamp in stamps() for language, text in sorted(stamp.captions.items())]
    found = {name: retained(find_preset(name), captions) for name in options.preset or PRESETS}
    for line in shown(found, options.examples):
        print(line)
    if options.json:
        shares = {name: {language: of[language].share for language in sorted(of)} for name, of in found.items()}
        print(orjson.dumps({"name": "caption_parity", "shares": shares, "machine": machine()}).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
