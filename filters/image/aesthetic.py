"""How much people would like pictures, by the user's own model: a head over embeddings, or a whole network."""

from winnow.filters.image.models.scores import score_operator

OPERATOR = score_operator("image.aesthetic", "an aesthetic score of each picture, by a model of your own")
