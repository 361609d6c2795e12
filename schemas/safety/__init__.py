"""A versioned taxonomy of harmful or unusable content, with the operators that detect it."""

from winnow.schemas.safety.taxonomy import TAXONOMY, VERSION, Category, Subcategory, subcategories

__all__ = ["TAXONOMY", "VERSION", "Category", "Subcategory", "subcategories"]
