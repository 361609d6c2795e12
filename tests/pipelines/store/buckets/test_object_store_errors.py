"""What is wrong with an object store is said in one line that names it and says what to do."""

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.messages import assert_refused, assert_told
from tests.pipelines.store.conftest import point_to
from tests.pipelines.store.faulty import in_front_of
from tests.pipelines.store.servers import BUCKET, Server, free_port
from winnow.pipelines.store.buckets import gcs_session, retries
from winnow.pipelines.store.buckets.retries import TransientError, wrong_clock_error
from winnow.pipelines.store.location import open_location
from winnow.schemas.errors import StoreError


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_WAIT_SECONDS", 0.001)


def said_of(address: str) -> str:
    """The line that reading from there ends with."""
    with pytest.raises(StoreError) as caught:
        open_location(address).read("store.json")
    line = str(caught.value)
    assert "\n" not in line
    return line


def refusal(status: int, code: str, message: str, scheme: str) -> bytes:
    if scheme == "gs":
        body = f'{{"error": {{"code": {status}, "message": "{message}"}}}}'.encode()
    else:
        body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()
    head = f"HTTP/1.1 {status} No\r\nContent-Length: {len(body)}\r\nx-amz-bucket-region: eu-west-3\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + body


@pytest.mark.parametrize(
    "address", ["s3://ab/x", "s3:///x", "s3://UPPER/x", "s3://a_b_c/x", "gs://ab/x", "gs://", "gs://-a-/x"]
)
def test_a_name_that_no_bucket_can_have(address: str) -> None:
    assert_told(said_of(address), "expected 3", "63")


@pytest.mark.parametrize("address", ["s3://abc/x/../y", "gs://abc/..", "s3://abc/./x"])
def test_an_address_has_no_parent(address: str) -> None:
    assert_told(said_of(address), "'.'", "'..'")


def test_a_scheme_that_there_is_no_store_for() -> None:
    assert_told(said_of("ftp://x/y"), "ftp://", "s3://BUCKET/PREFIX", "gs://BUCKET/PREFIX")


@pytest.mark.parametrize("name", ["", "/etc/x", "a/../../b", "..", "a\0b"])
@pytest.mark.parametrize("address", ["s3://abc/x", "gs://abc/x"])
def test_names_that_leave_the_prefix_are_refused(address: str, name: str) -> None:
    with pytest.raises(StoreError, match="not an object name"):
        open_location(address).put(name, b"")


def test_a_bucket_that_does_not_exist(server: Server) -> None:
    objects = open_location(f"{server.scheme}://no-such-bucket-here/x")
    expected = rf"no-such-bucket-here: no such bucket at {server.endpoint}; create it"
    with pytest.raises(StoreError, match=expected):
        list(objects.list())
    with pytest.raises(StoreError, match=expected):
        objects.put("x", b"")
    with pytest.raises(StoreError, match=expected):
        objects.read("x")


@pytest.mark.engines
def test_keys_that_the_service_does_not_know(versitygw: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    point_to(monkeypatch, {**versitygw.environment, "AWS_ACCESS_KEY_ID": "stranger"})
    assert "does not know this access key; set AWS_ACCESS_KEY_ID" in said_of(f"s3://{BUCKET}")
    point_to(monkeypatch, {**versitygw.environment, "AWS_SECRET_ACCESS_KEY": "wrong"})
    assert "check AWS_SECRET_ACCESS_KEY" in said_of(f"s3://{BUCKET}")


@pytest.mark.parametrize(
    ("status", "code", "message", "expected"),
    [
        (403, "AccessDenied", "Access Denied", "Access Denied; grant s3:GetObject"),
        (403, "RequestTimeTooSkewed", "The difference is too large", "clock differs"),
        (301, "PermanentRedirect", "use another endpoint", "eu-west-3 … AWS_REGION"),
        (400, "AuthorizationHeaderMalformed", "the region is wrong", "eu-west-3 … AWS_REGION"),
        (403, "ExpiredToken", "expired", "credentials have expired"),
        (400, "Surprise", "what nobody expects", "refused: … docs/"),
    ],
)
def test_refusals_of_s3(
    moto: Server, monkeypatch: pytest.MonkeyPatch, status: int, code: str, message: str, expected: str
) -> None:
    with in_front_of(moto.port, lambda _: refusal(status, code, message, "s3")) as proxy:
        point_to(monkeypatch, moto.behind(proxy.endpoint))
        assert_told(said_of(f"s3://{BUCKET}/x"), expected)
        assert len(proxy.requests) <= 3  # boto3 asks once where a bucket is


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (401, "Invalid Credentials", "rejected these credentials"),
        (
            403,
            "x does not have storage.objects.get",
            "storage.objects.get … these credentials",
        ),
        (400, "surprise", "refused: 400 (surprise); see docs/howto/object-stores.md"),
    ],
)
def test_refusals_of_gcs(monkeypatch: pytest.MonkeyPatch, status: int, message: str, expected: str) -> None:
    with in_front_of(1, lambda _: refusal(status, "", message, "gs")) as proxy:
        point_to(monkeypatch, {"STORAGE_EMULATOR_HOST": proxy.endpoint})
        assert_told(said_of(f"gs://{BUCKET}/x"), expected)
        assert len(proxy.requests) == 1


CLOCK = "this machine's clock differs from the service's by too much"


def test_credentials_that_google_rejects_are_not_a_wrong_clock() -> None:
    exceptions = pytest.importorskip("google.auth.exceptions")
    place, endpoint = f"gs://{BUCKET}/x", "https://storage"
    clock = gcs_session.translated_error(
        exceptions.RefreshError("Token must be a short-lived token and in a reasonable timeframe"), place, endpoint
    )
    assert_told(str(clock), str(place), str(CLOCK), whole=True)
    assert f"{CLOCK} (an hour ahead); set" in str(wrong_clock_error(place, "an hour ahead"))
    for error in (
        exceptions.RefreshError("invalid_grant: Bad Request"),
        exceptions.DefaultCredentialsError("reasonable timeframe"),
    ):
        assert str(gcs_session.translated_error(error, place, endpoint)).startswith(
            f"{place}: the credentials were rejected ("
        )
    unreachable = gcs_session.translated_error(exceptions.TransportError("no route"), place, endpoint)
    assert isinstance(unreachable, TransientError)
    assert_told(str(unreachable), "credential service cannot")
    assert gcs_session.translated_error(KeyError("x"), place, endpoint) is None


def test_a_listing_that_is_not_found_is_of_no_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proxies and other services answer without S3's code for it."""
    with in_front_of(1, lambda _: refusal(404, "404", "Not Found", "s3")) as proxy:
        keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
        point_to(monkeypatch, {**keys, "AWS_ENDPOINT_URL": proxy.endpoint})
        with assert_refused(StoreError, f"s3://{BUCKET}"):
            list(open_location(f"s3://{BUCKET}/x").list())


def test_an_endpoint_where_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    point_to(monkeypatch, {**keys, "AWS_ENDPOINT_URL": nowhere})
    assert_told(said_of("s3://crawl/x"), "s3://crawl", str(nowhere), "AWS_ENDPOINT_URL", "AWS_REGION", whole=True)
    point_to(monkeypatch, {"STORAGE_EMULATOR_HOST": nowhere})
    assert_told(said_of("gs://crawl/x"), "gs://crawl", str(nowhere), "STORAGE_EMULATOR_HOST", whole=True)


def test_no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    machine = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": f"http://{nowhere}", "GCE_METADATA_HOST": nowhere}
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GCE_METADATA_IP", nowhere)
    point_to(monkeypatch, {**machine, "AWS_ENDPOINT_URL": f"http://{nowhere}"})
    assert re.match("s3://crawl: no credentials .*; set AWS_ACCESS_KEY_ID and", said_of("s3://crawl/x"))
    command = "import sys; from winnow.pipelines.store.location import open_location as o; o('gs://crawl/x').read('y')"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, env=dict(os.environ))
    assert re.match(r".*StoreError: gs://crawl: no credentials .*; run: gcloud auth", done.stderr.splitlines()[-1])


def test_a_profile_that_there_is_none_of(monkeypatch: pytest.MonkeyPatch) -> None:
    point_to(monkeypatch, {"AWS_PROFILE": "nobody"})
    assert re.match(r"s3://crawl: .*\(nobody\).*; check AWS_PROFILE", said_of("s3://crawl/x"))


def test_credentials_that_are_no_key_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key.json").write_text("no json")
    point_to(monkeypatch, {"GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path / "key.json")})
    assert re.match("gs://crawl: no credentials .*key.json", said_of("gs://crawl/x"))


@pytest.mark.parametrize(
    ("address", "package", "extra"), [("s3://abc/x", "boto3", "s3"), ("gs://abc/x", "google.auth", "gcs")]
)
def test_a_package_that_is_not_installed(address: str, package: str, extra: str) -> None:
    command = (
        f"import sys; sys.modules[{package!r}] = None\n"
        f"from winnow.pipelines.store.location import open_location as o; o({address!r}).read('y')"
    )
    environment = {name: value for name, value in os.environ.items() if name != "STORAGE_EMULATOR_HOST"}
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, env=environment)
    assert done.stderr.splitlines()[-1].endswith(f"pip install 'winnow[{extra}]'")


def test_an_address_needs_no_package_and_no_service() -> None:
    store = open_location("s3://nobody-asks/x")
    assert pickle.loads(pickle.dumps(store)) == store  # noqa: S301
    assert store.root == "s3://nobody-asks/x"
