"""Losses that look like mistakes: a language or a source that one rule drops almost whole, a source or a site that it
drops ten times as often as the others, rules made for another language, and samples kept without a text.

A rule that fits one language may empty another, and the totals do not show it: Gopher's English stop words drop every
Japanese page. Nothing stops for such a loss, as it may be meant; it is printed with the rules' effects, loudest first.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal, TypeAlias

from winnow.filters.language.words.packages import install_commands
from winnow.filters.language.words.scripts import lacking_package
from winnow.filters.presets import find_preset
from winnow.pipelines.binding.rule_presets import ProgramRule, made_for
from winnow.pipelines.rules.decisions import DecisionCounts, bits_of
from winnow.pipelines.rules.sites import ALL, SiteCounts
from winnow.schemas.counts import count_of
from winnow.schemas.languages import NO_LANGUAGE, UNKNOWN, language_name
from winnow.schemas.recipe import LossAlarms
from winnow.schemas.rows.extraction import EXTRACTED
from winnow.schemas.rows.measured import NO_TEXT

LossOf: TypeAlias = Literal["language", "source", "site"]

UNEVEN = 10  # times the share that a rule drops of all others
UNEVEN_SHARE = 0.05  # a rule that drops less of a source or a site is no loss
MOST_UNEVEN = 20  # losses, the largest
_DEVIATIONS = 3  # by which both shares must differ, as counts that vary by chance

_NO_LANGUAGES = (UNKNOWN, NO_LANGUAGE, "unknown")
_OF_WORDS = "text.fineweb2."
_SHOWN_LANGUAGES = 5


@dataclass(frozen=True, slots=True)
class RuleLoss:
    """What one rule takes of a language or a source: samples for which it fires, whether it is the first or not.

    Of a rule of `items`: media, even of samples that are dropped.
    """

    list: str  # eligible, items or keep
    reason: str
    of: LossOf
    name: str  # as in plans: deu_Latn, or the source
    rows: int  # all but forgotten ones
    lost: int
    others: int | None = None  # samples of all other sources or sites; None where they are not compared
    others_lost: int = 0

    @property
    def message(self) -> str:
        """One line, such as `gopher_enough_stop_words drops 100 % of Japanese (49)`."""
        whom = language_name(self.name) if self.of == "language" else f"the {self.of} {self.name}"
        whom = f"the media of {whom}" if self.list == "items" else whom
        counts = f"{self.rows:,}" if self.lost == self.rows else f"{self.lost:,} of {self.rows:,}"
        line = f"{self.reason} drops {100 * self.lost // self.rows} % of {whom} ({counts})"
        if self.others is None:
            return line
        return f"{line}, but {self.others_lost:,} of {self.others:,} elsewhere"


@dataclass(frozen=True, slots=True)
class OutsideLanguages:
    """The samples that a preset judges although it was made for other languages."""

    preset: str
    made_for: tuple[str, ...]  # ISO 639-3
    samples: int  # of all languages, known or not
    languages: Mapping[str, int]  # samples in other languages, the largest first
    lost: int  # those for which a rule of the preset fires

    @property
    def message(self) -> str:
        """One line that names the largest languages."""
        shown = [f"{language_name(code)} {rows:,}" for code, rows in list(self.languages.items())[:_SHOWN_LANGUAGES]]
        more = len(self.languages) - len(shown)
        named = ", ".join([*shown, f"{more} more"] if more else shown)
        return (
            f"{made_for(self.preset, self.made_for)}, but {sum(self.languages.values()):,} of {self.samples:,} samples "
            f"are in other languages ({named}), and its rules fire for {self.lost:,} of them; the preset multilingual "
            "has thresholds for every language"
        )


def find_losses(
    rules: Sequence[ProgramRule], counts: DecisionCounts, bounds: LossAlarms, items: DecisionCounts | None = None
) -> tuple[RuleLoss, ...]:
    """Find every loss of a language or a source to one rule above the bounds, the largest first.

    Duplicates have bounds of their own. Samples without a language are counted by source alone. `items`: media that
    rules of `items` drop.
    """
    judged = {number: one for number, one in enumerate(rules) if one.rule.reason not in bounds.expected}
    of_rows = {number: one for number, one in judged.items() if one.phase not in ("dedupe", "items")}
    of_items = {number: one for number, one in judged.items() if one.phase == "items"}
    found = _losses(of_rows, counts, bounds, 1 << len(rules))
    found += [] if items is None else _losses(of_items, items, bounds, 0)
    return tuple(sorted(found, key=_loudest_first))


def _losses(
    judged: Mapping[int, ProgramRule], counts: DecisionCounts, bounds: LossAlarms, uncounted: int
) -> list[RuleLoss]:
    """Find the losses to some rules; outcomes with the uncounted bit do not count."""
    rows: dict[tuple[LossOf, str], int] = {}
    lost: dict[tuple[LossOf, str, int], int] = {}
    for outcome, tally in counts:
        if outcome.fired & uncounted:
            continue  # forgotten
        groups: list[tuple[LossOf, str]] = [("source", outcome.source)]
        if is_language(outcome.language):
            groups.append(("language", outcome.language))
        for of, name in groups:
            rows[of, name] = rows.get((of, name), 0) + tally.rows
            for number in bits_of(outcome.fired):
                lost[of, name, number] = lost.get((of, name, number), 0) + tally.rows
    return [
        RuleLoss(judged[number].phase, judged[number].rule.reason, of, name, rows[of, name], many)
        for (of, name, number), many in lost.items()
        if number in judged and rows[of, name] >= bounds.min_rows and many > bounds.max_loss * rows[of, name]
    ]


def find_uneven(
    rules: Sequence[ProgramRule], counts: DecisionCounts, sites: SiteCounts, bounds: LossAlarms
) -> tuple[RuleLoss, ...]:
    """Find the sources and the sites of which a rule drops ten times as large a share as of all others.

    Differences that chance can make are none, and a site is not named beside its source. Duplicates and forgotten
    samples do not count.
    """
    of_sources: dict[str, Counter[int]] = {}  # samples by rule that fires; -1: all
    for outcome, tally in counts:
        if not outcome.fired >> len(rules):
            for rule in (ALL, *bits_of(outcome.fired)):
                of_sources.setdefault(outcome.source, Counter())[rule] += tally.rows
    of_sites: dict[tuple[str, str], Counter[int]] = {}
    for source, site, rule, rows in zip(sites.source, sites.site, sites.rule, sites.rows, strict=True):
        of_sites.setdefault((source, site), Counter())[rule] = rows
    whole = sum(of_sources.values(), Counter[int]())
    found: list[RuleLoss] = []
    named: set[tuple[str, int]] = set()
    groups: list[tuple[LossOf, str, str, Counter[int]]] = [
        *(("source", source, source, own) for source, own in of_sources.items()),
        *(("site", source, site, own) for (source, site), own in of_sites.items()),
    ]
    for of, source, name, own in groups:
        for rule, one in enumerate(rules):
            if one.phase in ("dedupe", "items") or one.rule.reason in bounds.expected or (source, rule) in named:
                continue
            others = whole[ALL] - own[ALL], whole[rule] - own[rule]
            if _is_uneven(own[ALL], own[rule], *others, bounds.min_rows):
                found.append(RuleLoss(one.phase, one.rule.reason, of, name, own[ALL], own[rule], *others))
                if of == "source":
                    named.add((source, rule))
    return tuple(sorted(found, key=_loudest_first)[:MOST_UNEVEN])


def _is_uneven(rows: int, lost: int, others: int, others_lost: int, min_rows: int) -> bool:
    if lost < max(min_rows, UNEVEN_SHARE * rows) or others < min_rows:
        return False
    least = (lost - _DEVIATIONS * sqrt(lost)) / rows
    most = (others_lost + _DEVIATIONS * sqrt(others_lost + 1)) / others
    return lost * others >= UNEVEN * others_lost * rows and least > most


def _loudest_first(loss: RuleLoss) -> tuple[int, int, str, str, str, str]:
    return -loss.lost, loss.rows, loss.of, loss.name, loss.list, loss.reason


def find_outside_languages(rules: Sequence[ProgramRule], counts: DecisionCounts) -> tuple[OutsideLanguages, ...]:
    """Find the samples in languages that presets of the rules were not made for, if there are any."""
    masks: dict[str, int] = {}
    for number, one in enumerate(rules):
        if one.preset is not None and find_preset(one.preset).languages is not None:
            masks[one.preset] = masks.get(one.preset, 0) | 1 << number
    found = []
    for preset, mask in masks.items():
        own = find_preset(preset).languages or ()
        samples = lost = 0
        others: dict[str, int] = {}
        for outcome, tally in counts:
            if outcome.fired >> len(rules):
                continue  # forgotten
            samples += tally.rows
            if is_language(outcome.language) and outcome.language.partition("_")[0] not in own:
                others[outcome.language] = others.get(outcome.language, 0) + tally.rows
                lost += tally.rows if outcome.fired & mask else 0
        if others:
            largest = dict(sorted(others.items(), key=lambda item: (-item[1], item[0])))
            found.append(OutsideLanguages(preset, tuple(own), samples, largest, lost))
    return tuple(found)


def count_estimated(read: Iterable[str], counts: DecisionCounts) -> dict[str, int]:
    """Count the samples whose words are estimated, as no installed package finds them, by language; the largest first.

    `read`: the columns that rules read.
    """
    if not any(name.startswith(_OF_WORDS) for name in read):
        return {}
    found: dict[str, int] = {}
    for outcome, tally in counts:
        package = lacking_package(outcome.language)
        if package is not None:
            found[outcome.language] = found.get(outcome.language, 0) + tally.rows
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def estimated_message(counts: Mapping[str, int]) -> str:
    """One line on samples whose words are estimated."""
    named = ", ".join(f"{language_name(code)} {rows:,}" for code, rows in counts.items())
    packages = [package for code in counts if (package := lacking_package(code)) is not None]
    return (
        f"the words of {count_of(sum(counts.values()), 'sample')} are estimated from characters ({named}), as packages "
        f"that find them are not installed; for FineWeb-2's own words run: {install_commands(packages)}"
    )


def count_undetermined(counts: DecisionCounts) -> dict[str, int]:
    """Count the samples in no known language, by their placeholder, such as `und_Latn`; the largest first."""
    found: dict[str, int] = {}
    for outcome, tally in counts:
        if outcome.language.partition("_")[0] == UNKNOWN:
            found[outcome.language] = found.get(outcome.language, 0) + tally.rows
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def count_textless(counts: DecisionCounts) -> dict[str, int]:
    """Count the kept samples of text that have no text, by source; the largest first."""
    found: Counter[str] = Counter()
    for outcome, tally in counts:
        if outcome.kept and outcome.textless:
            found[outcome.source] += tally.rows
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def textless_message(counts: Mapping[str, int], statuses: Sequence[str]) -> str:
    """One line on kept samples without a text, with what a rule that drops them can ask."""
    named = ", ".join(f"{source} {rows:,}" for source, rows in counts.items())
    of = count_of(sum(counts.values()), "kept sample has", "kept samples have")
    measured = next((status for status in statuses if not status.startswith(EXTRACTED)), None)
    asked = ", measure text.length: text.length.status" if measured is None else f": {measured}"
    return f"{of} no text ({named}); for a rule{asked} = '{NO_TEXT}', or a length of 0"


def undetermined_message(counts: Mapping[str, int]) -> str:
    """One line on samples in no known language."""
    named = ", ".join(f"{code} {rows:,}" for code, rows in counts.items())
    rows = sum(counts.values())
    of = count_of(rows, "sample is", "samples are")
    return (
        f"{of} in no known language: {named}; where the script of the letters ruled "
        "out what the model said, text.language.mismatch holds its guess"
    )


def is_language(code: str) -> bool:
    """Whether a group of samples is in a known language."""
    return code.partition("_")[0] not in _NO_LANGUAGES
