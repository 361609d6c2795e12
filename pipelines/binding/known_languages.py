"""The languages that a recipe's models can find: a rule that waits for another one would wait for ever."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from winnow.pipelines.binding.operators import BoundOperator
from winnow.schemas.errors import WinnowError
from winnow.schemas.languages import language, language_name
from winnow.schemas.problems import shown

_COLUMNS: Final = ("text.language.code", "text.language.label", "caption.language.code", "caption.language.label")


class KnownLanguages:
    """Asks each model when a rule first names a language; importing this module loads none."""

    def __init__(self, operators: Iterable[BoundOperator]) -> None:
        self._operators = {one.layer: one for one in operators}
        self._known: dict[str, frozenset[str]] = {}

    def why_never(self, column: str, value: str) -> str:
        """Why no text has this language, such as `deu_Latn` or `deu`; empty if the column's model may find it."""
        from winnow.filters.language.identification.codes import common_code
        from winnow.filters.language.identification.named import OWN

        bound = self._operators.get(column.rpartition(".")[0])
        if column not in _COLUMNS or bound is None or value == "unknown":
            return ""
        known = self._languages(bound)
        code, _, script = value.partition("_")
        if not known or code in known:
            return ""
        found = language(code)
        common = common_code(code, script or (found and found.script) or "")
        if (other := common.partition("_")[0]) in known:
            return f"{column} is never {shown(value)}: write {(common if script else other)!r}"
        better = f"'model: {OWN}'" if code in _known_to_own() else "the file of another model, such as GlotLID's"
        return (
            f"{column} is never {shown(value)}: the model {shown(bound.config.model)} does not know "
            f"{language_name(value)}; give {bound.layer} {better}"
        )

    def _languages(self, bound: BoundOperator) -> frozenset[str]:
        from winnow.filters.language.identification.named import languages_of, model_named

        if bound.layer not in self._known:
            try:
                self._known[bound.layer] = languages_of(model_named(bound.config.model, bound.assets))
            except WinnowError:  # the check that loads operators says what is wrong with the file
                self._known[bound.layer] = frozenset()
        return self._known[bound.layer]


@lru_cache(maxsize=1)
def _known_to_own() -> frozenset[str]:
    from winnow.filters.language.identification.named import languages_of
    from winnow.filters.language.identification.own.predicting import own_model

    return languages_of(own_model())
