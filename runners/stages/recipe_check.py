"""What `plan` and `run` check of a recipe before any source is read; without Beam, as `plan` runs no pipeline."""

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.export.stage import bind_exports
from winnow.pipelines.mix.laws import read_laws
from winnow.pipelines.preflight.readiness import require_ready
from winnow.schemas.errors import RecipeError


def check_recipe(recipe: BoundRecipe) -> None:
    """Raise an error for what is known to fail."""
    config = recipe.config
    recipe.require_rules()
    if config.export and config.mix is None:
        raise RecipeError(f"{config.export[0].place}: 'export' needs a mixture; write mix: {{}} to export everything")
    require_ready(recipe)
    if config.mix is not None:
        read_laws(recipe)
    if config.export:
        _ = recipe.part(bind_exports)
