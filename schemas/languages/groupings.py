"""Named groupings of languages, for sampling by family."""

from collections.abc import Callable
from dataclasses import dataclass

from winnow.schemas.errors import WinnowError
from winnow.schemas.languages.table import Language, language, table
from winnow.schemas.problems import nearest


@dataclass(frozen=True, slots=True)
class Grouping:
    """A named way to sort languages."""

    name: str
    summary: str
    _group: Callable[[Language], str | None]

    def of(self, code: str) -> str | None:
        """The group of an ISO 639-3 code; None if it has none or the code is unknown."""
        known = language(code)
        return None if known is None else self._group(known)

    def groups(self) -> tuple[str, ...]:
        """All groups."""
        found = {self._group(language) for language in table().languages.values()}
        return tuple(sorted(group for group in found if group is not None))


PAPER5_INDIC = frozenset({"kan"})
"""Kannada is Dravidian, but the study of the five groups trained on it and had no other group for it."""


def _paper5(language: Language) -> str | None:
    if language.group in ("Germanic", "Romance", "Slavic", "Indic"):
        return language.group
    if language.code in PAPER5_INDIC:
        return "Indic"
    # Its Sino-Tibetan is Chinese alone.
    return "Sino-Tibetan" if "zho" in (language.code, language.macro) else None


GROUPINGS = (
    Grouping("family", "Glottolog's families, such as Indo-European", lambda language: language.family),
    Grouping("group", "branches that are commonly named, such as Germanic", lambda language: language.group),
    Grouping("paper5", "the five groups of arXiv 2410.12883; languages outside of them have none", _paper5),
)


def grouping(name: str) -> Grouping:
    """The grouping with this name; the error for an unknown name suggests the nearest."""
    found = next((known for known in GROUPINGS if known.name == name), None)
    if found is None:
        names = [known.name for known in GROUPINGS]
        near = nearest(name, names)
        raise WinnowError(f"unknown grouping {name!r} ({f'did you mean {near!r}?' if near else ', '.join(names)})")
    return found
