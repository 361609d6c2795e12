"""The Dolma toolkit's Gopher tagger on one document: its attributes, and what a recipe's limits make of them.

The tagger gives no verdict: the mixer drops what a recipe tells it to. It reads scores as taggers write them, rounded.
"""

from dolma.core.data_types import Document  # type: ignore[import-not-found]
from dolma.core.registry import TaggerRegistry  # type: ignore[import-not-found]
from dolma.taggers import gopher  # type: ignore[import-not-found]  # noqa: F401 - puts the tagger into the registry

VERSION_OF = "dolma"


def open_peer(settings):  # type: ignore[no-untyped-def]
    """The tagger that the settings name; `limits` holds attribute, `below` or `above`, limit and reason, in order."""
    tagger = TaggerRegistry.get(settings["tagger"])()

    def judge(document):  # type: ignore[no-untyped-def]
        found = tagger.predict(Document(source="parity", version="0", id="0", text=document["text"]))
        written = {name: spans[0][2] for name, spans in tagger.group_output(found).items() if spans}
        fired, reason = {}, None
        for name, side, limit, why in settings["limits"]:
            if name in written:
                fired[f"{name} {side}"] = written[name] < limit if side == "below" else written[name] > limit
                reason = reason or (why if fired[f"{name} {side}"] else None)
        return {"reason": reason, "values": {span.type: span.score for span in found.spans}, "fired": fired}

    return judge
