"""What is planted in the demo's videos: what each shot shows, which one is a copy, and which are of no use."""

from pathlib import Path
from typing import Final, Literal, get_args

from winnow.runners.demo.films.filming import Film, Shot, encoded
from winnow.runners.demo.writing import write_files
from winnow.schemas.identity import Json, canonical_json

Kind = Literal["shot", "copy", "frozen", "silent"]
KINDS: Final[tuple[str, ...]] = get_args(Kind)

FILES: Final = "files"

SEA: Final = Shot("sea", "sea of the film")

FILMS: Final = {
    "coast.webm": Film(
        (Shot("lake", "lake of the film"), SEA, Shot("village", "village of the film", faded=True, sound=False)),
        "vp9",
        "webm",
    ),
    "country.mp4": Film(
        (
            Shot("forest", "forest of the film"),
            Shot("desert", "desert of the film", moves=False),
            Shot("balloons", "balloons of the film"),
        ),
        "av1",
        "mp4",
    ),
    "sea-again.webm": Film((SEA,), "vp9", "webm", half_size=True),
}

CAPTIONS: Final = {
    "coast.webm": "A journey along the coast: a lake, the sea at sunset, a quiet village",
    "country.mp4": "The country: a forest, the dunes of a desert, balloons",
    "sea-again.webm": "Sailing boats on the sea at sunset",
}


def make_films(folder: Path) -> None:
    """Write the videos into the folder."""
    write_files(folder, film_files())


def film_files() -> dict[str, bytes]:
    """Every file: its path in the folder and its bytes."""
    files: dict[str, bytes] = {}
    truth: list[Json] = []
    for name, film in FILMS.items():
        files[f"{FILES}/{name}"] = encoded(film)
        files[f"{FILES}/{name.partition('.')[0]}.txt"] = CAPTIONS[name].encode()
        start = 0
        for shot in film.shots:
            truth.append(
                {"file": name, "kind": _kind(film, shot), "case": shot.scenery, "start": start, "fade": shot.faded}
            )
            start += shot.seconds
    files["truth.jsonl"] = "".join(canonical_json(line) + "\n" for line in truth).encode()
    return files


def _kind(film: Film, shot: Shot) -> Kind:
    if film.half_size:
        return "copy"
    if not shot.moves:
        return "frozen"
    return "shot" if shot.sound else "silent"
