"""Models that a recipe must name: operators that have none of their own."""

from winnow.schemas.errors import RecipeError


def required_model(operator: str, model: str, expected: str) -> str:
    """The model as the recipe names it; RecipeError where it names none."""
    if not model:
        raise RecipeError(f"{operator}: `model` is not set; expected {expected}")
    return model
