"""What real servers refuse: a wrong clock, wrong keys, missing rights, a bucket that is not there."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.winnow import run
from tests.messages import assert_told
from tests.pipelines.store.conftest import point_to
from tests.pipelines.store.faulty import in_front_of
from tests.pipelines.store.servers import BUCKET, Server, add_account, allow, make_strict, s3_client, started
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.location import open_location
from winnow.schemas.errors import StoreError

RECIPE = """
version: 1
store: {{path: "{store}", seed: 7}}
sources:
  lines: {{root: "{sources}", files: ["*.jsonl"], class: public, key: id}}
"""

HOUR_AHEAD = """
import datetime
import botocore.auth
now = botocore.auth.get_current_datetime
botocore.auth.get_current_datetime = lambda *args, **named: now(*args, **named) + datetime.timedelta(hours=1)
"""

CLOCK = (
    f"s3://{BUCKET}: this machine's clock differs from the service's by too much (The difference between the request "
    "time and the current time is too large); set the clock (timedatectl set-ntp true)"
)
KEY = (
    f"s3://{BUCKET}: the service does not know this access key; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
    "AWS_PROFILE of one of its accounts"
)
SECRET = f"s3://{BUCKET}: the secret key does not belong to the access key; check AWS_SECRET_ACCESS_KEY"
TOKEN = f"s3://{BUCKET}: the session token is not valid; check AWS_SESSION_TOKEN, or unset it"
ANYBODY = (
    f"s3://{BUCKET}: Access Denied; the bucket is not public: unset AWS_NO_SIGN_REQUEST and set "
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
)


def denied(actions: str) -> str:
    return f"s3://{BUCKET}: Access Denied; grant {actions} on the bucket to the owner of these credentials"


READING = "s3:GetObject and s3:ListBucket"

CALLS: dict[str, tuple[Callable[[ObjectStore], object], str]] = {
    "read": (lambda objects: objects.read("a"), READING),
    "open": (lambda objects: objects.open("a"), READING),
    "size": (lambda objects: objects.size("a"), READING),
    "exists": (lambda objects: objects.exists("a"), READING),
    "list": (lambda objects: list(objects.list()), "s3:ListBucket"),
    "put": (lambda objects: objects.put("a", b""), "s3:PutObject"),
    "put_if_absent": (lambda objects: objects.put_if_absent("b", b""), "s3:PutObject"),
    "delete": (lambda objects: objects.delete("a"), "s3:DeleteObject"),
    "clear": (lambda objects: objects.clear_unfinished(), "s3:ListBucketMultipartUploads"),
}


def said(address: str, call: str) -> str:
    """The one line that a call ends with."""
    with pytest.raises(StoreError) as caught:
        CALLS[call][0](open_location(address))
    return str(caught.value)


def recipe(folder: Path, store: str, sources: str = "lines") -> None:
    (folder / "recipe.yaml").write_text(RECIPE.format(store=store, sources=sources))
    (folder / "lines").mkdir(exist_ok=True)
    (folder / "lines/a.jsonl").write_text('{"id": "1", "text": "some words"}\n')


@pytest.fixture(scope="module")
def accounts(versitygw: Server) -> dict[str, dict[str, str]]:
    """Who may do nothing, and who may only read."""
    made = {name: add_account(versitygw, name) for name in ("nobody", "reader")}
    s3_client(versitygw).put_object(Bucket=BUCKET, Key="rights/a", Body=b"here")
    allow(versitygw, BUCKET, {"reader": ["s3:GetObject", "s3:ListBucket"]})
    return made


def late_by_patch(folder: Path) -> dict[str, str]:
    """The client's own idea of the time, in every process below."""
    (folder / "clock").mkdir()
    (folder / "clock/sitecustomize.py").write_text(HOUR_AHEAD)
    return {"PYTHONPATH": str(folder / "clock")}


def late_by_library(_: Path) -> dict[str, str]:
    """The time that the system tells."""
    program = shutil.which("faketime")
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1")) if program else []
    if not found:
        pytest.skip("no faketime; get it by: apt-get install faketime")
    return {"LD_PRELOAD": str(found[0]), "FAKETIME": "+1h"}


@pytest.mark.engines
@pytest.mark.parametrize("late", [late_by_patch, late_by_library])
@pytest.mark.parametrize("command", ["run", "ingest"])
@pytest.mark.parametrize("side", ["store", "source"])
def test_a_clock_an_hour_ahead(
    versitygw: Server,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    late: Callable[[Path], dict[str, str]],
    command: str,
    side: str,
) -> None:
    point_to(monkeypatch, versitygw.environment)
    place = f"s3://{BUCKET}/late"
    recipe(tmp_path, place) if side == "store" else recipe(tmp_path, "store", place)
    done = run(tmp_path, command, "recipe.yaml", env=late(tmp_path))
    assert done.status != 0
    assert CLOCK in done.err
    assert "Traceback" not in done.err
    assert [line for line in done.err.splitlines() if "clock" in line] == done.err.splitlines()[-1:]


@pytest.fixture(scope="module")
def strict_moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """One more moto, that minds keys and rights; who may do nothing there."""
    settings = {"INITIAL_NO_AUTH_ACTION_COUNT": "1000"}
    with started("moto", tmp_path_factory.mktemp("strict"), settings) as server:
        yield make_strict(server)


@pytest.fixture(params=["moto", pytest.param("versitygw", marks=pytest.mark.engines)])
def nobody(request: pytest.FixtureRequest) -> dict[str, str]:
    """An account without rights on each server that has accounts."""
    if request.param == "moto":
        environment: dict[str, str] = request.getfixturevalue("strict_moto")
        return environment
    accounts: dict[str, dict[str, str]] = request.getfixturevalue("accounts")
    return accounts["nobody"]


@pytest.mark.parametrize("call", CALLS)
def test_every_call_says_which_right_is_missing(
    nobody: dict[str, str], monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    point_to(monkeypatch, nobody)
    assert said(f"s3://{BUCKET}/rights", call) == denied(CALLS[call][1])


@pytest.mark.engines
def test_an_account_that_may_only_read_reads(
    versitygw: Server, accounts: dict[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    point_to(monkeypatch, accounts["reader"])
    objects = open_location(f"s3://{BUCKET}/rights")
    assert objects.read("a") == b"here"
    assert objects.size("a") == 4
    assert [info.path for info in objects.list()] == ["a"]
    for call in ("put", "put_if_absent", "delete", "clear"):
        assert said(f"s3://{BUCKET}/rights", call) == denied(CALLS[call][1])
    recipe(tmp_path, f"s3://{BUCKET}/rights")
    done = run(tmp_path, "ingest", "recipe.yaml")
    assert done.status != 0
    assert done.err.splitlines()[-1].endswith(denied("s3:PutObject"))
    assert "Traceback" not in done.err


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("wrong", "line"), [({"AWS_ACCESS_KEY_ID": "wrong"}, KEY), ({"AWS_SECRET_ACCESS_KEY": "wrong"}, SECRET)]
)
def test_every_call_says_which_key_is_wrong(
    nobody: dict[str, str], monkeypatch: pytest.MonkeyPatch, wrong: dict[str, str], line: str, call: str
) -> None:
    point_to(monkeypatch, {**nobody, **wrong})
    assert said(f"s3://{BUCKET}/x", call) == line


@pytest.mark.engines
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("wrong", "line"), [({"AWS_SESSION_TOKEN": "wrong"}, TOKEN), ({"AWS_NO_SIGN_REQUEST": "YES"}, ANYBODY)]
)
def test_every_call_says_that_a_token_is_wrong_or_missing(
    versitygw: Server, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, str], line: str, call: str
) -> None:
    point_to(monkeypatch, {**versitygw.environment, **wrong})
    assert said(f"s3://{BUCKET}/x", call) == line


@pytest.mark.parametrize("call", CALLS)
def test_every_call_says_that_a_bucket_is_missing(server: Server, call: str) -> None:
    variable = "STORAGE_EMULATOR_HOST" if server.scheme == "gs" else "AWS_ENDPOINT_URL"
    name = f"no-such-bucket-{call.replace('_', '-')}"  # another for each, as a client remembers what it has seen
    if (server.scheme, call) == ("gs", "clear"):
        assert open_location(f"gs://{name}/x").clear_unfinished() == 0, "GCS lists no uploads, so nothing is asked"
        return
    assert_told(
        said(f"{server.scheme}://{name}/x", call),
        f"{server.scheme}://{name}",
        str(server.endpoint),
        str(variable),
        whole=True,
    )


@pytest.mark.processes
def test_a_run_into_a_bucket_that_is_missing(server: Server, tmp_path: Path) -> None:
    recipe(tmp_path, f"{server.scheme}://no-such-bucket-here/x")
    done = run(tmp_path, "ingest", "recipe.yaml")
    assert done.status != 0
    name = f"{server.scheme}://no-such-bucket-here"
    assert done.err.splitlines()[-1].startswith(f"winnow: recipe.yaml:3: store.path: {name}: no such bucket at")
    assert "Traceback" not in done.err


@pytest.mark.engines
def test_the_region_of_a_bucket_is_asked_for_once(versitygw: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server says which region is right, and boto3 goes there."""
    with in_front_of(versitygw.port, lambda _: None) as proxy:
        point_to(monkeypatch, {**versitygw.behind(proxy.endpoint), "AWS_REGION": "eu-west-3"})
        objects = open_location(f"s3://{BUCKET}/region")
        objects.put("a", b"here")
        first = len(proxy.requests)
        assert objects.read("a") == b"here"
        assert list(objects.list())
        assert len(proxy.requests) == first + 2
