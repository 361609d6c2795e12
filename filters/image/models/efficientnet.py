"""EfficientNet-lite0 as an ONNX file of its features, written once from the published weights."""

from typing import Final

from winnow.schemas.assets import BuiltAsset, made_by
from winnow.schemas.efficientnet import WEIGHTS

FEATURES: Final = BuiltAsset(
    name="efficientnet-lite0.features",
    summary="EfficientNet-lite0: images to 1,280 features, for image.embedding",
    of=(WEIGHTS,),
    make=made_by("winnow.filters.models.conversion.efficientnet"),
    maker_id="winnow.filters.models.pictures.efficientnet:_make",
    version=1,
    file="efficientnet-lite0-features.onnx",
    licence="Apache-2.0",
    extra="image-models",
    optional=True,
)
