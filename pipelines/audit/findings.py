"""The findings of an audit: what was proved, what could not be checked, and what is wrong."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Findings:
    """Lines for a person; an audit without problems is clean."""

    proved: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
