"""Pictures in a report: small ones, inside the page, each with what is known of it."""

import base64

from winnow.pipelines.media.thumbnails import Thumbnail
from winnow.runners.report.markup import Html, element, plain
from winnow.runners.tables.quantities import grouped


def picture(shown: Thumbnail, alt: str) -> Html:
    """An item as a picture, or as the reason why there is none."""
    if not shown.shown:
        return element("span", plain(shown.status), class_="no-picture")
    address = "data:image/jpeg;base64," + base64.b64encode(shown.jpeg).decode()
    what = f"{alt} (blurred)" if shown.blurred else alt
    size = {"width": str(shown.width), "height": str(shown.height)}
    return element("img", src=address, alt=what, **size)


def captioned(shown: Thumbnail, alt: str, lines: list[Html]) -> Html:
    """A picture above lines of text; frames of a video take the room of several pictures."""
    text = element("figcaption", *(element("div", line) for line in lines))
    wide = {"class_": "wide"} if len(shown.moments) > 1 else {}
    return element("figure", picture(shown, alt), text, **wide)


def gallery(figures: list[Html]) -> Html:
    """Figures side by side, as many a line as fit."""
    return element("div", *figures, class_="pictures")


def measured(shown: Thumbnail) -> str:
    """`image/png 640 x 480, 12,345 bytes`, as far as known."""
    facts = shown.facts
    parts = [str(facts.get("mime") or "")]
    if facts.get("width") and facts.get("height"):
        parts.append(f"{facts['width']} x {facts['height']}")
    size = "" if facts.get("bytes") is None else f", {grouped(facts['bytes'])} bytes"
    lasting = "" if facts.get("seconds") is None else f", {facts['seconds']:.1f} s"
    return " ".join(part for part in parts if part) + size + lasting


def moments(shown: Thumbnail) -> str:
    """When the frames of a video are shown."""
    return f"frames at {', '.join(f'{one:.1f}' for one in shown.moments)} s"
