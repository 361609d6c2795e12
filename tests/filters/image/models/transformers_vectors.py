"""What `transformers` makes of small networks with known weights; runs in the environment of trainers' libraries.

    .cache/trainers/bin/python transformers_vectors.py

prints for each network its `config.json`, the shapes of its arrays, and the vector of a known picture. The weights are
`known_weights`, which the test has as well.
"""

import json
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch  # type: ignore[import-not-found, unused-ignore]
import transformers  # type: ignore[import-not-found, unused-ignore]
from numpy.typing import NDArray

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 24, "patch_size": 8}
VISION = SIZES | {"intermediate_size": 48}


def known_weights(name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Numbers that depend on an array's name alone."""
    found = np.random.default_rng(zlib.crc32(name.encode())).normal(0, 0.3, shape)
    return (found + 1 if "norm" in name and name.endswith("weight") else found).astype(np.float32)


def known_pixels(side: int) -> NDArray[np.float32]:
    """A picture's numbers, from -1 to 1."""
    colour, down, across = np.mgrid[:3, :side, :side]
    found: NDArray[np.float32] = np.sin(colour + 0.37 * down + 0.11 * across * colour).astype(np.float32)
    return found[None]


def networks() -> Iterator[tuple[str, Any, Callable[[Any, Any], Any]]]:
    """Each with how its vector is taken."""
    text = {
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "vocab_size": 9,
    }
    vit = transformers.ViTConfig(**VISION, hidden_act="gelu")
    tanh = transformers.ViTConfig(**VISION, hidden_act="gelu_pytorch_tanh", qkv_bias=False, layer_norm_eps=1e-6)
    clip = transformers.CLIPVisionConfig(**VISION, projection_dim=20)
    whole = transformers.CLIPConfig(text_config=text, vision_config=VISION, projection_dim=20)
    dino = transformers.Dinov2Config(**SIZES, mlp_ratio=2)
    yield (
        "vit",
        transformers.ViTModel(vit, add_pooling_layer=False),
        lambda one, seen: one(seen).last_hidden_state[:, 0],
    )
    classifier = transformers.ViTForImageClassification(tanh)
    yield "vit_classifier", classifier, lambda one, seen: one.vit(seen).last_hidden_state[:, 0]
    yield "clip_vision", transformers.CLIPVisionModel(clip), lambda one, seen: one(seen).pooler_output
    yield "clip_projected", transformers.CLIPVisionModelWithProjection(clip), lambda one, seen: one(seen).image_embeds
    yield "clip", transformers.CLIPModel(whole), lambda one, seen: one.get_image_features(pixel_values=seen)
    seen = transformers.SiglipVisionConfig(**VISION | {"patch_size": 7})
    both = transformers.SiglipConfig(text_config=text, vision_config=VISION | {"hidden_act": "gelu"})
    yield "siglip_vision", transformers.SiglipVisionModel(seen), lambda one, seen: one(seen).pooler_output
    yield "siglip", transformers.SiglipModel(both), lambda one, seen: one.get_image_features(pixel_values=seen)
    yield "dinov2", transformers.Dinov2Model(dino), lambda one, seen: one(seen).pooler_output


def main() -> None:
    """Print the networks."""
    found = {"transformers": transformers.__version__, "torch": torch.__version__, "networks": {}}
    for name, network, taken in networks():
        state = {
            key: torch.tensor(known_weights(key, tuple(one.shape))) if one.is_floating_point() else one
            for key, one in network.state_dict().items()
        }
        network.load_state_dict(state)
        network.eval()
        pixels = torch.tensor(known_pixels(SIZES["image_size"]))
        with torch.inference_mode():
            vector = taken(network, pixels)
        floats = {key: list(one.shape) for key, one in state.items() if one.is_floating_point()}
        config = json.loads(network.config.to_json_string(use_diff=True))
        found["networks"][name] = {
            "config": config,
            "shapes": floats,
            "vector": [round(float(x), 6) for x in vector[0]],
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
