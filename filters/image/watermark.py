"""Whether pictures bear watermarks, by the user's own model: a head over embeddings, or a whole network."""

from winnow.filters.image.models.scores import score_operator

OPERATOR = score_operator("image.watermark", "a watermark score of each picture, by a model of your own")
