"""The section with contact sheets: pictures side by side, each with its caption and measures."""

from winnow.runners.facts.examples import ContactSheet, Examples, SheetPicture
from winnow.runners.report.block import Block
from winnow.runners.report.markup import Html, crawled, element, join, plain
from winnow.runners.report.pictures import captioned, gallery, measured, moments
from winnow.schemas.summary import StoreSummary

ID_DIGITS = 12


def contact_sheets(_: StoreSummary, examples: Examples) -> Block | None:
    """All contact sheets that were asked for."""
    if not examples.sheets:
        return None
    parts = [part for sheet in examples.sheets for part in _sheet(sheet)]
    return Block("contact-sheets", "Contact sheets", join(parts))


def _sheet(sheet: ContactSheet) -> list[Html]:
    parts = [element("h3", crawled(sheet.title)), *(element("p", plain(note), class_="note") for note in sheet.notes)]
    for name, pictures in sheet.groups:
        shown = [_figure(one) for one in pictures]
        parts.append(element("p", crawled(name), class_="note"))
        parts.append(gallery(shown) if shown else element("p", plain("no pictures")))
    return parts


def _figure(one: SheetPicture) -> Html:
    reference = one.thumbnail.facts.get("ref") or {}
    lines = [crawled(caption) for caption in one.captions]
    lines += [element("code", plain(one.id[:ID_DIGITS])), plain(measured(one.thumbnail))]
    lines += [plain(moments(one.thumbnail))] if one.thumbnail.moments else []
    lines += [] if one.value is None else [plain(f"value {one.value}")]
    lines.append(crawled(reference.get("member") or reference.get("path") or ""))
    return captioned(
        one.thumbnail, f"{'frames of' if one.thumbnail.moments else 'picture'} {one.id[:ID_DIGITS]}", lines
    )
