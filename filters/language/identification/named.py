"""The model that a recipe names: winnow's own, an asset, or the path of a fastText model."""

from winnow.filters.language.identification.codes import common_code, written_in
from winnow.filters.language.identification.model import LanguageModel, language_model
from winnow.filters.language.identification.own.predicting import own_model
from winnow.filters.operators import Assets
from winnow.schemas.languages import NO_LANGUAGE, UNKNOWN

OWN = "winnow"
"""The model of this package."""


def assets_of_models(*names: str | None) -> tuple[str, ...]:
    """What models' names need to be fetched, each once; winnow's own lies in the package."""
    return tuple(dict.fromkeys(name for name in names if name is not None and name != OWN))


def model_named(name: str, assets: Assets) -> LanguageModel:
    """The model with this name."""
    return own_model() if name == OWN else language_model(assets.path(name))


def languages_of(model: LanguageModel) -> frozenset[str]:
    """The codes of ISO 639-3 that the model gives texts, `und` and `zxx` among them."""
    found = {UNKNOWN, NO_LANGUAGE}
    for label in model.languages:
        scripts = (label.script,) if label.script else written_in(label.code) or ("",)
        found.update(common_code(label.code, script).partition("_")[0] for script in scripts)
    return frozenset(found)
