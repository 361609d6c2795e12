"""Tables of languages and scripts are written from what the pinned packages say: here from packages of a few lines."""

import gzip
import json
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tools.tables.languages import NOTES, SOURCES, language_lines, script_lines, write

GERMANIC, ROMANCE = "lang:germanic", "lang:romance"
PARENTS = {
    "lang:indo": None,
    GERMANIC: "lang:indo",
    ROMANCE: "lang:indo",
    "lang:uralic": None,
    **dict.fromkeys(("lang:dan", "lang:deu", "lang:nno", "lang:nob", "lang:swe"), GERMANIC),
    "lang:fra": ROMANCE,
    "lang:fin": "lang:uralic",
}
CODES = {"lang:indo": "indo1319", GERMANIC: "germ1287", ROMANCE: "roma1334", "lang:uralic": "ural1272"}
LANGUAGES = {
    "deu": ("de", "German"),
    "fra": ("fr", "French"),
    "dan": ("da", "Danish"),
    "swe": ("sv", "Swedish"),
    "fin": ("fi", "Finnish"),
    "nor": ("no", "Norwegian"),
    "nob": ("nb", "Bokmål"),
    "nno": ("nn", "Nynorsk"),
    "mix": ("", "Mixed"),
    "two": ("", "Two"),
    "xxa": ("", "Lost"),
    "und": ("", "Undetermined"),
}
MEMBERS = {"two": ["fra", "deu"], "nor": ["nob", "nno", "zzz"], "mix": ["fin", "swe", "dan"]}
RETIRED = {
    "spl": ("", "Split into Swedish [swe] and Danish [dan]"),
    "old": ("deu", ""),
    "unk": ("qqq", ""),
    "deu": ("swe", ""),
    "mut": ("", "no successor"),
}
LIKELY = {"de": "de-Latn-DE", "de-AT": "de-Latn-AT", "no": "no-Latn-NO", "fi": "fi-Latn-FI", "und": "und-Cyrl-RU"}


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    entities: dict[str, Any] = {"script:Latn": {"name": "Latin", "relations": {}}}
    for node, parent in PARENTS.items():
        relations = {} if parent is None else {"parent": [{"target_id": parent}]}
        entities[node] = {"name": {"lang:indo": "Indo-European", "lang:uralic": "Uralic"}.get(node, node)} | {
            "relations": relations
        }
    identities = {node: {"identifiers": {"glottocode": CODES.get(node, f"{node[-3:]}1234")}} for node in PARENTS}
    canonical = {f"iso_639_3:{node[-3:]}": node for node in PARENTS if node[-3:] in LANGUAGES} | {
        "bcp_47:xxa": "lang:fin"
    }
    database = {"entities": entities, "resolver": {"identities": identities, "id_to_canonical": canonical}}
    iso = {
        "iso-639": {"pt3": {code: {"pt1": two, "name": name} for code, (two, name) in LANGUAGES.items()}},
        "iso-639_macro": {"macro": MEMBERS},
        "iso-639_deprecated": {
            "id": {code: {"change_to": to, "ret_remedy": how} for code, (to, how) in RETIRED.items()}
        },
    }
    module = f"import os\nLIKELY_SUBTAGS = {LIKELY!r}\nALL_SCRIPTS = {{'Latn', 'Grek', 'Hans', 'Zyyy'}}\n"
    files: dict[str, dict[str, bytes]] = {
        "qwanqwa": {"qq/data/db.json.gz": gzip.compress(json.dumps(database).encode())},
        "langcodes": {"langcodes/data_dicts.py": module.encode()},
        "iso639_lang": {f"iso639/data/{name}.json": json.dumps(table).encode() for name, table in iso.items()},
    }
    for package, contents in files.items():
        with zipfile.ZipFile(tmp_path / f"{package}-{SOURCES[package]}-py3-none-any.whl", "w") as wheel:
            for name, raw in contents.items():
                wheel.writestr(name, raw)
    return tmp_path


def test_languages_stand_under_their_family_and_group_with_script_and_macrolanguage(wheels: Path) -> None:
    assert [*language_lines(wheels)] == [
        "@\tIndo-European\tGermanic",
        "dan\tda\t\tmix\tDanish",
        "deu\tde\tLatn\ttwo\tGerman",
        "mix\t\t\t\tMixed",  # two of its three members are of this family
        "nno\tnn\t\tnor\tNynorsk",
        "nob\tnb\tLatn\tnor\tBokmål",  # the macrolanguage's script is its usual member's
        "nor\tno\tLatn\t\tNorwegian",
        "swe\tsv\t\tmix\tSwedish",
        "@\tIndo-European",
        "two\t\t\t\tTwo",  # its members are of two groups
        "@\tIndo-European\tRomance",
        "fra\tfr\t\ttwo\tFrench",
        "@\tUnclassified",
        "ber\t\t\t\tBerber languages",
        "bih\t\t\t\tBihari languages",
        "nah\t\tLatn\t\tNahuatl languages",
        "oto\t\tLatn\t\tOtomian languages",
        "xxa\t\t\t\tLost",
        "@\tUralic",
        "fin\tfi\tLatn\tmix\tFinnish",
        "@",
        "mis\t\t\t\tUncoded languages",
        "mul\t\t\t\tMultiple languages",
        "und\t\t\t\tUndetermined",
        "zxx\t\t\t\tNo linguistic content",
        "@retired",
        "old\tdeu",
        "spl\tswe",
    ]


def test_letters_have_the_script_of_their_range(wheels: Path, tmp_path: Path) -> None:
    lines = [*script_lines(wheels)]
    ranges = [(int(first, 16), int(last, 16), script) for first, last, script in (line.split("\t") for line in lines)]
    assert ranges == sorted(ranges)
    assert (lines[0], {script for _, _, script in ranges}) == ("41\t5A\tLatn", {"Latn", "Grek"})
    assert {(0x61, 0x7A, "Latn"), (0x3A3, 0x3E1, "Grek")} <= {*ranges}
    assert all(one[1] < other[0] for one, other in pairwise(ranges))
    write(tmp_path / "table.tsv", lines[:2])
    head, *rest = (tmp_path / "table.tsv").read_text("utf-8").splitlines()
    assert all(f"{package} {version}" in head for package, version in SOURCES.items())
    assert rest == [*NOTES, *lines[:2]]
