"""Every file of a store, read to the last value."""

import io
from pathlib import Path

import orjson
import pyarrow.parquet as pq

from tests.runners.forgetting.crawl import SECRET


def holders(folder: Path, word: str = SECRET) -> list[str]:
    """Every file in which the word stands: in its bytes, in a decoded value of a table, in a text of a record."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            raw = path.read_bytes()
            texts = [raw.decode("utf-8", "replace"), raw.decode("utf-16-le", "replace")]
            if path.suffix == ".parquet":
                texts.append(str(pq.read_table(io.BytesIO(raw)).to_pydict()))
            elif path.suffix == ".json":
                texts.append(str(orjson.loads(raw)))
            if any(word in text or word.encode().hex() in text for text in texts):
                found.append(str(path.relative_to(folder)))
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "lease" not in path.parts
    }
