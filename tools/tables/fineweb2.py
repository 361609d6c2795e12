"""Packs FineWeb-2's published configurations into `fineweb2.json.xz`.

    python -m tools.tables.fineweb2 CONFIGS [OUT]

CONFIGS is the folder `configs` of the repository huggingface/fineweb-2 (`aai_Latn.yml`, …), or a file with one JSON
object per line with the same keys and `language_script`. The result is one object of columns with a value per language.
"""

import json
import lzma
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from winnow.filters.language.thresholds.fineweb2 import PACKED

_PLAIN = (
    "language_score",
    "line_punct_thr",
    "new_line_ratio",
    "dup_line_frac",
    "min_avg_word_length",
    "max_avg_word_length",
)
_GRAMS = {"top": ("top_n_grams", (2, 3, 4)), "dup": ("dup_n_grams", (5, 6, 7, 8, 9, 10))}


def read(configs: Path) -> dict[str, Mapping[str, Any]]:
    """Read the configurations by language, in order."""
    if configs.is_dir():
        found = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in configs.glob("*.yml")}
    else:
        rows = [json.loads(line) for line in configs.read_text("utf-8").splitlines() if line.strip()]
        found = {row["language_script"]: row for row in rows}
    if not found:
        raise SystemExit(f"{configs}: no configuration; expected `deu_Latn.yml` and so on, or lines of JSON")
    return dict(sorted(found.items()))


def packed(configs: Mapping[str, Mapping[str, Any]]) -> bytes:
    """The columns of every configuration, compressed; the same bytes for the same configurations."""
    rows = configs.values()
    columns: dict[str, list[Any]] = {"language": list(configs)}
    columns |= {name: [row[name] for row in rows] for name in _PLAIN}
    # The published name says the opposite: this is the least share of words with a letter.
    columns["min_alpha_word_ratio"] = [row["max_non_alpha_words_ratio"] for row in rows]
    for kind, (name, sizes) in _GRAMS.items():
        for size in sizes:
            columns[f"{kind}_{size}gram"] = [dict(row[name])[size] for row in rows]
    columns["stop_words"] = ["\n".join(row["stopwords"]) for row in rows]
    text = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
    return lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)


def main(arguments: list[str]) -> None:
    """Read, pack, write."""
    if len(arguments) not in (1, 2):
        raise SystemExit(__doc__)
    out = Path(arguments[1]) if len(arguments) == 2 else PACKED
    configs = read(Path(arguments[0]))
    out.write_bytes(packed(configs))
    print(f"{out}: {len(configs)} languages, {out.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
