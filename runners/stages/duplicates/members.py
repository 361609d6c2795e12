"""`winnow duplicates show`: the clusters of a row and of its pictures, and a comparison with the text it matched."""

import argparse
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.text import Text

from winnow.filters.duplicates.kind import PICTURES, ROWS, find_kind, kinds_split_by
from winnow.filters.duplicates.kinds.near import compared_shingles, shared_shingles
from winnow.filters.duplicates.signatures import Scheme
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.query.cluster_counts import ESTIMATE, Membership
from winnow.pipelines.query.duplicates import Browser, Member, Members
from winnow.pipelines.query.find_sample import Place
from winnow.pipelines.query.search_tasks import ID_BYTES, wanted_id
from winnow.pipelines.reading.items import ROW_DIGITS, item_of_id
from winnow.runners.facts.duplicates import outdated, similar
from winnow.runners.stages.duplicates.excerpts import Excerpts, reference
from winnow.runners.stages.duplicates.row_duplicates import Pair, Resemblance, RowDuplicates, row_duplicates_json
from winnow.runners.stages.duplicates.side_by_side import Fold, Pieces, side_by_side
from winnow.runners.stages.duplicates.text_difference import Difference, difference
from winnow.runners.stages.rule_decisions import duplicate_drops
from winnow.runners.stages.searching import find_one
from winnow.runners.tables.escaping import cells, shortened, visible
from winnow.runners.tables.quantities import grouped
from winnow.runners.tables.table import Table, each, heads
from winnow.runners.tables.units import COUNT, NAME, REASON
from winnow.runners.terminal.tables import encodable, is_plain, print_json, print_line, print_tables
from winnow.schemas.errors import WinnowError
from winnow.schemas.problems import shown
from winnow.schemas.rows.duplicates import OK, UNMATCHED

ID_DIGITS = 12
MATCH_DIGITS = 8  # keeps a row within 80 columns
LEAST_COLUMN = 24
_NUMBERS = ("item", "bytes", "length", "similar")
"""The columns of numbers."""


def run_duplicates_show(options: argparse.Namespace, identity: str, excerpts: Excerpts, console: Console) -> int:
    """`winnow duplicates show`."""
    found = _find(options, identity, excerpts)
    if options.json:
        print_json(row_duplicates_json(found))
    else:
        _print(found, excerpts, console, most=options.lines or None)
    return 0


def _find(options: argparse.Namespace, identity: str, excerpts: Excerpts) -> RowDuplicates:
    browser = excerpts.browser
    kinds = browser.require(options.kind)
    place, item = _place_and_item(browser, identity)
    if item is not None:
        kinds = tuple(kind for kind in kinds if find_kind(kind).unit.of_items) or kinds
    memberships = tuple(membership for kind in kinds for membership in browser.memberships(kind, place, item))
    if options.other is None and all(membership.status != OK for membership in memberships):
        raise WinnowError(f"{place.id}: {'; '.join(map(_alone, memberships))}")
    members = tuple(
        browser.members(membership, options.limit) if membership.status == OK else None for membership in memberships
    )
    pair, unpaired = _pair(options.other, place, memberships, members, excerpts)
    listed = [one.place for of in members if of is not None for one in of.shown]
    dropped = duplicate_drops(excerpts.recipe, browser.store, browser.generation, listed)
    return RowDuplicates(place, memberships, members, pair, unpaired, browser.stale(excerpts.recipe), dropped)


def _place_and_item(browser: Browser, given: str) -> tuple[Place, int | None]:
    """The row whose id starts with the given digits, or the item of a row that has this id."""
    try:
        return _place(browser, given), None
    except WinnowError:
        if len(given) != 2 * ID_BYTES:
            raise
        try:
            place = _place(browser, given[:ROW_DIGITS])
        except WinnowError:
            place = None
        if place is None:
            raise
        return place, item_of_id(bytes.fromhex(given), bytes.fromhex(place.id))


def _place(browser: Browser, given: str, option: str = "") -> Place:
    """The row whose id starts with the given digits."""
    if not re.fullmatch(f"[0-9a-fA-F]{{1,{2 * ID_BYTES}}}", given):
        what = f"expected 1 to {2 * ID_BYTES} hexadecimal digits, as winnow duplicates prints them"
        raise WinnowError(f"{option}{shown(given)} is not an id: {what}")
    return find_one(browser.store, browser.generation, wanted_id(given))


def _alone(membership: Membership) -> str:
    what = membership.kind if membership.item is None else f"{membership.kind}: item {membership.item}"
    if membership.status == UNMATCHED:
        return f"{what}: no duplicates"
    return f"{what}: not compared ({membership.status})"


def _pair(
    other: str | None,
    place: Place,
    memberships: Sequence[Membership],
    members: Sequence[Members | None],
    excerpts: Excerpts,
) -> tuple[Pair | None, str | None]:
    """The row's pair, or why there is none."""
    if other is not None:
        found = _place(excerpts.browser, other, "--with ")
        if found.id == place.id:
            raise WinnowError(f"--with {other}: this is the row itself; give the id of another row")
        of_texts = [one for one in memberships if not find_kind(one.kind).unit.of_items]
        known = [one for one in of_texts if one.matched == found.id]
        known += [
            one
            for kind in of_texts
            for one in excerpts.browser.memberships(kind.kind, found)
            if one.matched == place.id
        ]
        return _compared(place, found, None, known[0] if known else None, excerpts), None
    of_kinds = dict(zip((one.kind for one in memberships), zip(memberships, members, strict=True), strict=True))
    for kind in kinds_split_by(of_kinds):
        one, of = of_kinds[kind.name]
        if kind.unit == ROWS and of is not None and of.matched is not None:
            return _compared(place, of.matched, kind.name, one, excerpts), None
    units = [find_kind(one.kind).unit for one in memberships if one.status == OK]
    if ROWS not in units:
        if PICTURES not in units:
            return None, "a sample's captions, and what was measured of its videos, are shown by: winnow show RECIPE ID"
        return None, "pictures are shown side by side in the report: winnow report RECIPE"
    return None, "the matching row was forgotten and is not shown; use --with ID to compare with another row"


def _compared(
    left: Place, right: Place, matched: str | None, membership: Membership | None, excerpts: Excerpts
) -> Pair:
    texts = excerpts.compared(left), excerpts.compared(right)
    shown = excerpts.shown(left), excerpts.shown(right)
    alike = None if texts[0] is None or texts[1] is None else resemblance(texts[0], texts[1], excerpts.recipe)
    where = None if shown[0] is None or shown[1] is None else difference(shown[0], shown[1])
    measured = (None, None) if membership is None else (membership.similarity, membership.by)
    return Pair(left, right, matched, *measured, alike, where)


def resemblance(left: str, right: str, recipe: BoundRecipe | None) -> Resemblance:
    """The shingles that two texts share, under the recipe's scheme or the default one."""
    near = None if recipe is None else recipe.shingled
    scheme = Scheme() if near is None else near.settings.scheme
    one, other = (compared_shingles(pa.array([text]), scheme) for text in (left, right))
    shared, together = shared_shingles(one, other)
    return Resemblance(int(shared[0]), int(together[0]), f"{scheme.size} {scheme.unit}", near is None)


def _print(found: RowDuplicates, excerpts: Excerpts, console: Console, *, most: int | None) -> None:
    line = partial(print_line, console)

    line(f"id       {found.place.id}")
    line(f"source   {found.place.shard.source}")
    line("")
    for membership, members in zip(found.memberships, found.members, strict=True):
        if members is None:
            line(_alone(membership))
            line("")
            continue
        kind = find_kind(membership.kind)
        what = kind.unit.name
        texts = "" if membership.texts is None else f", {grouped(membership.texts)} different {kind.counted}"
        texts = ", all equal" if membership.texts == 1 else texts
        item = "" if membership.item is None else f"item {membership.item}: "
        title = (
            f"{membership.kind}: {item}cluster {membership.cluster} of {grouped(membership.rows or 0)} {what}{texts}"
        )
        print_tables(console, _members(title, found, membership, members))
        if rest := members.found - len(members.shown):
            line(f"and {grouped(rest)} more (--limit N)")
        if forgotten := (membership.rows or 0) - members.found:
            line(f"note  {grouped(forgotten)} of its {what} were forgotten later; run winnow dedupe to remove them")
        if rest or forgotten:
            line("")
    if notes := _notes(found):
        for note in notes:
            line(f"note  {note}")
        line("")
    if found.pair is None:
        line(found.unpaired or "")
        return
    _print_pair(found.pair, excerpts, console, most=most)


def _notes(found: RowDuplicates) -> list[str]:
    """Notes on all clusters that are shown."""
    notes = []
    if stale := [membership.kind for membership in found.memberships if found.stale[membership.kind]]:
        notes.append(outdated(stale))
    if found.drops.undecided is not None:
        notes.append(f"which rows the plan drops as duplicates is not decided: {found.drops.undecided}")
    elif found.place.id in found.drops.stays:
        reason = (found.drops.reasons or {})[found.place.id]
        notes.append(f"the plan drops this row as {reason} and keeps {found.drops.stays[found.place.id]}")
    elif not found.drops.reasons and any(members is not None for members in found.members):
        notes.append("the plan drops none of the rows above as duplicates")
    return notes


def _members(title: str, found: RowDuplicates, membership: Membership, members: Members) -> Table:
    """The table of a cluster's members."""
    dropped, of_items = found.drops.reasons or {}, membership.item is not None

    def note(member: Member) -> str:
        notes = (
            (member.id == membership.id, "this item" if of_items else "this row"),
            (member.id == membership.matched, "match"),
            (member.names_cluster, "cluster id"),
        )
        return ", ".join(text for true, text in notes if true)

    columns: tuple[tuple[str, list[str]], ...] = (
        ("id", [one.place.id[:ID_DIGITS] for one in members.shown]),
        ("source", [one.source for one in members.shown]),
        ("language", ["" if of_items else one.language or "" for one in members.shown]),
        ("item", ["" if one.item is None else str(one.item) for one in members.shown]),
        ("type", [str(one.facts.get("mime") or "") for one in members.shown]),
        ("size", [_size(one.facts) for one in members.shown]),
        ("bytes", ["" if one.facts.get("bytes") is None else grouped(one.facts["bytes"]) for one in members.shown]),
        ("length", ["" if of_items or one.characters is None else grouped(one.characters) for one in members.shown]),
        ("similar", [similar(one.similarity, exact=one.by not in (None, ESTIMATE)) for one in members.shown]),
        ("by", [one.by or "" for one in members.shown]),
        ("matched", [(one.matched or "")[:MATCH_DIGITS] for one in members.shown]),
        ("", [note(one) for one in members.shown]),
        ("dropped as", [dropped.get(one.place.id, "") for one in members.shown]),
        ("reference", [reference(one.facts) for one in members.shown]),
        ("url", [one.url or "" for one in members.shown]),
    )
    units = dict(each(COUNT, *_NUMBERS)) | dict(each(REASON, "id", "matched", "by"))
    named = heads(*((name, units.get(name, NAME)) for name, _ in columns))
    return Table(title, named, list(zip(*(values for _, values in columns), strict=True))).filled()


def _size(facts: Mapping[str, Any]) -> str:
    return f"{facts['width']} x {facts['height']}" if facts.get("width") and facts.get("height") else ""


def _print_pair(pair: Pair, excerpts: Excerpts, console: Console, *, most: int | None) -> None:
    line = partial(print_line, console)

    what = "the row given by --with" if pair.matched is None else f"its match ({pair.matched})"
    line(f"compared with {what}: {pair.right.id}, {pair.right.shard.source}", "bold")
    measures = [] if pair.similarity is None else [f"layer {pair.similarity:.4f} ({pair.by})"]
    if (alike := pair.resemblance) is not None:
        usual = ", FineWeb's, as no recipe sets another" if alike.assumed else ""
        share = "no shingles" if alike.jaccard is None else f"Jaccard {alike.jaccard:.4f}"
        counts = f"{grouped(alike.shared)} of {grouped(alike.together)} shingles of {alike.scheme}{usual}"
        measures.append(f"{share} ({counts})")
    line("; ".join(measures))
    where = pair.difference
    if where is None:
        if excerpts.texts_hidden:
            line("texts are not shown: give the recipe, which says how to edit them, or --raw")
        else:
            line("texts are not shown: one is missing, or an edit cannot be applied (--raw shows texts as read)")
        return
    if where.cut:
        cut = " and ".join(f"{grouped(part)} of {grouped(whole)}" for part, whole in _cuts(where))
        line(f"compared: the first {cut} characters")
    if where.coarse:
        line("too many words differ to compare them individually: long passages are shown as different in full")
    line("")
    _print_columns(where, pair, console, most=most)


def _cuts(where: Difference) -> list[tuple[int, int]]:
    return list(zip(where.compared, where.whole, strict=True))


def _print_columns(where: Difference, pair: Pair, console: Console, *, most: int | None) -> None:
    if where.same:
        console.print(Text("no differences except white space"))
        return
    plain = is_plain(console)
    border = " | " if plain else " │ "
    ellipsis = "..." if plain else "…"
    width = max(LEAST_COLUMN, (console.width - len(border)) // 2)

    def shown(text: str) -> str:
        return encodable(visible(text), console)

    def column(pieces: Pieces, style: str) -> Text:
        text = Text()
        for piece in pieces:
            text.append(piece.text, style=style if piece.changed and not plain else "")
        return text

    heads = [shortened(f"{place.id[:ID_DIGITS]} {place.shard.source}", width) for place in (pair.left, pair.right)]
    heads[0] += " " * (width - cells(heads[0]))
    console.print(Text(border.join(heads), style="" if plain else "bold"))
    rows = list(side_by_side(where, width, shown, marks=plain))
    for row in rows[:most]:
        if isinstance(row, Fold):
            console.print(Text(f"{ellipsis} {row.summary}", style="" if plain else "dim"))
            continue
        left, right = column(row.left, "reverse red"), column(row.right, "reverse green")
        space = " " * max(0, width - cells(left.plain))
        console.print(Text.assemble(left, space, border if row.right else border.rstrip(), right))
    if most is not None and len(rows) > most:
        rest = grouped(len(rows) - most)
        console.print(Text(f"{ellipsis} and {rest} more lines (--lines 0 shows all)"))
