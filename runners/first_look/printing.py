"""What a first look found, on the terminal and as JSON."""

from collections import Counter
from collections.abc import Sequence
from itertools import islice

from rich.console import Console

from winnow.filters.language.words.packages import install_commands
from winnow.runners.first_look.analysis import MISSING, LanguageLook, Look, SourceLook
from winnow.runners.first_look.found_files import Found
from winnow.runners.first_look.proposal import Proposal
from winnow.runners.first_look.unread import irregular_notes, unread_notes
from winnow.runners.tables.quantities import byte_size, grouped, share
from winnow.runners.terminal.tables import Grid, print_grid, print_line
from winnow.schemas.counts import count_of
from winnow.schemas.identity import Json
from winnow.schemas.languages import language_name

SHOWN_LANGUAGES = 30
SHOWN_REASONS = 10
SHOWN_LOSSES = 6
SHOWN_ESTIMATED = 8


def print_look(found: Found, proposal: Proposal, look: Look, console: Console) -> None:
    """Prints the sources, the languages, and what the proposed recipe would drop."""
    print_grid(console, _sources(look.sources))
    print_grid(console, _languages(look))
    print_grid(console, _reasons(look))
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
        "sources": [
            {
                "name": one.source.name,
                "root": one.source.group.root,
                "files": list(one.source.group.patterns),
                "content": one.source.kind,
                "file_count": len(one.source.group.files),
                "bytes": one.source.group.bytes,
                "rows_about": one.rows,
                "rows_read": len(one.sampled.rows),
                "pictures_read": one.pictures,
                "median_characters": one.characters,
                "dropped": dict(one.sampled.dropped.most_common()),
                "quarantined": dict(one.sampled.quarantined.most_common()),
            }
            for one in look.sources
        ],
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


def _sources(sources: Sequence[SourceLook]) -> Grid:
    rows = []
    for one in sources:
        read = one.sampled
        rows.append(
            (
                one.source.name,
                one.source.kind,
                grouped(len(one.source.group.files)),
                byte_size(one.source.group.bytes),
                grouped(one.rows) if one.rows < 1000 else grouped(float(f"{one.rows:.2g}")),
                grouped(len(read.rows)),
                "" if one.characters is None else grouped(round(one.characters)),
                ", ".join(_columns(one)),
            )
        )
    headers = ("source", "content", "files", "size", "rows, about", "looked at", "median characters", "columns")
    return Grid("Sources", headers, rows, names=frozenset({0, 1, 7}))


def _columns(one: SourceLook) -> list[str]:
    columns = one.source.columns
    return (
        []
        if columns is None
        else [f"{role}: {name}" for role, name in columns.roles() if role != "text" or not columns.media]
    )


def _languages(look: Look) -> Grid:
    shown = look.languages[:SHOWN_LANGUAGES]
    rows = [
        (
            _language(one.code),
            grouped(one.rows),
            share(one.rows, look.rows),
            share(one.kept, one.rows),
            "" if one.dropped_by is None else f"{one.dropped_by[0]} {one.dropped_by[1]:,}",
        )
        for one in shown
    ]
    rest = look.languages[SHOWN_LANGUAGES:]
    if rest:
        count, kept = sum(one.rows for one in rest), sum(one.kept for one in rest)
        rows.append((f"{len(rest)} more", grouped(count), share(count, look.rows), share(kept, count), ""))
    headers = ("language", "rows", "share", "kept", "most of it dropped by")
    footer = ("all", grouped(look.rows), "", share(look.kept, look.rows), "")
    return Grid(f"Languages of {count_of(look.rows, 'row')}", headers, rows, names=frozenset({0, 4}), footer=footer)


def _reasons(look: Look) -> Grid:
    rows = [(reason, grouped(count), share(count, look.rows)) for reason, count in look.reasons[:SHOWN_REASONS]]
    return Grid("Dropped by the rules that `winnow init` proposes, duplicates aside", ("reason", "rows", "share"), rows)


def _language(code: str) -> str:
    """The language with its code; `unknown` and codes without a name alone."""
    name = language_name(code)
    return code if name == code else f"{name} ({code})"
