"""What a first look found, on the terminal and as JSON."""

from collections import Counter
from itertools import islice

from rich.console import Console

from winnow.filters.language.words.packages import install_commands
from winnow.runners.first_look.analysis import MISSING, LanguageLook, Look, SourceLook
from winnow.runners.first_look.found_files import Found
from winnow.runners.first_look.proposal import Proposal
from winnow.runners.first_look.unread import irregular_notes, unread_notes
from winnow.runners.tables.quantities import grouped, share
from winnow.runners.tables.table import Column, Share, Table, Value, heads, table
from winnow.runners.tables.units import BYTES, COUNT, NAME, SHARE, WORDS, Unit
from winnow.runners.terminal.tables import print_line, print_tables
from winnow.schemas.counts import count_of
from winnow.schemas.identity import Json
from winnow.schemas.languages import language_name

SHOWN_LANGUAGES = 30
SHOWN_REASONS = 10
SHOWN_LOSSES = 6
SHOWN_ESTIMATED = 8


def print_look(found: Found, proposal: Proposal, look: Look, console: Console) -> None:
    """Prints the sources, the languages, and what the proposed recipe would drop."""
    print_tables(console, table("Sources", SOURCES, look.sources), _languages(look), _reasons(look))
    for loss in look.losses[:SHOWN_LOSSES]:
        print_line(console, f"LOSS  {loss.message}", "bold yellow")
    for note in notes_of(found, proposal, look):
        print_line(console, f"note  {note}")


def notes_of(found: Found, proposal: Proposal, look: Look) -> list[str]:
    """What a user should know beside the tables."""
    notes = list(proposal.notes)
    for one in look.sources:
        notes += [f"{one.source.group.root}/{path}: {why}" for path, why in one.sampled.unreadable.items()]
        reasons = one.sampled.quarantined
        if reasons:
            named = ", ".join(f"{reason} {count:,}" for reason, count in reasons.most_common(4))
            of = f"{share(reasons.total(), one.sampled.records)} of {count_of(one.sampled.records, 'record')}"
            notes.append(f"{one.source.name}: {of} unreadable ({named})")
        if one.sampled.large:
            count = count_of(one.sampled.large, "record")
            notes.append(f"{one.source.name}: {count} not looked at, for their size alone; ingest has larger limits")
        for path, (part, size) in islice(one.sampled.read_of.items(), 1):
            others = len(one.sampled.read_of) - 1
            more = f", and so on for {count_of(others, 'other file')}" if others else ""
            notes.append(
                f"{one.source.name}: {path} can be read only from its beginning: its first {share(part, size)} were "
                f"looked at, what follows may be different{more}"
            )
    if look.unsplit:
        counts: Counter[str] = Counter()
        for languages in look.unsplit.values():
            counts.update(languages)
        named = ", ".join(f"{_language(code)} {count:,}" for code, count in counts.most_common(SHOWN_ESTIMATED))
        others = sum(count for _, count in counts.most_common()[SHOWN_ESTIMATED:])
        named += f", others {others:,}" if others else ""
        command = install_commands(MISSING[reason] for reason in look.unsplit)
        notes.append(f"words are estimated, for want of a package that finds them: {named}; run: {command}")
    return [*notes, *unread_notes(found.unread), *irregular_notes(found.irregular)]


def look_json(found: Found, proposal: Proposal, look: Look) -> dict[str, Json]:
    """The same for programs."""
    return {
        "sources": table("", (*SOURCES, *DETAILS), look.sources).without("columns").to_json(),
        "languages": [
            {"code": one.code, "rows": one.rows, "kept": one.kept, "dropped_most_by": _named(one)}
            for one in look.languages
        ],
        "dropped_by": dict(look.reasons),
        "rows_measured": look.rows,
        "rows_kept": look.kept,
        "losses": [loss.message for loss in look.losses],
        "notes": list(notes_of(found, proposal, look)),
    }


def _named(one: LanguageLook) -> Json:
    return None if one.dropped_by is None else {"reason": one.dropped_by[0], "rows": one.dropped_by[1]}


ABOUT = Unit(lambda one: grouped(one if one < 1000 else float(f"{one:.2g}")))
SOURCES: tuple[Column[SourceLook], ...] = (
    Column("source", NAME, lambda one: one.source.name, "name"),
    Column("content", NAME, lambda one: one.source.kind),
    Column("files", COUNT, lambda one: len(one.source.group.files), "file_count"),
    Column("size", BYTES, lambda one: one.source.group.bytes, "bytes"),
    Column("rows, about", ABOUT, lambda one: one.rows, "rows_about"),
    Column("looked at", COUNT, lambda one: len(one.sampled.rows), "rows_read"),
    Column("median characters", Unit(lambda one: grouped(round(one))), lambda one: one.characters),
    Column("columns", NAME, lambda one: ", ".join(_columns(one))),
)
DETAILS: tuple[Column[SourceLook], ...] = (  # for programs
    Column("root", NAME, lambda one: one.source.group.root),
    Column("files", WORDS, lambda one: list(one.source.group.patterns)),
    Column("pictures_read", COUNT, lambda one: one.pictures),
    Column("dropped", WORDS, lambda one: dict(one.sampled.dropped.most_common())),
    Column("quarantined", WORDS, lambda one: dict(one.sampled.quarantined.most_common())),
)


def _columns(one: SourceLook) -> list[str]:
    columns = one.source.columns
    return (
        []
        if columns is None
        else [f"{role}: {name}" for role, name in columns.roles() if role != "text" or not columns.media]
    )


def _languages(look: Look) -> Table:
    shown = look.languages[:SHOWN_LANGUAGES]
    rows: list[tuple[Value, ...]] = [
        (
            _language(one.code),
            one.rows,
            Share(one.rows, look.rows),
            Share(one.kept, one.rows),
            "" if one.dropped_by is None else f"{one.dropped_by[0]} {one.dropped_by[1]:,}",
        )
        for one in shown
    ]
    if rest := look.languages[SHOWN_LANGUAGES:]:
        count, kept = sum(one.rows for one in rest), sum(one.kept for one in rest)
        rows.append((f"{len(rest)} more", count, Share(count, look.rows), Share(kept, count), ""))
    columns = heads("language", ("rows", COUNT), ("share", SHARE), ("kept", SHARE), "most of it dropped by")
    footer = ("all", look.rows, None, Share(look.kept, look.rows), "")
    return Table(f"Languages of {count_of(look.rows, 'row')}", columns, rows, footer)


def _reasons(look: Look) -> Table:
    rows = [(reason, count, Share(count, look.rows)) for reason, count in look.reasons[:SHOWN_REASONS]]
    title = "Dropped by the rules that `winnow init` proposes, duplicates aside"
    return Table(title, heads("reason", ("rows", COUNT), ("share", SHARE)), rows)


def _language(code: str) -> str:
    """The language with its code; `unknown` and codes without a name alone."""
    name = language_name(code)
    return code if name == code else f"{name} ({code})"
