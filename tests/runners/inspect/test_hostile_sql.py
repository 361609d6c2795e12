"""The page's SQL reads the store's tables alone: it writes nothing, reads no file, and ends with its budget."""

import threading
import time
from pathlib import Path

import pytest

from tests.runners.inspect.asking import Asker, opened, served
from winnow.runners.inspect import view as view_module
from winnow.runners.inspect.serving import server as server_module
from winnow.runners.inspect.view import View

WRITES = [
    "DROP TABLE samples",
    "DELETE FROM samples",
    "UPDATE samples SET text = ''",
    "INSERT INTO samples SELECT * FROM samples",
    "CREATE TABLE x AS SELECT 1",
    "CREATE OR REPLACE VIEW samples AS SELECT 1",
    "ALTER TABLE samples ADD COLUMN x INT",
    "TRUNCATE samples",
    "COPY samples TO '{folder}/out.csv'",
    "COPY (SELECT 1) TO '{folder}/out.parquet' (FORMAT parquet)",
    "EXPORT DATABASE '{folder}'",
    "IMPORT DATABASE '{folder}'",
    "ATTACH '{folder}/out.db'",
    "ATTACH '{folder}/out.db' AS other (READ_WRITE)",
    "DETACH memory",
    "USE memory",
    "INSTALL httpfs",
    "LOAD httpfs",
    "FORCE INSTALL spatial FROM 'http://example.org'",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "RESET enable_external_access",
    "PRAGMA enable_profiling",
    "PRAGMA database_list",
    "PRAGMA threads=64",
    "CALL pragma_version()",
    "CHECKPOINT",
    "VACUUM",
    "BEGIN TRANSACTION",
    "CREATE MACRO f(x) AS x",
    "CREATE SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b')",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "SELECT 1; DROP TABLE samples",
    "SELECT 1; SELECT 2",
    "EXPLAIN ANALYZE SELECT 1",
    "MERGE INTO samples USING samples s ON true WHEN MATCHED THEN DELETE",
    "",
    ";",
    "-- nothing",
]

READS = [
    "SELECT * FROM read_text('{file}')",
    "SELECT * FROM read_blob('{file}')",
    "SELECT * FROM read_csv('{file}')",
    "SELECT * FROM read_csv_auto('{file}')",
    "SELECT * FROM read_json('{file}')",
    "SELECT * FROM read_parquet('{file}')",
    "SELECT * FROM parquet_scan('{file}')",
    "SELECT * FROM parquet_metadata('{file}')",
    "SELECT * FROM parquet_schema('{file}')",
    "SELECT * FROM sniff_csv('{file}')",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM '{file}'",
    'SELECT * FROM "{file}"',
    "FROM '{file}'",
    "SELECT * FROM query('SELECT * FROM read_text(''{file}'')')",
    "SELECT * FROM query_table('{file}')",
    "SELECT * FROM samples WHERE id IN (SELECT content FROM read_text('{file}'))",
    "WITH x AS (SELECT * FROM read_text('{file}')) SELECT * FROM x",
    "SELECT (SELECT content FROM read_text('{file}'))",
    "SELECT * FROM sqlite_scan('{file}', 'x')",
    "SELECT * FROM postgres_scan('host=127.0.0.1', 'a', 'b')",
    "SELECT * FROM 'http://127.0.0.1:1/x.parquet'",
    "SELECT * FROM 's3://bucket/x.parquet'",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_text('/proc/self/environ')",
    "SELECT * FROM duckdb_secrets()",
    "SELECT getenv('HOME')",
    "SELECT * FROM which_secret('s3://x', 's3')",
    "SELECT * FROM opened",
    "SELECT * FROM tables",
    "SELECT * FROM plan",
    "SELECT * FROM streams",
    "SELECT * FROM limits",
    "SELECT * FROM winnow_table_0",
    "SELECT * FROM arrow_scan(1, 2, 3)",
    "SELECT * FROM arrow_scan_dumb(94000000000000, 94000000000000, 94000000000000)",
    "SELECT * FROM pandas_scan(1)",
    "SELECT * FROM python_map_function()",
    "SELECT * FROM duckdb_logs",
    "SELECT * FROM load_aws_credentials()",
]

BURNS = [
    "SELECT count(*) FROM range(100000000) a, range(100000000) b",
    "WITH RECURSIVE f(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM f) SELECT count(*) FROM f",
    "SELECT sum(hash(a.range * b.range)) FROM range(10000000) a, range(10000000) b",
    "SELECT * FROM range(100000000000) a WHERE a.range < 0",
    "SELECT count(*) FROM samples a, samples b, samples c, samples d, samples e, samples f, samples g, samples h",
    "SELECT a.range FROM range(1000000000) a ORDER BY hash(a.range) DESC",
]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret.csv"
    file.write_text("name\nthe secret of this test\n")
    return file


@pytest.mark.parametrize("query", WRITES)
def test_nothing_but_one_select_is_run(page: Asker, tmp_path: Path, query: str) -> None:
    said = page.view("sql", query=query.format(folder=tmp_path))
    assert not said["ok"], said
    assert (said["kind"], "\n" in said["why"]) == ("error", False)
    assert list(tmp_path.iterdir()) == []
    assert page.view("sql", query="SELECT count(*) FROM samples")["answer"]["rows"] == [[20]]


@pytest.mark.parametrize("query", READS)
def test_no_file_and_nothing_of_the_process_is_read(page: Asker, secret: Path, query: str) -> None:
    filled = query.format(file=secret, folder=secret.parent)
    said = page.view("sql", query=filled)
    assert not (said["ok"] and said["answer"]["rows"]), said
    assert "the secret of this test" not in str(said)
    assert page.ask("GET", f"/table.csv?query={filled.replace(' ', '%20')}").body.count(b"the secret of this test") == 0


@pytest.mark.parametrize("query", BURNS)
def test_a_query_without_an_end_ends_with_its_budget(books: Path, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    sql = view_module.views()["sql"]
    monkeypatch.setattr(server_module, "views", lambda: {"sql": View(sql.answer, seconds=0.5)})
    with served(opened(books / "recipe.yaml")) as page:
        began = time.monotonic()
        said = page.view("sql", query=query)
        took = time.monotonic() - began
        assert said["kind"] in ("stopped", "error"), said  # DuckDB refuses some itself: they need too much memory
        assert took < 20
        monkeypatch.setattr(server_module, "views", lambda: {"sql": sql})
        assert page.view("sql", query="SELECT 42")["answer"]["rows"] == [[42]]


def test_a_newer_query_of_the_page_ends_the_older(page: Asker) -> None:
    said: list[object] = []
    older = threading.Thread(
        target=lambda: said.append(page.view("sql", query=BURNS[0], lane="sql", turn=1)["kind"]), daemon=True
    )
    older.start()
    threading.Event().wait(1.0)
    assert page.view("sql", query="SELECT 1", lane="sql", turn=2)["ok"]
    older.join(20)
    assert said == ["cancelled"]


@pytest.mark.parametrize("depth", [100, 5_000])
def test_a_deeply_nested_query_is_refused_in_a_line(page: Asker, depth: int) -> None:
    said = page.view("sql", query=f"SELECT {'(' * depth}1{')' * depth}")
    assert said["ok"] or "\n" not in said["why"]
    assert page.view("sql", query="SELECT 1")["ok"]
