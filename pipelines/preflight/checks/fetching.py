"""Sources that are fetched from their sites: whoever asks a site says where it can reach them."""

from collections.abc import Iterator

from winnow.pipelines.preflight.check import Check, WholeRecipe
from winnow.schemas.problems import Place, Problem


def _contact(about: WholeRecipe) -> Iterator[Problem]:
    """The recipe's `fetch` names no contact, though a source asks sites."""
    recipe = about.recipe.config
    asking = [source.name for source in recipe.sources if source.addresses is not None]
    if asking and recipe.fetch.contact is None:
        said = (
            f"'contact' is missing, and {', '.join(f'sources.{name}' for name in asking)} asks sites, which must "
            "be able to reach you; add, with an address of yours, fetch: {contact: 'mailto:you@example.org'}"
        )
        yield Problem(Place(recipe.file, 1), "fetch", said)


CHECKS = (Check("contact", WholeRecipe, _contact),)
