"""A dual encoder as a user would bring it: two heads over EfficientNet-lite0 and MiniLM, which are frozen."""

from functools import cache
from typing import Any

from winnow.pipelines.assets import AssetFiles
from winnow.scoring.torch_models import conse, efficientnet, minilm
from winnow.scoring.torch_models.files import read_checkpoint, read_safetensors

WIDTH = 64


@cache
def frozen() -> tuple[dict[str, Any], dict[str, Any]]:
    """The weights of both networks."""
    import torch  # type: ignore[import-not-found, unused-ignore]

    files = AssetFiles()
    held = (read_checkpoint(files.path(conse.CLASSIFIER)), read_safetensors(files.path(conse.SENTENCES)))
    images, texts = ({name: torch.tensor(array) for name, array in conse.named("", one).items()} for one in held)
    return images, texts


def heads() -> Any:
    """Only the two heads, and the temperature, are weights of the module."""
    import torch

    class Module(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.image = torch.nn.Linear(efficientnet.POOLED, WIDTH, bias=False)
            self.text = torch.nn.Linear(minilm.WIDTH, WIDTH, bias=False)
            self.logit_scale = torch.nn.Parameter(torch.tensor(2.0))

        def encode_image(self, pixels: Any) -> Any:
            with torch.no_grad():
                features = efficientnet.pooled(frozen()[0], pixels)
            return self.image(features)

        def encode_text(self, tokens: Any) -> Any:
            with torch.no_grad():
                features = minilm.mean_embedding(frozen()[1], tokens)
            return self.text(features)

    return Module()
