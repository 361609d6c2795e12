"""Rules by languages: how many rows of each language there are, how many are kept, and which rule drops the others."""

from collections.abc import Mapping
from dataclasses import dataclass

from winnow.pipelines.rules.summary import RulesSummary
from winnow.runners.facts.figures import effects_by
from winnow.runners.tables.table import Share


@dataclass(frozen=True)
class RulesByLanguage:
    """Counts of rows, each under the first rule that drops it."""

    languages: tuple[str, ...]  # those with most rows first
    rows: Mapping[str, int]
    kept: Mapping[str, int]
    drops: Mapping[str, Mapping[str, int]]  # by rule, as `list.reason`; those that drop most first

    @classmethod
    def of(
        cls, rows: Mapping[str, int], kept: Mapping[str, int], drops: Mapping[str, Mapping[str, int]]
    ) -> "RulesByLanguage":
        """The counts of languages that have rows, in order."""
        languages = sorted((code for code, count in rows.items() if count), key=lambda code: (-rows[code], code))
        ordered = sorted(drops, key=lambda name: (-sum(drops[name].values()), name))
        return cls(tuple(languages), rows, kept, {name: drops[name] for name in ordered})

    @classmethod
    def of_summary(cls, summary: RulesSummary) -> "RulesByLanguage":
        """As `winnow plan` counts them."""
        effects = effects_by(summary, "language")
        drops: dict[str, dict[str, int]] = {}
        for code, effect in effects.items():
            for name, tally in effect.dropped.items():
                drops.setdefault(name, {})[code] = tally.rows
        rows = {code: effect.rows.rows for code, effect in effects.items()}
        return cls.of(rows, {code: effect.kept.rows for code, effect in effects.items()}, drops)

    def dropped(self, rule: str, code: str) -> int:
        """The rows of a language that a rule is the first to drop."""
        return self.drops.get(rule, {}).get(code, 0)

    def share(self, rule: str, code: str) -> Share:
        """The same, as a share of the language's rows."""
        return Share(self.dropped(rule, code), self.rows[code])
