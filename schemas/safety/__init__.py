"""What may be harmful or not to be used, by a versioned taxonomy, and which operators look for what."""

from winnow.schemas.safety.taxonomy import TAXONOMY, VERSION, Category, Subcategory, subcategories

__all__ = ["TAXONOMY", "VERSION", "Category", "Subcategory", "subcategories"]
