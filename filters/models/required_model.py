"""Check that a recipe names the model of an operator without a default."""

from winnow.schemas.errors import RecipeError


def required_model(operator: str, model: str, expected: str) -> str:
    """The model that the recipe names; RecipeError if it names none."""
    if not model:
        raise RecipeError(f"{operator}: `model` is not set; expected {expected}")
    return model
