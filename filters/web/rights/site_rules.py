"""What a host's files say about a path: robots.txt for our crawlers, and tdmrep.json."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from winnow.filters.web.rights.robots_txt import EVERYBODY, FoundRule, Group
from winnow.filters.web.rights.tdmrep import Reservation, reserved

Groups: TypeAlias = tuple[tuple[str, Group], ...]
"""The groups that count, each with the crawler that it names."""

_ALLOWED: Final = FoundRule(False)


@dataclass(frozen=True, slots=True)
class PathRules:
    """What is refused; null where the host has no such file."""

    disallowed: bool | None = None
    train_ai_no: bool | None = None
    tdm: bool | None = None
    agent: str | None = None  # whose rules refuse, as the file names them
    rule: str | None = None  # the first line that refuses


def groups_for(groups: Mapping[str, Group], agents: Iterable[str]) -> Groups:
    """A file's groups for these crawlers, each once, in this order: their own, or those for everybody."""
    named = dict.fromkeys(agent if agent in groups else EVERYBODY for agent in agents)
    return tuple((name, groups[name]) for name in named if name in groups)


def path_rules(groups: Groups | None, reservations: tuple[Reservation, ...] | None, path: str) -> PathRules:
    """What a host's files say about a path in its one spelling; None for a file that it does not have."""
    disallowed = train_ai_no = tdm = None
    agent = rule = None
    if groups is not None:
        access, agent = _refusal(groups, path, Group.access)
        training, other = _refusal(groups, path, Group.training)
        disallowed, train_ai_no = access.refused, training.refused
        agent = agent if access.refused else other
        rule = access.line if access.refused else training.line if training.refused else None
    if reservations is not None:
        tdm, shown = reserved(reservations, path)
        rule = rule or (shown if tdm else None)
    return PathRules(disallowed, train_ai_no, tdm, agent, rule)


def _refusal(groups: Groups, path: str, ask: Callable[[Group, str], FoundRule]) -> tuple[FoundRule, str | None]:
    """The first refusal of one of our crawlers, and the group it is in."""
    for name, group in groups:
        found = ask(group, path)
        if found.refused:
            return found, name
    return _ALLOWED, None
